"""The folders of headrace.board: sizes, and README names every module."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "headrace" / "board"
README = (Path(__file__).parents[1] / "README.md").read_text()
WRITTEN = (".py", ".pyx", ".hpp")
MAX_ENTRIES = 20


def written_modules() -> Counter[str]:
    """The modules as folder/stem; a module and its C++ header are one."""
    stems = {
        path.relative_to(SOURCE).with_suffix("").as_posix()
        for path in SOURCE.rglob("*")
        if path.suffix in WRITTEN and not path.name.startswith("__")
    }
    return Counter(stems)


def listed_modules() -> Counter[str]:
    table = README.split("## Modules")[1].split("\n## ")[0]
    found: Counter[str] = Counter()
    folder = ""
    for row in re.findall(r"^\| (.*?) ?\| (`.*?) \|", table, re.M):
        folder = row[0].strip("` ") or folder
        found.update(folder + name for name in re.findall(r"`(\w+)`", row[1]))
    return found


def test_the_readme_names_every_module_once() -> None:
    assert listed_modules() == written_modules()


def test_a_folder_has_at_most_twenty_entries() -> None:
    folders = [SOURCE, *(path for path in SOURCE.rglob("*") if path.is_dir())]
    for folder in folders:
        if folder.name in ("assets", "__pycache__"):
            continue
        entries = {
            path.name
            for path in folder.iterdir()
            if path.name not in ("assets", "__pycache__") and path.suffix not in (".so", ".pyi")
        }
        assert len(entries) <= MAX_ENTRIES, (folder, len(entries))
