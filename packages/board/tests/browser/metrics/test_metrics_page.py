"""The Metrics page agrees with the logs: points, smoothing, groups, axes, downloads."""

from __future__ import annotations

import csv
import io
import json
import math
import random
import struct
import urllib.request
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.metrics_view import WALL, chart, open_view, settled, until, write_run
from fixtures import event_logs


def as_float32(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


def value_of(shown: Any) -> float:
    return float(shown)


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, np.ndarray]]:
    """Two runs of loss and acc with 500 noisy points each; every value is a float32."""
    logdir = tmp_path_factory.mktemp("two")
    random.seed(7)
    values = {}
    for number, name in enumerate(("seed_1", "seed_2")):
        rows = []
        loss = [as_float32(math.exp(-s / 200) + random.random() * 0.1 + number) for s in range(500)]
        acc = [as_float32(1 - v / 4) for v in loss]
        for s in range(500):
            rows.append((s * 2, WALL + number * 1000 + s, [("loss", loss[s]), ("acc", acc[s])]))
        write_run(logdir / name, rows)
        values[f"{name}/loss"] = np.array(loss)
        values[f"{name}/acc"] = np.array(acc)
    return logdir, values


def test_every_planted_spike_is_on_the_chart_at_every_zoom(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    points = 200_000
    random.seed(1)
    spikes = {at: 5.0 + i for i, at in enumerate(random.sample(range(points), 30))}
    bad = random.sample(sorted(set(range(points)) - set(spikes)), 9)
    odd = {at: (math.nan, math.inf, -math.inf)[i % 3] for i, at in enumerate(bad)}
    rows = [
        (s, WALL + s, [("loss", odd.get(s, spikes.get(s, math.sin(s))))]) for s in range(points)
    ]
    write_run(tmp_path / "run", rows)
    url = board_server(tmp_path).url
    zooms = [(0, points - 1), (0, points // 2), (points // 3, points // 3 + 20_000)]
    for lo, hi in zooms:
        open_view(page, url, f"z=loss={lo}:{hi}")
        shown = until(lambda: (c := chart(page, "loss"))["curves"][0]["n"] > 0 and c)
        curve = shown["curves"][0]
        at = {int(x): y for x, y in zip(curve["x"], curve["y"])}
        for step, value in spikes.items():
            if lo <= step <= hi:
                assert at.get(step) == value
        flags = dict(zip((int(x) for x in curve["x"]), curve["flags"] or []))
        for step, value in odd.items():
            if lo <= step <= hi:
                expected = 1 if math.isnan(value) else 2 if value > 0 else 4
                assert flags[step] & expected
        assert curve["drawn"] < curve["n"] or hi - lo < 3000
    assert page.locator(".badge").first.inner_text() == "NaN 3, Inf"


def test_smoothing_equals_a_debiased_average_of_all_points(
    two_runs: tuple[Path, dict[str, np.ndarray]], board_server: Any, page: Any
) -> None:
    logdir, values = two_runs
    open_view(page, board_server(logdir).url, "s=0.9")
    curve = next(c for c in chart(page, "loss")["curves"] if c["label"] == "seed_1")
    data = values["seed_1/loss"]
    average, debias, expected = 0.0, 0.0, []
    for v in data:
        average = average * 0.9 + v * 0.1
        debias = debias * 0.9 + 0.1
        expected.append(average / debias)
    assert len(curve["y"]) == len(data)
    np.testing.assert_allclose(curve["y"], expected, rtol=1e-6)
    np.testing.assert_array_equal(curve["raw"], data)


def test_groups_show_the_mean_and_the_band_of_their_runs(
    two_runs: tuple[Path, dict[str, np.ndarray]], board_server: Any, page: Any
) -> None:
    logdir, values = two_runs
    url = board_server(logdir).url
    both = np.stack([values["seed_1/loss"], values["seed_2/loss"]])
    open_view(page, url, "g=re:seed&gb=minmax")
    (curve,) = chart(page, "loss")["curves"]
    assert curve["label"] == "seed (2)"
    np.testing.assert_allclose(curve["y"], both.mean(0), rtol=1e-6)
    np.testing.assert_allclose(curve["lo"], both.min(0), rtol=1e-6)
    np.testing.assert_allclose(curve["hi"], both.max(0), rtol=1e-6)
    open_view(page, url, "g=all&gb=std&gc=median")
    (curve,) = chart(page, "loss")["curves"]
    np.testing.assert_allclose(curve["y"], np.median(both, 0), rtol=1e-6)
    spread = np.asarray(curve["hi"]) - np.asarray(curve["lo"])
    np.testing.assert_allclose(spread, 2 * both.std(0, ddof=1), rtol=1e-5)


def test_an_expression_of_tags_is_a_chart(
    two_runs: tuple[Path, dict[str, np.ndarray]], board_server: Any, page: Any
) -> None:
    logdir, values = two_runs
    open_view(page, board_server(logdir).url)
    page.get_by_role("button", name="chart", exact=True).click()
    page.locator(".popover input").fill("=loss/acc")
    page.get_by_role("button", name="Add the chart").click()
    curves = {c["label"]: c for c in chart(page, "made:=loss/acc")["curves"]}
    expected = values["seed_2/loss"] / values["seed_2/acc"]
    np.testing.assert_allclose(curves["seed_2"]["y"], expected, rtol=1e-6)


def test_tags_share_a_chart_after_a_drop_and_one_has_an_axis_of_its_own(
    two_runs: tuple[Path, dict[str, np.ndarray]], board_server: Any, page: Any
) -> None:
    open_view(page, board_server(two_runs[0]).url)
    settled(page)
    cards = page.locator("article.tile")
    cards.nth(0).locator("h3").drag_to(cards.nth(1))
    shown = until(lambda: (c := chart(page, "loss")) and len(c["curves"]) == 4 and c)
    assert {c["tag"] for c in shown["curves"]} == {"loss", "acc"}
    cards.nth(1).hover()
    cards.nth(1).get_by_role("button", name="Menu of the card").click()
    page.get_by_role("menuitemcheckbox", name="acc on a right axis").click()
    shown = until(lambda: (c := chart(page, "loss"))["view"]["right"] and c)
    assert [c["right"] for c in shown["curves"] if c["tag"] == "acc"] == [True, True]
    assert shown["view"]["right"][1] < 1.1


def test_x_axes_have_the_columns_and_ticks_of_their_kind(
    two_runs: tuple[Path, dict[str, np.ndarray]], board_server: Any, page: Any
) -> None:
    logdir, values = two_runs
    url = board_server(logdir).url

    def second(view: str) -> tuple[dict[str, Any], dict[str, Any]]:
        open_view(page, url, view)
        shown = chart(page, "loss")
        return shown, next(c for c in shown["curves"] if c["label"] == "seed_2")

    shown, curve = second("x=step")
    assert curve["x"] == list(range(0, 1000, 2))
    assert shown["xTicks"] == ["0", "200", "400", "600", "800"]
    shown, curve = second("x=relative")
    assert curve["x"] == list(range(500))
    assert shown["xTicks"] == ["0", "2 min", "4 min", "6 min", "8 min"]
    _, curve = second("x=wall")
    assert curve["x"] == [WALL + 1000 + s for s in range(500)]
    shown, curve = second("x=step&xlog=1")
    assert shown["xTicks"] == ["2", "5", "10", "20", "50", "100", "200", "500"]
    assert shown["view"]["x"] == [2, 998]
    shown, curve = second("x=tag&xt=acc")
    order = np.argsort(values["seed_2/acc"], kind="stable")
    np.testing.assert_allclose(curve["x"], values["seed_2/acc"][order], rtol=1e-6)
    np.testing.assert_allclose(curve["y"], values["seed_2/loss"][order], rtol=1e-6)


def test_a_restart_is_marked_and_what_it_wrote_again_is_superseded(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    event_logs.write_restarted(tmp_path / "again")
    open_view(page, board_server(tmp_path).url)
    (curve,) = chart(page, "loss")["curves"]
    old = [int(x) for x, f in zip(curve["x"], curve["flags"]) if f & 16]
    assert old == list(range(60, 100))
    assert curve["superseded"] == 40
    assert [int(x) for x, f in zip(curve["x"], curve["flags"]) if f & 8 and not f & 16] == [60]
    assert len(curve["x"]) == 160


def test_outliers_stay_unless_they_are_left_out_and_scales_change_the_ticks(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    rows = [(s, WALL + s, [("v", 1000.0 if s == 50 else s / 100 - 0.2)]) for s in range(100)]
    write_run(tmp_path / "run", rows)
    url = board_server(tmp_path).url
    open_view(page, url)
    assert chart(page, "v")["view"]["y"][1] > 1000
    page.get_by_label("no outliers").check()
    inner = until(lambda: (c := chart(page, "v"))["view"]["y"][1] < 1 and c)
    assert inner and inner["view"]["marksClipped"]
    page.get_by_label("no outliers").uncheck()
    page.get_by_label("Scale of the y axis").select_option("symlog")
    assert until(lambda: "0" in (t := chart(page, "v")["yTicks"]) and "1000" in t)
    page.get_by_label("Scale of the y axis").select_option("log")
    assert until(lambda: min(chart(page, "v")["view"]["y"]) > 0)


def test_a_drag_zooms_to_all_points_and_a_double_click_resets(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    write_run(tmp_path / "run", [(s, WALL + s, [("v", math.sin(s))]) for s in range(100_000)])
    open_view(page, board_server(tmp_path).url)
    before = chart(page, "v")
    assert before["curves"][0]["drawn"] < 100_000
    assert "of 100,000 points" in page.locator(".tile-info").first.inner_text()
    box = page.locator(".chart").first.bounding_box()
    y = box["y"] + 90
    page.mouse.move(box["x"] + 150, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 152, y + 2, steps=4)
    page.mouse.move(box["x"] + 156, y + 2, steps=4)
    page.mouse.up()
    zoomed = until(lambda: (c := chart(page, "v"))["view"]["x"] != before["view"]["x"] and c)
    lo, hi = zoomed["view"]["x"]
    assert 500 < hi - lo < 4000
    curve = until(lambda: (c := chart(page, "v")["curves"][0])["n"] == c["drawn"] and c)
    inside = [x for x in curve["x"] if lo <= x <= hi]
    assert inside == list(range(math.ceil(lo), math.floor(hi) + 1))
    page.mouse.dblclick(box["x"] + 200, y)
    assert until(lambda: chart(page, "v")["view"]["x"] == before["view"]["x"])


def test_downloads_hold_every_point_and_the_picture_one_path_a_run(
    two_runs: tuple[Path, dict[str, np.ndarray]], board_server: Any, page: Any, tmp_path: Path
) -> None:
    logdir, values = two_runs
    open_view(page, board_server(logdir).url)
    settled(page)
    card = page.locator("article.tile", has_text="loss")

    def download(item: str) -> str:
        card.hover()
        card.get_by_role("button", name="Menu of the card").click()
        with page.expect_download() as started:
            page.get_by_role("menuitem", name=item).click()
        target = tmp_path / started.value.suggested_filename
        started.value.save_as(target)
        return target.read_text()

    rows = list(csv.DictReader(io.StringIO(download("CSV, all points"))))
    of_run = [float(r["value"]) for r in rows if r["run"] == "seed_2" and r["tag"] == "loss"]
    assert len(rows) == 1000
    np.testing.assert_array_equal(np.float32(of_run), np.float32(values["seed_2/loss"]))
    picture = ElementTree.fromstring(download("SVG"))
    paths = [e for e in picture.iter() if e.get("class") == "curve"]
    assert sorted(e.get("data-run") or "" for e in paths) == ["seed_1", "seed_2"]
    latex = download("LaTeX")
    assert latex.count("\\addplot") == 2 and "\\addlegendentry{seed\\_1}" in latex
    card.hover()
    card.get_by_role("button", name="Menu of the card").click()
    with page.expect_download() as started:
        page.get_by_role("menuitem", name="PNG").click()
    started.value.save_as(tmp_path / "loss.png")
    assert (tmp_path / "loss.png").read_bytes()[:4] == b"\x89PNG"


def test_a_query_chooses_the_runs_that_are_listed_and_drawn(
    two_runs: tuple[Path, dict[str, np.ndarray]], board_server: Any, page: Any
) -> None:
    open_view(page, board_server(two_runs[0]).url)
    settled(page)
    page.get_by_label("Filter runs").fill("loss > 0.5")
    shown = until(lambda: (c := chart(page, "loss")) and len(c["curves"]) == 1 and c)
    assert shown["curves"][0]["label"] == "seed_2"
    assert page.locator(".run-row").count() == 1
    page.get_by_label("Filter runs").fill("loss >")
    assert "value is missing" in page.locator(".query-error").inner_text()
    assert until(lambda: len(chart(page, "loss")["curves"]) == 2)


def test_the_cross_hair_is_on_all_charts_and_a_click_sets_the_step(
    two_runs: tuple[Path, dict[str, np.ndarray]], board_server: Any, page: Any
) -> None:
    open_view(page, board_server(two_runs[0]).url)
    settled(page)
    box = page.locator(".chart").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 80)
    page.mouse.move(box["x"] + box["width"] / 2 + 2, box["y"] + 80)
    assert until(lambda: page.evaluate("window.__board.metrics.crosshair"))
    rows = page.locator(".tooltip tbody tr")
    assert rows.count() == 2
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 80)
    assert until(lambda: "step=" in page.evaluate("location.hash"))
    step = page.get_by_label("Step", exact=True).input_value()
    assert 300 < int(step) < 700 and int(step) % 2 == 0


def has_read_all(port: int) -> bool:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/health") as reply:
        health = json.load(reply)
    return health["points"] > 0 and not health["loading"]


def test_a_hundred_runs_are_drawn_by_one_request_and_scrolling_draws_the_rest(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    event_logs.write_m(tmp_path, runs=100, tags=20, steps=100)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    board = board_server(tmp_path)
    assert until(lambda: has_read_all(board.port))  # the page asks again for what is read later
    open_view(page, board.url)
    state = settled(page)
    assert len(state["charts"]) >= 6
    assert all(c["painted"] == 100 for c in state["charts"])
    assert sum(url.endswith("/scalars") for url in sent) <= 2
    assert page.locator(".run-row").count() < 80
    page.locator(".grid-scroll").evaluate("e => { e.scrollTop = 1e6 }")
    assert until(lambda: any(c["id"] == "train/metric19" for c in settled(page)["charts"]))
    assert page.locator("article.tile").count() < 20


def test_an_empty_folder_shows_what_to_do(tmp_path: Path, board_server: Any, page: Any) -> None:
    open_view(page, board_server(tmp_path).url)
    notice = page.locator(".notice")
    notice.wait_for()
    assert until(lambda: "Nothing has been written yet" in notice.inner_text())
    assert tmp_path.name in notice.inner_text()


def test_hostile_names_are_text(tmp_path: Path, board_server: Any, page: Any) -> None:
    evil = "<img src=x onerror=alert(1)>"
    write_run(
        tmp_path / "a<b>&c",
        [(1, WALL, [(evil, 1.0), ("\u202eevil", 2.0)]), (2, WALL + 1, [(evil, 2.0)])],
    )
    open_view(page, board_server(tmp_path).url)
    settled(page)
    assert page.locator("img").count() == 0
    assert (
        evil
        in page.locator(".tile h3").first.inner_text()
        + page.locator(".tile h3").nth(1).inner_text()
    )
    assert "\u202e" not in page.locator("body").inner_text()
