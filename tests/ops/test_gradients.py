"""Every registered gradient is the limit of differences of the reference kernel."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from cases import ALL, Case
from plain_numpy import evaluate

import headrace.graph as hr
from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.op_builder import op
from headrace.graph.framework import op_registry
from headrace.kernels.reference import oracle

# dtype -> step of the difference, relative and absolute tolerance of a gradient
_STEPS = {
    "float64": (1e-6, 2e-5, 2e-6),
    "complex128": (1e-6, 2e-5, 2e-6),
    "float32": (2e-2, 3e-2, 2e-2),
    "complex64": (2e-2, 3e-2, 2e-2),
}
# Ops that cut or alter the path on purpose.
BY_DESIGN = {
    "StopGradient": "nothing flows back",
    "PreventGradient": "it rejects",
    "ImageProjectiveTransformV2": "TensorFlow's rule goes through the inverse, which is near it",
    "ImageProjectiveTransformV3": "TensorFlow's rule goes through the inverse, which is near it",
    "NextAfter": "the step is far below that of a difference",
}
# op -> inputs of which TensorFlow knows no derivative either.
UNKNOWN_GRADIENTS = {
    "Betainc": {0, 1},
    "Zeta": {0},
    "Polygamma": {0},
    "ScaleAndTranslate": {2, 3},
    "MatrixSolveLs": {2},
    "MatrixDiagV2": {4},
    "MatrixDiagV3": {4},
    "MatrixDiagPartV2": {2},
    "MatrixDiagPartV3": {2},
    **{f"FusedBatchNorm{v}": {3, 4} for v in ("", "V2", "V3", "Grad", "GradV2", "GradV3")},
}
# Rules that TensorFlow has for real numbers alone, and ours after it.
REAL_ONLY = {"Sign", "SquaredDifference", "Xdivy", "Xlogy", "Xlog1py", "EuclideanNorm", "Cumprod"}
# Rules that hold for losses that do not depend on the phases of complex vectors.
REAL_ONLY |= {"Svd", "SelfAdjointEigV2", "Eig"}
# Inputs that are self-adjoint, and stay so.
SELF_ADJOINT = {"Cholesky", "SelfAdjointEigV2"}
# Ops whose outputs another kernel may give with other signs, but which are smooth all the same.
UP_TO_SIGNS = {"Qr", "Svd", "SelfAdjointEigV2", "Eig"}
# Ops of which a case is not exact.
RANDOM = {"FractionalMaxPool", "FractionalAvgPool", "RandomGamma"}

# Differentiable ops that no case can stand for, and what does.
ELSEWHERE_FAMILIES = {
    "control_flow": "tests/executor/test_cond_gradients.py and test_while_gradients.py",
    "datasets": "never on a gradient's path",
    "lookup": "never on a gradient's path",
    "queues": "never on a gradient's path",
    "sendrecv": "made by the runtime",
    "stacks": "made by while_loop's gradient",
    "state": "tests of graph: variables",
    "tensor_arrays": "tests/ops/test_tensor_arrays.py",
    "tensor_lists": "tests/ops/test_tensor_lists.py",
    "optimizers": "they change variables",
    "script": "the user's function has its own gradient",
    "logging": "they hand their input on",
}


def _types_to_check(case: Case) -> list[str]:
    """A real and a complex type to check a case in, where it has any."""
    exact = case.exact or case.op in UP_TO_SIGNS
    if not case.smooth or not exact or case.op in BY_DESIGN:
        return []
    try:
        if op_registry.gradient_function(case.op) is None:
            return []
    except LookupError:
        return []
    types = case.types()
    real = [d for d in ("float64", "float32", "") if d in types and _floats(case.values(d))]
    complex_ = [d for d in ("complex128", "complex64") if d in types]
    return real[:1] + ([] if case.op in REAL_ONLY else complex_[:1])


def _flat(values: list[Any]) -> list[np.ndarray]:
    return [one for v in values for one in (v if isinstance(v, list) else [v])]


def _floats(values: list[Any]) -> list[int]:
    """Places of the inputs that a gradient may belong to, among all inputs in a row."""
    return [i for i, v in enumerate(_flat(values)) if v.dtype.kind in "fc" and v.size]


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _nested(values: list[Any], flat: list[np.ndarray]) -> list[Any]:
    """flat in the places of values, lists as lists."""
    left = iter(flat)
    return [[next(left) for _ in v] if isinstance(v, list) else next(left) for v in values]


def _loss(case: Case, dtype: str, values: list[Any], weights: list[np.ndarray]) -> float:
    outputs = oracle.run(case.op, *values, **case.attributes(dtype))
    return sum(
        float(np.sum(np.real(_wide(y) * np.conj(w))))
        for y, w in zip(outputs, weights, strict=True)
        if y.dtype.kind in "fc"
    )


def _gradients(case: Case, dtype: str, values: list[Any], weights: list[np.ndarray]) -> list[Any]:
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
        target = _floats(values)
        # what is not a number to move is a constant, as axes and shapes mostly are
        places = [
            hr.placeholder(as_dtype(v.dtype), v.shape) if i in target else hr.constant(v)
            for i, v in enumerate(_flat(values))
        ]
        result = op(case.op, *_nested(values, places), **attrs)
        outputs = hr.nest.flatten(result) if isinstance(result, (list, tuple)) else [result]
        ys = [y for y in outputs if _is_number(y)]
        grads = [
            hr.constant(w.astype(y.dtype.as_numpy_dtype))
            for y, w in zip(outputs, weights, strict=True)
            if _is_number(y)
        ]
        found = hr.gradients(ys, [places[i] for i in target], grads)
        found = [hr.convert_to_tensor(g) if g is not None else None for g in found]
        present = [g.name for g in found if g is not None]
        graph_def = hr.get_default_graph().as_graph_def().SerializeToString()
    feeds = {places[i].name: value for i, value in enumerate(_flat(values)) if i in target}
    results = iter(evaluate(graph_def, feeds, present))
    return [None if g is None else next(results) for g in found]


def _is_number(y: Any) -> bool:
    return y.dtype.is_floating or y.dtype.is_complex


CHECKED = [(case, dtype) for case in ALL for dtype in _types_to_check(case)]


def _direction(rng: np.random.Generator, like: np.ndarray, low: float, high: float) -> np.ndarray:
    x = rng.uniform(low, high, like.shape)
    return x + 1j * rng.uniform(low, high, like.shape) if like.dtype.kind == "c" else x


@pytest.mark.parametrize(("case", "dtype"), CHECKED, ids=lambda c: getattr(c, "name", c))
def test_gradient_is_the_limit_of_differences(case: Case, dtype: str) -> None:
    values = case.values(dtype)
    flat = _flat(values)
    rng = np.random.default_rng(7)
    outputs = oracle.run(case.op, *values, **case.attributes(dtype))
    weights = [
        _direction(rng, y, 0.5, 1.5) * (number not in case.flat_outputs)
        for number, y in enumerate(outputs)
    ]
    gradients = _gradients(case, dtype, values, weights)
    for place, gradient in zip(_floats(values), gradients, strict=True):
        x = flat[place]
        step, relative, absolute = _STEPS[x.dtype.name]
        for _ in range(3):
            direction = _direction(rng, x, -1, 1).astype(x.dtype)
            if case.op in SELF_ADJOINT:
                direction = (direction + np.conj(np.swapaxes(direction, -1, -2))) / 2
            ends = []
            for sign in (1, -1):
                moved = list(flat)
                moved[place] = (x + sign * step * direction).astype(x.dtype)
                ends.append(_loss(case, dtype, _nested(values, moved), weights))
            difference = (ends[0] - ends[1]) / (2 * step)
            if gradient is None and place in UNKNOWN_GRADIENTS.get(case.op, ()):
                continue
            if gradient is None:
                assert abs(difference) <= absolute, f"input {place} has no gradient"
                continue
            assert gradient.shape == x.shape and gradient.dtype == x.dtype
            # a real loss moves by Re(conj(gradient) direction)
            expected = float(np.sum(np.real(np.conj(_wide(gradient)) * direction)))
            scale = float(np.abs(_wide(gradient)).sum())
            assert abs(expected - difference) <= relative * scale + absolute, (
                f"input {place}: gradient {expected}, difference {difference}"
            )


# function, its inputs, and TensorFlow's choice among the gradients where it has a corner
CORNERS = {
    "maximum": (hr.maximum, [[2.0], [2.0]], [[1.0], [0.0]]),
    "minimum": (hr.minimum, [[2.0], [2.0]], [[1.0], [0.0]]),
    "abs": (hr.abs, [[0.0]], [[0.0]]),
    "relu": (hr.nn.relu, [[0.0]], [[0.0]]),
    "relu6": (hr.nn.relu6, [[0.0, 6.0]], [[0.0, 0.0]]),
    "leaky_relu": (lambda x: hr.nn.leaky_relu(x, 0.25), [[0.0]], [[0.25]]),
    "elu": (hr.nn.elu, [[0.0]], [[1.0]]),
    "clip_by_value": (lambda x: hr.clip_by_value(x, 0.0, 1.0), [[0.0, 1.0]], [[1.0, 1.0]]),
    "reduce_max": (hr.reduce_max, [[3.0, 3.0, 1.0]], [[0.5, 0.5, 0.0]]),
    "reduce_min": (hr.reduce_min, [[3.0, 3.0, 5.0]], [[0.5, 0.5, 0.0]]),
    "segment_max": (lambda x: hr.segment_max(x, [0, 0, 1]), [[3.0, 3.0, 1.0]], [[0.5, 0.5, 1.0]]),
    "max_pool": (
        lambda x: hr.nn.max_pool(hr.reshape(x, [1, 1, 3, 1]), [1, 1, 3, 1], [1, 1, 1, 1], "VALID"),
        [[3.0, 3.0, 1.0]],
        [[1.0, 0.0, 0.0]],
    ),
}


@pytest.mark.parametrize("name", CORNERS)
def test_gradient_at_a_corner_is_the_one_that_tensorflow_chooses(name: str) -> None:
    function, inputs, expected = CORNERS[name]
    with hr.Graph().as_default():
        places = [hr.placeholder(hr.float32, [len(x)]) for x in inputs]
        found = [hr.convert_to_tensor(g) for g in hr.gradients(function(*places), places)]
        graph_def = hr.get_default_graph().as_graph_def().SerializeToString()
    feeds = {p.name: np.array(x, np.float32) for p, x in zip(places, inputs, strict=True)}
    np.testing.assert_array_equal(evaluate(graph_def, feeds, [g.name for g in found]), expected)


def test_every_gradient_that_is_registered_is_checked() -> None:
    checked = {case.op for case, _ in CHECKED}
    missing = []
    for name in op_catalogue.names():
        family = op_catalogue.family(name)
        if (
            name in {*checked, *BY_DESIGN, *RANDOM}
            or family in ELSEWHERE_FAMILIES
            or name.startswith(("Resource", "Ref"))
        ):
            continue
        try:
            if op_registry.gradient_function(name) is None:
                continue
        except LookupError:
            continue
        missing.append(name)
    assert not missing, f"no smooth case: {os.linesep.join(missing)}"
