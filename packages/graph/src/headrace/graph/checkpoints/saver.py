"""Saver: saves variables to checkpoints, removes old checkpoints, and restores variables."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.formats.bundle_files import bundle_exists
from headrace.formats.errors import InvalidArgumentError, NotFoundError, OpError
from headrace.formats.file_systems import is_remote
from headrace.formats.slice_file import SliceFileReader
from headrace.graph.checkpoints.checkpoint_state import (
    checkpoint_exists,
    get_checkpoint_mtimes,
    local_path,
    meta_graph_filename,
    remove_checkpoint,
    update_checkpoint_state,
)
from headrace.graph.checkpoints.restored_values import ReaderByFullName, values_to_restore
from headrace.graph.checkpoints.save_nodes import V1, V2, SaveOptions, add_save_nodes
from headrace.graph.checkpoints.saveables import SaveableObject, saveables_of
from headrace.graph.checkpoints.stale_parts import remove_stale_parts
from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.import_scope import prepend_name_scope, strip_name_scope
from headrace.graph.framework.op_registry import no_gradient
from headrace.graph.platform import gfile
from headrace.graph.serialization import meta_graph
from headrace.graph.serialization.message_origin import SAVER_DEF, MessageOrigin
from headrace.graph.typing.aliases import Path, Proto, SessionLike


@dataclass(frozen=True)
class SaveNodes:
    """The tensor to which a run feeds the path, and the one that is the path of what was saved."""

    filename_tensor_name: str
    save_tensor_name: str


class Saver:
    """Saves and restores variables.

    Args:
      var_list: list of variables, or a dict from names in the checkpoint to variables; all saveable
        variables by default.
      reshape: reshape restored values to the shapes of the variables.
      sharded: write a file for each device, by the device's task. All tasks must share the folder.
      max_to_keep: number of recent checkpoints to keep; 0 or None keeps all.
      keep_checkpoint_every_n_hours: interval in hours at which one checkpoint is kept permanently.
      name: name scope of the nodes.
      restore_sequentially: ignored; one node reads all tensors.
      saver_def: use the existing nodes that this SaverDef names.
      builder: not supported.
      defer_build: add the nodes in `build` instead of the constructor.
      allow_empty: accept a graph without variables.
      write_version: format of the files, SaverDef.V1 or V2; both are read.
      pad_step_number: write step numbers with eight digits.
      save_relative_paths: write relative paths to the file `checkpoint`.
      filename: default path of the checkpoint.
    Raises: ValueError if there are no variables, two variables have the same name, or an argument
      is not supported; TypeError for objects that cannot be saved.
    """

    def __init__(
        self,
        var_list: Sequence[Any] | Mapping[str, Any] | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Proto | None = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. "
                "Either set defer_build=False or var_list=None."
            )
        if builder is not None:
            raise NotImplementedError("Saver: custom builders are not supported; leave builder out")
        if write_version not in (V1, V2):
            raise ValueError(f"write_version must be SaverDef.V1 or V2, not {write_version}")
        self._var_list = var_list
        self.options = SaveOptions(name, filename, reshape, sharded, write_version)
        self.saveables: list[SaveableObject] = []
        self._max_to_keep = max_to_keep or 0
        self._keep_hours = keep_checkpoint_every_n_hours
        self._allow_empty = allow_empty
        self._pad_step_number = pad_step_number
        self._save_relative_paths = save_relative_paths
        self._is_empty = False
        self._is_built = False
        self.saver_def: Any = None
        self._last_checkpoints: list[tuple[str, float]] = []
        self._saving = threading.RLock()
        if saver_def is not None:
            self._use_saver_def(saver_def)
        elif not defer_build:
            self.build()

    def _use_saver_def(self, saver_def: Any) -> None:
        if not hasattr(saver_def, "save_tensor_name"):
            raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {saver_def}")
        if not saver_def.save_tensor_name or not saver_def.restore_op_name:
            raise ValueError(f"saver_def names no save or restore node: {saver_def}")
        self.saver_def = saver_def
        self._max_to_keep = saver_def.max_to_keep
        self._keep_hours = saver_def.keep_checkpoint_every_n_hours or self._keep_hours
        self._is_built = True
        self._next_kept = time.time() + self._keep_hours * 3600

    def build(self) -> None:
        """Adds the nodes to the default graph, after defer_build=True. Raises: as the class."""
        if self._is_built:
            return
        self._is_built = True
        self._next_kept = time.time() + self._keep_hours * 3600
        found = self._var_list
        if found is None:
            graph = get_default_graph()
            found = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
            found = found + graph.get_collection(GraphKeys.SAVEABLE_OBJECTS)
        if not found:
            if not self._allow_empty:
                raise ValueError("No variables to save")
            self._is_empty = True
            return
        self.saveables = saveables_of(found)
        self.saver_def = add_save_nodes(self.saveables, self.options)
        self.saver_def.max_to_keep = self._max_to_keep
        self.saver_def.keep_checkpoint_every_n_hours = self._keep_hours

    def _check_built(self) -> None:
        if not self._is_built:
            raise RuntimeError(
                "Saver: its nodes are not in the graph yet (defer_build=True); call build() first"
            )

    # ---- saving ----

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
        save_debug_info: bool = False,
    ) -> str | None:
        """Saves the variables to a checkpoint, and removes all but the max_to_keep newest ones.

        Args:
          sess: session with the variables.
          save_path: path or URL of the prefix of the checkpoint's files.
          global_step: number, or a variable with it, to append to the prefix.
          latest_filename: name of the file that lists the checkpoints; `checkpoint` by default.
          meta_graph_suffix: suffix of the MetaGraphDef's file.
          write_meta_graph: also write the graph, as a MetaGraphDef.
          write_state: update the file that lists the checkpoints.
        Returns: prefix of the checkpoint, or None for a saver without variables.
        Raises: ValueError for an invalid path or a missing folder; RuntimeError before `build`; the
          OpErrors of the step.
        """
        path = self._check_paths(sess, save_path, latest_filename)
        return self._save(
            sess,
            path,
            global_step,
            self.saver_def,
            latest_filename or "checkpoint",
            meta_graph_suffix,
            write_meta_graph,
            write_state,
            strip_default_attrs,
        )

    def _save(
        self,
        sess: SessionLike,
        path: str,
        global_step: Any,
        nodes: Any,
        latest_filename: str,
        meta_graph_suffix: str,
        write_meta_graph: bool,
        write_state: bool,
        strip_default_attrs: bool,
    ) -> str | None:
        """Saves by the nodes of a SaverDef, or the SaveNodes of an AsyncSaver."""
        # Serialized, so that the checkpoint that was started last is the newest.
        with self._saving:
            if global_step is not None:
                if not isinstance(global_step, (int, np.integer)):
                    global_step = sess.run(global_step)
                step = int(global_step)
                path = f"{path}-{step:08d}" if self._pad_step_number else f"{path}-{step}"
            local = local_path(path)
            make_folder(os.path.dirname(local), path)
            saved: str | None = None
            if not self._is_empty:
                feeds = {nodes.filename_tensor_name: local}
                saved = _text(sess.run(nodes.save_tensor_name, feeds))
                if write_state:
                    self._write_state(saved, latest_filename, meta_graph_suffix)
                saved = path[: len(path) - len(local)] + saved
            if write_meta_graph:
                with sess.graph.as_default():
                    self.export_meta_graph(
                        meta_graph_filename(local, meta_graph_suffix),
                        strip_default_attrs=strip_default_attrs,
                    )
            return saved

    def _check_paths(
        self, sess: Any, save_path: str | os.PathLike[str], latest_filename: str | None
    ) -> str:
        """Checks arguments of `save`; returns save_path as a string. Raises: as `save`."""
        self._check_built()
        if not hasattr(sess, "run"):
            raise TypeError(f"'sess' must be a Session; {sess}")
        path = os.fspath(save_path)
        latest_filename = latest_filename or "checkpoint"
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        if os.path.basename(path) == latest_filename:
            raise ValueError(
                f"'latest_filename' collides with 'save_path': '{latest_filename}' and '{path}'"
            )
        return path

    def _write_state(self, saved: str, latest_filename: str, meta_graph_suffix: str) -> None:
        """Updates the file that lists the checkpoints, and removes the oldest one."""
        self._record(saved)
        update_checkpoint_state(
            os.path.dirname(saved) or ".",
            saved,
            self.last_checkpoints,
            latest_filename,
            [stamp for _, stamp in self._last_checkpoints],
            save_relative_paths=self._save_relative_paths,
        )
        self._remove_old(meta_graph_suffix)
        if self.saver_def.sharded:
            remove_stale_parts(os.path.dirname(saved))

    def _record(self, path: str) -> None:
        self._to_remove: list[str] = []
        if not self._max_to_keep:  # as in TensorFlow, the list is of those that may be removed
            return
        self._last_checkpoints = [c for c in self._last_checkpoints if c[0] != path]
        self._last_checkpoints.append((path, time.time()))
        if len(self._last_checkpoints) > self._max_to_keep:
            oldest, stamp = self._last_checkpoints.pop(0)
            if stamp > self._next_kept:
                self._next_kept += self._keep_hours * 3600
            else:
                self._to_remove.append(oldest)

    def _remove_old(self, suffix: str) -> None:
        for path in self._to_remove:
            try:
                remove_checkpoint(path, self.saver_def.version or V1, suffix)
            except (OSError, OpError) as error:
                import warnings

                warnings.warn(
                    f"{path}: the old checkpoint cannot be removed: {error}", stacklevel=3
                )

    @property
    def last_checkpoints(self) -> list[str]:
        """Prefixes of the kept checkpoints, oldest first."""
        return [path for path, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Deprecated: calls set_last_checkpoints_with_time with the current time."""
        self._last_checkpoints = [(path, time.time()) for path in last_checkpoints]

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: Sequence[tuple[str, float]]
    ) -> None:
        """Sets the list of checkpoints: (prefix, seconds since 1970), oldest first."""
        self._last_checkpoints = [(str(p), float(t)) for p, t in last_checkpoints_with_time]

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Adopts the existing checkpoints of an earlier saver."""
        kept = [os.fspath(p) for p in checkpoint_paths if checkpoint_exists(p)]
        times = get_checkpoint_mtimes(kept)
        self._last_checkpoints = list(zip(kept, times))

    # ---- restoring ----

    def restore(self, sess: SessionLike, save_path: str | os.PathLike[str] | None) -> None:
        """Restores the variables from a checkpoint.

        Raises: ValueError if there is no such checkpoint; NotFoundError if it lacks a variable;
          InvalidArgumentError if a variable has another shape or dtype in it; RuntimeError before
          `build`.
        """
        self._check_built()
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = local_path(save_path)
        if not checkpoint_exists(path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {path}")
        feeds: dict[Any, Any] = {self.saver_def.filename_tensor_name: path}
        try:
            if not bundle_exists(path):
                reader = SliceFileReader(path)
                restore = self.saver_def.restore_op_name
                feeds.update(values_to_restore(sess.graph, restore, reader))
            sess.run(self.saver_def.restore_op_name, feeds)
        except NotFoundError as error:
            if self._restore_by_full_name(sess, path):
                return
            raise NotFoundError(
                error.node_def,
                error.op,
                "Restoring from checkpoint failed. This is most likely due to a variable name or "
                f"other graph key that is missing from the checkpoint: {error.message}",
            ) from error
        except InvalidArgumentError as error:
            raise InvalidArgumentError(
                error.node_def,
                error.op,
                "Restoring from checkpoint failed. This is most likely due to a mismatch between "
                f"the current graph and the graph from the checkpoint: {error.message}",
            ) from error

    def _restore_by_full_name(self, sess: SessionLike, path: str) -> bool:
        """Restores from a checkpoint of objects (train.Checkpoint); returns whether it is one."""
        try:
            reader = ReaderByFullName(path)
            restore = self.saver_def.restore_op_name
            feeds = values_to_restore(sess.graph, restore, reader)
        except NotFoundError:
            return False
        sess.run(restore, {**feeds, self.saver_def.filename_tensor_name: path})
        return True

    # ---- messages ----

    def as_saver_def(self) -> Any:
        """Returns the SaverDef."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the SaverDef, or None if its nodes are outside of export_scope."""
        if export_scope is None:
            return self.saver_def
        if not self.saver_def.filename_tensor_name.startswith(export_scope):
            return None
        message = type(self.saver_def)()
        message.CopyFrom(self.saver_def)
        for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
            setattr(message, field, strip_name_scope(getattr(message, field), export_scope))
        return message

    @staticmethod
    def from_proto(saver_def: Proto, import_scope: str | None = None) -> Saver:
        """Creates a saver that uses the existing nodes of a SaverDef."""
        message = type(saver_def)()
        message.CopyFrom(saver_def)
        for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
            setattr(message, field, prepend_name_scope(getattr(message, field), import_scope))
        return Saver(saver_def=message, name=import_scope)

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """Exports the default graph and this saver as a MetaGraphDef; writes it to `filename`."""
        return export_meta_graph(
            filename=filename,
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
        )


