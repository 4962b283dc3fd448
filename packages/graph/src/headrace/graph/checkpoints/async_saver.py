"""AsyncSaver: keeps the values of one step, and writes them while training goes on."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import Any

from headrace.formats.errors import OpError
from headrace.graph.builder.op_builder import op
from headrace.graph.checkpoints.save_nodes import add_write_nodes
from headrace.graph.checkpoints.saveables import SaveableObject, SaveSpec
from headrace.graph.checkpoints.saver import SaveNodes, Saver
from headrace.graph.control_flow.control_flow_ops import group
from headrace.graph.framework.operation import Operation
from headrace.graph.framework.scopes import control_dependencies, device, name_scope
from headrace.graph.typing.aliases import SessionLike


class AsyncSaver:
    """Saves checkpoints in the background, one at a time.

    `save` runs one step, which keeps the value of each variable on the variable's own device, and
    returns. A thread then writes the checkpoint from the kept values, on the same devices. Keeping
    a value copies nothing: an update of the variable copies it first, while it is kept.

    Args:
      saver: Saver with the variables, the format and the number of checkpoints to keep. Its nodes
        must have been built from variables, not from a SaverDef.
      name: name scope of the nodes, which are added to the default graph.
    Raises: ValueError for a Saver of a SaverDef, and for an iterator: variables cannot keep it.
    """

    def __init__(self, saver: Saver, name: str = "async_save") -> None:
        self._saver = saver
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._saved: str | None = None
        self._keep: Operation | None = None
        saver.build()
        if saver.saver_def is not None and not saver.saveables:
            raise ValueError("AsyncSaver: the Saver has the nodes of a SaverDef; give it variables")
        if not saver.saveables:
            return  # the saver is empty
        with control_dependencies(None), name_scope(name, "async_save") as scope:
            kept, keep, release = _add_copies(saver.saveables, scope)
            path, done = add_write_nodes(kept, saver.options)
            self._nodes = SaveNodes(path.name, done.name)
            self._keep = group(*keep, name="keep")
            self._release = group(*release, name="release")

    @property
    def is_writing(self) -> bool:
        """Whether a checkpoint is being written."""
        return self._thread is not None and self._thread.is_alive()

    def save(
        self,
        sess: SessionLike,
        save_path: str | os.PathLike[str],
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        after_save: Callable[[str | None], Any] | None = None,
    ) -> None:
        """Takes a snapshot and begins to write it; waits for the checkpoint before it.

        Args:
          sess, save_path, latest_filename, meta_graph_suffix, write_meta_graph, write_state,
            strip_default_attrs: as of Saver.save.
          global_step: as of Saver.save; a variable is read in the step of the snapshot.
          after_save: called with the prefix when the checkpoint is complete, on the thread that
            wrote it.
        Raises: what went wrong with the checkpoint before; the errors of Saver.save about
          arguments; the OpErrors of the step.
        """
        path = self._saver._check_paths(sess, save_path, latest_filename)
        self.wait()
        number = self._take_snapshot(sess, global_step)
        nodes = None if self._keep is None else self._nodes
        arguments = (
            sess,
            path,
            number,
            nodes,
            latest_filename or "checkpoint",
            meta_graph_suffix,
            write_meta_graph,
            write_state,
            strip_default_attrs,
        )
        self._thread = threading.Thread(
            target=self._write, args=(arguments, after_save), name="headrace_async_saver"
        )
        self._thread.start()

    def _take_snapshot(self, sess: Any, global_step: Any) -> int | None:
        """Keeps the values; returns the number of the step."""
        fetches = [] if self._keep is None else [self._keep]
        if global_step is None or not hasattr(global_step, "dtype") or hasattr(global_step, "item"):
            if fetches:
                sess.run(fetches)
            return None if global_step is None else int(global_step)
        return int(sess.run([global_step, *fetches])[0])

    def _write(
        self, arguments: tuple[Any, ...], after_save: Callable[[str | None], Any] | None
    ) -> None:
        try:
            try:
                self._saved = self._saver._save(*arguments)
            finally:
                if self._keep is not None:
                    with contextlib.suppress(OpError):  # of a session that is closed
                        arguments[0].run(self._release)
            if after_save is not None:
                after_save(self._saved)
        except BaseException as error:  # raised by the next call
            self._error = error

    def wait(self) -> str | None:
        """Waits for the checkpoint that is being written.

        Returns: prefix of the newest checkpoint that this object wrote, or None.
        Raises: what went wrong with it, once.
        """
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self._saved

    def raise_error(self) -> None:
        """Raises what went wrong with a checkpoint, once; waits for none."""
        if not self.is_writing:
            self.wait()

    def abandon(self) -> None:
        """Waits, and drops what went wrong: of a session that was lost, say."""
        with contextlib.suppress(Exception):
            self.wait()

    def close(self) -> None:
        """Waits for the checkpoint that is being written. Raises: as `wait`."""
        self.wait()


def _add_copies(
    saveables: list[SaveableObject], scope: str
) -> tuple[list[SaveableObject], list[Operation], list[Operation]]:
    """Adds a variable for each tensor; returns saveables of these, and their nodes.

    Returns: saveables; operations that keep the values; operations that free them.
    """
    copies: list[SaveableObject] = []
    keep: list[Operation] = []
    release: list[Operation] = []
    for saveable in saveables:
        specs = []
        for spec in saveable.specs:
            value = spec.tensor
            if spec.dtype.name in ("variant", "resource"):
                raise ValueError(
                    f"AsyncSaver: {spec.name!r} is a {spec.dtype.name}, which a variable cannot "
                    "keep; save it with a Saver"
                )
            with device(value.device or None):
                handle = op(
                    "VarHandleOp", dtype=spec.dtype, shape=value.shape, container="",
                    shared_name=f"{scope}kept_{len(keep)}",
                )  # fmt: skip
                keep.append(op("AssignVariableOp", handle, value, dtype=spec.dtype))
                release.append(op("DestroyResourceOp", handle, ignore_lookup_error=True))
                read = op("ReadVariableOp", handle, dtype=spec.dtype)
            specs.append(SaveSpec(read, spec.slice_spec, spec.name, spec.dtype))
        copies.append(_Kept(specs[0].tensor.op, specs, saveable.name))
    return copies, keep, release


class _Kept(SaveableObject):
    """The kept tensors of a saveable, which are never restored."""

    def restore(self, restored_tensors: list[Any], restored_shapes: Any) -> Any:
        return group()
