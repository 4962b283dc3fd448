"""Curves over HTTP: queries, their replies and invalid requests."""

from __future__ import annotations

import csv
import io
import json
import math
import struct
from pathlib import Path

import numpy as np
import pytest
from fixtures import event_logs
from fixtures.panel_client import WALL, PanelClient, write_values
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.formats.proto.summary_pb2 import Summary

STEPS = 30_000


def value(tag: str, number: float) -> Summary.Value:
    return Summary.Value(tag=tag, simple_value=number)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> PanelClient:
    """Five runs of noise around a curve, two tags each; one has NaN and infinities."""
    folder = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    for run in range(5):
        noise = rng.normal(size=(STEPS, 2)).astype(np.float32)
        if run == 4:
            noise[100:110, 0] = np.nan
            noise[200, 0], noise[201, 0] = np.inf, -np.inf
        events = []
        for step in range(STEPS):
            pair = [("loss", noise[step, 0]), ("lr", abs(noise[step, 1]) + 1)]
            events.append(event_logs.simple_event(step * 2, WALL + step / 4, pair))
        with event_logs.EventFileWriter(folder / f"r{run}") as writer:
            for event in events:
                writer.write(event)
    return PanelClient(folder)


def data(runs: PanelClient, run: int, tag: str = "loss") -> np.ndarray:
    return runs.index.series(runs.run(f"r{run}"), runs.tag(tag)).columns().value.astype(float)


def column(reply: dict, curve: int, name: str) -> np.ndarray:
    names = reply["curves"][curve]["columns"]
    return np.array([float(v) for v in reply["columns"][names[name]]])


def recurrence(y: np.ndarray, weight: float) -> np.ndarray:
    """TensorBoard's smoothing, point by point."""
    last, power, out = 0.0, 1.0, []
    for v in y.tolist():
        if math.isfinite(v):
            last, power = last * weight + (1 - weight) * v, power * weight
            v = last / (1 - power)
        out.append(v)
    return np.array(out)


@pytest.mark.parametrize("run", [0, 4])
def test_smoothing_is_of_all_points_whatever_is_drawn(runs: PanelClient, run: int) -> None:
    reply = runs.scalars(
        tag=runs.tag("loss"),
        runs=[runs.run(f"r{run}")],
        px=50,
        smooth={"kind": "ema", "weight": 0.9},
    )
    rows = (column(reply, 0, "x") / 2).astype(int)
    assert 100 < len(rows) < 1000 == reply["curves"][0]["n"] - STEPS + 1000
    y = data(runs, run)
    np.testing.assert_allclose(column(reply, 0, "y"), recurrence(y, 0.9)[rows], rtol=1e-6)
    np.testing.assert_array_equal(column(reply, 0, "raw_y"), y[rows])
    assert reply["curves"][0]["columns"]["raw_x"] == reply["curves"][0]["columns"]["x"]


def test_a_group_is_numpys_mean_and_standard_deviation(runs: PanelClient) -> None:
    ids = [runs.run(f"r{run}") for run in range(4)]
    group = {"runs": [ids], "center": "mean", "band": "std"}
    reply = runs.scalars(tag=runs.tag("loss"), group=group, px=100)
    assert reply["curves"][0]["runs"] == 4 and reply["curves"][0]["n"] == STEPS
    rows = (column(reply, 0, "x") / 2).astype(int)
    values = np.stack([data(runs, run) for run in range(4)])
    mean, std = values.mean(0), values.std(0, ddof=1)
    for name, expected in (("y", mean), ("lo", mean - std), ("hi", mean + std)):
        np.testing.assert_allclose(column(reply, 0, name), expected[rows], rtol=1e-6, atol=1e-9)
    # The extremes of the whole are among what is drawn.
    assert column(reply, 0, "lo").min() == pytest.approx((mean - std).min(), rel=1e-12)


