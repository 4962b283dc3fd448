from __future__ import annotations

import numpy as np
import pytest
from fixtures.traces import metadata_of, node_stats, planted_trace

from headrace.board.trace.reading.read_step import read_step
from headrace.board.trace.reading.step_trace import MERGED, StepTrace
from headrace.board.trace.zoom import downsample
from headrace.board.trace.zoom.downsample import downsample_trace


@pytest.fixture(scope="module")
def trace() -> StepTrace:
    return read_step(planted_trace(40_000).metadata)


def crowded(seed: int) -> StepTrace:
    """Lanes with slices of very different lengths, some of them none."""
    rng = np.random.default_rng(seed)
    nodes = []
    at = 0
    for i in range(400):
        took = int(rng.choice([0, 1, 7, 40, 300, 5000]))
        nodes.append(node_stats(f"n{i}_{'ABCDE'[int(rng.integers(5))]}", at, took))
        at += took + int(rng.choice([0, 0, 3, 200]))
    return read_step(metadata_of(w0_CPU_0=nodes).SerializeToString())


@pytest.fixture(params=["compiled", "numpy"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    assert downsample.downsample_lanes is not None
    if request.param == "numpy":
        monkeypatch.setattr(downsample, "downsample_lanes", None)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("zoom", [1, 3, 50])
@pytest.mark.parametrize("px", [1, 2, 37, 1600])
def test_a_downsampled_window_agrees_with_a_loop_over_the_slices(
    seed: int, zoom: int, px: int
) -> None:
    trace = crowded(seed)
    t0 = trace.duration_ns * 0.31 if zoom > 1 else 0.0
    t1 = t0 + trace.duration_ns / zoom
    result = downsample_trace(trace, t0, t1, px)
    pixel_ns = (t1 - t0) / max(1, px - 1)
    blocks: list[list[int]] = []
    last_key = None
    for i in range(len(trace)):
        start, end = int(trace.start[i]), int(trace.end[i])
        inside = start <= t1 and (end > t0 or start >= t0)
        if not inside:
            continue
        alone = end - start >= pixel_ns
        pixel = int((start - t0) // pixel_ns)
        key = ("alone", i, 0) if alone else ("pixel", pixel, int(trace.lane[i]))
        if key != last_key:
            blocks.append([])
        blocks[-1].append(i)
        last_key = key
    assert len(result) == len(blocks)
    for k, block in enumerate(blocks):
        took = trace.duration[block]
        assert result.start[k] == trace.start[block[0]]
        assert result.end[k] == trace.end[block[-1]]
        assert result.count[k] == len(block)
        assert result.busy_ns[k] == took.sum()
        assert (result.kind[k] == MERGED) == (len(block) > 1)
        by_op: dict[int, int] = {}
        for i in block:
            by_op[int(trace.op[i])] = by_op.get(int(trace.op[i]), 0) + int(trace.duration[i])
        assert by_op[int(result.op[k])] == max(by_op.values())
        longest = max(int(trace.duration[i]) for i in block if trace.op[i] == result.op[k])
        assert trace.duration[result.slice[k]] == longest
        assert result.slice[k] in block


@pytest.mark.parametrize("zoom", [1, 2, 17, 400])
def test_no_lane_has_more_than_two_items_a_pixel(trace: StepTrace, zoom: int) -> None:
    for px in (10, 333, 1600):
        result = downsample_trace(trace, 0, trace.duration_ns / zoom, px)
        assert np.bincount(result.lane).max() <= 2 * px


def test_items_of_the_whole_add_up_to_the_lanes(trace: StepTrace) -> None:
    result = downsample_trace(trace, 0, trace.duration_ns, 800)
    sums = np.bincount(result.lane, result.busy_ns).astype(np.int64)
    assert sums.tolist() == [lane.busy_ns for lane in trace.lanes]
    assert int(result.count.sum()) == len(trace)
    for lane in range(len(trace.lanes)):
        mine = result.lane == lane
        assert (result.end[mine][:-1] <= result.start[mine][1:]).all()


def test_a_cut_of_some_lanes_is_that_part_of_the_cut_of_all(trace: StepTrace) -> None:
    t0, t1 = trace.duration_ns * 0.2, trace.duration_ns * 0.7
    every, some = downsample_trace(trace, t0, t1, 500), downsample_trace(trace, t0, t1, 500, [5, 2])
    chosen = np.isin(every.lane, [2, 5])
    np.testing.assert_array_equal(every.slice[chosen], some.slice)
    np.testing.assert_array_equal(every.busy_ns[chosen], some.busy_ns)


def test_the_share_on_the_critical_path_is_reported(trace: StepTrace) -> None:
    critical = np.zeros(len(trace), bool)
    critical[::3] = True
    result = downsample_trace(trace, 0, trace.duration_ns, 300, critical=critical)
    assert int(result.critical_ns.sum()) == int(trace.duration[critical].sum())


def test_nothing_in_the_window_is_an_empty_cut(trace: StepTrace) -> None:
    assert len(downsample_trace(trace, trace.duration_ns + 10, trace.duration_ns + 20, 100)) == 0
    assert len(downsample_trace(read_step(b""), 0, 1, 100)) == 0
