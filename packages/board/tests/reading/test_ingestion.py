"""Reading a logdir once: the store has what the files contain."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import numpy as np
import pytest
from fixtures import corrupted_logs, event_logs
from fixtures.boards import load, problems, run_names, scalars

from headrace.board.reading import event_file_reader, scan_batch, scan_events_python
from headrace.board.reading.log_folder import LogFolder
from headrace.board.reading.logdir_walk import walk_logdir
from headrace.board.store.blob_series import BlobSeries
from headrace.formats.errors import DataLossError
from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event

pytestmark = pytest.mark.usefixtures("either_scanner")


def test_runs_are_the_folders_with_event_files(tmp_path: Path) -> None:
    before = time.time()
    event_logs.write_m(tmp_path, runs=11, tags=2, steps=5)
    event_logs.write_a(tmp_path, 3)
    (tmp_path / "sweep0" / "notes.txt").write_text("no event file")
    board = load(tmp_path)
    assert run_names(board) == [
        ".", *[f"sweep0/run{i:03d}" for i in range(10)], "sweep1/run010"
    ]  # fmt: skip
    assert len(board.index.all_series()) == 11 * 2 + 1
    assert before <= board.index.run(0).start <= time.time()


def test_every_point_of_a_file_of_several_passes_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.board.reading.event_file_reader.PASS_BYTES", 1000)
    event_logs.write_a(tmp_path / "r", 5000)
    board = load(tmp_path)
    assert board.index.rev > 100  # one for each pass, about
    columns = scalars(board, "r", "loss").columns()
    assert columns.step.tolist() == [*range(5000)]
    want = np.array([event_logs.curve(step) for step in range(5000)], np.float32)
    assert np.array_equal(columns.value, want)


def test_a_restarted_run_has_segments_and_superseded_points(tmp_path: Path) -> None:
    event_logs.write_restarted(tmp_path)
    board = load(tmp_path)
    columns = scalars(board, ".", "loss").columns()
    assert np.flatnonzero(columns.superseded).tolist() == [*range(60, 100)]
    assert columns.segments == board.index.runs()[0].segments == 2
    assert not scalars(board, ".", "once").columns().superseded.any()


def test_blobs_are_found_again_by_their_place(tmp_path: Path) -> None:
    event_logs.write_images(tmp_path, 20, 500)
    board = load(tmp_path)
    (series,) = board.index.series_of_kind("image")
    assert isinstance(series, BlobSeries)
    rows = series.rows()
    for i in (19, 0, 7):
        encoded = board.records.value(rows, i).image.encoded_image_string
        assert encoded[8:12] == i.to_bytes(4, "little")
    graphs = corrupted_logs.every_kind(tmp_path / "kinds")
    assert graphs.exists()
    board = load(tmp_path)
    for series in board.index.series_of_kind("graph"):
        assert isinstance(series, BlobSeries)
        assert board.records.payload(series.rows(), 0) == b"\n\0"


def test_a_changed_record_is_rejected(tmp_path: Path) -> None:
    path = event_logs.write_images(tmp_path, 3, 500)
    board = load(tmp_path)
    series = board.index.series_of_kind("image")[0]
    assert isinstance(series, BlobSeries)
    rows = series.rows()
    data = bytearray(path.read_bytes())
    data[int(rows.offset[1]) + 100] ^= 1
    path.write_bytes(data)
    board.records.value(rows, 0)
    with pytest.raises(DataLossError, match=r"has CRC 0x.* is stored"):
        board.records.value(rows, 1)
    path.write_bytes(data[:50])
    with pytest.raises(DataLossError, match=r"has 0 of \d+ bytes"):
        board.records.value(rows, 2)


@pytest.mark.parametrize("corruption", ["payload", "length", "torn"])
def test_corruption_costs_one_record_is_reported_and_affects_no_other_run(
    tmp_path: Path, corruption: str
) -> None:
    records = corrupted_logs.records_of_900()
    make = {
        "payload": corrupted_logs.flip_payload_byte,
        "length": corrupted_logs.flip_length_byte,
        "torn": corrupted_logs.cut_last_record,
    }[corruption]
    corrupted_logs.write_records(tmp_path / "bad", make(records))
    corrupted_logs.write_records(tmp_path / "good", b"".join(records))
    board = load(tmp_path)
    assert len(scalars(board, "bad", "loss")) == 899
    assert len(scalars(board, "good", "loss")) == 900
    (problem,) = board.index.problems.list()
    assert problem.kind == {"payload": "bad_payload", "length": "bad_length"}.get(
        corruption, "torn"
    )
    assert problem.file is not None and problem.file.startswith("bad/events.out")
    lost = len(records[900]) - 9 if corruption == "torn" else len(records[450])
    assert (problem.bytes, problem.count) == (lost, 1)
    assert board.index.run(problem.run or 0).name == "bad"


def test_intact_records_survive_many_flips(tmp_path: Path) -> None:
    """benchmarks/corrupted_files.py does the same with 2000 files."""
    rng = random.Random(1)
    records = corrupted_logs.records_of_900()
    starts = np.cumsum([0] + [len(record) for record in records])
    for i in range(25):
        data = bytearray(b"".join(records))
        places = {rng.randrange(len(data)) for _ in range(20)}
        for at in places:
            data[at] ^= 1 << rng.randrange(8)
        corrupted_logs.write_records(tmp_path / f"run{i}", bytes(data))
        hit = set(np.searchsorted(starts, sorted(places), "right") - 1)
        intact = [k - 1 for k in range(1, 901) if k not in hit]
        board = load(tmp_path / f"run{i}")
        assert scalars(board, ".", "loss").columns().step.tolist() == intact
        reported = board.index.problems.list()
        assert sum(problem.count for problem in reported) <= len(hit)
        assert sum(problem.bytes for problem in reported) == sum(len(records[k]) for k in hit)


def test_the_first_nan_and_a_clock_that_goes_back_are_reported(tmp_path: Path) -> None:
    with EventFileWriter(tmp_path / "r") as writer:
        for step in range(100):
            value = float("nan") if step in (40, 70) else float("inf") if step == 80 else 1.0
            wall = event_logs.WALL + step - (3600 if step >= 50 else 0)
            writer.write(event_logs.simple_event(step, wall, [("loss", value)]))
    board = load(tmp_path)
    (nan,), (inf,) = problems(board, "nan"), problems(board, "infinite")
    assert (nan.text, nan.count) == ("loss is NaN first at step 40", 2)
    assert (inf.text, inf.count) == ("loss is infinite first at step 80", 1)
    loss = scalars(board, "r", "loss").tag.id
    assert [(one.tag, one.step) for one in (nan, inf)] == [(loss, 40), (loss, 80)]
    (clock,) = problems(board, "clock_jump")
    assert clock.text == "the writer's clock went back by 3599 s before step 50 of loss"


def test_a_broken_clock_is_reported_in_few_digits(tmp_path: Path) -> None:
    with EventFileWriter(tmp_path / "r") as writer:
        for step, wall in enumerate((event_logs.WALL, 1e300, event_logs.WALL + 2)):
            writer.write(event_logs.simple_event(step, wall, [("loss", 1.0)]))
    (clock,) = problems(load(tmp_path), "clock_jump")
    assert clock.text == "the writer's clock went back by 1e+300 s before step 2 of loss"


def test_two_files_that_grow_at_once_with_one_tag_are_reported(tmp_path: Path) -> None:
    a, b = EventFileWriter(tmp_path / "r", ".a"), EventFileWriter(tmp_path / "r", ".b")
    for step in range(10):
        a.write(event_logs.simple_event(step, event_logs.WALL + step, [("loss", 1), ("a", 1)]))
        b.write(event_logs.simple_event(step, event_logs.WALL + step, [("loss", 2), ("b", 1)]))
    a.close()
    b.close()
    board = load(tmp_path)
    (problem,) = problems(board, "duplicate_writers")
    assert "'loss'" in problem.text
    assert not scalars(board, "r", "loss").columns().superseded.any()


def test_a_file_that_is_not_an_event_file_is_reported_and_affects_no_other(tmp_path: Path) -> None:
    corrupted_logs.write_records(tmp_path / "bad", bytes(range(256)) * 40)
    event_logs.write_a(tmp_path / "good", 10)
    board = load(tmp_path)
    (problem,) = problems(board, "lost_tail")
    assert (problem.offset, problem.bytes) == (0, 10240)
    assert len(scalars(board, "good", "loss")) == 10


def test_hostile_names_are_kept_as_they_are(tmp_path: Path) -> None:
    corrupted_logs.write_hostile(tmp_path)
    board = load(tmp_path)
    assert set(run_names(board)) == {"<b>run<b>", "run\u202etxt", "=1+1"}
    names = {tag.name for tag in board.index.tags() if tag.kind == "scalar"}
    want = {name[:65536] for name in corrupted_logs.HOSTILE_NAMES} | {"odd/times", "\ufffd"}
    assert names == want
    assert len(problems(board, "bad_event")) == 3
    assert np.isnan(board.index.runs()[0].last_wall) or board.index.runs()[0].last_wall > 0


def test_links_are_followed_inside_the_logdir_only(tmp_path: Path) -> None:
    logdir, outside = tmp_path / "logs", tmp_path / "outside"
    event_logs.write_a(logdir / "real", 3)
    secret = event_logs.write_a(outside / "secret", 3)
    (logdir / "inside").symlink_to(logdir / "real")
    (logdir / "out").symlink_to(outside)
    (logdir / "loop").symlink_to(logdir)
    (logdir / "real" / secret.name).symlink_to(secret)
    (logdir / "events.tfevents.dangling").symlink_to("nowhere")
    os.mkfifo(logdir / "real" / "pipe.tfevents.1")
    board = load(logdir)
    assert run_names(board) == ["inside", "real"]
    assert len(scalars(board, "inside", "loss")) == 3
    reported = {problem.file: problem.text for problem in problems(board, "skipped")}
    assert "out of the logdir" in reported["out"]
    assert "out of the logdir" in reported[f"real/{secret.name}"]
    assert "circle" in reported["loop"]
    assert reported["real/pipe.tfevents.1"] == "not a regular file"
    board = load(logdir, follow_links=True)
    assert run_names(board) == ["inside", "out/secret", "real"]


def limit_tags(monkeypatch: pytest.MonkeyPatch, limit: int) -> int:
    """Lowers the limit where it is not compiled in. Returns: the limit that holds."""
    if os.environ["HEADRACE_BOARD_SCANNER"] == "native":
        return scan_batch.MAX_TAGS
    for module in (event_file_reader, scan_events_python):
        monkeypatch.setattr(module, "MAX_TAGS", limit)
    return limit


def test_a_run_reports_the_tags_beyond_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_file_reader, "MAX_TAGS", 500)
    for suffix in (".a", ".b"):
        with EventFileWriter(tmp_path, suffix) as writer:
            names = [(f"{suffix}/{i}", 1.0) for i in range(300)]
            writer.write(event_logs.simple_event(0, event_logs.WALL, names))
    board = load(tmp_path)
    assert len(board.index.all_series()) == 500
    (problem,) = problems(board, "tag_limit")
    assert problem.text == "the run has more than 100000 tags; the further ones are not read"


def test_links_behind_links_lead_to_a_folder_once(tmp_path: Path) -> None:
    """Thirty folders with two links each to the next one have 2**30 names."""
    for i in range(30):
        event_logs.write_a(tmp_path / f"d{i:02d}", 1)
        if i < 29:
            for link in ("a", "b"):
                (tmp_path / f"d{i:02d}" / link).symlink_to(tmp_path / f"d{i + 1:02d}")
    for link in ("best", "latest"):
        (tmp_path / link).symlink_to(tmp_path / "d29")
    board = load(tmp_path)
    names = run_names(board)
    assert {"best", "latest", *(f"d{i:02d}" for i in range(30)), "d03/a", "d03/b"} <= set(names)
    assert len(names) < 200
    assert len(scalars(board, "latest", "loss")) == 1
    reported = {problem.text for problem in problems(board, "skipped")}
    assert reported == {"a link below another link, to a folder that was found already"}


def test_folders_of_a_logdir_beyond_100_000_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.board.reading.logdir_walk._MAX_FOLDERS", 10)
    for i in range(20):
        event_logs.write_a(tmp_path / f"r{i:02d}", 1)
    board = load(tmp_path)
    assert run_names(board) == [f"r{i:02d}" for i in range(9)]  # and the logdir itself
    (problem,) = problems(board, "skipped")
    assert problem.text == "more than 10 folders: the further ones are not read"


def test_a_walk_stops_on_request(tmp_path: Path) -> None:
    for i in range(5):
        event_logs.write_a(tmp_path / f"r{i}", 1)
    logdir = LogFolder(tmp_path)
    logdir.refresh()
    results = iter([False, False, True, True, True, True, True])
    assert list(walk_logdir(logdir, lambda: next(results)).folder_times) == ["", "r0"]
    logdir.close()


def test_values_of_tags_beyond_the_limit_are_one_problem_with_their_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = limit_tags(monkeypatch, 3000) // 1000
    with EventFileWriter(tmp_path) as writer:
        for part in range(parts + 1):
            names = [(f"{part}/{i}", 1.0) for i in range(1000)]
            writer.write(event_logs.simple_event(part, event_logs.WALL + part, names))
        writer.write(event_logs.simple_event(200, event_logs.WALL, [("0/0", 2.0), ("new", 1.0)]))
    board = load(tmp_path)
    (problem,) = board.index.problems.list()
    assert (problem.kind, problem.count, problem.severity) == ("tag_limit", 1001, "warning")
    assert problem.text.startswith("the file has more than 100000 tags")
    assert scalars(board, ".", "0/0").columns().value.tolist() == [1.0, 2.0]


def test_the_last_plugin_content_of_each_run_counts(tmp_path: Path) -> None:
    """Run a says x, run b first y and then x too, in a second file."""
    for run, suffix, content in (("a", ".1", b"x"), ("b", ".1", b"y"), ("b", ".2", b"x")):
        event = Event(step=1)
        value = event.summary.value.add(tag="_hparams_/session_start_info")
        value.metadata.plugin_data.plugin_name = "hparams"
        value.metadata.plugin_data.content = content
        with EventFileWriter(tmp_path / run, suffix) as writer:
            writer.write(event)
    found = load(tmp_path).index.series_of_kind("hparams")
    assert {series.run.name: series.plugin_content for series in found} == {"a": b"x", "b": b"x"}


def test_folders_are_walked_a_hundred_deep(tmp_path: Path) -> None:
    deep = tmp_path
    for depth in range(1, 105):
        deep = deep / "d"
        deep.mkdir()
        if depth in (99, 104):
            event_logs.write_a(deep, 2)
    board = load(tmp_path)
    assert [name.count("/") for name in run_names(board)] == [98]
    (problem,) = problems(board, "skipped")
    assert problem.text == "more than 100 folders deep"
