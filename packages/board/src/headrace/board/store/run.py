"""Runs and tags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.board.store.series import Series


class Versions:
    """Numbers the changes of a store; the thread that takes a number holds the store's lock."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last = 0

    def next(self) -> int:
        """Returns a number that no change had before."""
        self.last += 1
        return self.last


@dataclass(slots=True, eq=False)
class Run:
    """A folder with event files.

    name: the folder relative to the logdir as text, "." for the logdir itself.
    start, last_wall: wall times of the first and the newest event; NaN without events.
    live: whether one of its files has grown lately.
    version: of the newest change of its series; points, blobs: rows of its scalar and other series.
    removed: tags whose series was removed, and the version of that.
    """

    id: int
    name: str
    folder: str
    start: float = float("nan")
    last_wall: float = float("nan")
    live: bool = False
    series: dict[int, Series] = field(default_factory=dict, repr=False)  # by tag
    versions: Versions = field(default_factory=Versions, repr=False)  # of the store
    version: int = 0
    points: int = 0
    blobs: int = 0
    removed: dict[int, int] = field(default_factory=dict, repr=False)
    _restarted: set[int] = field(default_factory=set, repr=False)  # tags

    @property
    def segments(self) -> int:
        """1 plus the number of restarts."""
        found = [self.series.get(tag) for tag in tuple(self._restarted)]
        return max((series.segments() for series in found if series is not None), default=1)

    def new_version(self) -> int:
        """Returns the number of a change of one of its series."""
        self.version = self.versions.next()
        return self.version

    def note_restarts(self, tag: int, restarted: bool) -> None:
        """Records whether the series of a tag may have restarts."""
        if restarted:
            self._restarted.add(tag)
        elif self._restarted:
            self._restarted.discard(tag)


@dataclass(slots=True, eq=False)
class Tag:
    """A tag of one kind, shared by all runs. Its texts come from the run that was read first.

    version: of the newest change of its texts; uses: number of runs that have it.
    """

    id: int
    name: str
    kind: str
    plugin: str = ""
    display: str = ""
    description: str = ""
    plugin_content: bytes = b""
    version: int = 0
    uses: int = 0
