"""Every page of a log that a peer wrote shows it, or says why it shows nothing (tox -e peer).

HEADRACE_SCREENSHOTS names a folder that gets a picture of each screen, for a person to look at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from browser.lasting_page import SIZE as WIDE
from browser.metrics_view import settled, until
from browser.page_requests import round_trip, wait_for_rest
from browser.pages.test_small_screens import CUT, LAPTOP, SMALL
from browser.peers.peer_log import PeerLog

pytestmark = pytest.mark.peer

NO_TRACE = "No step has been traced in this log."
NO_HPARAMS = "No hyperparameters in these logs"
NO_EMBEDDINGS = "No embeddings below the log folder."


@dataclass(frozen=True)
class Shown:
    """What the pages of a log show; in place of content, the sentence that says why there is none.

    graphs: of the first, some nodes. trace: words of its totals. problems: their kinds.
    """

    graphs: dict[str, set[str]]
    trace: list[str] | str
    hparams: list[str] | str
    embeddings: list[str] | str
    problems: list[str]


_SWEEP = ["sweep/s0", "sweep/s1", "sweep/s2", "sweep/s3"]
_SPRITES = ["main|sprites:00000", "main|labels:00001", "main|bare:00002"]
_PYTORCH = {"main": {"input", "Net", "output"}}
_STEPS = {"main": {"x", "layer"}, "main (meta graph)": set()}
SHOWN = {
    "tensorboardX": Shown(
        {**_PYTORCH, "onnx": set()}, NO_TRACE, _SWEEP, _SPRITES, ["infinite", "nan"]
    ),
    "torch": Shown(_PYTORCH, ["aten::linear"], _SWEEP, _SPRITES, ["infinite", "nan"]),
    "tf2": Shown(
        {"traced with profile": {"x", "w", "hidden", "Identity"}, "traced graph alone": set()},
        ["MatMul"],
        _SWEEP,
        ["main|points/.ATTRIBUTES/VARIABLE_VALUE"],
        ["infinite", "nan"],
    ),
    "tf1": Shown(_STEPS, ["layer/product"], NO_HPARAMS, NO_EMBEDDINGS, []),
    "keras": Shown(
        {
            "images/train (Keras model)": {"input_layer", "conv", "flatten", "head"},
            "words/train (Keras model)": set(),
        },
        ["Profiled batch"],
        NO_HPARAMS,
        "No embedding can be shown.",
        ["embedding"],
    ),
    "headrace": Shown(_STEPS, ["layer/product"], NO_HPARAMS, NO_EMBEDDINGS, []),
}

# What lies over the edge of its card, and tables that a card cuts off.
_SPILLED = """() => [...document.querySelectorAll('article')].flatMap((card) => {
  const box = card.getBoundingClientRect();
  return [...card.querySelectorAll('*')].filter((e) => {
    if (e.closest('.hidden-for-the-eye, .text-body, svg')) return false;
    if (e.matches('.pr-table')) return e.scrollWidth > e.clientWidth + 1;
    const r = e.getBoundingClientRect();
    if (r.width < 2 || r.height < 2) return false;
    for (let up = e.parentElement; up !== card; up = up.parentElement) {
      if (getComputedStyle(up).overflow !== 'visible') return false;
    }
    return r.right > box.right + 1 || r.bottom > box.bottom + 1;
  }).map((e) => `${card.ariaLabel}: ${e.tagName}.${e.className} ${e.textContent.slice(0, 40)}`);
})"""
# Failures and leftovers that a reader would take for data.
_WRONG = """() => {
  const page = document.querySelector('#page');
  const alerts = [...page.querySelectorAll('[role=alert], .tile-message, .pane-failure')];
  const words = page.innerText.match(/undefined|\\[object \\w+\\]|NaN ?[×%]/g) ?? [];
  return [...alerts.map((e) => e.innerText), ...words];
}"""
# Cards whose content is still on its way.
_PENDING = """() => [...document.querySelectorAll('article')].filter(
  (card) => card.querySelector('.tile-wait') || /^…$/m.test(card.innerText)).length"""
_SCROLLER = """() => {
  let found = null;
  for (const e of document.querySelectorAll('#page, #page *')) {
    const scrolls = /auto|scroll/.test(getComputedStyle(e).overflowY);
    if (scrolls && e.scrollHeight > e.clientHeight + 50
        && e.clientHeight > (found?.clientHeight ?? 200)) found = e;
  }
  window.__scroller = found;
  return found && [found.scrollHeight, found.clientHeight];
}"""


@pytest.fixture
def watched(page: Any) -> Iterator[Any]:
    """The page; a console error, or a request that fails, is a failure of the test."""
    wrong: list[str] = []

    def failed(request: Any) -> None:
        # Requests that a page gives up when it is left are no failures.
        if request.failure != "net::ERR_ABORTED":
            wrong.append(f"{request.url}: {request.failure}")

    def replied(response: Any) -> None:
        if response.status >= 400:
            wrong.append(f"{response.url}: {response.status}")

    def said(message: Any) -> None:
        if message.type == "error":
            wrong.append(message.text)

    page.on("requestfailed", failed)
    page.on("response", replied)
    page.on("console", said)
    yield page
    page.set_viewport_size(WIDE)
    assert wrong == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [LAPTOP, SMALL], ids=["laptop", "small"])
def test_every_page_shows_the_log_and_nothing_is_cut_off(
    log: PeerLog, board_server: Any, watched: Any, size: dict[str, int], theme: str
) -> None:
    page, shown = watched, SHOWN[log.writer]
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size(size)
    name = f"{log.writer}-{size['width']}-{theme}"
    page.goto(board_server(log.folder).url)
    page.locator(".tabs a").first.wait_for()
    tabs = [re.sub(r"\W|\d", "", tab).lower() for tab in page.locator(".tabs a").all_inner_texts()]
    checks = {
        "metrics": metrics,
        "graph": graph,
        "trace": trace,
        "hparams": hparams,
        "projector": projector,
        "problems": problems,
    }
    assert tabs == [*checks]
    for tab in tabs:
        page.goto(f"{board_server(log.folder).url}#/{tab}")
        if tab == "metrics":
            metrics(page, name)
        else:
            checks[tab](page, shown)
        wait_for_rest(page)
        keep_picture(page, f"{name}-{tab}")
        assert page.evaluate("document.documentElement.scrollWidth") == size["width"], tab
        assert page.evaluate(CUT) == [], tab
        assert page.evaluate(_WRONG) == [], tab


def metrics(page: Any, name: str) -> None:
    """Looks at every card, one screen after the other."""
    settled(page)
    scroller = page.evaluate(_SCROLLER)
    tops = range(0, scroller[0], scroller[1] - 80) if scroller else [0]
    for number, top in enumerate(tops):
        page.evaluate("(top) => window.__scroller?.scrollTo(0, top)", top)
        settled(page)
        round_trip(page)
        assert until(lambda: not page.evaluate(_PENDING), page=page)
        keep_picture(page, f"{name}-metrics{number:02}")
        assert page.evaluate(_WRONG) == []
        # A card grows a moment after its content.
        until(lambda: page.evaluate(_SPILLED) == [], 5, page=page)
        assert page.evaluate(_SPILLED) == []
    assert page.locator("article").count() > 0


def graph(page: Any, shown: Shown) -> None:
    page.wait_for_function("() => window.__board?.graph?.ready")
    options = page.locator("#page select").first.locator("option").all_inner_texts()
    # The option of an open graph has the number of its ops too.
    assert [option.split(" · ")[0] for option in options] == [*shown.graphs]
    nodes = {item["name"] for item in page.evaluate("window.__board.graph.items")}
    assert [*shown.graphs.values()][0] <= nodes
    side = page.locator(".graph-inspector")
    if side.count():
        assert side.first.evaluate("(e) => e.scrollWidth <= e.clientWidth")


def trace(page: Any, shown: Shown) -> None:
    if isinstance(shown.trace, str):
        page.get_by_text(shown.trace, exact=True).wait_for()
        return
    page.wait_for_function("() => window.__board?.trace?.items.length > 0")
    for words in shown.trace:
        page.get_by_text(words).first.wait_for(state="attached")


def hparams(page: Any, shown: Shown) -> None:
    """Looks at the columns and at one row, which has a value of each type."""
    if isinstance(shown.hparams, str):
        page.get_by_text(shown.hparams, exact=True).wait_for()
        return
    assert until(lambda: page.evaluate("window.__board?.hparams?.rows") == shown.hparams)
    columns = [column["title"] for column in page.evaluate("window.__board.hparams.columns")]
    assert columns[:4] == ["rate", "layers", "adam", "name"]
    cells = page.locator("tbody tr").nth(2).locator("td, th").all_inner_texts()
    # PyTorch's add_hparams writes True as the number 1.
    adam = "1" if shown is SHOWN["torch"] else "true"
    assert [cell.strip() for cell in cells][:6] == ["sweep/s2", "0.01", "2", adam, "n2", "0.5"]


def projector(page: Any, shown: Shown) -> None:
    if isinstance(shown.embeddings, str):
        page.get_by_text(shown.embeddings, exact=True).wait_for()
        if shown.problems:
            page.get_by_text("no TensorFlow checkpoint with this tensor").wait_for()
        return
    page.wait_for_function("() => window.__board?.projector?.points > 0")
    state = page.evaluate("window.__board.projector")
    assert state["embeddings"] == shown.embeddings
    assert (state["points"], state["colour"]) == (20, "word")


def problems(page: Any, shown: Shown) -> None:
    def kinds() -> list[str]:
        return sorted(one["kind"] for one in page.evaluate("window.__board?.problems?.shown ?? []"))

    assert until(lambda: kinds() == shown.problems)
    if not shown.problems:
        page.get_by_text("Nothing is wrong with these logs").wait_for()


def keep_picture(page: Any, name: str) -> None:
    folder = os.environ.get("HEADRACE_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png")
