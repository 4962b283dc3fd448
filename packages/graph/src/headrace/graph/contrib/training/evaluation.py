"""Evaluation of checkpoints: once, or for each new one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.graph.checkpoints.checkpoint_state import latest_checkpoint
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.ops.state import assign_add
from headrace.graph.platform import logging
from headrace.graph.summary.file_writer import FileWriter, FileWriterCache
from headrace.graph.summary.summaries import merge_all
from headrace.graph.training.checkpoint_initialization import checkpoints_iterator
from headrace.graph.training.global_step import get_or_create_global_step, global_step
from headrace.graph.training.monitor_hooks import FinalOpsHook
from headrace.graph.training.monitored_session import MonitoredSession
from headrace.graph.training.scaffold import Scaffold
from headrace.graph.training.session_creators import ChiefSessionCreator
from headrace.graph.training.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from headrace.graph.typing.aliases import FeedDict, Proto, SessionLike
from headrace.graph.variables.get_variable import get_variable
from headrace.graph.variables.initializers import Zeros

if TYPE_CHECKING:
    from headrace.graph.framework.operation import Tensor


def get_or_create_eval_step() -> Any:
    """Returns the counter of evaluations, a local int64 variable, or creates it.

    Raises: ValueError if the graph has several.
    """
    found = get_default_graph().get_collection(GraphKeys.EVAL_STEP)
    if len(found) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if found:
        return found[0]
    return get_variable(
        "eval_step",
        shape=[],
        dtype="int64",
        initializer=Zeros(),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )


class StopAfterNEvalsHook(SessionRunHook):
    """Requests a stop after some evaluations.

    Args:
      num_evals: number of evaluations; None never stops.
      log_progress: log the progress.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._num_evals = num_evals
        self._log_progress = log_progress
        self._completed: Any = None

    def _set_evals_completed_tensor(self, updated_eval_step: Tensor) -> None:
        self._completed = updated_eval_step

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the number of evaluations."""
        return SessionRunArgs({"evals_completed": self._completed})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Requests a stop when the number is reached."""
        done = int(run_values.results["evals_completed"])
        if self._log_progress:
            logging.info("Evaluation [%d/%s]", done, self._num_evals or "inf")
        if self._num_evals is not None and done >= self._num_evals:
            run_context.request_stop()


