"""Fetch plans of nested structures."""

from __future__ import annotations

import collections

import headrace.graph as hr
from headrace.graph.client import fetches

Pair = collections.namedtuple("Pair", ["a", "b"])


def test_fetch_plan_rebuilds_the_structure_and_fetches_each_tensor_once():
    x, y = hr.constant(1.0), hr.constant(2.0)
    done = hr.no_op()
    plan = fetches.FetchPlan(hr.get_default_graph(), {"p": Pair(x, [y, x]), "o": done})
    assert plan.tensors == [x, y] and plan.targets == [done]
    assert plan.build([10, 20]) == {"p": Pair(10, [20, 10]), "o": None}


def test_equal_structures_have_equal_keys():
    x, y = hr.constant(1.0), hr.constant(2.0)
    assert fetches.structure_key([x, y]) == fetches.structure_key([x, y])
    assert fetches.structure_key([x, y]) != fetches.structure_key((x, y))
