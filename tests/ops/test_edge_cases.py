"""Edge cases of ops give the results and errors of TensorFlow 2.21 (tests/ops/edge_cases)."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cases import Case
from edge_cases import EdgeCase, edge_cases_of, groups, recorded_results
from kept_values import KEPT, Kept
from local_runs import run_in_runtime
from tolerances import assert_same

from headrace.formats.errors import InvalidArgumentError, OpError, UnimplementedError

ALL = [
    pytest.param(case, recorded, id=f"{group}-{number}-{case.name}"[:120])
    for group in groups()
    for number, (case, recorded) in enumerate(
        zip(edge_cases_of(group), recorded_results(group), strict=True)
    )
]


def _run(case: EdgeCase) -> list[np.ndarray]:
    return run_in_runtime(Case(case.op, attrs=case.attrs), "", case.values, compiled=False)


@pytest.mark.parametrize(("case", "recorded"), ALL)
def test_an_edge_case_gives_the_result_of_tensorflow(
    case: EdgeCase, recorded: str | list[np.ndarray]
) -> None:
    if isinstance(recorded, str) or case.difference:
        with pytest.raises(InvalidArgumentError) as error:
            _run(case)
        assert error.value.node_name == "it" or "it" in str(error.value)
        return
    try:
        found = _run(case)
    except OpError as error:
        pytest.fail(f"rejected: {error}")
    assert len(found) == len(recorded)
    for one, other in zip(found, recorded, strict=True):
        assert_same(case.op, one, other)


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: f"{kept.op}: {kept.reason}"[:80])
def test_an_intended_difference_has_its_documented_value(
    kept: Kept,
) -> None:
    for inputs, value in kept.examples:
        for op in re.findall(r"[A-Z]\w*", kept.op.replace("[01]", "0").replace("c?", "")):
            found = _run(EdgeCase(op, [np.array([x]) for x in inputs]))
            assert_same(op, found[0], np.array([value]))


def test_a_result_of_nine_dimensions_is_rejected_with_their_number() -> None:
    eight = np.zeros([1] * 8, np.int32)
    one = np.float32(1)
    for case in (
        EdgeCase("OneHot", [eight, np.int32(2), one, one]),
        EdgeCase("ExpandDims", [eight, np.int32(0)]),
        EdgeCase("Pack", [[eight, eight]]),
        EdgeCase("Fill", [np.ones(9, np.int32), one]),
        EdgeCase("Reshape", [eight, np.ones(9, np.int32)]),
    ):
        with pytest.raises(UnimplementedError, match="9 dimensions, above 8"):
            _run(case)
