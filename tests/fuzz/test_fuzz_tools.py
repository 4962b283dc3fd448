"""The fuzz finds what it is for: a case that ends its process, one that hangs, one that raises."""

from __future__ import annotations

import fuzz_case
import numpy as np
import pytest
import verdicts
from child_processes import Ended, run_batch
from kinds import KINDS, make_case


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_case_and_its_file_too(kind: str) -> None:
    for seed in range(20):
        case, again = make_case(kind, seed), make_case(kind, seed)
        text = fuzz_case.to_text(case)
        assert text == fuzz_case.to_text(again)
        read = fuzz_case.from_text(text)
        assert read.sent == case.sent and read.calls == case.calls
        for one, other in zip(read.runs, case.runs, strict=True):
            assert (one.fetches, one.targets) == (other.fetches, other.targets)
            assert list(one.feeds) == sorted(other.feeds) or set(one.feeds) == set(other.feeds)


@pytest.mark.parametrize("how", ["crash", "hang"])
def test_a_case_that_ends_or_holds_its_process_is_named(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_FUZZ_PLANT", f"{how} 3")
    seen = []
    with pytest.raises(Ended) as ended:
        for said in run_batch("known", 0, 10, limit_s=3.0):
            seen.append(said[0])
    assert (ended.value.how, ended.value.seed, seen) == (how, 3, [0, 1, 2])


def test_equal_runs_with_different_values_and_raw_exceptions_are_verdicts() -> None:
    one, two = (("float32", (2,), np.array(v, np.float32).tobytes()) for v in ([1, 2], [1, 3]))
    found = verdicts.of_ours([("values", [one]), ("values", [two])], False, 0.0)
    assert [v for v, _ in found] == ["unstable"]
    assert verdicts.of_ours([("values", [one]), ("values", [two])], True, 0.0) == []
    assert [v for v, _ in verdicts.of_ours([("raw", "IndexError")], False, 0.0)] == [
        "raw exception"
    ]


def test_a_result_where_tensorflow_refuses_is_a_verdict_but_not_its_lack_of_a_kernel() -> None:
    value = [("values", [("int32", (), np.array(1, np.int32).tobytes())])]
    refused = [("refused", (3, "shapes differ"))]
    assert [v for v, _ in verdicts.against(value, refused, False)] == ["TensorFlow refuses"]
    assert [v for v, _ in verdicts.against(refused, value, False)] == [
        "refused, TensorFlow gives a result"
    ]
    assert verdicts.against(value, [("refused", (3, "No OpKernel was registered"))], False) == []
