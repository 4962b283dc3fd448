"""Hooks that write checkpoints during training."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.platform import logging
from headrace.graph.summary.file_writer import FileWriterCache
from headrace.graph.training.global_step import required_global_step
from headrace.graph.training.session_run_hook import SessionRunArgs, SessionRunHook
from headrace.graph.typing.aliases import SessionLike

if TYPE_CHECKING:
    from headrace.graph.checkpoints.async_saver import AsyncSaver
    from headrace.graph.checkpoints.saver import Saver
    from headrace.graph.training.coordinator import Coordinator
    from headrace.graph.training.scaffold import Scaffold
    from headrace.graph.training.session_run_hook import SessionRunContext, SessionRunValues


class SecondOrStepTimer:
    """Triggers after a number of seconds or steps.

    Args:
      every_secs, every_steps: the interval; exactly one must be given.
    Raises: ValueError for both or none.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_s = every_secs
        self._every_steps = every_steps
        self.reset()

    def reset(self) -> None:
        """Resets the timer: the next step triggers."""
        self._last_step: int | None = None
        self._last_time: float | None = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Returns whether a step triggers; the first one does, and no step triggers twice."""
        if self._last_step is None or self._last_time is None:
            return True
        if self._last_step == step:
            return False
        if self._every_s is not None:
            return time.time() >= self._last_time + self._every_s
        return step >= self._last_step + int(self._every_steps or 0)

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Records a triggered step; returns the seconds and steps since the last one."""
        now = time.time()
        if self._last_time is None or self._last_step is None:
            passed: tuple[float | None, int | None] = (None, None)
        else:
            passed = (now - self._last_time, step - self._last_step)
        self._last_time, self._last_step = now, step
        return passed

    def last_triggered_step(self) -> int | None:
        """Returns the last triggered step; None before the first."""
        return self._last_step


class CheckpointSaverListener:
    """Base class of listeners of CheckpointSaverHook; all methods do nothing by default."""

    def begin(self) -> None:
        """Called once, before the session is created."""

    def before_save(self, session: SessionLike, global_step_value: int) -> None:
        """Called before a checkpoint is written."""

    def after_save(self, session: SessionLike, global_step_value: int) -> bool | None:
        """Called after a checkpoint is written; returns True to stop training."""

    def end(self, session: SessionLike, global_step_value: int) -> None:
        """Called at the end, after the last checkpoint."""


