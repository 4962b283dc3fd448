"""Runs and tags: what the page lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.board.store.series import Series


@dataclass(slots=True, eq=False)
class Run:
    """A folder with event files.

    name: the folder below the logdir, "." for the logdir itself, fit to be shown.
    start, last_wall: of its first and its newest event; NaN without any.
    live: whether a file of it has grown lately.
    """

    id: int
    name: str
    folder: str
    start: float = float("nan")
    last_wall: float = float("nan")
    live: bool = False
    series: dict[int, Series] = field(default_factory=dict, repr=False)  # by tag

    @property
    def segments(self) -> int:
        """1 and the number of restarts."""
        return max((series.segments() for series in tuple(self.series.values())), default=1)


@dataclass(slots=True, eq=False)
class Tag:
    """A tag of one kind; runs share it. The words are those of the run that was read first."""

    id: int
    name: str
    kind: str
    plugin: str = ""
    display: str = ""
    description: str = ""
    plugin_content: bytes = b""
