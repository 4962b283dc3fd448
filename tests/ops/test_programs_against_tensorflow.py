"""Programs of ops with handles give TensorFlow's values, and its errors (needs TensorFlow)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from op_programs import Program, programs
from program_runs import Built, outcomes, outcomes_in_tensorflow

from headrace.formats.errors import OpError

pytestmark = pytest.mark.peer


@pytest.fixture(scope="module")
def judges() -> Iterator[list[Any]]:
    """TensorFlow 1.15 where it is, and the TensorFlow of this interpreter."""
    from child_processes import Judge

    pythons = [os.environ.get("TENSORFLOW1_PYTHON", ""), sys.executable]
    made = [Judge(python) for python in pythons if python]
    yield made
    for judge in made:
        judge.close()


def _knows(replies: list[Any] | None) -> bool:
    unknown = ("import: ", "No OpKernel", "Op type not registered")
    return bool(replies) and not any(
        how == "rejected" and any(text in detail[1] for text in unknown) for how, detail in replies
    )


@pytest.mark.parametrize(
    "program", [p for p in programs() if not p.not_judged], ids=lambda p: p.name
)
def test_a_program_gives_what_tensorflow_gives(program: Program, judges: list[Any]) -> None:
    built = Built(program)
    ours = outcomes(built.graph, built.runs)
    answers = [outcomes_in_tensorflow(judge, built) for judge in judges]
    known = [answer for answer in answers if _knows(answer)]
    assert known, f"no TensorFlow runs it: {answers}"
    for number, (one, (how, other)) in enumerate(zip(ours, known[0], strict=True)):
        if number in program.differences:
            continue
        where = f"run {number}, {built.runs[number]}: {one}, TensorFlow {how} {other}"
        if how == "rejected" or isinstance(one, OpError):
            assert how == "rejected" and isinstance(one, OpError), where
            assert one.error_code == other[0], where
            continue
        assert len(one) == len(other), where
        for value, (_, shape, data) in zip(one, other, strict=True):
            assert value.shape == tuple(shape), where
            if program.random:
                continue
            if value.dtype.kind == "O":
                assert list(value.flat) == data, where
            else:
                np.testing.assert_array_equal(
                    value, np.frombuffer(data, value.dtype).reshape(shape), where
                )
