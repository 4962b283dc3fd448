"""A step of a session over several tasks, without tasks."""

from __future__ import annotations

import logging

import pytest

from headrace.distributed.master.planned_signature import Names, PlannedSignature
from headrace.distributed.master.prepared_step import PreparedStep
from headrace.formats import errors
from headrace.formats.proto.plan_pb2 import PartitionPlan, PlacementReport
from headrace.formats.proto.run_pb2 import RunMetadata, RunOptions

TRACED = RunOptions(trace_level=RunOptions.FULL_TRACE).SerializeToString()


class Session:
    """Its reports fail with that error, or are that one."""

    unsettled = False
    timeout_ms = 0

    def __init__(self, report):
        self.report = report

    def clock_offsets_ns(self, signature):
        return {}

    def placement(self, signature, trace):
        RunMetadata.FromString(trace)
        if isinstance(self.report, PlacementReport):
            return self.report
        raise self.report


class Step:
    def run(self, values, timeout_ms, traced=False):
        return [7.0], b""


def _run(report):
    signature = PlannedSignature(1, Names((), ("x:0",), ()), PartitionPlan(fetch=[0]), (), ())
    results, metadata = PreparedStep(Session(report), signature, Step()).run([], TRACED)
    assert results == [7.0]
    return RunMetadata.FromString(metadata)


def test_a_traced_run_has_the_report():
    report = PlacementReport(step_us=3.0)
    assert _run(report).placement == report


@pytest.mark.parametrize(
    "report",
    [
        errors.InvalidArgumentError(None, None, "no device"),
        RuntimeError("the planner was closed"),
        MemoryError(),
    ],
    ids=["device", "closed", "memory"],
)
def test_a_report_that_fails_does_not_fail_the_run(report, caplog):
    with caplog.at_level(logging.WARNING, "headrace.distributed"):
        assert not _run(report).HasField("placement")
    assert "no report of the placement" in caplog.text
