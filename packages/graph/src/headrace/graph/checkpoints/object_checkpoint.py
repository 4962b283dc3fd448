"""train.Checkpoint: saves the values of objects under the names of attributes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from headrace.formats.bundle_reader import BundleReader
from headrace.formats.errors import NotFoundError
from headrace.graph.builder.op_builder import op
from headrace.graph.checkpoints.checkpoint_state import local_path, update_checkpoint_state
from headrace.graph.checkpoints.restored_values import OBJECT_GRAPH_KEY, object_graph_of
from headrace.graph.checkpoints.saver import make_folder
from headrace.graph.checkpoints.tracked_objects import ObjectGraph, is_trackable, stored_key
from headrace.graph.control_flow.control_flow_ops import group
from headrace.graph.framework.default_session import get_default_session
from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import control_dependencies, device, name_scope
from headrace.graph.typing.aliases import SessionLike
from headrace.graph.variables.variable import Variable


class Checkpoint:
    """Saves and restores the variables of objects, which are found by attribute names.

    Args:
      kwargs: variables, optimizers, layers, iterators of datasets, other Checkpoints, and lists and
        dicts of these. Each becomes an attribute; attributes that are set later are saved too.
    Raises: ValueError for an object that has no state to save.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._save_counter: Any = None
        self._counted: Any = None  # adds 1 to the counter
        self._written: dict[Graph, tuple[bytes, Tensor, Tensor]] = {}
        self._restored: dict[tuple[Any, ...], tuple[Tensor, Operation]] = {}
        for name, value in sorted(kwargs.items()):
            if not is_trackable(value):
                raise ValueError(
                    "`Checkpoint` was expecting a trackable object (a variable, an optimizer, a "
                    f"layer, or a list or dict of these), got {value!r}."
                )
            setattr(self, name, value)

    @property
    def save_counter(self) -> Variable:
        """The number of calls of `save`, an int64 variable."""
        if self._save_counter is None:
            with name_scope(None):
                self._save_counter = Variable(
                    0, dtype="int64", name="save_counter", trainable=False, use_resource=True
                )
        return self._save_counter

    def _trackable_children(self) -> Iterator[tuple[str, Any]]:
        if self._save_counter is not None:
            yield "save_counter", self._save_counter
        for name, value in vars(self).items():
            if not name.startswith("_") and is_trackable(value):
                yield name, value

    def write(self, file_prefix: str | os.PathLike[str], session: SessionLike | None = None) -> str:
        """Writes the objects to a checkpoint.

        Args:
          file_prefix: prefix of the files.
          session: session with the variables; the default session by default.
        Returns: the prefix.
        Raises: ValueError without a session, or if the folder is missing.
        """
        session = _session(session)
        path = local_path(file_prefix)
        make_folder(os.path.dirname(path), path)
        with session.graph.as_default():
            prefix, done = self._write_nodes()
        session.run(done, {prefix: path})
        return path

    def _write_nodes(self) -> tuple[Tensor, Tensor]:
        """Returns the placeholder of the prefix, and the result of writing."""
        objects = ObjectGraph(self)
        message = objects.message.SerializeToString(deterministic=True)
        kept = self._written.get(get_default_graph())
        if kept is not None and kept[0] == message:
            return kept[1], kept[2]
        with name_scope(None), name_scope("save"), device("/cpu:0"):
            prefix = op("Placeholder", dtype="string", shape=[], name="file_prefix")
            names = [*objects.values, OBJECT_GRAPH_KEY]
            values = [
                v.read_value() if isinstance(v, Variable) else v._saved_tensor()
                for v in objects.values.values()
            ]
            written = op("SaveV2", prefix, names, [""] * len(names), [*values, message])
            with control_dependencies([written]):
                done = op("Identity", prefix)
        self._written[get_default_graph()] = (message, prefix, done)
        return prefix, done

    def _restore_nodes(self, found: dict[str, Any]) -> tuple[Tensor, Operation]:
        """Returns the placeholder of the prefix, and the restoration of variables by key."""
        kept_for = (get_default_graph(), *found.items())
        kept = self._restored.get(kept_for)
        if kept is not None:
            return kept
        with name_scope(None), name_scope("restore"):
            with device("/cpu:0"):
                prefix = op("Placeholder", dtype="string", shape=[], name="file_prefix")
                values = op(
                    "RestoreV2", prefix, list(found), [""] * len(found),
                    dtypes=[
                        v.dtype.base_dtype if isinstance(v, Variable) else "variant"
                        for v in found.values()
                    ],
                )  # fmt: skip
            restore = group(*[
                v.assign(value, read_value=False) if isinstance(v, Variable)
                else v._restored_from(value)
                for v, value in zip(found.values(), values)
            ])  # fmt: skip
        self._restored[kept_for] = (prefix, restore)
        return prefix, restore

    def save(self, file_prefix: str | os.PathLike[str], session: SessionLike | None = None) -> str:
        """Writes the objects to a numbered checkpoint, and updates the file `checkpoint`.

        Args:
          file_prefix: prefix of the files; the number of the call follows it.
          session: as in `write`.
        Returns: the prefix with the number.
        Raises: as `write`.
        """
        session = _session(session)
        number = self.count_save(session)
        path = self.write(f"{os.fspath(file_prefix)}-{number}", session)
        folder = os.path.dirname(path) or "."
        update_checkpoint_state(folder, path, [path], save_relative_paths=True)
        return path

    def count_save(self, session: SessionLike | None = None) -> int:
        """Adds 1 to save_counter in a session; returns its value. Raises: as `write`."""
        session = _session(session)
        fresh = self._save_counter is None
        with session.graph.as_default():
            counter = self.save_counter
            if fresh:
                session.run(counter.initializer)
            if self._counted is None or self._counted.graph is not session.graph:
                self._counted = counter.assign_add(1)
            return int(session.run(self._counted))

    def restore(self, save_path: str | os.PathLike[str] | None) -> CheckpointLoadStatus:
        """Opens a checkpoint; `run_restore_ops` of the result restores the objects.

        Args:
          save_path: prefix of a checkpoint of `save`, `write` or a Saver; None for none, so that
            `initialize_or_restore` initialises.
        Raises: NotFoundError if there is no such checkpoint.
        """
        reader = None if save_path is None else BundleReader(local_path(save_path))
        if reader is not None and self._save_counter is None:
            self.save_counter  # noqa: B018 - it is restored like the other variables
        return CheckpointLoadStatus(self, reader)


