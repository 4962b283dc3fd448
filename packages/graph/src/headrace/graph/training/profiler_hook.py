"""ProfilerHook: traces of single steps in Chrome's trace format."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from headrace.graph.client.timeline import chrome_trace
from headrace.graph.platform import gfile, logging
from headrace.graph.summary.file_writer import FileWriterCache
from headrace.graph.training.checkpoint_hooks import SecondOrStepTimer
from headrace.graph.training.global_step import required_global_step
from headrace.graph.training.session_run_hook import SessionRunArgs, SessionRunHook
from headrace.graph.typing.aliases import SessionLike

if TYPE_CHECKING:
    from headrace.graph.training.session_run_hook import SessionRunContext, SessionRunValues


class ProfilerHook(SessionRunHook):
    """Traces a step every save_steps steps or save_secs seconds, into timeline-STEP.json.

    Args:
      save_steps, save_secs: the interval; exactly one must be given.
      output_dir: folder of the traces, and of an event file with them.
      show_dataflow, show_memory: ignored: traces contain times only.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._folder = output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        """Finds the global step."""
        self._next_step: int | None = None
        self._step = required_global_step("ProfilerHook")
        self._writer = FileWriterCache.get(self._folder or ".")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Requests a trace if the timer triggers."""
        from headrace.formats.proto.run_pb2 import RunOptions

        self._asked = self._next_step is not None and self._timer.should_trigger_for_step(
            self._next_step
        )
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._asked else None
        return SessionRunArgs(self._step, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes the trace."""
        step = int(run_values.results)
        if self._next_step is None:
            self._timer.update_last_triggered_step(step)
        if self._asked:
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step)
            path = os.path.join(self._folder, f"timeline-{step}.json")
            gfile.MakeDirs(self._folder or ".")
            with gfile.GFile(path, "w") as stream:
                stream.write(chrome_trace(run_values.run_metadata.step_stats))
            logging.info("Saving timeline for %d into '%s'.", step, path)
            self._writer.add_run_metadata(run_values.run_metadata, f"step_{step}", step)
        self._next_step = step + 1

    def end(self, session: SessionLike) -> None:
        """Flushes the event file."""
        self._writer.flush()