def test_an_expression_is_numpys(runs: PanelClient) -> None:
    reply = runs.scalars(
        runs=[runs.run("r4")],
        expression="log(abs(a)) / b - 1",
        variables={"a": runs.tag("loss"), "b": runs.tag("lr")},
        lo=0,
        hi=800,
    )
    with np.errstate(all="ignore"):
        expected = np.log(np.abs(data(runs, 4))) / data(runs, 4, "lr") - 1
    got = column(reply, 0, "y")[:401]
    np.testing.assert_allclose(got, expected[:401], rtol=1e-6)
    assert reply["curves"][0]["n"] == 401
    flags = column(reply, 0, "flags")
    assert np.isnan(got[100:110]).all() and (flags[100:110] == 1).all() and flags[200] == 2


@pytest.mark.parametrize("px", [1, 7, 300, 8192])
def test_what_is_drawn_is_in_the_data_and_spans_it(runs: PanelClient, px: int) -> None:
    reply = runs.scalars(tag=runs.tag("loss"), runs=[runs.run("r0"), runs.run("r1")], px=px)
    assert [curve["run"] for curve in reply["curves"]] == [runs.run("r0"), runs.run("r1")]
    for run in (0, 1):
        curve = reply["curves"][run]
        x, y, all_y = column(reply, run, "x"), column(reply, run, "y"), data(runs, run)
        assert curve["n"] == STEPS and curve["drawn"] == len(x)
        assert (np.diff(x) > 0).all()
        np.testing.assert_array_equal(y, all_y[(x / 2).astype(int)])
        assert (y.min(), y.max()) == (all_y.min(), all_y.max())
        assert len(x) <= 4 * px or len(x) == STEPS <= 4 * px


def test_each_x_axis_has_its_documented_values(runs: PanelClient) -> None:
    def x_of(**query: object) -> np.ndarray:
        return column(runs.scalars(tag=runs.tag("loss"), runs=[runs.run("r0")], **query), 0, "x")

    steps = np.arange(STEPS) * 2.0
    np.testing.assert_array_equal(x_of(px=8192), steps)
    np.testing.assert_array_equal(x_of(px=8192, x="wall"), WALL + steps / 8)
    np.testing.assert_allclose(x_of(px=8192, x="relative"), steps / 8, atol=1e-6)
    logarithmic = x_of(px=50, x_scale="log")
    assert logarithmic.min() == 2 or logarithmic[1] == 2
    assert np.count_nonzero(logarithmic < 600) > np.count_nonzero(logarithmic > 59_000)
    by_tag = runs.scalars(
        tag=runs.tag("loss"), runs=[runs.run("r0")], x={"tag": runs.tag("lr")}, px=8192
    )
    order = np.argsort(data(runs, 0, "lr"), kind="stable")
    np.testing.assert_array_equal(column(by_tag, 0, "x"), data(runs, 0, "lr")[order])
    np.testing.assert_array_equal(column(by_tag, 0, "y"), data(runs, 0)[order])


def test_a_line_runs_on_to_the_border(runs: PanelClient) -> None:
    reply = runs.scalars(tag=runs.tag("loss"), runs=[runs.run("r0")], lo=101, hi=105)
    assert column(reply, 0, "x").tolist() == [100, 102, 104, 106]
    assert (reply["curves"][0]["n"], reply["curves"][0]["drawn"]) == (2, 2)


def test_after_a_restart_the_older_points_are_flagged_and_count_for_nothing(tmp_path: Path) -> None:
    event_logs.write_restarted(tmp_path)
    client = PanelClient(tmp_path)
    query = {"tag": client.tag("loss"), "runs": [client.run()]}
    plain = client.scalars(**query)
    assert plain["curves"][0]["n"] == 120 and plain["curves"][0]["superseded"] == 40
    assert column(plain, 0, "x").tolist() == list(range(120))
    flags = column(plain, 0, "flags")
    assert flags[60] == 8 and flags.sum() == 8
    both = client.scalars(**query, superseded=True)
    assert both["curves"][0]["n"] == 160
    x, y, flags = (column(both, 0, name) for name in ("x", "y", "flags"))
    old = flags == 16
    assert x[old].tolist() == list(range(60, 100))
    assert y[old].tolist() == [float(np.float32(event_logs.curve(s))) for s in range(60, 100)]
    smooth = client.scalars(**query, smooth={"kind": "mean", "weight": 3})
    expected = [event_logs.curve(s) for s in range(60)]
    expected += [event_logs.curve(s, 1) for s in range(60, 120)]
    assert column(smooth, 0, "y")[60] == pytest.approx(np.mean(expected[59:62]), rel=1e-6)