class CheckpointLoadStatus:
    """The result of Checkpoint.restore: what matches, and the operations that restore it."""

    def __init__(self, root: Checkpoint, reader: BundleReader | None) -> None:
        self._root = root
        self._reader = reader
        self._message: Any = None
        if reader is not None:
            try:
                self._message = object_graph_of(reader)
            except NotFoundError:
                pass  # a checkpoint of a Saver: variables are found by their names

    def _matches(self) -> tuple[dict[str, Any], list[Any], list[str]]:
        """Returns objects by key, objects without a value, and keys without an object."""
        objects = ObjectGraph(self._root)
        values = list(objects.values.values())
        found: dict[str, Any]
        if self._reader is None:
            return {}, values, []
        if self._message is None:
            variables = {v.op.name: v for v in values if isinstance(v, Variable)}
            found = {name: v for name, v in variables.items() if name in self._reader}
            left = [key for key in self._reader.names() if key not in found]
        else:
            found = objects.matched(self._message)
            stored = [
                stored_key(attribute.checkpoint_key, attribute.name)
                for node in self._message.nodes
                for attribute in node.attributes
            ]
            left = [key for key in stored if key not in found]
        matched = set(map(id, found.values()))
        return found, [v for v in values if id(v) not in matched], left

    def assert_consumed(self) -> CheckpointLoadStatus:
        """Checks that each variable has a value, and each value a variable.

        Raises: AssertionError otherwise.
        """
        self.assert_existing_objects_matched()
        left = self._matches()[2]
        if left:
            raise AssertionError(f"Unresolved objects in checkpoint: {', '.join(left)}")
        return self

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """Checks that each variable has a value. Raises: AssertionError otherwise."""
        missing = [v.op.name if isinstance(v, Variable) else repr(v) for v in self._matches()[1]]
        if missing:
            raise AssertionError(f"Objects not found in the checkpoint: {', '.join(missing)}")
        return self

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        """Checks that some variable has a value. Raises: AssertionError otherwise."""
        if not self._matches()[0]:
            raise AssertionError("Nothing in the checkpoint matches the objects.")
        return self

    def expect_partial(self) -> CheckpointLoadStatus:
        """Accepts that parts of the checkpoint are not used; does nothing else."""
        return self

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """Restores the variables that have a value.

        Raises: InvalidArgumentError for a value of another shape or dtype; ValueError without a
          session.
        """
        session = _session(session)
        found = self._matches()[0]
        if not found or self._reader is None:
            return
        with session.graph.as_default():
            prefix, restore = self._root._restore_nodes(found)
        session.run(restore, {prefix: self._reader.prefix})

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """Restores the variables that have a value, and initialises the others.

        Raises: as run_restore_ops.
        """
        session = _session(session)
        missing = self._matches()[1]
        if missing:
            session.run([v.initializer for v in missing])
        self.run_restore_ops(session)


def _session(session: SessionLike | None) -> Any:
    found = session if session is not None else get_default_session()
    if found is None:
        raise ValueError(
            "Checkpoint: there is no session: give one, or use `with sess.as_default()`"
        )
    return found