def make_folder(folder: str, path: str) -> None:
    """Makes the last missing folder of a path. Raises: ValueError if more are missing."""
    if is_remote(folder):
        gfile.MakeDirs(folder)
        return
    if folder and not os.path.isdir(folder):
        try:
            os.mkdir(folder)
        except FileExistsError:
            pass
        except OSError:
            raise ValueError(f"Parent directory of {path} doesn't exist, can't save.") from None


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        value = value.item()
    return value.decode() if isinstance(value, bytes) else str(value)


def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Proto | None = None,
    graph_def: Proto | None = None,
    saver_def: Proto | None = None,
    collection_list: Sequence[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
) -> Any:
    """Exports a graph as a MetaGraphDef, and writes it to `filename` if given.

    See meta_graph.export_scoped_meta_graph for arguments and errors.
    """
    message, _ = meta_graph.export_scoped_meta_graph(
        filename=filename,
        meta_info_def=meta_info_def,
        graph_def=graph_def,
        saver_def=saver_def,
        collection_list=collection_list,
        as_text=as_text,
        graph=graph,
        export_scope=export_scope,
        clear_devices=clear_devices,
        clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs,
    )
    return message


def import_meta_graph(
    meta_graph_or_file: Proto | Path,
    clear_devices: bool = False,
    import_scope: str | None = None,
    **kwargs: Any,
) -> Saver | None:
    """Adds a MetaGraphDef's nodes and collections to the default graph.

    Args:
      meta_graph_or_file: message or file name.
      clear_devices: clear the devices of the nodes.
      import_scope: prefix of all names.
      kwargs: see meta_graph.import_scoped_meta_graph.
    Returns: a saver for the nodes of the SaverDef in the message; one with new nodes if it has no
      SaverDef; None if there are no variables either.
    Raises: as meta_graph.import_scoped_meta_graph.
    """
    message = meta_graph_or_file
    if isinstance(message, (str, os.PathLike)):
        kwargs["origin"] = MessageOrigin(os.fspath(message))
        message = meta_graph.read_meta_graph_file(os.fspath(message))
    variables = meta_graph.import_scoped_meta_graph(
        message, clear_devices=clear_devices, import_scope=import_scope, **kwargs
    )
    origin = kwargs.get("origin")
    with contextlib.nullcontext() if origin is None else origin.blamed(SAVER_DEF):
        return _saver_of(message, import_scope, variables)


def _saver_of(message: Any, import_scope: str | None, variables: dict[str, Any]) -> Saver | None:
    if message.HasField("saver_def"):
        scope = import_scope
        if variables and import_scope:  # the unique scope that the import chose
            sample, variable = next(iter(variables.items()))
            scope = variable.op.name[: -len(sample) - 1]
        return Saver.from_proto(message.saver_def, scope)
    return Saver() if variables else None


def _saver_def_class() -> Any:
    from headrace.formats.proto.variable_pb2 import SaverDef

    return SaverDef


meta_graph.register_proto_function(
    GraphKeys.SAVERS, _saver_def_class, Saver.to_proto, Saver.from_proto
)

for _kind in (
    "Save SaveSlices SaveV2 Restore RestoreSlice RestoreV2 MergeV2Checkpoints ShardedFilename "
    "ShardedFilespec"
).split():
    no_gradient(_kind, "a file has no gradient")
