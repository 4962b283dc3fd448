"""Hostile text stays text: no script runs, no policy report, no element from the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import until
from browser.page_requests import wait_for_rest
from fixtures import corrupted_logs, media_logs

from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event
from headrace.formats.proto.plugin_custom_scalars_pb2 import Layout

EVIL = (
    "<script>window.pwned=1</script>",
    '"><img src=x onerror=window.pwned=2>',
    "<svg/onload=window.pwned=3>",
    "javascript:window.pwned=4",
    "\u202egnp.exe\u2066",
    "__proto__",
    "constructor",
    "a\nb\0c",
)
MARKDOWN = """# <img src=x onerror="window.pwned=5">
[click](javascript:window.pwned=6) [data](data:text/html,<script>window.pwned=7</script>)
[ok](https://example.org) [vb](vbscript:x) [jAvA](JaVaScRiPt:window.pwned=8) [path](/api/v1/runs)
![picture](https://evil.example/x.png) <iframe src="https://evil.example"></iframe>
<a href="javascript:window.pwned=9">raw</a> <style>*{display:none}</style>

[ref]: javascript:window.pwned=10
[ref] <https://example.org/auto> https://example.org/bare

| a | b |
|---|---|
| <b onmouseover=window.pwned=11>x</b> | `<script>` |
"""

_LOOK = """() => ({
  pwned: window.pwned ?? null,
  foreign: document.querySelectorAll('img, iframe, object, embed, style, link:not([href]), base,'
    + 'form[action], meta[http-equiv]').length,
  scripts: [...document.scripts].filter((s) => !s.src.startsWith(location.origin)).length,
  handlers: [...document.querySelectorAll('*')].filter((e) =>
    [...e.attributes].some((a) => /^on/i.test(a.name))).length,
  links: [...document.querySelectorAll('a[href]')].map((a) => a.href)
    .filter((h) => !h.startsWith(location.origin))
    .filter((h) => !/^https:\\/\\/(example\\.org|evil\\.example)\\//.test(h)),
  polluted: Object.keys(Object.prototype),
  bidi: /[\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.innerText),
})"""
CLEAN = {
    "pwned": None,
    "foreign": 0,
    "scripts": 0,
    "handlers": 0,
    "links": [],
    "polluted": [],
    "bidi": False,
}


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    corrupted_logs.write_hostile(folder)
    hparams = {name: name for name in EVIL}
    for i in range(4):
        run = f"<img src=x onerror=window.pwned={20 + i}>"
        media_logs.write_session(folder / run, {**hparams, "n": i, "w": EVIL[i]}, i / 10, i)
    layout = Layout()
    category = layout.category.add(title=EVIL[1])
    category.chart.add(title=EVIL[0]).multiline.tag.extend(["(a+)+$", ".*", "[broken"])
    category.chart.add(title=EVIL[2]).margin.series.add(value=EVIL[0], lower="__proto__")
    with EventFileWriter(folder / "cards") as writer:
        for step in range(3):
            event = Event(wall_time=media_logs.WALL + step, step=step)
            for name in EVIL:
                event.summary.value.add(tag=f"{name}/scalar", simple_value=float("nan"))
                histogram = media_logs.histogram_tensor(media_logs.weights(step))
                media_logs.put(event, f"{name}/histogram", "histograms", histogram)
                image = event.summary.value.add(tag=f"{name}/image").image
                image.encoded_image_string = b"<svg onload=window.pwned=30>"
                tensor = media_logs.strings([MARKDOWN, name], [2])
                media_logs.put(event, f"{name}/text", "text", tensor)
                media_logs.put(event, f"{name}/tensor", name, media_logs.strings([name]))
            config = media_logs.strings([""])
            config.string_val[0] = layout.SerializeToString()
            media_logs.put(event, "custom_scalars__config__", "custom_scalars", config)
            writer.write(event)
    return folder


# Scrolls all that scrolls; whether something moved.
_SCROLL = """() => {
  const all = [...document.querySelectorAll('*')];
  const tall = all.filter((e) => e.scrollHeight > e.clientHeight + 40);
  const before = tall.map((e) => e.scrollTop);
  tall.forEach((e) => e.scrollBy(0, 700));
  return tall.some((e, i) => e.scrollTop !== before[i]);
}"""


def rest(page: Any) -> dict[str, Any]:
    """Returns what is there once all that an element of a log loads or runs would be there."""
    wait_for_rest(page)
    return page.evaluate(_LOOK)


@pytest.mark.parametrize(
    "view",
    [
        "metrics?text=markdown",
        "metrics?text=plain&hist=heat",
        "metrics?text=raw&textdiff=1&hist=overlay",
        "hparams",
        "hparams?hpview=scatter",
        "problems",
        "graph",
        "trace",
        "projector",
    ],
)
def test_no_name_or_text_becomes_more_than_text(
    logdir: Path, board_server: Any, page: Any, view: str
) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    page.goto(board_server(logdir).url + f"#/{view}")
    page.get_by_role("main").wait_for()
    assert rest(page) == CLEAN
    for _ in range(12):
        if not page.evaluate(_SCROLL):
            break
        wait_for_rest(page)  # cards that come into sight fetch their data
    assert rest(page) == CLEAN


def test_markdown_keeps_its_shape_and_only_safe_links(
    logdir: Path, board_server: Any, page: Any
) -> None:
    view = "#/metrics?q=^constructor/text$&runs=only:cards&text=markdown"
    page.goto(board_server(logdir).url + view)
    body = page.locator(".markdown").first
    body.locator("table").wait_for()
    links = body.locator("a")
    hrefs = [links.nth(i).get_attribute("href") for i in range(links.count())]
    assert hrefs == [
        "https://example.org/",
        "https://evil.example/x.png",  # a picture becomes a link, which nothing follows by itself
        "https://evil.example/",  # within raw HTML, which is text
        "https://example.org/auto",
        "https://example.org/bare",
    ]
    assert all("noopener" in links.nth(i).get_attribute("rel") for i in range(5))
    assert '<img src=x onerror="window.pwned=5">' in body.inner_text()
    assert rest(page) == CLEAN


def test_names_that_hide_or_turn_text_are_shown_escaped(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/hparams")
    assert until(lambda: "\\u202egnp.exe\\u2066" in page.locator("body").inner_text())
    page.goto(board_server(logdir).url + "#/problems")
    assert until(lambda: "run\\u202etxt" in page.locator("body").inner_text())


def test_an_invalid_image_shows_a_message(logdir: Path, board_server: Any, page: Any) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^constructor/image$&runs=only:cards")
    page.get_by_role("alert").first.wait_for()
    assert "cannot show these bytes as an image" in page.get_by_role("alert").first.inner_text()
