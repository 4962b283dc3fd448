"""Each card shows what a peer wrote: every tag, step, value and byte (tox -e peer)."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from browser.metrics_view import chart, open_view, settled, until
from browser.peers.peer_log import PeerLog, Series

pytestmark = pytest.mark.peer

_SUPERSEDED = 16
_SUMMARIES = {"scalar", "histogram", "image", "audio", "text"}
KINDS = {
    "tensorboardX": _SUMMARIES | {"pr_curve", "custom_scalars", "mesh"},
    "torch": _SUMMARIES | {"pr_curve", "custom_scalars", "mesh", "tensor"},
    "tf2": _SUMMARIES | {"pr_curve", "custom_scalars", "mesh", "tensor"},
    "tf1": _SUMMARIES | {"tensor"},
    "keras": {"scalar", "histogram", "image"},
    "headrace": _SUMMARIES | {"tensor"},
}
# The SHA-256 of each picture and sound that the page has fetched.
_FETCHED = """async () => {
  const found = performance.getEntriesByType('resource').map((one) => one.name)
    .filter((name) => name.includes('/api/v1/blob/'));
  return Promise.all(found.map(async (url) => {
    const bytes = await (await fetch(url)).arrayBuffer();
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  }));
}"""


def open_tag(page: Any, url: str, tag: str, kind: str) -> Any:
    """Opens the Metrics page with the cards of one tag and kind; returns the first one."""
    open_view(page, url, f"q=^{re.escape(tag).replace('/', '%2F')}$&kind={kind}")
    settled(page)
    return page.locator("article").first


def test_every_tag_has_a_card_and_no_other_has(log: PeerLog, board_server: Any, page: Any) -> None:
    assert {one.kind for one in log.series} == KINDS[log.writer]
    open_view(page, board_server(log.folder).url)
    cards = [card for section in settled(page)["sections"] for card in section["cards"]]
    assert sorted(cards) == sorted({one.card for one in log.series})


def test_curves_have_every_value_that_tensorboard_reads(
    log: PeerLog, board_server: Any, page: Any
) -> None:
    url = board_server(log.folder).url
    for tag, runs in log.of_kind("scalar").items():
        open_tag(page, url, tag, "scalar")
        curves = chart(page, tag)["curves"]
        shown = [current_points(curve) for curve in curves]
        assert sorted(shown) == sorted(expected_points(one) for one in runs), tag
        assert [curve["n"] for curve in curves] == [curve["drawn"] for curve in curves], tag


def current_points(curve: dict[str, Any]) -> list[tuple[float, str]]:
    flags = curve["flags"] or [0] * len(curve["x"])
    return [
        (float(x), text(float(y)))
        for x, y, flag in zip(curve["x"], curve["y"], flags)
        if not flag & _SUPERSEDED
    ]


def expected_points(series: Series) -> list[tuple[float, str]]:
    return [(float(step), text(value)) for step, value in sorted(series.current().items())]


def text(number: float) -> str:
    """A number as text, so that NaN is equal to itself; infinite ones are drawn as gaps."""
    return repr(number) if math.isfinite(number) else "not finite"


def test_histograms_count_what_tensorboard_counts(
    log: PeerLog, board_server: Any, page: Any
) -> None:
    url = board_server(log.folder).url
    for tag, runs in log.of_kind("histogram").items():
        article = open_tag(page, url, tag, "histogram")
        (card,) = until(lambda tag=tag: drawn_histograms(page, tag))
        layers = [layer for facet in card["facets"] for layer in facet["layers"]]
        assert len(layers) == len(runs)
        for layer, series in zip(layers, runs):
            bins = len(layer["edges"]) - 1
            counts = np.reshape(layer["counts"], [-1, bins]).sum(1)
            expected = [sum(row[2] for row in value) for value in series.values]
            assert layer["steps"] == series.steps, tag
            np.testing.assert_allclose(counts, expected, rtol=1e-6, atol=1e-9, err_msg=tag)
            foot = article.locator(".card-foot").inner_text()
            assert foot.startswith(f"{len(expected)} histograms")
            assert ("without values" in foot) == (sum(expected) == 0), tag


def drawn_histograms(page: Any, tag: str) -> list[dict[str, Any]]:
    cards = page.evaluate("window.__board?.histograms ?? []")
    return [one for one in cards if one["tag"] == tag and one["facets"]]


@pytest.mark.parametrize("kind", ["image", "audio"])
def test_the_browser_gets_the_bytes_that_were_written(
    log: PeerLog, board_server: Any, page: Any, kind: str
) -> None:
    url = board_server(log.folder).url
    for tag, runs in log.of_kind(kind).items():
        article = open_tag(page, url, tag, kind)
        steps = sorted({step for one in runs for step in one.steps})
        article.get_by_text(f"{len(steps)} of {len(steps)}", exact=True).wait_for()
        assert article.get_by_label("Type a step").input_value() == str(steps[-1]), tag
        last = {digest for one in runs for digest in digests(one.values[-1], kind)}
        # The page also fetches the steps beside the one that it shows.
        every = {digest for one in runs for value in one.values for digest in digests(value, kind)}
        assert until(lambda last=last: last & {*page.evaluate(_FETCHED)}, page=page), tag
        assert {*page.evaluate(_FETCHED)} <= every, tag
        if kind == "image":
            width, height = runs[0].values[-1][:2]
            assert article.locator(".card-foot").inner_text() == f"{width} × {height}", tag


def digests(value: list[Any], kind: str) -> list[str]:
    """The SHA-256 of the samples of a value."""
    return value[2:] if kind == "image" else value


def test_texts_have_every_word(log: PeerLog, board_server: Any, page: Any) -> None:
    url = board_server(log.folder).url
    for tag, (series, *_) in log.of_kind("text").items():
        article = open_tag(page, url, tag, "text")
        words = {*re.findall(r"\w+", " ".join(series.values[-1]["texts"]))}
        body = article.locator(".text-body, .run-text").first
        assert until(lambda w=words, b=body: w <= words_of(b), page=page), tag
        assert article.locator("script, img").count() == 0
        shape = series.values[-1]["shape"]
        if len(shape) == 2:
            assert article.locator("tr").count() == shape[0]
            assert article.locator("td").count() == math.prod(shape)


def words_of(element: Any) -> set[str]:
    return {*re.findall(r"\w+", element.inner_text())}


def test_precision_and_recall_are_those_of_the_log(
    log: PeerLog, board_server: Any, page: Any
) -> None:
    url = board_server(log.folder).url
    for tag, (series, *_) in log.of_kind("pr_curve").items():
        article = open_tag(page, url, tag, "pr_curve")
        precision, recall = series.values[-1][4:6]
        at = math.floor((len(precision) - 1) / 2 + 0.5)
        cells = article.locator("tbody td")
        cells.first.wait_for()
        assert cells.nth(0).inner_text() == f"{precision[at]:.3f}"
        assert cells.nth(1).inner_text() == f"{recall[at]:.3f}"
        article.get_by_text(f"{len(series.steps)} of {len(series.steps)}", exact=True).wait_for()


def test_meshes_are_whole(log: PeerLog, board_server: Any, page: Any) -> None:
    url = board_server(log.folder).url
    for tag, (series, *_) in log.of_kind("mesh").items():
        article = open_tag(page, url, tag, "mesh")
        solid = "solid" in tag
        article.get_by_text("4 vertices · 4 faces" if solid else "4 points").wait_for()
        assert (
            article.locator("h3, .tile-title")
            .first.inner_text()
            .startswith("mesh/solid" if solid else "mesh/points")
        )
        article.get_by_text(f"{len(series.steps)} of {len(series.steps)}", exact=True).wait_for()


def test_tensors_show_their_elements(log: PeerLog, board_server: Any, page: Any) -> None:
    url = board_server(log.folder).url
    for tag, (series, *_) in log.of_kind("tensor").items():
        article = open_tag(page, url, tag, "tensor")
        first = series.steps[-1]
        elements = ["a", "b"] if tag.endswith("words") else [str(first + i) for i in range(6)]
        values = article.locator(".tensor-values")
        values.wait_for()
        assert values.inner_text().split() == elements, tag
        assert "no view" not in article.inner_text()


def test_layouts_have_all_their_charts(log: PeerLog, board_server: Any, page: Any) -> None:
    page.set_viewport_size({"width": 1366, "height": 3000})
    both = ["both", "by pattern", "margin"]
    titles = {"tensorboardX": [*both, "multi", "margin"], "torch": both, "tf2": ["both", "margin"]}
    for tag in log.of_kind("custom_scalars"):
        article = open_tag(page, board_server(log.folder).url, tag, "custom_scalars")
        assert article.locator("figcaption .grow").all_inner_texts() == titles[log.writer]
        found = until(lambda: painted_tags(page, len(titles[log.writer])), page=page)
        assert found[0] == {"train/accuracy", "train/loss"}
        assert any(chart["bounded"] for chart in bounds(page))
    page.set_viewport_size({"width": 1600, "height": 1000})


def painted_tags(page: Any, charts: int) -> list[set[str]] | None:
    found = [c for c in settled(page)["charts"] if c["id"].startswith("custom:")]
    tags = [{curve["tag"] for curve in one["curves"]} for one in found]
    return tags if len(tags) == charts and all(tags) else None


def bounds(page: Any) -> list[dict[str, Any]]:
    return page.evaluate(
        """() => window.__board.metrics.charts.filter((c) => c.id.startsWith('custom:'))
          .map((c) => ({bounded: c.curves.some((k) => k.lo && k.hi)}))"""
    )


@pytest.mark.parametrize("log", ["keras"], indirect=True)
def test_curves_of_keras_are_its_history(log: PeerLog, board_server: Any, page: Any) -> None:
    history = json.loads(log.printed.strip().splitlines()[-1])["images"]
    open_tag(page, board_server(log.folder).url, "epoch_loss", "scalar")
    curves = {one["label"]: one["y"] for one in chart(page, "epoch_loss")["curves"]}
    for name, key in (("train", "loss"), ("validation", "val_loss")):
        assert curves[f"images/{name}"] == pytest.approx(history[key], rel=1e-6)
