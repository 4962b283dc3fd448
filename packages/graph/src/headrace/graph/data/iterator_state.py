"""The state of iterators in checkpoints."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.checkpoints.checkpoint_state import latest_checkpoint
from headrace.graph.checkpoints.saveables import SaveableObject, SaveSpec
from headrace.graph.checkpoints.saver import Saver
from headrace.graph.data.iterator import GLOBAL_ITERATORS, Iterator
from headrace.graph.framework.default_graph import get_collection
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import colocate_with
from headrace.graph.training.checkpoint_hooks import CheckpointSaverHook
from headrace.graph.training.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from headrace.graph.typing.aliases import SessionLike


class IteratorSaveable(SaveableObject):
    """The position of an iterator, as a value of a checkpoint.

    Args: resource: [] resource of the iterator.
    """

    def __init__(self, resource: Tensor) -> None:
        state = op("SerializeIterator", resource)
        spec = SaveSpec(state, "", f"{resource.name}-state")
        super().__init__(resource, [spec], resource.name)

    def restore(self, restored_tensors: list[Tensor], restored_shapes: Any) -> Operation:
        """Returns the operation that restores the position."""
        with colocate_with(self.op):
            return op("DeserializeIterator", self.op, restored_tensors[0])


def make_saveable_from_iterator(iterator: Iterator) -> IteratorSaveable:
    """Returns what a Saver saves of an iterator: where it is in its dataset.

    Add it to the collection SAVEABLE_OBJECTS, or give it to a Saver. The iterator must be
    initialised before its state is restored.

    >>> import headrace.graph as hr
    >>> iterator = hr.data.Dataset.range(9).make_initializable_iterator()
    >>> saver = hr.train.Saver([hr.data.experimental.make_saveable_from_iterator(iterator)])
    >>> element = iterator.get_next()
    >>> with hr.Session() as session:
    ...     session.run(iterator.initializer)
    ...     first = session.run(element)
    ...     path = saver.save(session, "input.ckpt")
    >>> with hr.Session() as session:
    ...     session.run(iterator.initializer)
    ...     saver.restore(session, path)
    ...     print(first, session.run(element))
    0 1
    """
    return IteratorSaveable(iterator._iterator_resource)


class CheckpointInputPipelineHook(SessionRunHook):
    """Saves the iterators of the graph, when an Estimator saves its checkpoints, and restores them.

    Args:
      estimator: object with model_dir, and `_config` with num_worker_replicas, task_type, task_id,
        save_checkpoints_secs and save_checkpoints_steps.
    """

    def __init__(self, estimator: Any) -> None:
        config = estimator._config
        name = "input"
        if config.num_worker_replicas > 1:
            name += f"_{config.task_type}_{config.task_id}"
        self._folder = estimator.model_dir
        self._latest_filename = f"checkpoint_{name}"
        self._saver: Saver | None = None
        self._hook = CheckpointSaverHook(
            estimator.model_dir,
            save_secs=config.save_checkpoints_secs,
            save_steps=config.save_checkpoints_steps,
            checkpoint_basename=f"{name}.ckpt",
        )
        self._is_first = True

    def begin(self) -> None:
        """Adds the nodes that save the iterators of the graph."""
        if self._saver is None:
            saveables = [IteratorSaveable(i) for i in get_collection(GLOBAL_ITERATORS)]
            self._saver = _NamedSaver(saveables, self._latest_filename)
        self._hook._saver = self._saver
        self._hook.begin()

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Restores the newest checkpoint before the first step, or writes the first one."""
        if self._is_first:
            self._is_first = False
            self._restore_or_save(run_context.session)
        return self._hook.before_run(run_context)

    def _restore_or_save(self, session: Any) -> None:
        path = latest_checkpoint(self._folder, self._latest_filename)
        if path:
            assert self._saver is not None
            self._saver.restore(session, path)
            return
        step = int(session.run(self._hook._step))
        self._hook._save(session, step)
        self._hook._timer.update_last_triggered_step(step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes a checkpoint if it is time."""
        self._hook.after_run(run_context, run_values)

    def end(self, session: SessionLike) -> None:
        """Writes the last checkpoint."""
        self._hook.end(session)


class _NamedSaver(Saver):
    """A Saver with a separate list of checkpoints."""

    def __init__(self, var_list: list[Any], latest_filename: str) -> None:
        super().__init__(var_list)
        self._latest_filename = latest_filename

    def save(self, *args: Any, **kwargs: Any) -> str | None:
        """As Saver.save, with another default of latest_filename."""
        kwargs["latest_filename"] = kwargs.get("latest_filename") or self._latest_filename
        return super().save(*args, **kwargs)
