"""Monitored sessions: initialisation, hooks, and recovery from lost workers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from headrace.formats.errors import OutOfRangeError
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.nest import flatten_dict_items
from headrace.graph.platform import logging
from headrace.graph.training.attempts import LOST_TASK, Attempts
from headrace.graph.training.coordinator import Coordinator
from headrace.graph.training.scaffold import Scaffold
from headrace.graph.training.session_creators import (
    ChiefSessionCreator,
    SessionCreator,
    WorkerSessionCreator,
)
from headrace.graph.training.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from headrace.graph.typing.aliases import FeedDict, Proto, SessionLike

USE_DEFAULT = object()


class _Monitored:
    """Base class of monitored sessions; see MonitoredSession."""

    def __init__(
        self,
        session_creator: SessionCreator | None,
        hooks: Any,
        should_recover: bool,
        stop_grace_period_secs: float = 120,
    ) -> None:
        self._graph_was_finalized = get_default_graph().finalized
        self._hooks: list[SessionRunHook] = list(hooks or [])
        self._recovers = should_recover
        self._grace_s = stop_grace_period_secs
        for hook in self._hooks:
            hook.begin()
        self._creator = session_creator or ChiefSessionCreator()
        self._session: Any = None
        self._coord = Coordinator(clean_stop_exception_types=())
        self._attempts: Attempts | None = None  # since a task was lost
        self._stop = False
        self._closed = False
        self._attempt(lambda: None)

    def _attempt(self, function: Callable[[], Any]) -> Any:
        """Calls a function of the session; while tasks are lost, again with a new session.

        Raises: the error of a lost task, if it does not recover, or the creator's time is over.
        """
        while True:
            try:
                if self._session is None:
                    self._open()
                result = function()
            except LOST_TASK as error:
                if not self._recovers:
                    raise
                logging.info("A task was lost, the session is made anew: %s", error)
                self._drop(lost=True)
                if self._attempts is None:
                    self._attempts = Attempts(max_wait_s=self._creator._max_wait_s)
                if not self._attempts.pause():
                    raise
            else:
                self._attempts = None
                return result

    def _open(self) -> None:
        self._coord = Coordinator(clean_stop_exception_types=())
        self._session = self._creator.create_session()
        try:
            runners = self._session.graph.get_collection(GraphKeys.QUEUE_RUNNERS)
            for runner in runners:
                runner.create_threads(self._session, coord=self._coord, daemon=True, start=True)
            for hook in self._hooks:
                hook.after_create_session(self._session, self._coord)
        except BaseException as error:
            self._drop(lost=isinstance(error, LOST_TASK))
            raise

    @property
    def graph(self) -> Any:
        """The graph of the session; None after `close`."""
        return None if self._session is None else self._session.graph

    def should_stop(self) -> bool:
        """Returns whether it is closed, or a hook or thread requested a stop."""
        if self._closed or self._session is None or self._stop:
            return True
        if not self._coord.should_stop():
            return False
        try:
            self._coord.raise_requested_exception()
        except LOST_TASK as error:
            if not self._recovers:
                return True
            logging.info("A thread lost a task, the session is made anew: %s", error)
            self._drop(lost=True)
            self._attempt(lambda: None)
            return False
        except Exception:  # noqa: BLE001 - `close` raises it
            pass
        return True

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Same as Session.run, with the fetches of the hooks in the same run.

        Raises: RuntimeError for a closed session; as Session.run.
        """
        if self._session is None:
            raise RuntimeError("Run called even after should_stop requested.")
        return self._attempt(lambda: self._run_once(fetches, feed_dict, options, run_metadata))

    def _run_once(self, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any) -> Any:
        try:
            return self._run_with_hooks(fetches, feed_dict, options, run_metadata)
        except LOST_TASK:
            raise
        except Exception as error:
            # a failed thread cancels the run: raise the error of the thread
            try:
                self._coord.raise_requested_exception()
            except LOST_TASK:
                raise
            except Exception as first:  # noqa: BLE001 - any of a thread's errors
                raise first from error
            raise

    def _run_with_hooks(self, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any) -> Any:
        from headrace.formats.proto.run_pb2 import RunMetadata, RunOptions

        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._session)
        actual: dict[Any, Any] = {"caller": fetches}
        feeds = dict(flatten_dict_items(feed_dict)) if feed_dict else {}
        merged = None
        if options is not None:
            merged = RunOptions()
            merged.CopyFrom(options)
        for number, hook in enumerate(self._hooks):
            requested = hook.before_run(context)
            if requested is None:
                continue
            if requested.fetches is not None:
                actual[number] = requested.fetches
            for key, value in (requested.feed_dict or {}).items():
                if key in feeds:
                    raise RuntimeError(f"Same tensor is fed by two hooks, or a hook and you: {key}")
                feeds[key] = value
            if requested.options is not None:
                merged = _merged(merged, requested.options)
        metadata = run_metadata
        if metadata is None and merged is not None:
            metadata = RunMetadata()
        results = self._session.run(actual, feeds or None, merged, metadata)
        for number, hook in enumerate(self._hooks):
            hook.after_run(context, SessionRunValues(results.get(number), merged, metadata))
        self._stop = self._stop or context.stop_requested
        return results["caller"]

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Calls step_fn(step_context); step_context.session runs without hooks.

        Raises: ValueError unless step_fn has one argument named step_context.
        """
        import inspect

        names = [p for p in inspect.signature(step_fn).parameters if p != "self"]
        if names != ["step_context"]:
            raise ValueError(f"step_fn may either have one `step_context` argument, has {names}")
        try:
            return self._attempt(lambda: step_fn(StepContext(self._session, self._run_with_hooks)))
        except StopIteration:
            self._stop = True
            return None

    def close(self) -> None:
        """Calls `end` of the hooks, stops the threads, and closes the session."""
        self._close(None)

    def _close(self, kind: Any) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            if self._session is not None and (kind is None or issubclass(kind, OutOfRangeError)):
                for hook in self._hooks:
                    hook.end(self._session)
        finally:
            try:
                self._drop()
            finally:
                if not self._graph_was_finalized:
                    get_default_graph()._finalized = False  # noqa: SLF001 - it was ours to set

    def _drop(self, lost: bool = False) -> None:
        """Stops the threads and closes the session.

        Args:
          lost: whether a task was lost: the threads wait for what it no longer sends, until the
            session is closed.
        """
        session, self._session = self._session, None
        if session is None:
            return
        self._coord.request_stop()
        if lost:
            _close(session)
        try:
            self._coord.join(stop_grace_period_secs=self._grace_s, ignore_live_threads=True)
        except LOST_TASK as error:
            if not self._recovers:
                raise
            logging.info("A thread lost a task: %s", error)
        finally:
            if not lost:
                _close(session)
            self._coord._join_after_close(self._grace_s)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if kind is not None and issubclass(kind, (OutOfRangeError, StopIteration)):
            kind_of_end: Any = None
        else:
            kind_of_end = kind
        try:
            self._close(kind_of_end)
        except Exception:
            if kind_of_end is None:
                raise
            logging.error("Closing the session failed too: %s", sys.exc_info()[1])
        # the end of the input ends the loop
        return kind is not None and kind_of_end is None


def _close(session: Any) -> None:
    try:
        session.close()
    except Exception as error:  # noqa: BLE001 - the session is discarded anyway
        logging.info("Closing the session failed: %s", error)


class StepContext:
    """The argument of the function passed to run_step_fn."""

    def __init__(self, session: SessionLike, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session = session
        self._run = run_with_hooks_fn

    @property
    def session(self) -> Any:
        """The session without hooks."""
        return self._session

    def run_with_hooks(self, fetches: Any, feed_dict: FeedDict | None = None) -> Any:
        """Same as MonitoredSession.run."""
        return self._run(fetches, feed_dict, None, None)

    def request_stop(self) -> None:
        """Stops training after this step, by StopIteration."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class MonitoredSession(_Monitored):
    """A session that initialises the model, calls hooks, and recovers from lost workers.

    Args:
      session_creator: SessionCreator; ChiefSessionCreator by default.
      hooks: list of SessionRunHook.
      stop_grace_period_secs: seconds to wait for threads to stop.
    """

    StepContext = StepContext

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(_Monitored):
    """A MonitoredSession without recovery; raw_session() returns its session.

    Args: as in MonitoredSession and ChiefSessionCreator.
    """

    StepContext = StepContext

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Proto | None = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """Returns the Session."""
        return self._session


