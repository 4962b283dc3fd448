"""At the edges of what an op takes the runtime answers as TensorFlow 2.21 did (tests/ops/edges)."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cases import Case
from edges import Edge, answers, edges_of, groups
from kept_values import KEPT, Kept
from local_runs import run_in_runtime
from tolerances import assert_same

from headrace.formats.errors import InvalidArgumentError, OpError, UnimplementedError

ALL = [
    pytest.param(edge, said, id=f"{group}-{number}-{edge.name}"[:120])
    for group in groups()
    for number, (edge, said) in enumerate(zip(edges_of(group), answers(group), strict=True))
]


def _run(edge: Edge) -> list[np.ndarray]:
    return run_in_runtime(Case(edge.op, attrs=edge.attrs), "", edge.values, compiled=False)


@pytest.mark.parametrize(("edge", "said"), ALL)
def test_an_edge_is_answered_as_tensorflow_answers_it(
    edge: Edge, said: str | list[np.ndarray]
) -> None:
    if isinstance(said, str) or edge.apart:
        with pytest.raises(InvalidArgumentError) as refused:
            _run(edge)
        assert refused.value.node_name == "it" or "it" in str(refused.value)
        return
    try:
        found = _run(edge)
    except OpError as error:
        pytest.fail(f"refused: {error}")
    assert len(found) == len(said)
    for one, other in zip(found, said, strict=True):
        assert_same(edge.op, one, other)


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: f"{kept.op}: {kept.reason}"[:80])
def test_a_value_that_is_kept_apart_from_tensorflow_is_the_one_that_its_reason_names(
    kept: Kept,
) -> None:
    for inputs, value in kept.examples:
        for op in re.findall(r"[A-Z]\w*", kept.op.replace("[01]", "0").replace("c?", "")):
            found = _run(Edge(op, [np.array([x]) for x in inputs]))
            assert_same(op, found[0], np.array([value]))


def test_a_result_of_nine_dimensions_is_refused_by_their_number() -> None:
    eight = np.zeros([1] * 8, np.int32)
    one = np.float32(1)
    for edge in (
        Edge("OneHot", [eight, np.int32(2), one, one]),
        Edge("ExpandDims", [eight, np.int32(0)]),
        Edge("Pack", [[eight, eight]]),
        Edge("Fill", [np.ones(9, np.int32), one]),
        Edge("Reshape", [eight, np.ones(9, np.int32)]),
    ):
        with pytest.raises(UnimplementedError, match="9 dimensions, above 8"):
            _run(edge)
