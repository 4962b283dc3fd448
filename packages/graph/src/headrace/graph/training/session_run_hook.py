"""What a monitored session calls around each of its runs."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

from headrace.graph.typing.aliases import SessionLike

if TYPE_CHECKING:
    from headrace.graph.training.coordinator import Coordinator


class SessionRunArgs(namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])):
    """What to run: as the arguments of Session.run."""

    def __new__(cls, fetches: Any, feed_dict: Any = None, options: Any = None) -> SessionRunArgs:
        return super().__new__(cls, fetches, feed_dict, options)


SessionRunValues = namedtuple("SessionRunValues", ["results", "options", "run_metadata"])
SessionRunValues.__doc__ = "What came of a run: the hook's fetches, the options, the RunMetadata."


class SessionRunContext:
    """One run, as hooks see it.

    Args:
      original_args: what the program asked for.
      session: that runs it.
    """

    def __init__(self, original_args: SessionRunArgs, session: SessionLike) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the program asked for, as SessionRunArgs."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session that runs it."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook asked to stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Asks to stop after this run."""
        self._stop_requested = True


class SessionRunHook:
    """The base of hooks; override what is of interest."""

    def begin(self) -> None:
        """Called once, before the session is made: the graph may still be added to."""

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Called when a session was made (again after a recovery); the graph is final."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run; returns what to run beside it."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: Any) -> None:
        """Called after each run that did not fail."""

    def end(self, session: SessionLike) -> None:
        """Called at the end, unless an error (other than OutOfRangeError) ended it."""
