"""Histogram cards agree with the buckets in the logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.metrics_view import until
from fixtures import media_logs

STEPS, EVERY = 20, 10
PERCENTS = (0, 6.68, 15.87, 30.85, 50, 69.15, 84.13, 93.32, 100)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("histograms")
    media_logs.write_run(folder / "base", 0, STEPS, EVERY)
    media_logs.write_run(folder / "wide", 1, STEPS, EVERY)
    return folder


def scene(page: Any, **reference: Any) -> dict[str, Any]:
    """Returns what the card of layer1 draws, once it is as wanted."""

    def found() -> Any:
        for one in page.evaluate("window.__board?.histograms ?? []"):
            ready = one["tag"] == "layer1/weights" and any(f["layers"] for f in one["facets"])
            if ready and all(one[key] == value for key, value in reference.items()):
                return one
        return None

    shown = until(found)
    assert shown, f"no histogram with {reference}"
    return shown


def buckets(step: int, seed: int) -> np.ndarray:
    """Returns [n, 3] of left, right, count, as the log has them."""
    counts, edges = np.histogram(media_logs.weights(step, seed), 30)
    return np.stack([edges[:-1], edges[1:], counts], axis=1)


def rebinned(found: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Returns counts in other bins: each bucket's mass is spread evenly; sums stay."""
    below = np.zeros(len(edges))
    for left, right, count in found:
        below += count * np.clip((edges - left) / (right - left), 0, 1)
    return np.diff(below)


def percentile(found: np.ndarray, percent: float) -> float:
    """Returns the value below which a share of the mass lies."""
    ends = np.concatenate([found[:1, 0], found[:, 1]])
    mass = np.concatenate([[0.0], np.cumsum(found[:, 2])])
    target = mass[-1] * percent / 100
    at = int(np.argmax((mass[1:] >= target) & (found[:, 2] > 0)))
    return float(ends[at] + (ends[at + 1] - ends[at]) * (target - mass[at]) / found[at, 2])


@pytest.mark.parametrize("mode", ["offset", "overlay", "heat", "distribution"])
def test_every_mode_draws_a_reference_rebin_of_all_steps(
    logdir: Path, board_server: Any, page: Any, mode: str
) -> None:
    page.goto(board_server(logdir).url + f"#/metrics?q=^layer1/weights$&hist={mode}")
    shown = scene(page, mode=mode)
    assert [facet["layers"][0]["name"] for facet in shown["facets"]] == ["base", "wide"]
    layers = [facet["layers"][0] for facet in shown["facets"]]
    assert layers[0]["edges"] == layers[1]["edges"], "runs share their bins"
    for seed, layer in enumerate(layers):
        edges = np.array(layer["edges"])
        assert layer["steps"] == list(range(0, STEPS * EVERY, EVERY))
        counts = np.array(layer["counts"]).reshape(STEPS, len(edges) - 1)
        percents = np.array(layer["percentiles"]).reshape(STEPS, 9)
        for row, step in enumerate(layer["steps"]):
            found = buckets(step, seed)
            np.testing.assert_allclose(counts[row], rebinned(found, edges), rtol=1e-6, atol=1e-6)
            expected = [percentile(found, p) for p in PERCENTS[1:-1]]
            np.testing.assert_allclose(percents[row, 1:-1], expected, rtol=1e-6, atol=1e-9)


def test_pointing_at_a_bucket_reads_its_count(logdir: Path, board_server: Any, page: Any) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^layer1/weights$&runs=only:base&hist=heat")
    shown = scene(page, mode="heat")
    facet = shown["facets"][0]
    layer, box = facet["layers"][0], facet["box"]
    bins = len(layer["edges"]) - 1
    row, bin_ = 7, bins // 2
    at = page.locator(".histogram-card canvas").bounding_box()
    x = at["x"] + box["x"] + box["w"] * layer["steps"][row] / layer["steps"][-1]
    y = at["y"] + box["y"] + box["h"] * (1 - (bin_ + 0.5) / bins)
    page.mouse.move(x, y)
    hovered = until(lambda: scene(page)["hovered"])
    assert hovered == {"facet": 0, "layer": 0, "row": row, "bin": bin_}
    count = layer["counts"][row * bins + bin_]
    text = page.locator(".bucket-count").inner_text()
    assert float(text) == pytest.approx(count, abs=0.005)
    assert f"step {layer['steps'][row]}" in page.locator(".histogram-card .card-foot").inner_text()


