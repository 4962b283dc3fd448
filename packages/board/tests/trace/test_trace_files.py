"""Trace files of other programs' profilers are traces like those of event files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from fixtures.panel_client import PanelClient
from fixtures.trace_files import chrome_events, chrome_text, write_trace_files, xspace

from headrace.board.trace.foreign import trace_file
from headrace.board.trace.foreign.chrome_events import read_chrome_trace
from headrace.board.trace.foreign.foreign_slices import op_of
from headrace.board.trace.foreign.xplane_events import read_xplane
from headrace.board.trace.reading.step_columns import TraceError
from headrace.board.trace.reading.step_trace import StepTrace


def named(trace: StepTrace, name: str) -> int:
    (found,) = trace.slices_of(trace.name_ids[name])
    return int(found)


def test_chrome_slices_lie_on_named_threads_below_their_callers() -> None:
    trace = read_chrome_trace(chrome_text()).trace()
    lanes = [(lane.device_title, lane.thread, lane.row) for lane in trace.lanes]
    assert lanes == [
        ("python CPU", "main", 0),
        ("python CPU", "main", 1),
        ("python CPU", "main", 2),
        ("python CPU", "thread 2", 0),
        ("python GPU 0", "thread 9", 0),
    ]
    step, mm, launch = (
        named(trace, name) for name in ("ProfilerStep#3", "aten::mm", "cudaLaunchKernel")
    )
    assert trace.nested is not None
    assert trace.nested.caller[[launch, mm, step]].tolist() == [mm, step, -1]
    assert trace.nested.arguments(int(trace.row[mm])) == {"Input Dims": [[4, 8], [8, 2]]}
    assert (int(trace.start[launch]), int(trace.duration[launch])) == (20_000, 10_500)
    assert int(trace.duration[named(trace, "begun")]) == 7_000
    assert "[memory]" not in trace.names


def test_a_flow_is_an_arrow_between_the_slices_at_its_ends() -> None:
    trace = read_chrome_trace(chrome_text()).trace()
    kernel = named(trace, "void at::native::gemm_kernel<float, 4>(int)")
    assert trace.transfers.source.tolist() == [named(trace, "cudaLaunchKernel")]
    assert trace.transfers.target.tolist() == [kernel]


@pytest.mark.parametrize("form", ["array", "object"])
def test_a_trace_that_was_cut_off_keeps_its_whole_events(form: str) -> None:
    whole = json.dumps(chrome_events()) if form == "array" else chrome_text()
    cut = whole[: whole.index('"begun"')]
    assert len(read_chrome_trace(cut)) == 4
    assert len(read_chrome_trace(whole)) == 5


@pytest.mark.parametrize("text", ["", "{", "[]x", '{"a": 1}', "3", '"[{"', "[" * 100_000])
def test_what_is_no_trace_is_an_error(text: str) -> None:
    with pytest.raises(TraceError):
        read_chrome_trace(text)


def test_events_without_a_valid_time_are_left_out_and_counted() -> None:
    wrong = [
        {"ph": "X", "name": "a", "ts": "x", "dur": 1},
        {"ph": "X", "name": "b", "ts": 1e300, "dur": 1},
        {"ph": "X", "name": "c", "ts": 1, "dur": -5},
        {"ph": "X", "name": "d", "ts": None},
        {"ph": "E", "ts": 1},
        {"ph": "M", "name": "process_name", "pid": [1], "args": 3},
        {"ph": "f", "id": {}, "ts": 1},
        {"ph": "X", "name": ["e"], "pid": {}, "tid": None, "ts": "2", "dur": "1"},
        7,
    ]
    trace = read_chrome_trace(json.dumps(wrong)).trace()
    assert (len(trace), trace.untimed) == (1, 4)


def test_planes_and_lines_of_an_xspace_are_devices_and_threads() -> None:
    trace = read_xplane(xspace().SerializeToString()).trace()
    lanes = [(lane.device_title, lane.thread, lane.row) for lane in trace.lanes]
    assert lanes == [
        ("device:GPU:0", "thread 7", 0),
        ("host:CPU", "python", 0),
        ("host:CPU", "python", 1),
    ]
    inner, kernel = named(trace, "MatMul"), named(trace, "fusion.12")
    assert (int(trace.start[inner]), int(trace.duration[inner])) == (1_000, 2_000)
    assert trace.transfers.source.tolist() == [inner]
    assert trace.transfers.target.tolist() == [kernel]
    assert trace.nested is not None
    assert trace.nested.arguments(int(trace.row[inner])) == {"shape": "f32[2]"}
    with pytest.raises(TraceError):
        read_xplane(b"\xff\xff\xff")


def test_names_without_numbers_and_templates_are_ops() -> None:
    assert op_of("fusion.12") == "fusion"
    assert op_of("ProfilerStep#3") == "ProfilerStep"
    assert op_of("void at::native::gemm_kernel<float, 4>(int)") == "gemm_kernel"
    assert op_of("aten::mm") == "aten::mm"


def test_times_by_op_leave_out_what_callees_took(tmp_path: Path) -> None:
    client = PanelClient(write_trace_files(tmp_path))
    (torch,) = [row for row in client.get("/traces")["traces"] if row["title"] == "host.17"]
    summary = client.get(f"/trace/{torch['id']}/summary")
    times = {row["op"]: row["total_ns"] for row in summary["totals"]["by_op"]}
    assert times["ProfilerStep"] == 60_000
    assert times["aten::mm"] == 29_500
    assert times["cudaLaunchKernel"] == 10_500
    assert summary["totals"]["total_ns"] == 100_000 + 7_000 + 30_000
    assert (summary["stalls"], summary["critical"]["slices"]) == ([], 0)
    part = client.get(f"/trace/{torch['id']}/totals?t0=0&t1=30000")["totals"]["by_op"]
    assert {row["op"]: row["total_ns"] for row in part}["aten::mm"] == 10_000


def test_trace_files_are_listed_with_run_and_title_and_no_step(tmp_path: Path) -> None:
    client = PanelClient(write_trace_files(tmp_path))
    names = {run.id: run.name for run in client.index.runs()}
    rows = client.get("/traces")["traces"]
    assert [(names[row["run"]], row["title"], row["step"]) for row in rows] == [
        ("keras/train", "2026_11_28/host (XLA)", None),
        ("torch", "host.17", None),
    ]
    for row in rows:
        header = client.get(f"/trace/{row['id']}")
        assert header["slices"] > 0
        client.get(f"/trace/{row['id']}/memory")
        client.get(f"/trace/{row['id']}/names")
        details = client.get(f"/trace/{row['id']}/slice?slice=1")
        assert "arguments" in details
        assert client.get(f"/trace/{row['id']}/chrome.json")["traceEvents"]


def test_a_compressed_trace_is_read_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = tmp_path / "a.trace.json.gz"
    name.write_bytes(gzip.compress(chrome_text().encode()))
    client = PanelClient(tmp_path)
    (row,) = client.get("/traces")["traces"]
    assert client.get(f"/trace/{row['id']}")["slices"] == 5
    monkeypatch.setattr(trace_file, "MAX_BYTES", 100)
    reply = PanelClient(tmp_path).get("/trace/0", 422)
    assert "more than" in reply["error"]


def test_damaged_trace_files_are_errors_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.trace.json.gz").write_bytes(b"\x1f\x8b" + b"x" * 30)
    (tmp_path / "b.xplane.pb").write_bytes(b"\xff" * 9)
    (tmp_path / "c_trace.json").write_text("{}")
    client = PanelClient(tmp_path)
    rows = client.get("/traces")["traces"]
    assert len(rows) == 3
    for row in rows:
        assert "cannot be read" in client.get(f"/trace/{row['id']}", 422)["error"]
