"""Reports: the present view as one HTML file that needs no server and sends no request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.axe_rules import serious_violations
from browser.metrics_view import WALL, open_view, settled, until, write_run
from fixtures import media_logs

from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event

EVIL = "<img src=x onerror=window.pwned=1>"
TEXT = f"# A title\n{EVIL}\n</pre><script>window.pwned=2</script>\n\u202etxet"
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

Opener = Callable[[Path], Any]


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of curves, one of them with a hostile name; images, texts and a histogram."""
    folder: Path = tmp_path_factory.mktemp("reported")
    for number, name in enumerate(("seed_1", EVIL)):
        rows = [
            (s, WALL + s, [("train/loss", (50 - s) ** 2 / 100 + number), (f"train/{EVIL}", 2.0)])
            for s in range(50)
        ]
        write_run(folder / name, rows)
    with EventFileWriter(folder / "media") as writer:
        for step in (10, 20):
            event = Event(wall_time=WALL + step, step=step)
            image = event.summary.value.add(tag="input/image").image
            image.encoded_image_string = media_logs.png(media_logs.picture(step))
            broken = event.summary.value.add(tag="input/broken").image
            broken.encoded_image_string = media_logs.png(media_logs.picture(step))[:60]
            media_logs.put(event, "notes", "text", media_logs.strings([TEXT]))
            weights = media_logs.histogram_tensor(media_logs.weights(step))
            media_logs.put(event, "weights", "histograms", weights)
            writer.write(event)
    return folder


@pytest.fixture
def open_report(browser: Any) -> Iterator[Opener]:
    """Opens a file in a context of its own; every request but that of the file is a failure."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def note(request: Any, path: Path) -> None:
        if request.url != path.as_uri() and not request.url.startswith("data:"):
            wrong.append(request.url)

    def open_file(path: Path) -> Any:
        contexts.append(browser.new_context(offline=True, viewport={"width": 1366, "height": 900}))
        page = contexts[-1].new_page()
        page.on("request", lambda request: note(request, path))
        page.on("console", lambda message: wrong.append(message.text))
        page.goto(path.as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert wrong == []


def save_report(page: Any, path: Path, title: str) -> Path:
    settled(page)
    page.once("dialog", lambda dialog: dialog.accept(title))
    page.get_by_role("button", name="export", exact=True).click()
    with page.expect_download() as started:
        page.get_by_role("menuitem", name="Save as a report (HTML)").click()
    assert started.value.suggested_filename.endswith(".html")
    started.value.save_as(path)
    return path


def rows_of(report: Any, card: str) -> list[list[str]]:
    """Returns the cells of a card's table."""
    tables = report.locator("article", has=report.get_by_role("heading", name=card, exact=True))
    return [
        [cell.strip() for cell in row.locator("th, td").all_inner_texts()]
        for row in tables.locator("tbody tr").all()
    ]


def test_a_report_has_the_cards_of_the_view_and_their_numbers(
    logdir: Path, board_server: Any, page: Any, tmp_path: Path, open_report: Opener
) -> None:
    open_view(page, board_server(logdir).url, "s=0.6&step=10")
    report = open_report(save_report(page, tmp_path / "report.html", "Two seeds & <b>more</b>"))
    assert report.title() == "Two seeds & <b>more</b>"
    assert report.get_by_role("heading", level=1).inner_text() == "Two seeds & <b>more</b>"
    facts = report.locator("dl").inner_text()
    assert logdir.name in facts and "ema, 0.6" in facts and "3 of 3" in facts
    shown = report.locator("h2, h3").all_inner_texts()
    assert shown.index("input") < shown.index("input/image") < shown.index("train/loss")
    # The values are those of the log, not the smoothed ones.
    assert rows_of(report, "train/loss") == [
        [EVIL, "1.01", "49", "1.01", "26"],
        ["seed_1", "0.01", "49", "0.01", "25"],
    ]
    curves = report.locator("article", has_text="train/loss").locator(".plot path[stroke^='var']")
    assert curves.count() >= 2
    image = report.get_by_role("img", name="input/image, media, step 10")
    assert image.evaluate("img => [img.complete, img.naturalWidth]") == [True, 24]
    left_out = report.locator("#left-out").inner_text()
    assert "weights: a report has no histograms" in left_out
    assert "input/broken, media, step 10" in left_out and "corrupted" in left_out