def test_the_columns_of_a_series_are_all_of_it(runs: PanelClient) -> None:
    where = f"/series?run={runs.run('r4')}&tag={runs.tag('loss')}"
    got = runs.client.get(f"/api/v1{where}")
    size = struct.unpack("<I", got.data[:4])[0]
    header = json.loads(got.data[4 : 4 + size])
    assert [c["length"] for c in header["columns"]] == [STEPS] * 4
    values = np.array([float(v) for v in runs.get(where)["columns"]["value"]])
    np.testing.assert_array_equal(values, data(runs, 4))
    flags = runs.get(where)["columns"]["flags"]
    assert (flags[100], flags[200], flags[201], flags[0]) == (1, 2, 4, 0)


def test_an_export_has_every_point(runs: PanelClient) -> None:
    where = f"tags={runs.tag('loss')}&runs={runs.run('r0')},{runs.run('r4')}"
    got = runs.client.get(f"/api/v1/export.csv?{where}")
    assert "attachment" in got.headers["Content-Disposition"]
    rows = list(csv.reader(io.StringIO(got.get_data(as_text=True), newline="")))
    assert rows[0] == ["run", "tag", "step", "wall_time", "value"]
    assert len(rows) == 1 + 2 * STEPS
    for run, part in ((0, rows[1 : 1 + STEPS]), (4, rows[1 + STEPS :])):
        assert {row[0] for row in part} == {f"r{run}"}
        np.testing.assert_array_equal([float(row[4]) for row in part], data(runs, run))
        assert [int(row[2]) for row in part] == list(range(0, 2 * STEPS, 2))
    document = json.loads(runs.client.get(f"/api/v1/export.json?{where}").data)
    assert [one["run"] for one in document] == ["r0", "r4"]
    np.testing.assert_array_equal([float(v) for v in document[1]["value"]], data(runs, 4))
    part = runs.client.get(f"/api/v1/export.csv?{where}&lo=10&hi=14").get_data(as_text=True)
    assert [line.split(",")[2] for line in part.splitlines()[1:]] == ["10", "12", "14"] * 2


def test_an_export_marks_superseded_points(tmp_path: Path) -> None:
    event_logs.write_restarted(tmp_path)
    client = PanelClient(tmp_path)
    path = f"/api/v1/export.csv?tags={client.tag('loss')}"
    assert len(client.client.get(path).data.splitlines()) == 121
    rows = client.client.get(path + "&superseded=1").get_data(as_text=True).splitlines()
    assert rows[0].endswith(",superseded") and len(rows) == 161
    assert sum(row.endswith(",1") for row in rows) == 40


@pytest.mark.parametrize("name", ["=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)", "\t=1", 'a,"b'])
def test_no_cell_of_an_export_is_a_formula(tmp_path: Path, name: str) -> None:
    write_values(tmp_path, [(0, value(name, -1.5))])
    client = PanelClient(tmp_path)
    text = client.client.get("/api/v1/export.csv").get_data(as_text=True)
    run, tag, step, _, number = list(csv.reader(io.StringIO(text, newline="")))[1]
    assert tag.lstrip("'") == client.index.tags()[0].name and not tag.startswith(tuple("=+-@\t\r"))
    assert (run, step, number) == (".", "0", "-1.5")


