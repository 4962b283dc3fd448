"""Every registered gradient is the limit of differences of the reference kernel."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from cases import ALL, Case

import headrace.graph as hr
from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.graph import op_registry
from headrace.graph.op_builder import op
from headrace.kernels.reference import oracle

# dtype -> step of the difference, relative and absolute tolerance of a slope
_STEPS = {"float64": (1e-6, 2e-5, 2e-6), "float32": (2e-2, 3e-2, 2e-2)}

# Differentiable ops that no case can stand for, and what does.
ELSEWHERE_FAMILIES = {
    "control_flow": "tests of graph: cond and while_loop backwards",
    "datasets": "never on a gradient's path",
    "lookup": "never on a gradient's path",
    "queues": "never on a gradient's path",
    "sendrecv": "made by the runtime",
    "stacks": "made by while_loop's gradient",
    "state": "tests of graph: variables",
    "tensor_arrays": "tests of graph: TensorArray",
    "tensor_lists": "tests of graph: tensor lists",
    "optimizers": "they change variables",
    "script": "the user's function has its own gradient",
    "logging": "they hand their input on",
}


def _differentiable(case: Case) -> str:
    """The dtype to check a case in; empty where there is nothing to check."""
    try:
        if not case.smooth or op_registry.gradient_function(case.op) is None:
            return ""
    except LookupError:
        return ""
    types = case.types()
    for dtype in ("float64", "float32", ""):
        if dtype in types and _floats(case.values(dtype)):
            return dtype
    return ""


def _flat(values: list[Any]) -> list[np.ndarray]:
    return [one for v in values for one in (v if isinstance(v, list) else [v])]


def _floats(values: list[Any]) -> list[int]:
    """Places of the inputs that a slope may belong to, among all inputs in a row."""
    return [i for i, v in enumerate(_flat(values)) if v.dtype.kind == "f" and v.size]


def _nested(values: list[Any], flat: list[np.ndarray]) -> list[Any]:
    """flat in the places of values, lists as lists."""
    left = iter(flat)
    return [[next(left) for _ in v] if isinstance(v, list) else next(left) for v in values]


def _loss(case: Case, dtype: str, values: list[Any], weights: list[np.ndarray]) -> float:
    outputs = oracle.run(case.op, *values, **case.attributes(dtype))
    return sum(
        float(np.sum(y.astype(np.float64) * w))
        for y, w in zip(outputs, weights, strict=True)
        if y.dtype.kind == "f"
    )


def _slopes(case: Case, dtype: str, values: list[Any], weights: list[np.ndarray]) -> list[Any]:
    """What the graph says the gradient is, one array (or None) for each input."""
    attrs: dict[str, Any] = {}
    kinds = {attr.name: attr.kind for attr in op_catalogue.signature(case.op).attrs}
    for name, value in case.attributes(dtype).items():
        if kinds[name] == "type":
            value = as_dtype(value)
        elif kinds[name] == "list(type)":
            value = [as_dtype(one) for one in value]
        attrs[name] = value
    with hr.Graph().as_default():
        places = [hr.placeholder(as_dtype(v.dtype), v.shape) for v in _flat(values)]
        made = op(case.op, *_nested(values, places), **attrs)
        outputs = hr.nest.flatten(made) if isinstance(made, (list, tuple)) else [made]
        ys = [y for y in outputs if y.dtype.is_floating]
        grads = [
            hr.constant(w.astype(y.dtype.as_numpy_dtype))
            for y, w in zip(outputs, weights, strict=True)
            if y.dtype.is_floating
        ]
        wanted = _floats(values)
        found = hr.gradients(ys, [places[i] for i in wanted], grads)
        found = [hr.convert_to_tensor(g) if g is not None else None for g in found]
        with hr.Session() as session:
            feeds = dict(zip(places, _flat(values), strict=True))
            present = [g for g in found if g is not None]
            results = iter(session.run(present, feeds) if present else [])
    return [None if g is None else next(results) for g in found]


CHECKED = [(case, dtype) for case in ALL if (dtype := _differentiable(case)) or case.op == ""]


@pytest.mark.parametrize(("case", "dtype"), CHECKED, ids=lambda c: getattr(c, "name", c))
def test_gradient_is_the_limit_of_differences(case: Case, dtype: str) -> None:
    values = case.values(dtype)
    flat = _flat(values)
    rng = np.random.default_rng(7)
    outputs = oracle.run(case.op, *values, **case.attributes(dtype))
    weights = [rng.uniform(0.5, 1.5, y.shape) for y in outputs]
    slopes = _slopes(case, dtype, values, weights)
    for place, slope in zip(_floats(values), slopes, strict=True):
        x = flat[place]
        step, relative, absolute = _STEPS[x.dtype.name]
        for _ in range(3):
            direction = rng.uniform(-1, 1, x.shape).astype(x.dtype)
            ends = []
            for sign in (1, -1):
                moved = list(flat)
                moved[place] = (x + sign * step * direction).astype(x.dtype)
                ends.append(_loss(case, dtype, _nested(values, moved), weights))
            difference = (ends[0] - ends[1]) / (2 * step)
            if slope is None:
                assert abs(difference) <= absolute, f"input {place} has a slope, no gradient"
                continue
            assert slope.shape == x.shape and slope.dtype == x.dtype
            said = float(np.sum(slope.astype(np.float64) * direction))
            scale = float(np.abs(slope.astype(np.float64)).sum())
            assert abs(said - difference) <= relative * scale + absolute, (
                f"input {place}: gradient {said}, difference {difference}"
            )


def test_every_gradient_that_is_registered_is_checked() -> None:
    checked = {case.op for case, _ in CHECKED}
    missing = []
    for name in op_catalogue.names():
        family = op_catalogue.family(name)
        if name in checked or family in ELSEWHERE_FAMILIES or name.startswith("Resource"):
            continue
        try:
            if op_registry.gradient_function(name) is None:
                continue
        except LookupError:
            continue
        missing.append(name)
    assert not missing, f"no smooth case: {os.linesep.join(missing)}"
