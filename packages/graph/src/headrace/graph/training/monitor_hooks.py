"""Hooks that log, write summaries, count steps, check losses and stop training."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.graph.framework.graph import get_default_graph
from headrace.graph.platform import logging
from headrace.graph.summary.file_writer import FileWriterCache
from headrace.graph.training.checkpoint_hooks import SecondOrStepTimer
from headrace.graph.training.global_step import required_global_step
from headrace.graph.training.session_run_hook import SessionRunArgs, SessionRunHook
from headrace.graph.typing.aliases import FeedDict, SessionLike, TensorLike

if TYPE_CHECKING:
    from headrace.graph.framework.operation import Operation, Tensor
    from headrace.graph.summary.file_writer import FileWriter
    from headrace.graph.training.coordinator import Coordinator
    from headrace.graph.training.scaffold import Scaffold
    from headrace.graph.training.session_run_hook import SessionRunContext, SessionRunValues


class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors periodically, or at the end.

    Args:
      tensors: dict from labels to tensors or their names, or a list of tensors or names.
      every_n_iter, every_n_secs: the interval; exactly one, unless at_end is true.
      at_end: also log at the end.
      formatter: function from a dict of values to a text.
    Raises: ValueError unless the interval is valid.
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "exactly one of every_n_iter and every_n_secs must be provided, unless at_end."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        self._tags = list(tensors) if isinstance(tensors, dict) else None
        self._tensors = tensors if isinstance(tensors, dict) else {t: t for t in tensors}
        self._order = list(self._tensors)
        self._formatter = formatter
        self._at_end = at_end
        self._timer = (
            None
            if only_at_end
            else SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)
        )

    def begin(self) -> None:
        """Finds the tensors."""
        if self._timer is not None:
            self._timer.reset()
        self._iterations = 0
        self._fetches = {tag: _graph_element(t) for tag, t in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetches the tensors if the timer triggers."""
        self._due = self._timer is not None and self._timer.should_trigger_for_step(
            self._iterations
        )
        return SessionRunArgs(self._fetches) if self._due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs the values."""
        if self._due:
            self._log(run_values.results)
        self._iterations += 1

    def end(self, session: SessionLike) -> None:
        """Logs the values at the end."""
        if self._at_end:
            self._log(session.run(self._fetches))

    def _log(self, values: dict[Any, Any]) -> None:
        options = np.get_printoptions()
        np.set_printoptions(suppress=True)
        passed = None
        if self._timer is not None:
            passed, _ = self._timer.update_last_triggered_step(self._iterations)
        if self._formatter:
            logging.info(self._formatter(values))
        else:
            message = ", ".join(f"{tag} = {values[tag]}" for tag in self._order)
            logging.info(message if passed is None else f"{message} ({passed:.3f} sec)")
        np.set_printoptions(**options)


def _graph_element(element: Any) -> Any:
    """Resolves a name to a tensor or operation of the default graph."""
    graph = get_default_graph()
    if isinstance(element, str) and ":" not in element:
        element = f"{element}:0"  # the name of a tensor may omit ":0"
    return graph.as_graph_element(element)


class StopAtStepHook(SessionRunHook):
    """Requests a stop after a number of steps, or at a step.

    Args:
      num_steps: number of steps from the start of the session.
      last_step: global step; exactly one of both must be given.
    Raises: ValueError for both or none.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        """Finds the global step."""
        self._step = required_global_step("StopAtStepHook")

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Reads the initial global step."""
        if self._last_step is None:
            self._last_step = int(session.run(self._step)) + int(self._num_steps or 0)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the global step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Requests a stop if the last step is reached."""
        last = int(self._last_step or 0)
        # the fetched value may be that before the step
        if int(run_values.results) + 1 >= last and int(run_context.session.run(self._step)) >= last:
            run_context.request_stop()


