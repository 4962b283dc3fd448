"""Cards of images and texts while logs change: restarts, new files, selected steps, downloads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from browser.metrics_view import until
from fixtures import media_logs

from headrace.formats.event_file import EventFileWriter
from headrace.formats.proto.event_pb2 import Event


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("media")
    media_logs.write_run(folder / "base", 0)
    media_logs.write_run(folder / "wide", 1)
    return folder


def write_texts(folder: Path, texts: list[tuple[int, str]], wall: float = media_logs.WALL) -> None:
    with EventFileWriter(folder) as writer:
        for i, (step, text) in enumerate(texts):
            event = Event(wall_time=wall + i, step=step)
            media_logs.put(event, "story", "text", media_logs.strings([text], []))
            writer.write(event)


def image_card(page: Any, tag: str) -> Any:
    def card() -> Any:
        for one in page.evaluate("window.__board?.images ?? []"):
            if one["tag"] == tag and one["panes"] and all(p["width"] for p in one["panes"]):
                return one
        return None

    return until(card)


def red(page: Any) -> int:
    """Returns the level of red of the first pixel of the first pane."""
    return page.evaluate(
        """() => document.querySelector('.image-pane canvas')?.getContext('2d')
              .getImageData(0, 0, 1, 1).data[0] ?? -1"""
    )


def test_after_a_restart_each_step_shows_its_own_text(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    steps = [(0, "zero"), (10, "ten"), (20, "twenty"), (10, "ten anew"), (20, "twenty anew")]
    write_texts(tmp_path / "run", steps)
    page.goto(board_server(tmp_path).url + "#/metrics?text=plain&step=10")
    card = page.get_by_role("region", name="Texts of story")
    card.get_by_text("ten anew", exact=True).wait_for()
    page.goto(page.url.replace("step=10", "step=20"))
    card.get_by_text("twenty anew", exact=True).wait_for()
    page.goto(page.url.replace("step=20", "step=0"))
    card.get_by_text("zero", exact=True).wait_for()


def test_a_rewritten_file_shows_its_new_contents(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    def picture(level: int, wall: float) -> bytes:
        folder = tmp_path / "made" / str(level)
        with EventFileWriter(folder) as writer:
            event = Event(wall_time=wall, step=7)
            image = event.summary.value.add(tag="input/image").image
            image.height = image.width = 24
            image.colorspace = 3
            image.encoded_image_string = media_logs.png(media_logs.picture(level))
            media_logs.put(event, "story", "text", media_logs.strings([f"level {level}"], []))
            writer.write(event)
        return Path(writer.path).read_bytes()

    old, new = picture(40, media_logs.WALL), picture(90, media_logs.WALL + 5)
    run = tmp_path / "logs" / "run"
    run.mkdir(parents=True)
    file = run / "events.out.tfevents.1.host"
    file.write_bytes(old)
    page.goto(board_server(tmp_path / "logs").url + "#/metrics?text=plain")
    image_card(page, "input/image")
    assert until(lambda: red(page) == 40)
    page.get_by_text("level 40", exact=True).wait_for()
    beside = tmp_path / "beside"
    beside.write_bytes(new)
    beside.replace(file)
    assert until(lambda: red(page) == 90)
    page.get_by_text("level 90", exact=True).wait_for()


def test_selected_steps_are_all_that_the_sliders_reach(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^input/image$&runs=only:base&from=50&to=95")
    card = image_card(page, "input/image")
    assert card["steps"] == 5 and card["step"] == 90
    page.get_by_role("group", name="Images of input/image").focus()
    page.keyboard.press("Home")
    assert until(lambda: image_card(page, "input/image")["step"] == 50)
    page.goto(page.url.replace("from=50", "from=91"))
    page.get_by_text("Nothing between steps 91 and 95.").wait_for()
    page.goto(page.url.replace("input%2Fimage", "notes").replace("input/image", "notes"))
    page.get_by_text("Nothing between steps 91 and 95.").wait_for()


def test_a_step_that_is_being_typed_stays_while_the_log_grows(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    write_texts(tmp_path / "run", [(step, f"text {step}") for step in range(5)])
    page.goto(board_server(tmp_path).url + "#/metrics?text=plain")
    field = page.get_by_label("Type a step").first
    field.press_sequentially("1")
    page.get_by_text("5 of 5").wait_for()
    write_texts(tmp_path / "run", [(9, "text 9")], media_logs.WALL + 50)
    page.get_by_text("text 9", exact=True).wait_for()
    assert field.input_value() == "14"  # the caret stood before the 4
    field.press("Control+a")
    field.press_sequentially("2")
    field.press("Enter")
    page.get_by_text("text 2", exact=True).wait_for()


def test_keys_of_the_browser_are_left_to_it(logdir: Path, board_server: Any, page: Any) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^input/image$&runs=only:base")
    assert image_card(page, "input/image")["step"] == 190
    group = page.get_by_role("group", name="Images of input/image")
    group.evaluate(
        """(element) => {
          window.taken = [];
          addEventListener('keydown', (event) => window.taken.push(event.defaultPrevented));
          for (const key of [{ctrlKey: true}, {metaKey: true}, {}])
            element.dispatchEvent(new KeyboardEvent('keydown',
              {key: 'ArrowLeft', bubbles: true, cancelable: true, ...key}));
        }"""
    )
    assert until(lambda: image_card(page, "input/image")["step"] == 180)
    assert page.evaluate("window.taken") == [False, False]  # the third went no further


def test_one_card_may_have_a_look_of_its_own(logdir: Path, board_server: Any, page: Any) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=image&runs=only:base&step=50")
    assert image_card(page, "input/image") and image_card(page, "batch/images")

    def reds() -> list[int]:
        return page.evaluate(
            """() => [...document.querySelectorAll('.image-pane canvas')].map((canvas) =>
                 canvas.getContext('2d').getImageData(0, 0, 1, 1).data[0])"""
        )

    assert until(lambda: reds() == [50, 50])
    card = page.get_by_role("group", name="Images of input/image")
    card.get_by_role("button", name="adjust").click()
    card.get_by_label("Only here").check()
    card.get_by_label("Brightness").fill("2")
    assert until(lambda: sorted(reds()) == [50, 100])
    assert until(lambda: "b2" in page.evaluate("location.hash"))
    page.reload()
    assert until(lambda: sorted(reds()) == [50, 100])


def saved(page: Any, card: str, item: str) -> tuple[str, bytes]:
    """Returns the name and the bytes of what a card's menu saves."""
    tile = page.get_by_role("article", name=card)
    tile.hover()
    tile.get_by_role("button", name="Menu of the card").click()
    with page.expect_download() as waiting:
        page.get_by_role("menuitem", name=item).click()
    download = waiting.value
    return download.suggested_filename, Path(download.path()).read_bytes()