def _merged(options: Any, more: Any) -> Any:
    """Merges RunOptions of two hooks: the higher trace level, the longer timeout."""
    from headrace.formats.proto.run_pb2 import RunOptions

    result = RunOptions()
    if options is None:
        result.CopyFrom(more)
        return result
    result.CopyFrom(options)
    result.trace_level = max(options.trace_level, more.trace_level)
    result.timeout_in_ms = max(options.timeout_in_ms, more.timeout_in_ms)
    result.output_partition_graphs = options.output_partition_graphs or more.output_partition_graphs
    return result


def MonitoredTrainingSession(  # noqa: N802 - TF's name
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = USE_DEFAULT,
    save_summaries_steps: Any = USE_DEFAULT,
    save_summaries_secs: Any = USE_DEFAULT,
    config: Proto | None = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = USE_DEFAULT,
    summary_dir: str | None = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """Creates a MonitoredSession that saves checkpoints, writes summaries and logs step rates.

    Args:
      master: session target.
      is_chief: whether this task initialises and saves the model; other tasks wait for the chief.
      checkpoint_dir: folder of checkpoints; None neither restores nor saves.
      scaffold: Scaffold; a default one if None.
      hooks: list of SessionRunHook; chief_only_hooks: further hooks of the chief.
      save_checkpoint_secs, save_checkpoint_steps: interval of checkpoints; 600 seconds by default.
      save_summaries_secs, save_summaries_steps: interval of summaries; 100 steps by default.
      log_step_count_steps: interval in steps of logging the step rate; None does not log.
      config: ConfigProto.
      stop_grace_period_secs: seconds to wait for threads to stop.
      max_wait_secs: seconds to wait for the chief, and to recover from lost tasks; then the error
        of the lost task is raised.
      summary_dir: folder of summaries; checkpoint_dir by default.
      save_graph_def: also write the graph to checkpoint_dir.
    """
    from headrace.graph.training import checkpoint_hooks, monitor_hooks

    if save_summaries_steps is USE_DEFAULT and save_summaries_secs is USE_DEFAULT:
        save_summaries_steps, save_summaries_secs = 100, None
    elif save_summaries_secs is USE_DEFAULT:
        save_summaries_secs = None
    elif save_summaries_steps is USE_DEFAULT:
        save_summaries_steps = None
    if save_checkpoint_steps is USE_DEFAULT and save_checkpoint_secs is USE_DEFAULT:
        save_checkpoint_steps, save_checkpoint_secs = None, 600
    elif save_checkpoint_secs is USE_DEFAULT:
        save_checkpoint_secs = None
    elif save_checkpoint_steps is USE_DEFAULT:
        save_checkpoint_steps = None
    scaffold = scaffold or Scaffold()
    if not is_chief:
        creator: SessionCreator = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(creator, hooks or [], stop_grace_period_secs)
    all_hooks = list(chief_only_hooks or [])
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir:
        if log_step_count_steps and log_step_count_steps > 0:
            all_hooks.append(
                monitor_hooks.StepCounterHook(
                    every_n_steps=log_step_count_steps, output_dir=summary_dir
                )
            )
        if (save_summaries_steps and save_summaries_steps > 0) or (
            save_summaries_secs and save_summaries_secs > 0
        ):
            all_hooks.append(
                monitor_hooks.SummarySaverHook(
                    save_steps=save_summaries_steps,
                    save_secs=save_summaries_secs,
                    output_dir=summary_dir,
                    scaffold=scaffold,
                )
            )
    if checkpoint_dir and (
        (save_checkpoint_secs and save_checkpoint_secs > 0)
        or (save_checkpoint_steps and save_checkpoint_steps > 0)
    ):
        all_hooks.append(
            checkpoint_hooks.CheckpointSaverHook(
                checkpoint_dir,
                save_secs=save_checkpoint_secs,
                save_steps=save_checkpoint_steps,
                scaffold=scaffold,
                save_graph_def=save_graph_def,
            )
        )
    all_hooks += list(hooks or [])
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    creator._max_wait_s = max_wait_secs
    return MonitoredSession(creator, all_hooks, stop_grace_period_secs)
