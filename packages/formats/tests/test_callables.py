"""The registry of functions that nodes call by token."""

from __future__ import annotations

import gc

from headrace.formats import callables


def test_a_function_is_found_by_its_token_as_long_as_its_owner_keeps_it():
    def double(x):
        return 2 * x

    token = callables.register(double)
    assert callables.find(token) is double
    del double
    gc.collect()
    assert callables.find(token) is None


def test_every_registration_has_a_token_of_its_own():
    def f():
        return None

    assert callables.register(f) != callables.register(f)