REJECTED = [
    ({}, "tag is missing"),
    ({"tag": 0}, "runs is not a list"),
    ({"tag": True, "runs": []}, "tag is True, not an integer"),
    ({"tag": 0, "runs": [0], "px": 0}, "px is not within 1 and 8192"),
    ({"tag": 0, "runs": [0], "px": 8193}, "px is not within"),
    ({"tag": 0, "runs": [0], "x": "log"}, "x is 'log': it may be step, relative, wall"),
    ({"tag": 0, "runs": [0], "x": {"tags": 1}}, "x is an object, but not"),
    ({"tag": 0, "runs": [0], "lo": 2, "hi": 1}, "lo is 2.0, above hi"),
    ({"tag": 0, "runs": [0], "lo": math.nan}, "lo is not finite"),
    ({"tag": 0, "runs": [0], "hi": 10**400}, "hi is not finite"),
    ({"tag": 0, "runs": [0], "smooth": {"kind": "ema", "weight": 1}}, "from 0 to below 1"),
    ({"tag": 0, "runs": [0], "smooth": {"kind": "mean", "weight": 0}}, "number of points"),
    ({"tag": 0, "runs": [0], "smooth": {"kind": "median", "weight": 2.5}}, "number of points"),
    ({"tag": 0, "runs": [0], "smooth": {"kind": "gauss", "weight": 1}}, "ema, mean, median"),
    ({"tag": 0, "group": {"runs": [0]}}, "group.runs[0] is not a list"),
    ({"tag": 0, "group": {"runs": [[0]], "band": "sd"}}, "band is 'sd'"),
    ({"tag": 0, "runs": list(range(1001))}, "1001 runs, more than 1000"),
    ({"tag": 0, "group": {"runs": [list(range(600)), list(range(600, 1200))]}}, "1200 runs"),
    ({"runs": [0], "expression": "a +", "variables": {"a": 0}}, "ends where a name"),
    ({"runs": [0], "expression": "a + b", "variables": {"a": 0}}, "variables has no 'b'"),
    ({"runs": [0], "expression": "a"}, "variables is not an object"),
    ({"tag": 0, "runs": [0], "smoothing": None}, "has 'smoothing': there are only tag"),
]  # fmt: skip


@pytest.mark.parametrize("query, message", REJECTED)
def test_an_invalid_query_is_rejected_with_the_reason(runs: PanelClient, query, message) -> None:
    got = runs.client.post(
        "/api/v1/scalars",
        data=json.dumps({"queries": [query]}),
        headers={"X-Board": "1", "Content-Type": "application/json"},
    )
    assert got.status_code == 400, got.data
    assert message in json.loads(got.data)["error"]
    assert "queries[0]" in json.loads(got.data)["error"]


def test_unknown_runs_and_tags_are_not_found_and_missing_series_are_left_out(
    runs: PanelClient, tmp_path: Path
) -> None:
    assert "no tag 999" in runs.scalars(404, tag=999, runs=[0])["error"]
    assert "no run 999" in runs.scalars(404, tag=runs.tag("loss"), runs=[999])["error"]
    assert runs.send("/scalars", {"queries": [{}] * 17}, 400)["error"].startswith("queries has 17")
    assert runs.get("/series?run=0&tag=999", 404)["error"]
    write_values(tmp_path / "a", [(0, value("one", 1))])
    write_values(tmp_path / "b", [(0, value("other", 1))])
    client = PanelClient(tmp_path)
    both = [client.run("a"), client.run("b")]
    reply = client.scalars(tag=client.tag("one"), runs=both)
    assert [curve["run"] for curve in reply["curves"]] == [client.run("a")]
    empty = client.scalars(tag=client.tag("one"), group={"runs": [[client.run("b")], []]})
    assert [(c["runs"], c["n"]) for c in empty["curves"]] == [(0, 0), (0, 0)]


