"""A step is placed again once it is measured, and keeps what was faster."""

from __future__ import annotations

import threading
import time

import pytest

from headrace.formats.proto.plan_pb2 import PlacementReport
from headrace.formats.proto.run_pb2 import RunMetadata, RunOptions
from headrace.runtime.session.moving_step import MovingStep, PlacedStep

real_sleep = time.sleep


class Step:
    """Returns its name; a run takes a fixed time of a clock that only steps move."""

    def __init__(self, name, seconds, clock):
        self.name, self.seconds, self.clock = name, seconds, clock
        self.traced = self.plain = 0

    def __call__(self, values):
        self.plain += 1
        self.clock[0] += self.seconds
        return [self.name]

    def run(self, values, options):
        self.traced += RunOptions.FromString(options).trace_level == RunOptions.FULL_TRACE
        return [self.name], RunMetadata().SerializeToString()

    def explain(self):
        return f"explains {self.name}"


class Costs:
    observed = 0

    def observe(self, metadata):
        RunMetadata.FromString(metadata)
        self.observed += 1

    def note_measured(self, report):
        report.node[0].measured_us = self.observed


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def at(device, step):
    report = PlacementReport()
    report.node.add(name="a", device=device)
    return PlacedStep(step, device, report)


def runs(step, count=60):
    return [step([])[0] for _ in range(count)]


def test_a_step_whose_placement_stays_is_measured_a_few_times_only(clock):
    first, costs = Step("first", 1.0, clock), Costs()
    step = MovingStep(at("here", first), lambda: at("here", Step("same", 1.0, clock)), costs, 0)
    assert set(runs(step)) == {"first"}
    assert step.settled and first.traced == costs.observed == 3
    assert step.explain() == "explains first"


def test_a_faster_placement_stays_and_a_slower_one_goes(clock):
    for seconds, expected in ((0.5, "second"), (0.99, "first"), (2.0, "first")):
        second = Step("second", seconds, clock)
        step = MovingStep(
            at("here", Step("first", 1.0, clock)),
            lambda second=second: at("there", second),
            Costs(),
            0,
        )
        found = runs(step)
        assert step.settled and "second" in found
        assert found[-1] == expected


def test_placements_are_compared_until_one_repeats_but_not_for_ever(clock):
    made = []

    def place():
        made.append(Step(f"step{len(made)}", 0.5 ** (len(made) + 1), clock))
        return at(f"place{len(made)}", made[-1])

    step = MovingStep(at("place0", Step("first", 1.0, clock)), place, Costs(), 0)
    assert runs(step, 200)[-1] == "step2"
    assert step.settled and len(made) == 3


def test_a_period_sets_when_nodes_are_placed_again(clock):
    called = []

    def place():
        called.append(True)
        return at("there", Step("second", 0.1, clock))

    step = MovingStep(at("here", Step("first", 1.0, clock)), place, Costs(), 20)
    assert set(runs(step, 21)) == {"first"}
    assert called == [True]
    assert step([]) == ["second"]


def test_where_no_step_can_be_made_now_it_is_tried_again(clock):
    answers = [None, None, at("there", Step("second", 0.1, clock))]
    step = MovingStep(at("here", Step("first", 1.0, clock)), lambda: answers.pop(0), Costs(), 0)
    assert set(runs(step, 11)) == {"first"}
    assert not answers and step([]) == ["second"]


def test_a_run_that_fails_is_no_measurement(clock):
    class Failing(Step):
        def __call__(self, values):
            raise ValueError("fails")

        def run(self, values, options):
            raise ValueError("fails")

    costs = Costs()
    step = MovingStep(at("here", Failing("first", 1.0, clock)), lambda: None, costs, 0)
    for _ in range(20):
        with pytest.raises(ValueError, match="fails"):
            step([])
    assert costs.observed == 0 and not step.settled


def test_a_traced_run_reports_the_placement_that_it_had(clock):
    step = MovingStep(
        at("here", Step("first", 1.0, clock)),
        lambda: at("there", Step("second", 0.1, clock)),
        Costs(),
        0,
    )
    traced = RunOptions(trace_level=RunOptions.FULL_TRACE).SerializeToString()
    for device in ("here", "there"):
        _, metadata = step.run([], traced)
        (node,) = RunMetadata.FromString(metadata).placement.node
        assert node.device == device and node.measured_us > 0
        assert not step.run([], b"")[1]
        runs(step)


def test_runs_of_many_threads_do_not_meet_a_step_that_has_settled():
    """Runs that began before another thread ended the measurements end like all others."""
    calls, failed = [0], []

    class Slow(Step):
        def __call__(self, values):
            real_sleep(0.0005)
            return [self.name]

        def run(self, values, options):
            real_sleep(0.0005)
            return [self.name], RunMetadata().SerializeToString()

    def place():
        calls[0] += 1
        real_sleep(0.001)
        return at(f"place{calls[0] % 3}", Slow(f"step{calls[0]}", 0, [0.0]))

    def work(step):
        try:
            for _ in range(60):
                step([])
        except BaseException as error:  # shown by the main thread
            failed.append(error)

    for _ in range(8):
        step = MovingStep(at("place0", Slow("first", 0, [0.0])), place, Costs(), 0)
        threads = [threading.Thread(target=work, args=(step,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed, failed[0]
        assert step.settled


def test_two_threads_do_not_place_at_once(clock):
    inside, most = [0], [0]
    started = threading.Event()

    def place():
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        started.set()
        real_sleep(0.05)
        inside[0] -= 1
        return at("here", Step("same", 1.0, clock))

    step = MovingStep(at("here", Step("first", 1.0, clock)), place, Costs(), 0)
    runs(step, 8)
    threads = [threading.Thread(target=step, args=([],)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert started.is_set() and most[0] == 1


def test_a_placement_that_fails_fails_no_run(clock):
    def place():
        raise ValueError("cannot place")

    step = MovingStep(at("here", Step("first", 1.0, clock)), place, Costs(), 0)
    assert set(runs(step)) == {"first"}
    assert step.settled


def test_a_report_that_fails_leaves_the_results_of_a_traced_run(clock):
    class Failing(Costs):
        def note_measured(self, report):
            raise ValueError("cannot report")

    step = MovingStep(at("here", Step("first", 1.0, clock)), lambda: None, Failing(), 0)
    traced = RunOptions(trace_level=RunOptions.FULL_TRACE).SerializeToString()
    results, metadata = step.run([], traced)
    assert results == ["first"]
    assert not RunMetadata.FromString(metadata).HasField("placement")


@pytest.mark.parametrize(("seconds", "expected"), [(0.5, "on one"), (0.99, "spread")])
def test_a_placement_by_estimates_only_is_compared_with_that_on_one_device(
    clock, seconds, expected
):
    """Estimates know nothing of what the executor takes for many small segments."""
    called = []

    def first():
        called.append(True)
        return at("one", Step("on one", seconds, clock))

    spread = at("both", Step("spread", 1.0, clock))
    step = MovingStep(spread, lambda: at("both", Step("same", 1.0, clock)), Costs(), 0, first)
    found = runs(step)
    assert step.settled and called == [True]
    assert {"spread", "on one"} == set(found) and found[-1] == expected