class StepCounterHook(SessionRunHook):
    """Logs the number of steps per second, and writes it as a summary.

    Args:
      every_n_steps, every_n_secs: the interval; exactly one must be given.
      output_dir: folder of the event file; or summary_writer: a FileWriter.
    Raises: ValueError unless exactly one interval is given.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: FileWriter | None = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._writer = summary_writer
        self._folder = output_dir

    def begin(self) -> None:
        """Finds the global step, and opens the writer."""
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)
        self._step = required_global_step("StepCounterHook")
        self._tag = f"{self._step.op.name}/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the global step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs the rate if the timer triggers."""
        if not self._timer.should_trigger_for_step(int(run_values.results) + 1):
            return
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds and steps is not None:
                self._report(steps / seconds, step)

    def _report(self, rate: float, step: int) -> None:
        from headrace.formats.proto.summary_pb2 import Summary

        if self._writer is not None:
            value = Summary.Value(tag=self._tag, simple_value=rate)
            self._writer.add_summary(Summary(value=[value]), step)
        logging.info("%s: %g", self._tag, rate)


class NanLossDuringTrainingError(RuntimeError):
    """The loss is NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Stops training if the loss is NaN.

    Args:
      loss_tensor: [] float.
      fail_on_nan_loss: raise NanLossDuringTrainingError instead of requesting a stop.
    """

    def __init__(self, loss_tensor: TensorLike, fail_on_nan_loss: bool = True) -> None:
        self._loss = loss_tensor
        self._fails = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Checks the loss. Raises: NanLossDuringTrainingError for NaN with fail_on_nan_loss."""
        if np.isnan(run_values.results):
            logging.error("Model diverged with loss = NaN.")
            if self._fails:
                raise NanLossDuringTrainingError
            run_context.request_stop()


class SummarySaverHook(SessionRunHook):
    """Writes summaries every save_steps steps or save_secs seconds.

    Args:
      save_steps, save_secs: the interval; exactly one must be given.
      output_dir: folder of the event file; or summary_writer: a FileWriter.
      scaffold: Scaffold with a summary_op; or summary_op: one or several serialized Summaries.
    Raises: ValueError unless exactly one of scaffold and summary_op, and one interval, is given.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: FileWriter | None = None,
        scaffold: Scaffold | None = None,
        summary_op: Tensor | Operation | None = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._writer = summary_writer
        self._folder = output_dir
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        """Finds the global step, and opens the writer."""
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)
        self._next_step: int | None = None
        self._step = required_global_step("SummarySaverHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the global step, and the summaries if the timer triggers."""
        self._asked = self._next_step is None or self._timer.should_trigger_for_step(
            self._next_step
        )
        fetches = {"global_step": self._step}
        summaries = self._summaries() if self._asked else None
        if summaries is not None:
            fetches["summary"] = summaries
        return SessionRunArgs(fetches)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes the summaries."""
        if self._writer is None:
            return
        step = int(run_values.results["global_step"])
        if self._next_step is None:
            from headrace.formats.proto.event_pb2 import SessionLog

            self._writer.add_session_log(SessionLog(status=SessionLog.START), step)
        if self._asked:
            # the fetched value may be that before the step
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: SessionLike | None = None) -> None:
        """Flushes the event file."""
        if self._writer is not None:
            self._writer.flush()

    def _summaries(self) -> list[Any] | None:
        found = self._summary_op
        if self._scaffold is not None:
            found = self._scaffold.summary_op
        if found is None:
            return None
        return list(found) if isinstance(found, (list, tuple)) else [found]


class GlobalStepWaiterHook(SessionRunHook):
    """Waits before each run until the global step is at least wait_until_step."""

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until = wait_until_step
        self._is_there = False

    def begin(self) -> None:
        """Finds the global step."""
        self._step = required_global_step("GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        """Waits for the global step."""
        if self._is_there or self._wait_until <= 0:
            self._is_there = True
            return
        logging.info("Waiting for global step %d before starting training.", self._wait_until)
        while int(run_context.session.run(self._step)) < self._wait_until:
            time.sleep(0.5)
        self._is_there = True


class FinalOpsHook(SessionRunHook):
    """Runs fetches at the end; their values are in final_ops_values."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: FeedDict | None = None) -> None:
        self._final_ops = final_ops
        self._feeds = final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values of the final fetches."""
        return self._values

    def end(self, session: SessionLike) -> None:
        """Runs the final fetches."""
        if self._final_ops is not None:
            self._values = session.run(self._final_ops, feed_dict=self._feeds)


class FeedFnHook(SessionRunHook):
    """Feeds the feed_dict that a function returns in each run."""

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Calls the function."""
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