class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint every save_secs seconds or save_steps steps, and at the end.

    Args:
      checkpoint_dir: folder of the checkpoints.
      saver: Saver; by default that of the scaffold or of the graph's collection.
      checkpoint_basename: first part of the names of checkpoints.
      listeners: list of CheckpointSaverListener.
      save_graph_def: also write the graph, as graph.pbtxt.
      asynchronous: keep the values of one step, and write them in a thread while training goes on
        (AsyncSaver); what is due meanwhile is left out. The first and the last checkpoint are
        waited for. `after_save` of listeners is called in the thread, and an error of a checkpoint
        is raised after the next step. Variables that are created after this hook's `begin` are not
        saved.
    Raises: ValueError for both a saver and a scaffold, or not exactly one interval.
    """

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Saver | None = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Scaffold | None = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
        save_graph_def: bool = True,
        asynchronous: bool = False,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver = saver
        self._folder = os.fspath(checkpoint_dir)
        self._path = os.path.join(self._folder, checkpoint_basename)
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = list(listeners or [])
        self._save_graph_def = save_graph_def
        self._asynchronous = asynchronous
        self._background: AsyncSaver | None = None
        self._stops = False
        self._step: Any = None
        self._saved_step: int | None = None

    def begin(self) -> None:
        """Finds the global step."""
        self._writer = FileWriterCache.get(self._folder)
        self._step = required_global_step("CheckpointSaverHook")
        if self._asynchronous:
            from headrace.graph.checkpoints.async_saver import AsyncSaver

            self._background = AsyncSaver(self._saver_of_begin())
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Writes the graph and the first checkpoint."""
        if self._background is not None:
            self._background.abandon()  # what the last session was writing when it was lost
        step = int(session.run(self._step))
        if self._save_graph_def:
            from headrace.graph.training.graph_writing import write_graph

            write_graph(get_default_graph().as_graph_def(add_shapes=True), self._folder,
                        "graph.pbtxt")  # fmt: skip
        self._writer.add_graph(get_default_graph())
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the global step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes a checkpoint if the timer triggers. Raises: the error of the one before."""
        background = self._background
        if background is not None:
            background.raise_error()
            if self._stops:
                run_context.request_stop()
        if self._timer.should_trigger_for_step(int(run_values.results) + 1):
            # the fetched value may be that before the step
            step = int(run_context.session.run(self._step))
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                session = run_context.session
                if background is None:
                    if self._save(session, step):
                        run_context.request_stop()
                elif background.is_writing:
                    logging.info("The last checkpoint is still written: none of step %d", step)
                else:
                    self._begin_save(background, session, step)

    def end(self, session: SessionLike) -> None:
        """Writes the last checkpoint."""
        if self._background is not None:
            self._background.wait()
        step = int(session.run(self._step))
        if step != self._saved_step:
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Any, step: int) -> bool:
        self._before_save(session, step)
        self._get_saver().save(session, self._path, global_step=step,
                               write_meta_graph=self._save_graph_def)  # fmt: skip
        return self._after_save(session, step)

    def _begin_save(self, background: AsyncSaver, session: Any, step: int) -> None:
        """Saves in the background."""

        def after_save(prefix: str | None) -> None:
            self._stops = self._after_save(session, step) or self._stops

        self._before_save(session, step)
        background.save(session, self._path, global_step=step,
                        write_meta_graph=self._save_graph_def, after_save=after_save)  # fmt: skip

    def _before_save(self, session: Any, step: int) -> None:
        logging.info("Saving checkpoints for %d into %s.", step, self._path)
        for listener in self._listeners:
            listener.before_save(session, step)

    def _after_save(self, session: Any, step: int) -> bool:
        from headrace.formats.proto.event_pb2 import SessionLog

        self._saved_step = step
        log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._path)
        self._writer.add_session_log(log, step)
        stops = [listener.after_save(session, step) for listener in self._listeners]
        return any(stops)

    def _saver_of_begin(self) -> Any:
        """Returns the saver before the Scaffold is finalized, which then takes it, too."""
        if self._saver is not None or (self._scaffold is not None and self._scaffold.saver):
            return self._get_saver()
        savers = get_default_graph().get_collection_ref(GraphKeys.SAVERS)
        if not savers:
            from headrace.graph.checkpoints.saver import Saver

            savers.append(Saver(sharded=True, allow_empty=True))
        if len(savers) == 1:
            return savers[0]
        return self._get_saver()  # raises

    def _get_saver(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        found = get_default_graph().get_collection(GraphKeys.SAVERS)
        if len(found) != 1:
            raise RuntimeError(
                f"CheckpointSaverHook: give it a saver or a scaffold; collection "
                f"{GraphKeys.SAVERS} has {len(found)} savers"
            )
        self._saver = found[0]
        return self._saver


class AsyncCheckpointSaverHook(CheckpointSaverHook):
    """A CheckpointSaverHook that writes in the background, under TensorFlow's name (contrib.tpu).

    Args:
      checkpoint_dir, save_secs, save_steps, saver, checkpoint_basename, scaffold, listeners: as of
        CheckpointSaverHook.
    Raises: as CheckpointSaverHook.
    """

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Saver | None = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Scaffold | None = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
    ) -> None:
        super().__init__(
            checkpoint_dir,
            save_secs,
            save_steps,
            saver,
            checkpoint_basename,
            scaffold,
            listeners,
            asynchronous=True,
        )