def test_a_click_moves_the_step_cursor_and_keys_read_buckets(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^layer1/weights$&runs=only:base&hist=heat")
    facet = scene(page, mode="heat")["facets"][0]
    canvas = page.locator(".histogram-card canvas")
    canvas.hover(position={"x": facet["box"]["x"] + 1, "y": facet["box"]["y"] + 20})
    assert until(lambda: (scene(page)["hovered"] or {}).get("row") == 0)
    page.mouse.down()
    page.mouse.up()
    assert until(lambda: "step=0" in page.evaluate("location.hash"))
    canvas.focus()
    page.mouse.move(0, 0)
    page.keyboard.press("ArrowUp")
    before = until(lambda: scene(page)["hovered"])
    page.keyboard.press("ArrowRight")
    after = until(lambda: scene(page)["hovered"] != before and scene(page)["hovered"])
    assert after["bin"] == min(before["bin"] + 1, len(facet["layers"][0]["edges"]) - 2)


def test_modes_axes_and_layout_are_in_the_address(
    logdir: Path, board_server: Any, page: Any
) -> None:
    view = "#/metrics?q=^layer1/weights$&hist=overlay&histx=relative&histlog=1&histruns=0"
    page.goto(board_server(logdir).url + view)
    shown = scene(page, mode="overlay", axis="relative", log=True)
    assert len(shown["facets"]) == 1 and len(shown["facets"][0]["layers"]) == 2
    assert shown["span"] == [0, 3.0 * EVERY * (STEPS - 1)]
    page.reload()
    assert scene(page, mode="overlay", axis="relative", log=True)["facets"] == shown["facets"]


def test_downloads_hold_every_bucket(logdir: Path, board_server: Any, page: Any) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^layer1/weights$&runs=only:base&hist=offset")
    layer = scene(page, mode="offset")["facets"][0]["layers"][0]
    card = page.get_by_role("article", name="layer1/weights")
    card.hover()
    card.get_by_role("button", name="Menu of the card").click()
    with page.expect_download() as started:
        page.get_by_role("menuitem", name="Save what is drawn as CSV").click()
    lines = Path(started.value.path()).read_text().strip().split("\n")
    assert lines[0] == "run,step,wall_time,bucket_from,bucket_to,count"
    counts = [float(line.rsplit(",", 1)[1]) for line in lines[1:]]
    assert counts == layer["counts"]
    card.get_by_role("button", name="Menu of the card").click()
    with page.expect_download() as started:
        page.get_by_role("menuitem", name="buckets as logged csv").click()
    lines = Path(started.value.path()).read_text().strip().split("\n")[1:]
    logged, edges = np.histogram(media_logs.weights(0), 30)
    first = [list(map(float, line.split(",")[3:])) for line in lines if line.split(",")[1] == "0"]
    buckets = zip(edges[:-1].tolist(), edges[1:].tolist(), logged.tolist(), strict=True)
    assert first == [[left, right, count] for left, right, count in buckets if count]
    assert len({line.split(",")[1] for line in lines}) == STEPS
    card.get_by_role("button", name="Menu of the card").click()
    with page.expect_download() as started:
        page.get_by_role("menuitem", name="Save picture as SVG").click()
    svg = Path(started.value.path()).read_text()
    assert svg.startswith("<svg ") and svg.count("<path") > STEPS


def test_a_reader_of_screens_finds_the_steps_in_a_table(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^layer1/weights$&runs=only:wide")
    scene(page)
    table = page.get_by_role("table", name="layer1/weights, run wide")
    assert table.locator("tbody tr").count() == STEPS
    assert table.locator("tbody th").first.inner_text() == "0"
