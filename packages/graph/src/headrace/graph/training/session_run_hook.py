"""SessionRunHook: callbacks of monitored sessions."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

from headrace.graph.typing.aliases import SessionLike

if TYPE_CHECKING:
    from headrace.graph.training.coordinator import Coordinator


class SessionRunArgs(namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])):
    """Arguments of a run, as in Session.run."""

    def __new__(cls, fetches: Any, feed_dict: Any = None, options: Any = None) -> SessionRunArgs:
        return super().__new__(cls, fetches, feed_dict, options)


SessionRunValues = namedtuple("SessionRunValues", ["results", "options", "run_metadata"])
SessionRunValues.__doc__ = "What came of a run: the hook's fetches, the options, the RunMetadata."


class SessionRunContext:
    """Context of one run, for hooks.

    Args:
      original_args: the SessionRunArgs of the program.
      session: the session of the run.
    """

    def __init__(self, original_args: SessionRunArgs, session: SessionLike) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The SessionRunArgs of the program."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The session of the run."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook requested a stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Requests a stop after this run."""
        self._stop_requested = True


class SessionRunHook:
    """Base class of hooks; all methods do nothing by default."""

    def begin(self) -> None:
        """Called once, before the session is created; the graph can still be modified."""

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Called after a session is created or recovered; the graph is finalized."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run; returns SessionRunArgs to add to it, or None."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: Any) -> None:
        """Called after each successful run."""

    def end(self, session: SessionLike) -> None:
        """Called at the end, except after errors other than OutOfRangeError."""
