"""The event log of examples/digits.py, shown by the board in a browser."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
WITH_TEST_HOOKS = ROOT / "packages" / "board" / "tests" / "fixtures" / "board_with_test_hooks.py"
pytestmark = pytest.mark.browser
SIDE = 8


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short training on made digits, logged as the quickstart logs its own."""
    folder = tmp_path_factory.mktemp("run")
    rng = np.random.RandomState(0)
    patterns = rng.rand(10, SIDE * SIDE) > 0.5
    labels = rng.randint(0, 10, 600)
    images = np.rint(16 * (patterns[labels] * 0.7 + rng.rand(600, SIDE * SIDE) * 0.3))
    np.savetxt(folder / "digits.csv", np.hstack([images, labels[:, None]]), "%d", ",")
    command = [sys.executable, str(EXAMPLES / "digits.py"), "--data", str(folder / "digits.csv")]
    command += ["--out", str(folder / "out"), "--epochs", "20"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (folder / "out" / "fold1" / "export").is_dir(), done.stdout + done.stderr
    return folder / "out"


@pytest.fixture(scope="module")
def board(run: Path) -> Iterator[str]:
    command = [sys.executable, str(WITH_TEST_HOOKS), "--logdir", str(run), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().rsplit(" on ", 1)[1].strip()
        process.terminate()


@pytest.fixture(scope="module")
def page(board: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        opened = browser.new_page(viewport={"width": 1600, "height": 1000})
        errors: list[str] = []
        opened.on("pageerror", lambda error: errors.append(str(error)))
        yield opened
        browser.close()
        assert errors == []


def cards(page: Any) -> set[str]:
    return {
        card for section in page.evaluate("__board.metrics.sections") for card in section["cards"]
    }


def test_loss_and_accuracy_are_curves(page: Any, board: str) -> None:
    page.goto(board + "#/metrics")
    page.wait_for_function(
        "() => window.__board?.metrics?.idle && __board.metrics.charts.length >= 3"
    )
    charts = page.evaluate("__board.metrics.charts")
    drawn = {chart["curves"][0]["tag"]: chart["curves"][0] for chart in charts}
    loss = drawn["batch/loss"]
    assert loss["drawn"] == loss["n"] >= 5 and loss["y"][-1] < loss["y"][0]
    assert drawn["held_out_accuracy"]["y"][-1] > 0.9
    assert all(chart["painted"] for chart in charts)


def test_weights_are_histograms_and_filters_are_images(page: Any, board: str) -> None:
    page.goto(board + "#/metrics")
    for tag in ("variables/conv1/weights", "filters/conv1/image"):
        page.get_by_placeholder("Filter tags").fill(tag)
        page.get_by_role("heading", name=tag).or_(page.get_by_title(tag)).first.wait_for()
        if tag.startswith("filters"):
            page.wait_for_function("() => window.__board?.images?.[0]?.panes?.length > 0")
        else:
            page.wait_for_function(
                "tag => { const cards = window.__board?.histograms ?? [];"
                " return cards.length === 1 && cards[0].tag === tag && cards[0].peak > 0; }",
                arg=tag,
            )
    page.get_by_placeholder("Filter tags").fill("")


def test_graph_page_shows_the_layers(page: Any, board: str) -> None:
    page.goto(board + "#/graph")
    page.wait_for_function("() => window.__board?.graph?.ready")
    names = {node["name"]: node for node in page.evaluate("__board.graph.items")}
    # The two convolutions are alike and follow each other: one node for both.
    assert {"images", "conv[1-2]", "dense", "logits", "gradients"} <= set(names)
    assert names["conv[1-2]"]["fill"] != names["dense"]["fill"]
    assert names["global_step"]["area"] == "auxiliary"


def test_slices_of_the_traced_step_are_nodes_of_the_graph(page: Any, board: str) -> None:
    page.goto(board + "#/trace")
    page.wait_for_function("() => (window.__board?.trace?.rows?.length ?? 0) > 0")
    trace = page.evaluate("__board.trace")
    assert trace["sections"][0]["duration"] > 0
    page.goto(board + "#/trace?node=conv1/Conv2D")
    page.wait_for_function("() => window.__board?.trace?.marked > 0")
