"""A log of very many tags: few elements in the document, and every card can be reached."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import open_view, settled, until
from fixtures.event_logs import WALL, simple_event

from headrace.formats.event_file import EventFileWriter

TAGS = 20_000
MOST_ELEMENTS = 1500
NAMES: dict[str, Callable[[int], str]] = {
    "flat": lambda i: f"weight{i}",
    "sections": lambda i: f"layer{i}/weight",
}
ELEMENTS = "document.querySelectorAll('*').length"
SHOWN = "() => (window.__board?.metrics?.charts ?? []).map((c) => c.id)"


@pytest.mark.parametrize("shape", sorted(NAMES))
def test_few_elements_stand_for_many_tags_and_each_can_be_found(
    tmp_path: Path, board_server: Any, page: Any, shape: str
) -> None:
    name = NAMES[shape]
    with EventFileWriter(tmp_path / "run") as writer:
        for first in range(0, TAGS, 100):
            values = [(name(i), float(i)) for i in range(first, first + 100)]
            writer.write(simple_event(0, WALL, values))
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    open_view(page, board_server(tmp_path).url)
    settled(page)
    assert name(0) in page.evaluate(SHOWN)
    assert page.evaluate(ELEMENTS) < MOST_ELEMENTS
    assert page.locator(".search-count").inner_text() == str(TAGS)
    # At the end of the page are the last cards in natural order.
    page.evaluate("document.querySelector('.grid-scroll').scrollTop = 1e9")
    assert until(lambda: name(TAGS - 1) in page.evaluate(SHOWN))
    settled(page)
    assert page.evaluate(ELEMENTS) < MOST_ELEMENTS
    page.locator("#tag-filter").fill(name(TAGS // 2 + 7))
    assert until(lambda: page.evaluate(SHOWN) == [name(TAGS // 2 + 7)])
    assert page.locator(".search-count").inner_text() == f"1 of {TAGS}"
    # The list of tags comes as columns, and no request names all tags.
    assert max(len(url) for url in requests) < 1000
