"""Invalid-input cases and their outcomes, the columns of docs/bad_input.md."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import headrace.graph as hr
from headrace.formats.errors import OpError

Run = Callable[[Path], object]
_LINE = re.compile(r"(?:/\S*/)?(\w+)\.py:\d+")
_CRC = re.compile(r"0x[0-9a-f]{8}")
_OFFSET = re.compile(r"DIR/.*: at byte (\d+)")


@dataclass(frozen=True)
class Case:
    """One row: section, description of the mistake, and a program that makes it in a folder."""

    section: str
    what: str
    run: Run


@dataclass(frozen=True)
class Outcome:
    """The resulting error: class, canonical code, message, offset in a file."""

    error: str
    code: str
    message: str
    offset: str

    def row(self, what: str) -> str:
        """Returns the row of the table."""
        message = self.message.replace("|", "\\|").replace("\n", " ")
        return f"| {what} | `{self.error}` | {self.code} | {message} | {self.offset} |"


class Section:
    """Collects the cases of one heading; a decorator: `@section("description")`."""

    def __init__(self, heading: str, cases: list[Case]) -> None:
        self._heading = heading
        self._cases = cases

    def __call__(self, what: str) -> Callable[[Run], Run]:
        def add(run: Run) -> Run:
            self._cases.append(Case(self._heading, what, run))
            return run

        return add


def outcome(case: Case, folder: Path) -> Outcome:
    """Runs a case in a fresh graph.

    Raises: AssertionError if no error is raised, or the error names a line of another file.
    """
    with hr.Graph().as_default():
        try:
            case.run(folder)
        except Exception as error:  # noqa: BLE001 - the class is part of the outcome
            return _described(case, error, folder)
    raise AssertionError(f"{case.what}: no error was raised")


def _described(case: Case, error: Exception, folder: Path) -> Outcome:
    message = error.message if isinstance(error, OpError) else str(error)
    message = message.replace(str(folder), "DIR")
    message = message.replace(": Wire format was corrupt", "")  # newer versions of protobuf say it
    for file in _LINE.findall(message):
        assert Path(case.run.__code__.co_filename).stem == file, (case.what, message)
    message = _LINE.sub("your_program.py:LINE", message)
    message = _CRC.sub("0xCRC", message)  # events contain the time
    code = f"{error.code}" if isinstance(error, OpError) else ""
    offset = getattr(error, "offset", None)
    if offset is None:
        # If a node read the file, only the message has the offset.
        offset = next(iter(_OFFSET.findall(message)), None)
    return Outcome(type(error).__name__, code, message, "" if offset is None else str(offset))
