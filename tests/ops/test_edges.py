"""At the edges of what an op takes the runtime answers as TensorFlow 2.21 did (tests/ops/edges)."""

from __future__ import annotations

import numpy as np
import pytest
from cases import Case
from edges import Edge, answers, edges_of, groups
from local_runs import run_in_runtime
from tolerances import assert_same

from headrace.formats.errors import InvalidArgumentError, OpError

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
