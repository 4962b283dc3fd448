"""Writes and loads SavedModels, folders with saved_model.pb and variables/: `hr.saved_model`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.formats.errors import InvalidArgumentError
from headrace.graph.checkpoints.checkpoint_state import checkpoint_exists, remove_checkpoint
from headrace.graph.checkpoints.saver import Saver, import_meta_graph
from headrace.graph.control_flow.control_flow_ops import group, no_op
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.import_scope import prepend_name_scope
from headrace.graph.platform import gfile
from headrace.graph.saved_model.assets import (
    asset_feeds,
    asset_files,
    copy_assets,
    remove_assets,
)
from headrace.graph.saved_model.constants import (
    INIT_OP_SIGNATURE_KEY,
    LEGACY_INIT_OP_KEY,
    MAIN_OP_KEY,
    SAVED_MODEL_FILENAME_PB,
    SAVED_MODEL_FILENAME_PBTXT,
    SAVED_MODEL_SCHEMA_VERSION,
    SERVING,
    VARIABLES_DIRECTORY,
    VARIABLES_FILENAME,
)
from headrace.graph.serialization import meta_graph
from headrace.graph.serialization.message_origin import COLLECTION_DEF, SAVER_DEF, MessageOrigin
from headrace.graph.typing.aliases import SessionLike

if TYPE_CHECKING:
    from headrace.graph.framework.operation import Operation


class UnknownTagsError(InvalidArgumentError, RuntimeError):
    """A SavedModel has no graph with the requested tags."""


class SavedModelBuilder:
    """Writes a SavedModel: one or several graphs, and one set of variables.

    Args:
      export_dir: path or URL of the folder to create.
    Raises: AssertionError, as in TensorFlow, if the folder exists and is not empty.
    """

    def __init__(self, export_dir: str | os.PathLike[str]) -> None:
        from headrace.formats.proto.saved_model_pb2 import SavedModel

        self._export_dir = os.fspath(export_dir)
        self._makes_folder = not gfile.Exists(self._export_dir)
        if not self._makes_folder and gfile.ListDirectory(self._export_dir):
            raise AssertionError(
                f"Export directory {self._export_dir} already exists, and isn't empty. Please "
                "choose a different export directory, or delete all the contents of the specified "
                "directory."
            )
        gfile.MakeDirs(self._export_dir)
        self._message = SavedModel(saved_model_schema_version=SAVED_MODEL_SCHEMA_VERSION)
        self._has_saved_variables = False
        self._assets: dict[str, str] = {}

    def add_meta_graph_and_variables(
        self,
        sess: SessionLike,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Sequence[Any] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
        assets_list: Sequence[Any] | None = None,
    ) -> None:
        """Adds the first graph, that of a session, and writes its variables.

        After an error nothing that it wrote is left in the folder.

        Args:
          sess: the session.
          tags: strings that identify the graph.
          signature_def_map: SignatureDefs by name.
          assets_collection: string constants with paths of files, which are copied; assets_list:
            further ones.
          main_op: operation to run after loading; legacy_init_op: its old name.
          clear_devices: clear the devices of the nodes.
          strip_default_attrs: remove attributes with default values.
          saver: Saver of the variables; by default a new one for all variables.
        Raises: AssertionError, as in TensorFlow, for a second call or invalid signatures; TypeError
          for assets that are no constants; the OpErrors of saving.
        """
        if self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. "
                "Please invoke `add_meta_graph()` instead."
            )
        with sess.graph.as_default():
            files = asset_files([*(assets_collection or ()), *(assets_list or ())])
            _add_main_op(main_op, legacy_init_op)
            saver = saver or Saver(
                _saveable(), allow_empty=True, sharded=False, save_relative_paths=True
            )
            try:
                copy_assets(files, self._export_dir)
                self._assets.update(files)
                self._save_variables(sess, saver)
                self._add(saver, tags, signature_def_map, clear_devices, strip_default_attrs)
            except BaseException:
                remove_assets(files, self._export_dir)
                self._remove_variables()
                raise
        self._has_saved_variables = True

    def _save_variables(self, sess: Any, saver: Saver) -> None:
        folder = os.path.join(self._export_dir, VARIABLES_DIRECTORY)
        gfile.MakeDirs(folder)
        prefix = os.path.join(folder, VARIABLES_FILENAME)
        saver.save(sess, prefix, write_meta_graph=False, write_state=False)

    def _remove_variables(self) -> None:
        """Removes written variables, so that a new builder accepts the folder."""
        folder = os.path.join(self._export_dir, VARIABLES_DIRECTORY)
        remove_checkpoint(os.path.join(folder, VARIABLES_FILENAME))
        with contextlib.suppress(OSError):
            os.rmdir(folder)
            if self._makes_folder:
                os.rmdir(self._export_dir)

    def add_meta_graph(
        self,
        tags: Iterable[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Sequence[Any] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
        assets_list: Sequence[Any] | None = None,
    ) -> None:
        """Adds the default graph, for the variables that are already written.

        Raises: AssertionError, as in TensorFlow, before add_meta_graph_and_variables.
        """
        if not self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. "
                "Please invoke `add_meta_graph_and_variables()` first."
            )
        files = asset_files([*(assets_collection or ()), *(assets_list or ())])
        copy_assets(files, self._export_dir)
        self._assets.update(files)
        _add_main_op(main_op, legacy_init_op)
        saver = saver or Saver(_saveable(), allow_empty=True)
        self._add(saver, tags, signature_def_map, clear_devices, strip_default_attrs)

    def _add(
        self,
        saver: Saver,
        tags: Iterable[str],
        signatures: Mapping[str, Any] | None,
        clear_devices: bool,
        strip_default_attrs: bool,
    ) -> None:
        for name, signature in (signatures or {}).items():
            _check_signature(name, signature)
        message = saver.export_meta_graph(
            clear_devices=clear_devices, strip_default_attrs=strip_default_attrs
        )
        message.meta_info_def.tags.extend([tags] if isinstance(tags, str) else list(tags))
        message.meta_info_def.stripped_default_attrs = strip_default_attrs
        for name, signature in (signatures or {}).items():
            message.signature_def[name].CopyFrom(signature)
        self._message.meta_graphs.add().CopyFrom(message)

    def save(self, as_text: bool = False) -> str:
        """Writes saved_model.pb, or saved_model.pbtxt; returns its path."""
        name = SAVED_MODEL_FILENAME_PBTXT if as_text else SAVED_MODEL_FILENAME_PB
        path = os.path.join(self._export_dir, name)
        try:
            gfile.MakeDirs(self._export_dir)
            meta_graph.write_meta_graph(self._message, path, as_text)
        except BaseException:
            remove_assets(self._assets, self._export_dir)
            self._remove_variables()
            raise
        return path


def _saveable() -> Any:
    graph = get_default_graph()
    return graph.get_collection(GraphKeys.GLOBAL_VARIABLES) + graph.get_collection(
        GraphKeys.SAVEABLE_OBJECTS
    )


def _add_main_op(main_op: Any, legacy_init_op: Any) -> None:
    graph = get_default_graph()
    for key, operation in ((MAIN_OP_KEY, main_op), (LEGACY_INIT_OP_KEY, legacy_init_op)):
        if operation is not None:
            if graph.get_collection(key):
                raise ValueError(f"Graph already contains one or more main ops under {key}")
            graph.add_to_collection(key, operation)


def _check_signature(name: str, signature: Any) -> None:
    for infos in (signature.inputs, signature.outputs):
        for key, info in infos.items():
            if info.WhichOneof("encoding") is None or not info.dtype:
                raise AssertionError(
                    f"All TensorInfo protos used in the SignatureDefs must have the name and dtype "
                    f"fields set: {key!r} of {name!r} is {info}"
                )


# ---- loading -------------------------------------------------------------------------------------


def _message_path(folder: str) -> str:
    """Returns the path of the file that `read_saved_model` reads, or None."""
    path = os.path.join(folder, SAVED_MODEL_FILENAME_PB)
    return path if gfile.Exists(path) else os.path.join(folder, SAVED_MODEL_FILENAME_PBTXT)


def maybe_saved_model_directory(export_dir: str | os.PathLike[str]) -> bool:
    """Returns whether a folder contains a SavedModel."""
    folder = os.fspath(export_dir)
    names = (SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT)
    return any(gfile.Exists(os.path.join(folder, name)) for name in names)


def read_saved_model(export_dir: str | os.PathLike[str]) -> Any:
    """Reads the SavedModel message of a folder.

    Raises: OSError if there is none; DataLossError if it is corrupted.
    """
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    from headrace.formats.errors import DataLossError
    from headrace.formats.proto.saved_model_pb2 import SavedModel

    folder = os.fspath(export_dir)
    path = os.path.join(folder, SAVED_MODEL_FILENAME_PB)
    if gfile.Exists(path):
        with gfile.GFile(path, "rb") as stream:
            data = stream.read()
        try:
            return SavedModel.FromString(data)
        except DecodeError as error:
            raise DataLossError(
                None, None, f"{path} is not a SavedModel: {error}", path=path, offset=0
            ) from None
    path = os.path.join(folder, SAVED_MODEL_FILENAME_PBTXT)
    if not gfile.Exists(path):
        raise OSError(
            f"SavedModel file does not exist at: {folder}/"
            f"{{{SAVED_MODEL_FILENAME_PBTXT}|{SAVED_MODEL_FILENAME_PB}}}"
        )
    with gfile.GFile(path) as stream:
        try:
            return text_format.Parse(stream.read(), SavedModel())
        except (UnicodeDecodeError, text_format.ParseError) as error:
            raise DataLossError(
                None, None, f"{path} is not a SavedModel: {error}", path=path, offset=0
            ) from None


def load(
    sess: SessionLike,
    tags: Iterable[str],
    export_dir: str | os.PathLike[str],
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> Any:
    """Adds a graph of a SavedModel to the session's graph, and restores the variables.

    Args:
      sess: the session.
      tags: the exact set of tags of the graph.
      export_dir: folder of the SavedModel.
      import_scope: prefix of all names.
    Returns: the MetaGraphDef with its signatures.
    Raises: UnknownTagsError, a RuntimeError as in TensorFlow, if no graph has these tags; OSError
      if there is no SavedModel; DataLossError, with path and offset, if it is corrupted.
    """
    requested = {tags} if isinstance(tags, str) else set(tags)
    model = read_saved_model(export_dir)
    tags_there = [set(m.meta_info_def.tags) for m in model.meta_graphs]
    path = _message_path(os.fspath(export_dir))
    if requested not in tags_there:
        raise UnknownTagsError(
            None,
            None,
            f"MetaGraphDef associated with tags {sorted(requested)} could not be found in "
            f"SavedModel {os.fspath(export_dir)}, which has {[sorted(t) for t in tags_there]}",
            path=path,
        )
    origin = MessageOrigin(path, tags_there.index(requested))
    found = model.meta_graphs[tags_there.index(requested)]
    with sess.graph.as_default():
        saver = import_meta_graph(found, import_scope=import_scope, origin=origin, **saver_kwargs)
        prefix = os.path.join(os.fspath(export_dir), VARIABLES_DIRECTORY, VARIABLES_FILENAME)
        if saver is not None:
            if not checkpoint_exists(prefix):
                saver.restore(sess, prefix)  # raises with the missing names
            with origin.blamed(SAVER_DEF):
                saver.restore(sess, prefix)
        feeds = asset_feeds(found, os.fspath(export_dir), import_scope)
        init = found.signature_def.get(INIT_OP_SIGNATURE_KEY)
        for key in (MAIN_OP_KEY, LEGACY_INIT_OP_KEY):
            if init is None and key in found.collection_def:
                with origin.blamed(COLLECTION_DEF, key):
                    sess.run(get_default_graph().get_collection(key)[-1], feeds)
                break
        if init is not None:
            name = prepend_name_scope(init.outputs[INIT_OP_SIGNATURE_KEY].name, import_scope)
            sess.run(get_default_graph().get_operation_by_name(name), feeds)
    return found


def simple_save(
    session: SessionLike,
    export_dir: str | os.PathLike[str],
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Operation | None = None,
) -> None:
    """Writes a SavedModel for serving with one signature, with the files of its tables.

    Args:
      session: session with the graph and variables to write.
      export_dir: path or URL of the folder to create.
      inputs, outputs: tensors by name.
    Raises: as SavedModelBuilder and predict_signature_def.
    """
    from headrace.graph.saved_model.signature_defs import (
        DEFAULT_SERVING_SIGNATURE_DEF_KEY,
        predict_signature_def,
    )

    signature = predict_signature_def(inputs, outputs)  # may raise: before the folder is created
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        [SERVING],
        {DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        assets_collection=session.graph.get_collection(GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()


def main_op_with_restore(restore_op_name: Operation) -> Any:
    """Creates a main_op that runs after the operation restore_op_name."""
    with get_default_graph().control_dependencies([main_op()]):
        return group(restore_op_name)


def main_op() -> Any:
    """Creates an operation that initialises local variables and tables."""
    from headrace.graph.variables.variable_collections import local_variables_initializer

    tables = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(local_variables_initializer(), *(tables or [no_op()]))
