"""A traced run of a step whose nodes stay says why they are where they are."""

from __future__ import annotations

import logging

from headrace.formats.proto.plan_pb2 import PlacementReport
from headrace.formats.proto.run_pb2 import RunMetadata, RunOptions
from headrace.runtime.session.reported_step import ReportedStep

TRACED = RunOptions(trace_level=RunOptions.FULL_TRACE).SerializeToString()


class Step:
    """Returns its values."""

    def __call__(self, values):
        return list(values)

    def run(self, values, options):
        metadata = RunMetadata()
        metadata.step_stats.dev_stats.add(device="here")
        return list(values), metadata.SerializeToString()

    def explain(self):
        return "explains"


class Costs:
    observed = 0

    def observe(self, metadata):
        assert not RunMetadata.FromString(metadata).HasField("placement")
        self.observed += 1

    def note_measured(self, report):
        report.node[0].measured_us = self.observed


def planned():
    report = PlacementReport()
    report.node.add(name="a", device="here", reason=PlacementReport.ACCELERATOR)
    return report


def test_only_traced_runs_report_and_the_placement_is_planned_once():
    plans, costs = [], Costs()
    step = ReportedStep(Step(), lambda: plans.append(1) or planned(), costs)
    assert step([1, 2]) == [1, 2] and step.explain() == "explains"
    results, metadata = step.run([3], b"")
    assert results == [3] and not RunMetadata.FromString(metadata).HasField("placement")
    assert not plans and not costs.observed
    for run in (1, 2):
        metadata = RunMetadata.FromString(step.run([3], TRACED)[1])
        (node,) = metadata.placement.node
        assert (node.name, node.reason) == ("a", PlacementReport.ACCELERATOR)
        assert node.measured_us == costs.observed == run
        assert metadata.step_stats.dev_stats[0].device == "here"
    assert len(plans) == 1


def test_a_closed_session_or_a_failure_leaves_the_report_out(caplog):
    step = ReportedStep(Step(), lambda: None, Costs())
    assert not RunMetadata.FromString(step.run([], TRACED)[1]).HasField("placement")

    def failing():
        raise RuntimeError("no plan")

    with caplog.at_level(logging.WARNING, "headrace.runtime"):
        results, metadata = ReportedStep(Step(), failing, Costs()).run([3], TRACED)
    assert results == [3] and not RunMetadata.FromString(metadata).HasField("placement")
    assert "no report of the placement: no plan" in caplog.text

    class Failing(Costs):
        def note_measured(self, report):
            raise ValueError("broken")

    step = ReportedStep(Step(), planned, Failing())
    with caplog.at_level(logging.WARNING, "headrace.runtime"):
        assert not RunMetadata.FromString(step.run([], TRACED)[1]).HasField("placement")
    assert "no report of the placement: broken" in caplog.text