class SummaryAtEndHook(SessionRunHook):
    """Writes the summaries when a session ends.

    Args:
      log_dir: folder of the event log.
      summary_writer: writer to use instead.
      summary_op: the merged summaries; None merges GraphKeys.SUMMARIES.
      feed_dict: feeds of the summaries.
    Raises: ValueError without log_dir and summary_writer.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        summary_writer: FileWriter | None = None,
        summary_op: Tensor | None = None,
        feed_dict: FeedDict | None = None,
    ) -> None:
        if log_dir is None and summary_writer is None:
            raise ValueError("One of log_dir or summary_writer should be used.")
        self._merge = summary_op is None
        self._summary_op: Any = summary_op
        self._feed_dict = feed_dict
        self._writer: Any = summary_writer
        self._log_dir: Any = log_dir

    def begin(self) -> None:
        """Merges the summaries."""
        if self._merge:
            self._summary_op = merge_all()
        self._step = get_or_create_global_step()

    def after_create_session(self, session: SessionLike, coord: object) -> None:
        """Opens the event log."""
        if self._writer is None:
            self._writer = FileWriterCache.get(self._log_dir)

    def end(self, session: SessionLike) -> None:
        """Writes the summaries of the final state."""
        if self._summary_op is not None:
            step = global_step(session, self._step)
            self._writer.add_summary(session.run(self._summary_op, self._feed_dict), step)
        self._writer.flush()


def wait_for_new_checkpoint(
    checkpoint_dir: str,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """Waits for a checkpoint other than last_checkpoint.

    Args:
      seconds_to_sleep: seconds between two looks.
      timeout: seconds to wait; None waits forever.
    Returns: its path; None after the timeout.
    """
    logging.info("Waiting for new checkpoint at %s", checkpoint_dir)
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        found = latest_checkpoint(checkpoint_dir)
        if found is not None and found != last_checkpoint:
            logging.info("Found new checkpoint at %s", found)
            return found
        if end is not None and time.monotonic() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)


def _with_counter(eval_ops: Any, hooks: Sequence[SessionRunHook]) -> Any:
    """Returns the operations of an evaluation together with its counter, which hooks read."""
    if eval_ops is None:
        return None
    counted = assign_add(get_or_create_eval_step(), 1)
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook._set_evals_completed_tensor(counted)
    if isinstance(eval_ops, Mapping):
        return {**eval_ops, "update_eval_step": counted}
    listed = list(eval_ops) if isinstance(eval_ops, (tuple, list)) else [eval_ops]
    return [*listed, counted]


def _evaluate(creator: ChiefSessionCreator, hooks: Any, counted: Any, feed_dict: Any) -> None:
    with MonitoredSession(session_creator=creator, hooks=hooks) as session:
        logging.info("Starting evaluation")
        if counted is not None:
            while not session.should_stop():
                session.run(counted, feed_dict)
        logging.info("Finished evaluation")


def evaluate_once(
    checkpoint_path: str | None,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: FeedDict | None = None,
    final_ops: Any = None,
    final_ops_feed_dict: FeedDict | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    config: Proto | None = None,
) -> Any:
    """Evaluates one checkpoint.

    Args:
      checkpoint_path: the checkpoint; None evaluates the initial values.
      master, scaffold, config: as in hr.train.ChiefSessionCreator.
      eval_ops: tensors or operations, run with feed_dict until a hook requests a stop.
      final_ops: tensors to fetch at the end, with final_ops_feed_dict.
      hooks: hooks such as StopAfterNEvalsHook.
    Returns: the values of final_ops.
    """
    get_or_create_eval_step()
    hooks = list(hooks or ())
    counted = _with_counter(eval_ops, hooks)
    last = FinalOpsHook(final_ops, final_ops_feed_dict)
    creator = ChiefSessionCreator(
        scaffold=scaffold,
        checkpoint_filename_with_path=checkpoint_path,
        master=master,
        config=config,
    )
    _evaluate(creator, [*hooks, last], counted, feed_dict)
    return last.final_ops_values


def evaluate_repeatedly(
    checkpoint_dir: str,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: FeedDict | None = None,
    final_ops: Any = None,
    final_ops_feed_dict: FeedDict | None = None,
    eval_interval_secs: float = 60,
    hooks: Sequence[SessionRunHook] | None = None,
    config: Proto | None = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:
    """Evaluates each new checkpoint of a folder.

    Args:
      checkpoint_dir: the folder.
      eval_interval_secs: least seconds between two evaluations.
      max_number_of_evaluations: None goes on forever.
      timeout, timeout_fn: as in hr.train.checkpoints_iterator.
      the others: as in evaluate_once.
    Returns: the values of final_ops in the last evaluation.
    """
    get_or_create_eval_step()
    hooks = list(hooks or ())
    counted = _with_counter(eval_ops, hooks)
    last = FinalOpsHook(final_ops, final_ops_feed_dict)
    found = checkpoints_iterator(
        checkpoint_dir,
        min_interval_secs=eval_interval_secs,
        timeout=timeout,
        timeout_fn=timeout_fn,
    )
    for number, path in enumerate(found, 1):
        creator = ChiefSessionCreator(
            scaffold=scaffold, checkpoint_filename_with_path=path, master=master, config=config
        )
        _evaluate(creator, [*hooks, last], counted, feed_dict)
        if max_number_of_evaluations is not None and number >= max_number_of_evaluations:
            break
    return last.final_ops_values
