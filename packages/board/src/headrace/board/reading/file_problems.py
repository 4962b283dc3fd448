"""Reports what is wrong with one event file, as lines of the Problems page."""

from __future__ import annotations

import numpy as np

from headrace.board.reading.scan_batch import (
    DEAD,
    MAX_NAME_BYTES,
    MAX_TAG_BYTES,
    MAX_TAGS,
    Gap,
    ScanBatch,
)
from headrace.board.store.problems import ERROR, NOTE, WARNING, Problems
from headrace.board.store.run import Run
from headrace.board.store.scalar_series import ScalarSeries

# Writers with several threads write events slightly out of order, but not by this much.
CLOCK_JUMP_S = 60.0

_TEXTS = {
    "payload": ("bad_payload", ERROR, "the data of a record does not match its checksum; skipped"),
    "length": (
        "bad_length",
        ERROR,
        "the length of a record does not match its checksum; skipped to the next intact record",
    ),
    "event": ("bad_event", ERROR, "a record is intact but is not an event; skipped"),
    "name": (
        "tag_limit",
        WARNING,
        f"a tag's name was cut: it has more than {MAX_NAME_BYTES >> 10} KiB",
    ),
}


_LONG_S = 1e9  # 30 years: digits say nothing about the time of a broken clock


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if abs(seconds) < _LONG_S else f"{seconds:.3g} s"


class FileProblems:
    """Reports the problems of one file.

    Args:
      problems: the list of all problems.
      run, file: the run and the file that the lines name.
    """

    def __init__(self, problems: Problems, run: Run, file: str) -> None:
        self._problems = problems
        self._run = run
        self._file = file
        self._bad: dict[int, dict[str, tuple[int, int]]] = {}  # tag: first step and count
        self._reported: set[str] = set()  # kinds that may be withdrawn

    def points(
        self, series: ScalarSeries, rows: tuple[np.ndarray, ...], wall_before: float
    ) -> None:
        """Reports values that are not finite, and clocks that went back."""
        step, wall, value = rows
        if not np.isfinite(value).all():
            self._not_finite(series, step, value)
        before = wall[:-1]
        back = np.flatnonzero(wall[1:] < before - CLOCK_JUMP_S) + 1
        if len(wall) and wall[0] < wall_before - CLOCK_JUMP_S:
            self._clock(series, int(step[0]), wall_before - float(wall[0]), 1)
        if len(back):
            at = int(back[0])
            self._clock(series, int(step[at]), float(wall[at - 1] - wall[at]), len(back))

    def writers_at_once(self, series: ScalarSeries) -> None:
        """Reports that two files with the same tag grow at once; names the first such tag."""
        text = f"two files grow at once with the same tag, first seen in {series.tag.name!r}"
        if "at once" not in self._reported:
            self._reported.add("at once")
            self._problems.put("duplicate_writers", WARNING, run=self._run.id, text=text)

    def withdraw_writers_at_once(self) -> None:
        """Withdraws that report, before the files of the run are compared again."""
        self._reported.discard("at once")
        self._problems.remove("duplicate_writers", run=self._run.id)

    def batch(self, batch: ScanBatch, size: int) -> None:
        """Reports the corruption that a pass found."""
        for gap in batch.gaps:
            kind, severity, text = _TEXTS[gap.kind]
            self._problems.add(
                kind,
                severity,
                run=self._run.id,
                file=self._file,
                offset=gap.offset,
                bytes=gap.bytes,
                count=gap.records,
                text=text,
            )
        if batch.dropped:
            self._problems.add(
                "tag_limit",
                WARNING,
                run=self._run.id,
                file=self._file,
                offset=batch.dropped_from,
                count=batch.dropped,
                text=f"the file has more than {MAX_TAGS} tags, or {MAX_TAG_BYTES >> 20} MiB of"
                " their names; the values of the further ones are not read",
                subject="dropped",
            )
        self._open_gap(batch.open_gap)
        if batch.state == DEAD:
            self.stopped_reading(batch.offset, size, "there is too much corruption")

    def stopped_reading(self, offset: int, size: int, why: str) -> None:
        """Reports that the rest of a file is not read."""
        text = f"{why}; the rest of the file is not read"
        self._report("dead", ERROR, text, offset, max(0, size - offset))

    def torn(self, offset: int, size: int) -> None:
        """Reports that a file that has not grown lately ends inside a record."""
        text = "the file ends inside a record; reading continues when it grows"
        self._report("torn", NOTE, text, offset, size - offset)

    def not_torn(self) -> None:
        """Withdraws that report."""
        self._withdraw("torn")

    def unreadable(self, what: str, why: str) -> None:
        """Reports that a file cannot be opened or read."""
        text = f"the file cannot be {what}: {why}; the board keeps trying"
        self._report("unreadable", WARNING, text)

    def not_unreadable(self) -> None:
        """Withdraws that report."""
        self._withdraw("unreadable")

    def too_many_tags(self) -> None:
        """Reports that a run has more tags than are read."""
        text = f"the run has more than {MAX_TAGS} tags; the further ones are not read"
        self._problems.put("tag_limit", WARNING, run=self._run.id, text=text)

    def _open_gap(self, gap: Gap | None) -> None:
        if gap is not None:
            text = "the file is corrupted from here on; no intact record follows so far"
            self._report("lost_tail", ERROR, text, gap.offset, gap.bytes)
        else:
            self._withdraw("lost_tail")

    def _report(
        self, kind: str, severity: str, text: str, offset: int | None = None, count: int = 0
    ) -> None:
        self._reported.add(kind)
        self._problems.put(
            kind, severity, run=self._run.id, file=self._file, offset=offset, bytes=count, text=text
        )

    def _withdraw(self, kind: str) -> None:
        if kind in self._reported:
            self._reported.remove(kind)
            self._problems.remove(kind, run=self._run.id, file=self._file)

    def _not_finite(self, series: ScalarSeries, step: np.ndarray, value: np.ndarray) -> None:
        for kind, bad in (("nan", np.isnan(value)), ("infinite", np.isinf(value))):
            count = int(np.count_nonzero(bad))
            if count:
                mine = self._bad.setdefault(series.tag.id, {})
                first, before = mine.get(kind, (int(step[int(np.argmax(bad))]), 0))
                mine[kind] = (first, before + count)
                word = "NaN" if kind == "nan" else "infinite"
                self._problems.put(
                    kind,
                    WARNING,
                    run=self._run.id,
                    file=self._file,
                    count=before + count,
                    text=f"{series.tag.name} is {word} first at step {first}",
                    subject=series.tag.name,
                    tag=series.tag.id,
                    step=first,
                )

    def _clock(self, series: ScalarSeries, step: int, seconds: float, count: int) -> None:
        self._problems.add(
            "clock_jump",
            NOTE,
            run=self._run.id,
            file=self._file,
            count=count,
            text=f"the writer's clock went back by {_seconds(seconds)} before step {step}"
            f" of {series.tag.name}",
        )
