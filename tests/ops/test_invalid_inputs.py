"""Invalid inputs fail: when the graph is built if the shapes show it, else when it runs."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cases.invalid_inputs import INVALID_INPUTS, SHAPES, InvalidInput

import headrace.graph as hr
from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import InvalidArgumentError
from headrace.graph.builder.op_builder import op
from headrace.kernels.reference import oracle


def _flat(case: InvalidInput) -> list[np.ndarray]:
    return [one for i in case.inputs for one in (i if isinstance(i, list) else [i])]


def _build(case: InvalidInput, known: bool) -> tuple[list[hr.Tensor], object]:
    """The node in the default graph, its inputs constants or of unknown shape."""
    places = [hr.constant(x) if known else hr.placeholder(as_dtype(x.dtype)) for x in _flat(case)]
    left = iter(places)
    nested = [[next(left) for _ in i] if isinstance(i, list) else next(left) for i in case.inputs]
    attrs = dict(case.attrs)
    if "out_type" in attrs:
        attrs["out_type"] = as_dtype(attrs["out_type"])
    return places, op(case.op, *nested, name="wrong", **attrs)


@pytest.mark.parametrize("case", INVALID_INPUTS, ids=lambda r: r.name)
def test_the_reference_rejects_invalid_inputs(case: InvalidInput) -> None:
    with pytest.raises(InvalidArgumentError):
        oracle.run(case.op, *case.inputs, **case.attrs)


@pytest.mark.parametrize("case", SHAPES, ids=lambda r: r.name)
def test_shapes_that_clash_are_rejected_when_the_graph_is_built(case: InvalidInput) -> None:
    with (
        hr.Graph().as_default(),
        pytest.raises(ValueError, match=rf"{re.escape(case.op)} 'wrong'"),
    ):
        _build(case, known=True)


@pytest.mark.parametrize("case", INVALID_INPUTS, ids=lambda r: r.name)
def test_errors_that_only_a_run_can_find_name_the_node(case: InvalidInput) -> None:
    with hr.Graph().as_default():
        places, result = _build(case, known=False)
        target = result if isinstance(result, hr.Operation) else hr.nest.flatten(result)
        feeds = dict(zip(places, _flat(case), strict=True))
        with hr.Session() as session, pytest.raises(InvalidArgumentError) as raised:
            session.run(target, feeds)
    assert raised.value.node_name == "wrong"
    assert "wrong" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("AddV2", (np.float32(1), np.float64(1))),
        ("MatMul", (np.ones((2, 2), np.float32), np.ones((2, 2), np.int32))),
        ("LogicalAnd", (np.float32(1), True)),
        ("Sqrt", (np.int32(4),)),
        ("StringLength", (np.float32(1),)),
        ("Gather", (np.ones(3, np.float32), np.float32(0))),
    ],
)
def test_dtypes_that_do_not_fit_are_rejected_when_the_graph_is_built(
    name: str, inputs: tuple[object, ...]
) -> None:
    with hr.Graph().as_default(), pytest.raises(TypeError):
        op(name, *[hr.constant(x) for x in inputs])