def test_no_request_holds_the_server_for_long(
    runs: PanelClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = {"tag": runs.tag("loss"), "runs": [runs.run("r0"), runs.run("r1")], "px": 8192}
    monkeypatch.setattr("headrace.board.series.query_evaluation.MAX_POINTS", STEPS - 1)
    assert "request fewer runs or px" in runs.scalars(400, **query)["error"]
    assert runs.scalars(**{**query, "px": 10})["curves"]
    monkeypatch.setattr("headrace.board.series.query_evaluation.MAX_S", -1.0)
    assert "request fewer runs at once" in runs.scalars(503, **query)["error"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 9) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
IDS = st.integers(-1, 6)
BOUND = st.none() | st.floats(allow_nan=False, allow_infinity=False) | JSON
SMOOTH = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["ema", "mean", "median"]),
        "weight": st.integers(0, 9) | st.floats(0, 1),
    }
)
GROUP = st.fixed_dictionaries(
    {"runs": st.lists(st.lists(IDS, max_size=4), max_size=3)},
    optional={
        "center": st.sampled_from(["mean", "median"]),
        "band": st.sampled_from(["std", "se", "minmax", "iqr"]),
    },
)
X = st.sampled_from(["step", "relative", "wall"]) | st.fixed_dictionaries({"tag": IDS})
EXPRESSION = st.none() | st.sampled_from(["a", "a / b", "log(a) - b", "1 / (a - a)"])
QUERY = st.fixed_dictionaries(
    {},
    optional={
        "tag": IDS | JSON,
        "runs": st.lists(IDS, max_size=4) | JSON,
        "x": X | JSON,
        "x_scale": st.sampled_from(["linear", "log"]),
        "lo": BOUND,
        "hi": BOUND,
        "px": st.integers(1, 50) | JSON,
        "smooth": st.none() | SMOOTH | JSON,
        "group": st.none() | GROUP | JSON,
        "expression": EXPRESSION | JSON,
        "variables": st.dictionaries(st.sampled_from("ab"), IDS) | JSON,
        "join": st.sampled_from(["exact", "last"]) | JSON,
        "superseded": st.booleans() | JSON,
    },
)
# Mostly valid queries.
GOOD = st.fixed_dictionaries(
    {"tag": st.integers(0, 1), "runs": st.lists(st.integers(0, 2), max_size=3)},
    optional={
        "x": X,
        "x_scale": st.sampled_from(["linear", "log"]),
        "px": st.integers(1, 20),
        "lo": st.none() | st.floats(-10, 150),
        "smooth": st.none() | SMOOTH,
        "group": st.none() | GROUP,
        "superseded": st.booleans(),
        "expression": EXPRESSION,
        "variables": st.fixed_dictionaries({"a": st.integers(0, 1), "b": st.integers(0, 1)}),
    },
)


@pytest.fixture(scope="module")
def odd_logs(tmp_path_factory: pytest.TempPathFactory) -> PanelClient:
    """Few points, all of them odd: huge, not finite, steps far apart, clocks that jump."""
    folder = tmp_path_factory.mktemp("odd")
    event_logs.write_restarted(folder / "restarted")
    numbers = [0.0, math.nan, math.inf, -math.inf, 3e38, -3e38, 1e-45, 1.0]
    with event_logs.EventFileWriter(folder / "odd") as writer:
        for i, number in enumerate(numbers * 12):
            wall = [WALL, math.nan, -1e308, math.inf][i % 4]
            step = i if i < 90 else 2**62 + i
            writer.write(event_logs.simple_event(step, wall, [("loss", number), ("lr", -number)]))
    write_values(folder / "one", [(5, value("loss", 1.0))])
    return PanelClient(folder)


@settings(max_examples=400, deadline=None)
@given(st.lists(GOOD | QUERY, max_size=3) | JSON)
def test_no_query_is_a_server_error(odd_logs: PanelClient, queries: object) -> None:
    got = odd_logs.client.post(
        "/api/v1/scalars",
        data=json.dumps({"queries": queries}),
        headers={"X-Board": "1", "Content-Type": "application/json", "Accept": "application/json"},
    )
    document = json.loads(got.data)
    assert got.status_code in (200, 400, 404)
    if got.status_code == 200:
        for curve in document["curves"]:
            columns = [document["columns"][name] for name in curve["columns"].values()]
            assert len({len(c) for c in columns}) == 1
            assert curve["drawn"] <= max(curve["n"], 0)
            x = [float(v) for v in document["columns"][curve["columns"]["x"]]]
            assert all(map(math.isfinite, x)) and x == sorted(x)
    else:
        assert document["error"]
