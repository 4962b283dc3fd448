"""Cards of images, sounds and texts: every step can be shown, exact to the pixel."""

from __future__ import annotations

import io
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
from browser.metrics_view import until
from fixtures import media_logs
from fixtures.panel_client import write_values

from headrace.formats.proto.summary_pb2 import Summary


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("media")
    media_logs.write_run(folder / "base", 0)
    media_logs.write_run(folder / "wide", 1)
    return folder


def image_card(page: Any, tag: str) -> Any:
    """Returns what the card of a tag shows, once each of its panes is painted."""

    def card() -> Any:
        for one in page.evaluate("window.__board?.images ?? []"):
            if one["tag"] == tag and one["panes"] and all(p["width"] for p in one["panes"]):
                return one
        return None

    return until(card)


def pixels(page: Any, pane: int = 0) -> np.ndarray:
    """Returns [height, width, 4] of a pane's canvas."""
    found = page.evaluate(
        """(pane) => {
          const canvas = document.querySelectorAll('.image-pane canvas')[pane];
          const { width, height } = canvas;
          const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
          return { width, height, data: [...data] };
        }""",
        pane,
    )
    shape = (found["height"], found["width"], 4)
    return np.array(found["data"], np.uint8).reshape(shape)


def test_pixels_are_those_of_the_file(logdir: Path, board_server: Any, page: Any) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^input/image$&runs=only:base&step=70")
    assert image_card(page, "input/image")["step"] == 70
    assert (pixels(page)[..., :3] == media_logs.picture(70)).all()


@pytest.mark.parametrize("brightness, contrast", [(1.5, 1), (0.5, 1), (1, 2), (1.25, 0.6)])
def test_brightness_and_contrast_are_exact(
    logdir: Path, board_server: Any, page: Any, brightness: float, contrast: float
) -> None:
    view = f"#/metrics?q=^input/image$&runs=only:base&bright={brightness}&contrast={contrast}"
    page.goto(board_server(logdir).url + view)
    image_card(page, "input/image")
    before = media_logs.picture(190).astype(np.float64)
    expected = np.clip(np.clip((before - 127.5) * contrast + 127.5, 0, 255) * brightness, 0, 255)
    shown = until(lambda: np.abs(pixels(page)[..., :3] - expected).max() <= 2)
    assert shown, "no pixel may be more than 2 levels off"


def test_what_is_seen_on_the_screen_is_what_the_canvas_holds(
    logdir: Path, board_server: Any, page: Any
) -> None:
    view = "#/metrics?q=^input/image$&runs=only:base&step=70&zoom=8&bright=2"
    page.goto(board_server(logdir).url + view)
    image_card(page, "input/image")
    expected = np.clip(media_logs.picture(70).astype(int) * 2, 0, 255)

    def close() -> bool:
        place = page.locator(".image-pane canvas").bounding_box()
        screen = page.screenshot(
            clip={"x": place["x"], "y": place["y"], "width": 8 * 8, "height": 8 * 8}
        )
        seen = decode_png(page, screen)
        # The middle of each of the first 8 x 8 enlarged pixels.
        return bool(np.abs(seen[4::8, 4::8, :3].astype(int) - expected[:8, :8]).max() <= 2)

    assert until(close)


def decode_png(page: Any, data: bytes) -> np.ndarray:
    """Returns [height, width, 4]; the browser knows how to read it."""
    size = struct.unpack(">II", data[16:24])
    found = page.evaluate(
        """async (bytes) => {
          const blob = new Blob([new Uint8Array(bytes)], {type: 'image/png'});
          const bitmap = await createImageBitmap(blob);
          const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
          const on = canvas.getContext('2d');
          on.drawImage(bitmap, 0, 0);
          return [...on.getImageData(0, 0, bitmap.width, bitmap.height).data];
        }""",
        list(data),
    )
    return np.array(found, np.uint8).reshape(size[1], size[0], 4)


