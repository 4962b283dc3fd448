"""The list of problems found in the logs, for the Problems page and the badges."""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

_MOST = 5000
ERROR, WARNING, NOTE = "error", "warning", "note"


@dataclass(frozen=True, slots=True)
class Problem:
    """One line of the page.

    kind: identifier of the problem; run: id of the run; file: name relative to the logdir; offset:
    of the first occurrence; bytes, count: sums over all occurrences; wall: time of the first
    report; tag, step: id of the tag and first step, for points of a curve.
    """

    id: int
    severity: str
    kind: str
    run: int | None
    file: str | None
    offset: int | None
    bytes: int
    count: int
    text: str
    wall: float
    tag: int | None = None
    step: int | None = None


class Problems:
    """The list of problems, merged by kind, run, file and subject."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._problems: dict[tuple[Hashable, ...], Problem] = {}
        self._next = 0
        self.rev = 0

    def add(
        self,
        kind: str,
        severity: str,
        run: int | None = None,
        file: str | None = None,
        offset: int | None = None,
        bytes: int = 0,
        count: int = 1,
        text: str = "",
        subject: str = "",
    ) -> None:
        """Adds an occurrence to the problem of this kind, run, file and subject (such as a tag)."""
        with self._lock:
            key = (kind, run, file, subject)
            old = self._problems.get(key)
            if old is not None:
                new = replace(
                    old, bytes=old.bytes + bytes, count=old.count + count, text=text or old.text
                )
                self._problems[key] = new
                self.rev += 1
            else:
                self._put(key, severity, offset, bytes, count, text)

    def put(
        self,
        kind: str,
        severity: str,
        run: int | None = None,
        file: str | None = None,
        offset: int | None = None,
        bytes: int = 0,
        count: int = 1,
        text: str = "",
        subject: str = "",
        tag: int | None = None,
        step: int | None = None,
    ) -> None:
        """Sets the present state of a problem; replaces an earlier report of it."""
        with self._lock:
            key = (kind, run, file, subject)
            old = self._problems.get(key)
            if old is None:
                self._put(key, severity, offset, bytes, count, text, tag, step)
                return
            new = replace(
                old,
                severity=severity,
                offset=offset,
                bytes=bytes,
                count=count,
                text=text,
                tag=tag,
                step=step,
            )
            if new != old:
                self._problems[key] = new
                self.rev += 1

    def remove(
        self,
        kind: str,
        run: int | None = None,
        file: str | None = None,
        subject: str = "",
    ) -> None:
        """Removes a problem, if there is one."""
        with self._lock:
            if self._problems.pop((kind, run, file, subject), None) is not None:
                self.rev += 1

    def forget(self, run: int | None = None, file: str | None = None) -> None:
        """Removes all problems of a run, or of a file."""
        with self._lock:
            kept = {
                key: problem
                for key, problem in self._problems.items()
                if not (
                    (file is not None and problem.file == file)
                    or (file is None and problem.run == run)
                )
            }
            if len(kept) != len(self._problems):
                self._problems = kept
                self.rev += 1

    def list(self) -> list[Problem]:
        """Returns all problems: errors, warnings, notes; each in order of discovery."""
        rank = {ERROR: 0, WARNING: 1, NOTE: 2}
        with self._lock:
            problems = [*self._problems.values()]
        return sorted(problems, key=lambda problem: (rank.get(problem.severity, 3), problem.id))

    def count_by_run(self) -> dict[int, int]:
        """Returns the number of problems of each run."""
        counts: dict[int, int] = {}
        for problem in self.list():
            if problem.run is not None:
                counts[problem.run] = counts.get(problem.run, 0) + 1
        return counts

    def _put(
        self,
        key: tuple[Any, ...],
        severity: str,
        offset: int | None,
        bytes: int,
        count: int,
        text: str,
        tag: int | None = None,
        step: int | None = None,
    ) -> None:
        kind, run, file, _ = key
        if len(self._problems) >= _MOST:
            key = ("too_many", None, None, "")
            kind, run, file, severity, offset, bytes = "too_many", None, None, WARNING, None, 0
            tag = step = None
            text = f"there are more than {_MOST} problems; the further ones are not listed"
            if key in self._problems:
                old = self._problems[key]
                self._problems[key] = replace(old, count=old.count + 1)
                return
        self._problems[key] = Problem(
            self._next,
            severity,
            kind,
            run,
            file,
            offset,
            bytes,
            count,
            text,
            time.time(),
            tag,
            step,
        )
        self._next += 1
        self.rev += 1
