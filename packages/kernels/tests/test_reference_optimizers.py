"""The formulas of the optimizers, at a first step that can be done by hand."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.kernels.reference import registry
from headrace.kernels.reference.ops import optimizers

ONE, ZERO, GRAD = np.array([1.0]), np.array([0.0]), np.array([0.5])


def test_the_first_step_of_adam_is_the_learning_rate() -> None:
    var, m, v = optimizers.adam(
        {"use_nesterov": False}, ONE, ZERO, ZERO, 0.9, 0.999, 0.1, 0.9, 0.999, 0.0, GRAD
    )
    assert (
        var == pytest.approx([0.9]) and m == pytest.approx([0.05]) and v == pytest.approx([0.00025])
    )


def test_nesterov_looks_one_step_ahead() -> None:
    plain, _ = optimizers.momentum({"use_nesterov": False}, ONE, ONE, 0.1, GRAD, 0.9)
    ahead, _ = optimizers.momentum({"use_nesterov": True}, ONE, ONE, 0.1, GRAD, 0.9)
    assert plain == pytest.approx([1 - 0.14]) and ahead == pytest.approx(
        [1 - 0.1 * (0.5 + 0.9 * 1.4)]
    )


def test_a_strong_l1_takes_ftrl_to_zero() -> None:
    var, *_ = optimizers.ftrl(
        {"multiply_linear_by_lr": False}, ONE, ONE, ZERO, GRAD, 0.1, 99.0, 0.0, -0.5
    )
    assert var.tolist() == [0.0]


def test_every_dense_update_of_the_catalogue_has_a_formula() -> None:
    from headrace.formats import op_catalogue

    dense = {
        name
        for name in op_catalogue.names()
        if op_catalogue.family(name) == "optimizers" and "Sparse" not in name
    }
    assert dense == set(registry.updates)