def test_the_step_cursor_moves_images_and_a_typed_step_stays_with_its_card(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^input/image$&runs=only:base&step=31")
    assert image_card(page, "input/image")["step"] == 30
    field = page.get_by_label("Type a step").first
    field.fill("108")
    field.press("Enter")
    assert until(lambda: image_card(page, "input/image")["step"] == 110)
    assert until(lambda: pixels(page)[0, 0, 0] == 110)
    assert until(lambda: "media=" in page.evaluate("location.hash"))
    page.reload()
    assert image_card(page, "input/image")["step"] == 110
    page.get_by_label("Follow the global step cursor").first.click()
    assert until(lambda: image_card(page, "input/image")["step"] == 30)


def test_arrow_keys_walk_through_steps(logdir: Path, board_server: Any, page: Any) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^input/image$&runs=only:base")
    assert image_card(page, "input/image")["step"] == 190
    page.get_by_role("group", name="Images of input/image").focus()
    page.keyboard.press("ArrowLeft")
    assert until(lambda: image_card(page, "input/image")["step"] == 180)
    page.keyboard.press("Shift+ArrowLeft")
    assert until(lambda: image_card(page, "input/image")["step"] == 80)


def test_every_sample_of_a_batch_is_within_reach(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^batch/images$&runs=only:base&step=20")
    assert image_card(page, "batch/images")["panes"][0]["samples"] == 3
    page.get_by_label("Sample of the batch").select_option("2")
    assert until(lambda: pixels(page)[0, 0, 0] == 20 + 100)


def test_all_samples_of_a_batch_are_shown_at_once(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^batch/images$&runs=only:base&step=20")
    assert image_card(page, "batch/images")["panes"][0]["samples"] == 3
    page.get_by_label("Sample of the batch").select_option(label="all 3 samples")
    shown = page.locator(".image-pane canvas")
    assert until(lambda: shown.count() == 3)
    first = "canvas => canvas.getContext('2d').getImageData(0, 0, 1, 1).data[0]"
    assert until(lambda: [one.evaluate(first) for one in shown.all()] == [20, 70, 120])
    boxes = [one.bounding_box() for one in shown.all()]
    assert len({(round(box["x"]), round(box["y"])) for box in boxes}) == 3
    assert until(lambda: "i-1" in page.evaluate("location.hash"))
    page.reload()
    image_card(page, "batch/images")
    assert until(lambda: shown.count() == 3)


def test_an_animated_gif_plays(tmp_path: Path, board_server: Any, page: Any) -> None:
    frames = [PIL.Image.new("RGB", (16, 16), colour) for colour in ("red", "blue")]
    data = io.BytesIO()
    frames[0].save(data, "GIF", save_all=True, append_images=frames[1:], duration=80, loop=0)
    summary = Summary.Image(height=16, width=16, colorspace=3, encoded_image_string=data.getvalue())
    write_values(tmp_path, [(1, Summary.Value(tag="moving", image=summary))])
    page.goto(board_server(tmp_path).url + "#/metrics")
    played = page.locator("img.image-played")
    played.wait_for()
    pane = page.locator(".image-pane")
    seen = set()

    def both() -> bool:
        picture = PIL.Image.open(io.BytesIO(pane.screenshot())).convert("RGB")
        red, _, blue = picture.getpixel((picture.width // 2, picture.height // 2))
        seen.add("red" if red > blue else "blue")
        return len(seen) == 2

    assert until(both)
    # A comparison needs pixels, so it shows the first frame.
    page.get_by_label("Comparison").get_by_text("Wipe").click()
    assert until(lambda: played.count() == 0)


def test_a_difference_lists_what_differs(logdir: Path, board_server: Any, page: Any) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^input/image$&compare=difference&step=20")
    card = image_card(page, "input/image")
    assert until(lambda: image_card(page, "input/image")["panes"][0]["difference"])
    difference = image_card(page, "input/image")["panes"][0]["difference"]
    assert difference == {"mean": 16 * 100 / (24 * 24 * 3), "most": 100, "pixels": 16}
    assert len(card["panes"]) == 1
    shown = pixels(page)
    assert (shown[4:8, 4:8, 2] == 255).all() and shown[0, 0, :3].sum() == 0


def test_a_wipe_shows_one_run_beside_the_other(logdir: Path, board_server: Any, page: Any) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^input/image$&compare=wipe&step=20")
    image_card(page, "input/image")
    page.get_by_label("wipe", exact=True).fill("0.25")  # 6 of 24 columns are of the first run
    assert until(lambda: pixels(page)[5, 6, 2] == 200)
    shown = pixels(page)
    assert (shown[4:8, 4:6, 2] == 100).all() and (shown[4:8, 6:8, 2] == 200).all()


def test_all_of_5000_images_are_reached(tmp_path: Path, board_server: Any, page: Any) -> None:
    media_logs.write_pictures(tmp_path / "many", 5000)
    board = board_server(tmp_path)
    page.goto(board.url + "#/metrics")
    first = until(lambda: [c for c in page.evaluate("window.__board?.images ?? []") if c["panes"]])
    assert first and first[0]["steps"] == 5000
    slider = page.locator(".image-card input[type=range]").first
    for step in (3, 4999, 1234, 2500, 77):
        slider.fill(str(step))
        assert until(lambda step=step: _painted(page) == step)
        assert pixels(page)[0, 0, 0] == step % 256


def _painted(page: Any) -> int | None:
    card = page.evaluate("window.__board?.images")[0]
    if not card["panes"] or card["panes"][0]["key"].split(" ")[2] != str(card["step"]):
        return None
    return int(card["step"])


def test_a_sound_is_drawn_from_its_samples_and_plays(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^voice$&runs=only:base")
    wave = page.get_by_role("img", name="Waveform of voice")
    wave.wait_for()
    assert until(lambda: "0:00.5 long" in wave.get_attribute("aria-label"))

    def heights() -> list[int]:
        return page.evaluate(
            """() => {
              const canvas = document.querySelector('canvas.wave');
              const { width, height } = canvas;
              const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
              const tall = (x) => {
                let n = 0;
                for (let y = 0; y < height; y++) n += data[(y * width + x) * 4 + 3] > 0 ? 1 : 0;
                return n;
              };
              return [tall(2), tall(Math.floor(width / 2)), tall(width - 3)];
            }"""
        )

    # The tone fades to e^-3 of itself.
    assert until(lambda: heights()[0] > 40)
    loud, half, quiet = heights()
    assert loud > half > quiet
    page.get_by_role("button", name="Play voice").click()
    page.get_by_role("button", name="Pause voice").wait_for()


def test_texts_are_shown_as_markdown_plain_and_raw(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^notes$&runs=only:base&step=20")
    card = page.get_by_role("region", name="Texts of notes")
    card.get_by_role("heading", name="Run of step 20").wait_for()
    assert card.locator("td").first.inner_text() == "loss"
    link = card.get_by_role("link", name="the notes")
    assert link.get_attribute("href") == "https://example.org/notes"
    assert "noopener" in link.get_attribute("rel")
    page.get_by_role("radio", name="Raw").click()
    assert until(lambda: "## Run of step 20\\n" in card.inner_text())


def test_a_search_finds_the_steps_that_hold_a_word(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^notes$&runs=only:base")
    page.get_by_label("Search the texts of notes").fill("after *130*")
    page.get_by_text("Found in 1 step.").wait_for()
    assert page.locator("mark").first.inner_text() == "after *130*"
    page.get_by_role("button", name="step 130").click()
    page.get_by_label("Search the texts of notes").fill("")
    page.get_by_role("heading", name="Run of step 130").wait_for()


def test_a_diff_marks_the_words_that_changed(logdir: Path, board_server: Any, page: Any) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^notes$&runs=only:base&step=10&textdiff=1")
    diff = page.locator(".text-diff")
    diff.wait_for()
    removed = diff.locator(".diff-removed")
    assert until(lambda: "step 0" in removed.first.inner_text())
    assert "step 10" in diff.locator(".diff-added").first.inner_text()
    assert diff.locator(".diff-added b").first.inner_text() == "10"


def test_other_tensors_show_their_shape_and_values(
    logdir: Path, board_server: Any, page: Any
) -> None:
    page.goto(board_server(logdir).url + "#/metrics?q=^odd/tensor$&runs=only:base&step=10")
    card = page.locator(".tensor-card")
    card.get_by_text("[2, 3]").wait_for()
    assert "0  10  20  30  40  50" in card.inner_text()


def test_precision_and_recall_are_read_out_at_the_threshold(
    logdir: Path, board_server: Any, page: Any
) -> None:
    view = "#/metrics?q=^quality$&runs=only:base&step=50&threshold=0.5"
    page.goto(board_server(logdir).url + view)
    row = page.locator(".pr-table tbody tr")
    row.wait_for()
    tp, fp, _, fn, precision, recall = media_logs.pr_table(2.5)[:, 50]
    f1 = 2 * tp / (2 * tp + fp + fn)
    shown = [cell.inner_text() for cell in row.locator("td").all()]
    assert shown[:3] == [f"{precision:.3f}", f"{recall:.3f}", f"{f1:.3f}"]


def test_a_layout_of_the_log_is_drawn_changed_and_kept(
    tmp_path: Path, board_server: Any, page: Any
) -> None:
    media_logs.write_run(tmp_path / "logs" / "base", 0)
    media_logs.write_layout(tmp_path / "logs" / "base")
    board = board_server(tmp_path / "logs", "--state", str(tmp_path / "state.json"))
    page.goto(board.url + "#/metrics?q=^custom")

    def curves(place: str) -> list[dict[str, Any]] | None:
        return page.evaluate(
            """(place) => window.__board?.metrics?.charts.filter((c) => c.id.endsWith(place))
              .map((c) => c.curves.map((k) => ({tag: k.tag, lo: k.lo && [...k.lo].slice(0, 3)})))[0]
              ?? null""",
            place,
        )

    found = until(lambda: curves("/0/0"))
    tags = ["train/accuracy", "train/loss", "train/loss_high", "train/loss_low"]
    assert sorted(curve["tag"] for curve in found) == tags
    bounds = until(lambda: (curves("/0/1") or [{}])[0].get("lo"))
    losses = [2 * math.exp(-step / 60) for step in (0, 10, 20)]
    assert bounds == pytest.approx([0.8 * loss for loss in losses], rel=1e-6)
    card = page.get_by_role("article", name="Custom scalars")
    card.hover()
    card.get_by_role("button", name="Menu of the card").click()
    page.get_by_role("menuitem", name="Edit the layout").click()
    page.get_by_label("Title of the chart").first.fill("only accuracy")
    page.get_by_label("Patterns of tags").first.fill("train/acc")
    page.get_by_role("button", name="Save", exact=True).click()
    assert until(lambda: [c["tag"] for c in curves("/0/0") or []] == ["train/accuracy"])
    kept = tmp_path / "state.json"
    assert until(lambda: kept.exists() and "only accuracy" in kept.read_text())