def test_hostile_names_are_text_and_nothing_runs(
    logdir: Path, board_server: Any, page: Any, tmp_path: Path, open_report: Opener
) -> None:
    open_view(page, board_server(logdir).url)
    path = save_report(page, tmp_path / "report.html", "</title><script>window.pwned=3</script>")
    report = open_report(path)
    assert report.evaluate("window.pwned ?? null") is None
    assert report.evaluate("document.scripts.length") == 0
    assert report.evaluate("document.querySelectorAll('img:not([src^=\"data:\"])').length") == 0
    policy = report.locator("meta[http-equiv=Content-Security-Policy]")
    assert policy.get_attribute("content") == POLICY
    assert report.locator("h3").filter(has_text=f"train/{EVIL}").count() == 1
    text = report.locator("pre").inner_text()
    assert text.splitlines()[1] == EVIL and "\\u202etxet" in text
    handlers = """[...document.querySelectorAll('*')].filter((e) =>
        [...e.attributes].some((a) => /^on|^(href|src)$/i.test(a.name)
          && !/^(#left-out|data:image)/.test(a.value))).length"""
    assert report.evaluate(handlers) == 0


def test_what_is_hidden_or_too_much_is_named(
    board_server: Any, page: Any, tmp_path: Path, open_report: Opener
) -> None:
    values = [(f"many/{i:03}", float(i)) for i in range(203)]
    closed = [("closed/a", 1.0), ("closed/b", 2.0)]
    write_run(tmp_path / "runs" / "one", [(s, WALL + s, values + closed) for s in range(2)])
    open_view(page, board_server(tmp_path / "runs").url, "shut=closed&pin=many/007")
    report = open_report(save_report(page, tmp_path / "report.html", "many"))
    assert report.locator("article").count() == 200
    assert report.get_by_role("heading", name="many/007").count() == 1
    assert report.locator("h2").first.inner_text() == "Pinned"
    left_out = report.locator("#left-out").inner_text()
    assert "3 further cards: a report has the first 200 cards of the page" in left_out
    assert "closed: 2 cards: the folder is closed" in left_out


def test_groups_and_expressions_have_a_legend_and_values(
    logdir: Path, board_server: Any, page: Any, tmp_path: Path, open_report: Opener
) -> None:
    view = "g=all&q=train/loss&made=%3Dtrain/loss*2"
    open_view(page, board_server(logdir).url, view)
    report = open_report(save_report(page, tmp_path / "report.html", ""))
    assert report.title() == logdir.name
    card = report.locator("article", has_text="train/loss*2")
    assert "all runs (2)" in card.locator(".legend").inner_text()
    assert rows_of(report, "train/loss*2")[1] == ["seed_1", "0.02", "49", "0.02", "50"]


def test_a_server_that_is_gone_leaves_cards_out_and_says_so(
    logdir: Path, board_server: Any, page: Any, tmp_path: Path, open_report: Opener
) -> None:
    open_view(page, board_server(logdir).url, "q=train/loss")
    settled(page)
    page.route("**/api/v1/scalars", lambda route: route.abort())
    report = open_report(save_report(page, tmp_path / "report.html", "gone"))
    assert report.locator("article").count() == 0
    assert "train/loss" in report.locator("#left-out").inner_text()


def test_a_cancelled_title_saves_nothing(logdir: Path, board_server: Any, page: Any) -> None:
    open_view(page, board_server(logdir).url)
    settled(page)
    asked: list[str] = []

    def dismiss(dialog: Any) -> None:
        asked.append(dialog.default_value)
        dialog.dismiss()

    page.once("dialog", dismiss)
    page.get_by_role("button", name="export", exact=True).click()
    page.get_by_role("menuitem", name="Save as a report (HTML)").click()
    assert until(lambda: asked, page=page) == [logdir.name]
    assert page.get_by_text("The report is being made").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_follows_the_theme_fits_390_px_and_is_accessible(
    logdir: Path,
    board_server: Any,
    page: Any,
    tmp_path: Path,
    open_report: Opener,
    scheme: str,
) -> None:
    open_view(page, board_server(logdir).url)
    report = open_report(save_report(page, tmp_path / "report.html", "Seeds"))
    report.emulate_media(color_scheme=scheme)
    ground = report.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(244, 245, 247)", "dark": "rgb(20, 22, 26)"}[scheme]
    assert serious_violations(report) == []
    strokes = report.locator(".swatch line")
    shown = [one.evaluate("line => getComputedStyle(line).stroke") for one in strokes.all()]
    assert shown and all(stroke.startswith("rgb(") for stroke in shown)
    report.set_viewport_size({"width": 390, "height": 800})
    assert report.evaluate("document.documentElement.scrollWidth") == 390
    assert serious_violations(report) == []
