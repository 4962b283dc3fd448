"""Runs and tags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.board.store.series import Series


@dataclass(slots=True, eq=False)
class Run:
    """A folder with event files.

    name: the folder relative to the logdir as text, "." for the logdir itself.
    start, last_wall: wall times of the first and the newest event; NaN without events.
    live: whether one of its files has grown lately.
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
        """1 plus the number of restarts."""
        return max((series.segments() for series in tuple(self.series.values())), default=1)


@dataclass(slots=True, eq=False)
class Tag:
    """A tag of one kind, shared by all runs. Its texts come from the run that was read first."""

    id: int
    name: str
    kind: str
    plugin: str = ""
    display: str = ""
    description: str = ""
    plugin_content: bytes = b""
