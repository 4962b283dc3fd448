"""The README names every folder of the front end, in the order of its imports."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
SOURCES = PACKAGE / "frontend" / "src"
IMPORT = re.compile(r"(?:from|import)\s*\(?\s*'(\.[^']+)'")


def _listed() -> list[str]:
    """Returns the folders of the README's table, in its order."""
    readme = (PACKAGE / "README.md").read_text()
    table = readme.split("Folders under `frontend/src/`", 1)[1].split("`main.tsx`", 1)[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [name for cell in cells for name in re.findall(r"`(\w+)/`", cell)]


def _imports() -> set[tuple[str, str]]:
    """Returns the pairs of folders of which the first imports the second; tests import anything."""
    found = set()
    for path in SOURCES.rglob("*.ts*"):
        folder = path.parent.relative_to(SOURCES).as_posix()
        if folder == "." or path.name.endswith(".test.ts"):
            continue
        for target in IMPORT.findall(path.read_text()):
            other = posixpath.normpath(posixpath.join(folder, target)).split("/")[0]
            if other != folder.split("/")[0]:
                found.add((folder.split("/")[0], other))
    return found


def test_the_readme_names_every_folder_of_the_front_end_once() -> None:
    assert sorted(_listed()) == sorted(path.name for path in SOURCES.iterdir() if path.is_dir())


def test_folders_of_the_front_end_import_only_folders_above_them_in_the_readme() -> None:
    place = {name: at for at, name in enumerate(_listed())}
    assert {(a, b) for a, b in _imports() if place[a] < place[b]} == set()