def test_files_are_saved_as_they_were_logged(logdir: Path, board_server: Any, page: Any) -> None:
    board = board_server(logdir)
    page.goto(board.url + "#/metrics?q=^input/image$&step=70")
    assert until(lambda: len(image_card(page, "input/image")["panes"]) == 2)
    name, data = saved(page, "input/image", "Save the file of base")
    assert name == "input_image_base_70.png"
    assert data == media_logs.png(media_logs.picture(70))
    page.goto(board.url + "#/metrics?q=^voice$&runs=only:base&step=30")
    page.get_by_role("img", name="Waveform of voice").wait_for()
    name, data = saved(page, "voice", "Save the sound of base")
    assert name == "voice_base_30.wav" and data == media_logs.wav(250)


def test_texts_are_saved_shown_or_all(logdir: Path, board_server: Any, page: Any) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^notes$&runs=only:base&step=20")
    page.get_by_role("heading", name="Run of step 20").wait_for()
    name, data = saved(page, "notes", "Save the texts shown")
    assert name == "notes_20.txt" and data.decode().startswith("## Run of step 20\n")
    name, data = saved(page, "notes", "Save all steps")
    rows = json.loads(data)["runs"][0]["rows"]
    assert [row["step"] for row in rows] == list(range(0, 200, 10))
    assert rows[3]["values"][0].startswith("## Run of step 30\n")


def test_a_failed_search_shows_a_message(logdir: Path, board_server: Any, page: Any) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^notes$&runs=only:base")
    page.get_by_role("region", name="Texts of notes").get_by_role("heading").first.wait_for()
    busy = {"error": "too busy"}
    page.route("**/api/v1/text?*q=*", lambda route: route.fulfill(status=503, json=busy))
    page.get_by_label("Search the texts of notes").fill("after")
    page.get_by_text("The search failed: too busy").wait_for()


def test_a_text_that_failed_to_load_is_not_reported_as_unreadable(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.route("**/api/v1/text?*row=*", lambda route: route.abort())
    page.goto(board_server(logdir).url + "#/metrics?q=^notes$&runs=only:base")
    page.get_by_text("The server did not respond").wait_for()
    assert page.get_by_text("this record cannot be read").count() == 0


def test_a_restarted_server_still_serves_its_images(
    logdir: Path, board_server: Any, page: Any
) -> None:
    first = board_server(logdir, alone=True)
    page.goto(first.url + "#/metrics?q=^input/image$&runs=only:base&step=50")
    assert until(lambda: red(page) == 50)
    port = first.url.rstrip("/").rsplit(":", 1)[1]
    boot = page.evaluate("window.__board.boot")
    first.stop()
    board_server(logdir, "--port", port)
    assert until(lambda: page.evaluate("window.__board.boot") != boot)
    card = page.get_by_role("group", name="Images of input/image")
    field = card.get_by_label("Type a step")
    for step in (120, 50):  # the second was shown before, under a name of the first process
        field.fill(str(step))
        field.press("Enter")
        assert until(lambda step=step: red(page) == step), step
    assert page.locator(".pane-failure").count() == 0


def test_without_the_code_of_markdown_texts_are_plain(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.route("**/assets/markdown-*.js", lambda route: route.abort())
    page.goto(board_server(logdir).url + "#/metrics?q=^notes$&runs=only:base&step=20")
    page.get_by_text("## Run of step 20").wait_for()
