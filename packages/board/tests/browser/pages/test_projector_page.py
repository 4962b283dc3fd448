"""The projector, and the cards of meshes."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.metrics_view import address, until, wait_for_address
from browser.page_requests import wait_for_rest
from fixtures.embeddings import clusters, write_meshes, write_pytorch_projector, write_tsv

WORDS = "pj=words%7Cdefault:00000"
MESHES = "(window.__board?.meshes ?? []).filter((mesh) => mesh.id)"  # those that are painted


def state(page: Any) -> Any:
    return page.evaluate("window.__board.projector")


def wait(page: Any, condition: str, seconds: float = 20) -> None:
    page.wait_for_function(
        f"() => {{ const p = window.__board?.projector; return p && ({condition}); }}",
        timeout=seconds * 1000,
    )


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("embeddings")
    write_pytorch_projector(folder / "words", rows=300)
    return folder


@pytest.fixture
def show(page: Any, board_server: Callable[..., Any], words: Path) -> Callable[[str], Any]:
    """Opens the projector of a log with 300 words in 6 groups."""
    url = board_server(words).url

    def opened(view: str = "") -> Any:
        page.goto("about:blank")
        page.goto(f"{url}#/projector?{WORDS}&{view}")
        wait(page, "p.points > 0")
        return page

    return opened


def click_row(page: Any, row: int, modifiers: list[str] | None = None) -> None:
    (at,) = [one for one in state(page)["screen"] if one["row"] == row]
    box = page.locator(".pj-top").bounding_box()
    page.mouse.click(box["x"] + at["x"], box["y"] + at["y"])


@pytest.mark.parametrize("plain", [False, True])
def test_a_click_on_a_point_lists_its_true_neighbours(show: Any, plain: bool) -> None:
    page = show(f"pji=0&pj2d={int(plain)}&pjx=euclidean&pjk=5")
    assert plain or state(page)["painter"] == "webgl2"
    assert not plain or state(page)["painter"] == "canvas"
    click_row(page, 7)
    wait(page, "p.focus")
    shown = state(page)
    points, _ = clusters(300, 32)
    focus = shown["focus"]["row"]
    distances = np.linalg.norm(points - points[focus], axis=1)
    nearest = np.argsort(distances)[1:6]
    assert [one["row"] for one in shown["neighbours"]] == nearest.tolist()
    for one in shown["neighbours"]:
        assert one["distance"] == pytest.approx(distances[one["row"]], rel=1e-4)
    # The list says the same, for those who cannot see the canvas; it is walked by keys.
    names = page.get_by_role("list", name="Nearest neighbours").get_by_role("button")
    assert [name.split("\n")[0] for name in names.all_inner_texts()] == [
        one["label"] for one in shown["neighbours"]
    ]
    names.first.focus()
    page.keyboard.press("Enter")
    wait(page, f"p.focus.row === {nearest[0]}")


@pytest.mark.parametrize("plain", [False, True])
def test_points_have_the_colours_of_their_groups(show: Any, plain: bool) -> None:
    page = show(f"pji=0&pj2d={int(plain)}&pjd=2")
    groups = ["anchor", "kettle", "lamp", "meadow", "river", "stone"]
    words = ["stone", "river", "lamp", "kettle", "meadow", "anchor"]
    inks = []
    for slot in range(6):
        css = page.evaluate(
            f"getComputedStyle(document.documentElement).getPropertyValue('--run-{slot}')"
        )
        inks.append([int(css.strip()[i : i + 2], 16) for i in (1, 3, 5)])

    def right() -> bool:
        points = under_points(page)
        expected = [inks[groups.index(words[row % 6])] for row, *_ in points]
        found = sum(
            max(abs(a - b) for a, b in zip(rgb, ink, strict=True)) <= 8
            for (_, *rgb), ink in zip(points, expected, strict=True)
        )
        return found >= 0.9 * len(points) > 0  # a few lie below others

    assert until(right), under_points(page)  # the picture comes a frame or more after the points


def under_points(page: Any) -> list[list[int]]:
    """The colours on the screen where points should be, each after the row of its point."""
    shot = page.locator(".pj-scatter").screenshot()
    return page.evaluate(
        """async (bytes) => {
            const bitmap = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
            const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
            const on = canvas.getContext('2d');
            on.drawImage(bitmap, 0, 0);
            return window.__board.projector.screen.slice(0, 60).map(({row, x, y}) =>
                [row, ...on.getImageData(Math.round(x), Math.round(y), 1, 1).data.slice(0, 3)]);
        }""",
        list(shot),
    )


# In one go, since a layout of 300 points ends while a driver still looks for the button.
PAUSE_AFTER = """async (least) => {
  for (const end = performance.now() + 60000; performance.now() < end; ) {
    const pause = [...document.querySelectorAll('button')].find((b) => b.textContent === 'Pause');
    if (pause && window.__board.projector.layout?.iteration > least) {
      pause.click();
      return true;
    }
    await new Promise(requestAnimationFrame);
  }
  return false;
}"""


# Steps that were sent before the pause still arrive; a layout that goes on sends one each frame.
PAUSED_AT = """async () => {
  let [at, frames] = [-1, 0];
  while (frames < 20) {
    await new Promise(requestAnimationFrame);
    const now = window.__board.projector.layout.iteration;
    frames = now === at ? frames + 1 : 0;
    at = now;
  }
  return at;
}"""


def test_tsne_and_umap_lay_groups_apart_in_a_worker_and_may_pause(show: Any) -> None:
    page = show("pji=0&pjd=2&pjpp=12")
    for title, least in (("t-SNE", 120), ("UMAP", 60)):
        page.get_by_role("radio", name=title).click()
        assert page.evaluate(PAUSE_AFTER, least)
        page.get_by_role("button", name="Go on").wait_for()
        before = page.evaluate(PAUSED_AT)
        shown = state(page)
        assert shown["layout"]["iteration"] == before and shown["dimensions"] == 2
        places = {one["row"]: (one["x"], one["y"]) for one in shown["screen"]}
        own = 0
        for row, at in places.items():
            others = [r for r in places if r != row]
            near = min(others, key=lambda r: np.hypot(at[0] - places[r][0], at[1] - places[r][1]))
            own += near % 6 == row % 6
        assert own >= 0.9 * len(places), title
        page.get_by_role("button", name="Go on").click()
        wait(page, f"p.layout.iteration > {before}")


def test_search_finds_words_and_patterns_and_ends_one_that_hangs(show: Any) -> None:
    page = show("pji=0")
    box = page.get_by_role("searchbox", name="Search labels")
    box.fill("KETTLE_1")
    wait(page, "p.matches > 0")
    expected = [i for i in range(300) if f"kettle_{i}".startswith("kettle_1") and i % 6 == 3]
    assert state(page)["matches"] == len(expected)
    page.get_by_role("button", name="Select all").click()
    wait(page, f"p.selected.length === {len(expected)}")
    page.get_by_role("button", name=".*").click()
    box.fill("^(river|lamp)_\\d$")
    wait(page, "p.matches === 4")  # rows 1, 7 and 2, 8
    box.fill("(")
    page.get_by_text("is not a regular expression").wait_for()
    box.fill("^(.|.|.|.|.|.|.|.)*~")
    page.get_by_text("takes too long").wait_for()
    box.fill("river_1$")
    wait(page, "p.matches === 1")


def test_a_box_and_a_group_select_points(show: Any) -> None:
    page = show("pji=0&pjd=2")
    page.get_by_role("button", name="stone").click()
    wait(page, "p.selected.length === 50")
    assert {row % 6 for row in state(page)["selected"]} == {0}
    area = page.locator(".pj-top").bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(area["x"] + 2, area["y"] + 2)
    page.mouse.down()
    page.mouse.move(area["x"] + area["width"] - 2, area["y"] + area["height"] - 2, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    wait(page, "p.selected.length >= 297")


def test_keys_turn_zoom_and_walk_the_points(show: Any) -> None:
    page = show("pji=0")
    page.locator(".pj-top").focus()
    start = state(page)["camera"]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("+")
    wait(page, f"p.camera !== '{start}'")
    yaw, pitch, zoom = map(float, state(page)["camera"].split(","))
    assert (yaw, pitch, zoom) == (0.7, 0.35, 1.2)
    page.keyboard.press("]")
    page.keyboard.press("]")
    wait(page, "p.focus && p.focus.row === 1")
    page.keyboard.press("Escape")
    wait(page, "p.focus === null")
    page.keyboard.press("0")
    wait(page, f"p.camera === '{start}'")


def test_a_view_in_the_address_is_the_same_after_a_reload(show: Any) -> None:
    page = show("pjm=custom&pjw=stone,river,lamp,anchor&pjat=11&pjsel=5,a-3&pjk=7&pjby=frequency")
    page.locator(".pj-top").hover()
    camera = state(page)["camera"]
    page.mouse.wheel(0, -120)
    wait(page, f"p.camera !== {json.dumps(camera)}")
    wait_for_address(page)
    names = ("method", "camera", "focus", "neighbours", "selected", "colour", "screen")
    before = {name: state(page)[name] for name in names}
    assert before["method"] == "custom" and before["colour"] == "frequency"
    assert before["selected"] == [5, 16, 17, 18, 19] and len(before["neighbours"]) == 7
    page.reload()
    wait(page, "p.points > 0 && p.neighbours.length === 7 && p.selected.length === 5 && !p.busy")
    after = {name: state(page)[name] for name in names}
    for one, other in zip(after.pop("screen"), before.pop("screen"), strict=True):
        assert one == pytest.approx(other, abs=1)  # the address has rounded numbers
    assert after == before


def test_own_axes_lead_from_one_word_to_another(show: Any) -> None:
    page = show("pjm=custom&pjw=stone,river,,")
    shown = state(page)
    x = {group: [p["x"] for p in shown["screen"] if p["row"] % 6 == group] for group in range(6)}
    assert max(x[0]) < min(x[1])  # stone is left of river
    page.get_by_label("Right").fill("nowhere")
    page.keyboard.press("Enter")
    page.get_by_text('No label has "nowhere".').wait_for()


def test_what_labels_hold_is_text(page: Any, board_server: Any, tmp_path: Path) -> None:
    points, _ = clusters(12, 3)
    write_tsv(tmp_path / "t.tsv", points)
    evil = "<img src=x onerror=alert(1)>\u202egnp"
    head = f"{evil}\tb"
    (tmp_path / "m.tsv").write_text("\n".join([head, *([f"{evil}\t<b>x</b>"] * 12)]))
    (tmp_path / "projector_config.pbtxt").write_text(
        f"embeddings {{ tensor_name: {json.dumps(evil, ensure_ascii=False)}"
        ' tensor_path: "t.tsv" metadata_path: "m.tsv" }'
    )
    page.goto(f"{board_server(tmp_path).url}#/projector?pjat=3&pjt=1")
    wait(page, "p.points === 12")
    page.locator(".pj-title").first.wait_for()
    assert page.locator("img, b").count() == 0
    assert "\\u202e" in page.locator(".pj-title").first.inner_text()


def test_a_broken_table_says_what_is_wrong(page: Any, board_server: Any, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("1\t2\n3\tx\n")
    (tmp_path / "projector_config.pbtxt").write_text(
        'embeddings { tensor_name: "t" tensor_path: "t.tsv" }'
    )
    page.goto(f"{board_server(tmp_path).url}#/projector")
    page.get_by_role("alert").get_by_text("row 1 of t.tsv has 'x', not a number").wait_for()


def test_meshes_turn_and_follow_the_step(page: Any, board_server: Any, tmp_path: Path) -> None:
    write_meshes(tmp_path / "run")
    page.goto(f"{board_server(tmp_path).url}#/metrics?step=10")
    card = "mesh:torus_VERTEX@run"
    page.wait_for_function(f"() => ({MESHES}).length >= 2")
    wait_for_rest(page)  # a third one would be there by now
    shown = {mesh["id"]: mesh for mesh in page.evaluate(MESHES)}
    assert sorted(shown) == ["mesh:cloud_VERTEX@run", card]  # none for faces and colours
    assert (shown[card]["step"], shown[card]["faces"], shown[card]["mode"]) == (10, 2304, "surface")
    assert shown["mesh:cloud_VERTEX@run"]["mode"] == "points"
    canvas = page.get_by_role("application", name="torus")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("radio", name="Wires").click()
    page.get_by_label("Step of torus").first.press("End")
    page.wait_for_function(
        f"() => {{ const m = ({MESHES}).find((mesh) => mesh.id === '{card}');"
        " return m.step === 30 && m.mode === 'wireframe' && m.camera.yaw === 0.7; }"
    )
    assert until(lambda: "mc=" in address(page) and "ms=wireframe" in address(page))
    page.reload()
    page.wait_for_function(
        f"() => ({MESHES}).some((m) => m.id === '{card}' && m.camera.yaw === 0.7)"
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("view", "shown"),
    [
        ("pjat=4&pjsel=9", "p.points > 0 && p.neighbours.length > 0 && p.selected.length === 1"),
        ("pjm=tsne&pjq=river", "p.points > 0 && p.layout && p.matches > 0"),
        # Without words there are no axes and no points.
        (
            "pjm=custom&pjby=frequency",
            "p.method === 'custom' && p.colour === 'frequency' && !p.busy",
        ),
    ],
)
def test_axe_finds_nothing_serious(show: Any, page: Any, view: str, shown: str, theme: str) -> None:
    page.emulate_media(color_scheme=theme)
    page = show("pji=0")
    page.goto(f"{page.url}&{view}")
    wait(page, shown)
    page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text())
    found = page.evaluate("() => axe.run(document)")["violations"]
    assert [
        f"{rule['id']}: {node['html'][:160]} ({node.get('failureSummary', '')[:200]})"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"][:3]
    ] == []


def test_going_there_and_back_does_not_wait_for_ever(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    write_pytorch_projector(tmp_path / "words", rows=60)
    write_pytorch_projector(tmp_path / "other", rows=40)
    held: list[Any] = []
    url = board_server(tmp_path).url
    page.goto(f"{url}#/projector?{WORDS}")
    wait(page, "p.points > 0")
    page.route("**/api/v1/embedding?*", lambda route: held.append(route))
    tensors = page.locator(".pj-side select").first
    first = tensors.input_value()
    others = [o.get_attribute("value") for o in tensors.locator("option").all()]
    tensors.select_option(next(value for value in others if value != first))
    page.get_by_text("Fetching points").wait_for()
    tensors.select_option(first)
    wait(page, "p.points === 60 && !p.busy")
    assert page.get_by_text("Fetching points").count() == 0
    for route in held:
        route.abort()


def test_a_rewritten_tensor_is_read_again(page: Any, board_server: Any, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    config = 'embeddings { tensor_name: "t" tensor_path: "t.tsv" }'
    (folder / "projector_config.pbtxt").write_text(config)
    (folder / "t.tsv").write_text("".join(f"{i}\t{i * i}\t1\n" for i in range(20)))
    page.goto(f"{board_server(tmp_path).url}#/projector")
    wait(page, "p.points === 20")
    (folder / "t.tsv").write_text("".join(f"{i}\t{i * i}\t1\n" for i in range(35)))
    wait(page, "p.points === 35")


def test_the_points_stay_when_the_graphics_card_is_lost(show: Any) -> None:
    page = show("pji=0")
    assert state(page)["painter"] == "webgl2"
    page.evaluate(
        """() => document.querySelector('canvas.pj-points').getContext('webgl2')
             .getExtension('WEBGL_lose_context').loseContext()"""
    )
    wait(page, "p.painter === 'canvas'")
    painted = """() => {
      const canvas = document.querySelector('canvas.pj-points');
      const on = canvas.getContext('2d');
      return on && on.getImageData(0, 0, canvas.width, canvas.height).data.some((v) => v > 0);
    }"""
    page.wait_for_function(painted, timeout=60_000)


def test_a_search_for_components_that_do_not_exist_ends(
    page: Any, board_server: Any, tmp_path: Path
) -> None:
    write_pytorch_projector(tmp_path / "words", rows=60)
    page.route("**/assets/projector.worker*", lambda route: route.abort())
    page.goto(f"{board_server(tmp_path).url}#/projector?{WORDS}")
    page.get_by_role("alert").get_by_text('The work "projector" failed').first.wait_for()
    assert page.get_by_text("Finding components").count() == 0


def test_the_picture_has_the_points(show: Any) -> None:
    page = show("pji=0&pjby=-")
    with page.expect_download() as waiting:
        page.get_by_title("Save the picture as PNG").click()
    data = Path(waiting.value.path()).read_bytes()
    colours = page.evaluate(
        """async (bytes) => {
          const bitmap = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
          const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
          const on = canvas.getContext('2d');
          on.drawImage(bitmap, 0, 0);
          const { data } = on.getImageData(0, 0, bitmap.width, bitmap.height);
          const seen = new Set();
          for (let i = 0; i < data.length; i += 4) seen.add(`${data[i]},${data[i+1]},${data[i+2]}`);
          return [...seen];
        }""",
        list(data),
    )
    accent = page.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--accent').trim()"
    )
    assert ",".join(str(int(accent[i : i + 2], 16)) for i in (1, 3, 5)) in colours


def test_bookmarks_of_a_config_are_views(page: Any, board_server: Any, tmp_path: Path) -> None:
    write_pytorch_projector(tmp_path / "words", rows=60)
    config = next(tmp_path.rglob("projector_config.pbtxt"))
    text = config.read_text()
    assert text.rstrip().endswith("}")
    config.write_text(text.rstrip()[:-1] + 'bookmarks_path: "saved.json"\n}\n')
    states = [
        {"label": "all <b>of it</b>"},
        {
            "label": "two",
            "selectedProjection": "pca",
            "pcaComponentDimensions": [1, 2],
            "selectedPoints": [3, 5],
        },
    ]
    (config.parent / "saved.json").write_text(json.dumps(states))
    page.goto(f"{board_server(tmp_path).url}#/projector")
    wait(page, "p.points > 0")
    listed = page.get_by_role("region", name="Bookmarks")
    assert listed.get_by_role("button").all_inner_texts() == ["all <b>of it</b>", "two"]
    listed.get_by_role("button", name="two").click()
    wait(page, "p.dimensions === 2 && p.selected.length === 2")
    assert state(page)["selected"] == [3, 5]
