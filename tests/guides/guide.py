"""Reads a guide of docs/ as its reader does: files to write, commands to run, text that they print.

A fenced block means what the line before it says:

    `train.py`:                                a file of that name
    New file `packages/.../x.py`:              likewise
    At the end of `path`:                      lines to append
    In `path`, before the line `text`:         lines to insert (or: after the line)

Without such a line, `sh` blocks are commands, and a block without a language that follows commands
is what they print. `console` blocks are commands that need TensorFlow.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"([^\n]*)\n\n?```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_EDIT = re.compile(
    r"(?P<how>New file |At the end of |In |)`(?P<path>[^`]+)`"
    r"(?:, (?P<side>before|after) the line `(?P<line>[^`]+)`)?:$"
)
_NUMBER = re.compile(r"[-+]?\d+\.\d+(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Block:
    """A fenced block; `edit` is the match of the line that names its file, if there is one."""

    language: str
    text: str
    edit: re.Match[str] | None


def blocks(guide: Path) -> list[Block]:
    """Returns: the fenced blocks of a page, in order."""
    return [
        Block(language, text, _EDIT.search(before))
        for before, language, text in _BLOCK.findall(guide.read_text())
    ]


def apply_edit(block: Block, folder: Path) -> None:
    """Writes what a block says to the file that it names.

    Raises: ValueError where the line beside which it belongs is not in the file exactly once.
    """
    assert block.edit is not None
    path = folder / block.edit["path"]
    if block.edit["side"]:
        line, text = block.edit["line"], path.read_text()
        places = re.findall(rf"^[ \t]*{re.escape(line)}[ \t]*\n", text, re.MULTILINE)
        if len(places) != 1:
            raise ValueError(f"{path}: {line!r} is a line {len(places)} times")
        old = places[0]
        new = block.text + old if block.edit["side"] == "before" else old + block.text
        path.write_text(text.replace(old, new))
    elif block.edit["how"].startswith("At the end"):
        path.write_text(path.read_text().rstrip("\n") + "\n" + block.text)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text)


def shell(
    commands: str,
    folder: Path,
    variables: Mapping[str, str] = {},  # noqa: B006 - it is only read
) -> str:
    """Runs commands as a reader would, in the environment of the tests. Returns: what they print.

    Raises: AssertionError with all that was printed where one fails.
    """
    beside = os.path.dirname(sys.executable)  # sys.executable is the environment's python
    environment = {**os.environ, "CI": "1", **variables}  # CI: hypothesis has no deadline
    environment["PATH"] = beside + os.pathsep + os.environ["PATH"]
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def follow(
    guide: Path,
    folder: Path,
    variables: Mapping[str, str] = {},  # noqa: B006 - it is only read
    tensorflow: bool = False,
) -> None:
    """Writes the files of a guide, runs its commands in order and compares what they print.

    Args:
      folder: where the files are written and the commands run.
      variables: of the commands' environment, beside those of this process.
      tensorflow: whether to run the commands that need TensorFlow.
    """
    printed: str | None = None
    languages = ("sh", "console") if tensorflow else ("sh",)
    for block in blocks(guide):
        if block.edit is not None:
            apply_edit(block, folder)
        elif block.language in languages:
            printed = shell(block.text, folder, variables)
        elif block.language == "console":
            printed = None
        elif not block.language and printed is not None:
            assert_same_text(printed, block.text)


def assert_same_text(found: str, expected: str) -> None:
    """Compares texts; numbers with a point may differ in their last digits, as processors do."""
    import numpy as np  # the tox environment `frontend`, which reads guides too, has none

    assert _NUMBER.sub("#", found).split() == _NUMBER.sub("#", expected).split(), found
    numbers = [[float(n) for n in _NUMBER.findall(text)] for text in (found, expected)]
    np.testing.assert_allclose(numbers[0], numbers[1], rtol=1e-4)
