"""Lists the embeddings below the logdir, identified by small integers."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from google.protobuf import text_format

from headrace.board.embedding.checkpoint_tensors import (
    CheckpointTensors,
    StoredTensor,
    latest_checkpoint,
)
from headrace.board.embedding.config_folder import ConfigFolder
from headrace.board.embedding.embedding_error import EmbeddingError
from headrace.board.embedding.file_cache import FileCache
from headrace.board.embedding.point_table import (
    MAX_ROWS,
    PointTable,
    read_checkpoint_table,
    read_raw_table,
    read_text_table,
)
from headrace.board.reading.logdir_walk import walk_logdir
from headrace.board.reading.places.named_folders import LogSource
from headrace.board.store.problems import WARNING, Problems
from headrace.formats.bundle_files import index_path
from headrace.formats.proto.plugin_projector_pb2 import ProjectorConfig

CONFIG = "projector_config.pbtxt"
_MAX_CONFIG_BYTES = 1 << 20
_MAX_EMBEDDINGS = 1000  # of a folder
_LASTS_S = 2.0
_NO_CHECKPOINT = (
    "the folder has no TensorFlow checkpoint with this tensor (the callback of Keras 3 saves "
    ".weights.h5 files instead, which the projector cannot read)"
)
_MIN_ROWS = 3  # of a tensor that only a checkpoint names
# Slot variables of optimizers are offered only if a config names them.
_SLOTS = ("/Adam", "/Adam_1", "/Momentum", "/Adagrad", "/RMSProp", "/ExponentialMovingAverage")


@dataclass(frozen=True, slots=True)
class Embedding:
    """A tensor that the projector can show.

    id: valid for the life of the process; folder: folder of the config; name: name of the tensor.
    tensor: path of its file, "" if it is in the checkpoint; rows, dims: None if unknown before
    reading; version: changes when one of its files changes.
    """

    id: int
    folder: ConfigFolder
    name: str
    tensor: str = ""
    checkpoint: str = ""
    rows: int | None = None
    dims: int | None = None
    metadata: str = ""
    bookmarks: str = ""
    version: str = ""
    sprite: str = ""
    sprite_width: int = 0
    sprite_height: int = 0
    shape: tuple[int, ...] = field(default=())


class EmbeddingIndex:
    """Finds the projector configs below the logdir and reads the tensors that they name.

    Args:
      logdir: the folder to search.
      problems: receives what is wrong with a config.
    """

    def __init__(self, logdir: LogSource, problems: Problems) -> None:
        self._logdir = logdir
        self._problems = problems
        self._lock = threading.Lock()  # protects _found and _found_at, held only briefly
        self._looking = threading.Lock()  # protects the rest: one thread searches at a time
        self._found: dict[int, Embedding] = {}
        self._found_at = -_LASTS_S
        self._ids: dict[tuple[str, str], int] = {}
        self._files = FileCache()
        self._complaints: set[tuple[str, str]] = set()

    def list(self) -> list[Embedding]:
        """Returns all embeddings, by folder and in the order of the config."""
        with self._looking:
            with self._lock:
                stale = time.monotonic() - self._found_at >= _LASTS_S
            if stale:
                found = self._look()
                with self._lock:
                    self._found, self._found_at = found, time.monotonic()
        with self._lock:
            return [*self._found.values()]

    def get(self, number: int) -> Embedding:
        """Returns an embedding by id. Raises: KeyError."""
        with self._lock:
            found = self._found.get(number)
        if found is None:
            found = {one.id: one for one in self.list()}[number]
        return found

    def points(self, embedding: Embedding, most: int) -> PointTable:
        """Returns at most `most` points of an embedding. Raises: EmbeddingError."""
        path = embedding.tensor
        if not path:
            tensors = CheckpointTensors(embedding.folder, embedding.checkpoint)
            tensor = tensors.matrices().get(embedding.name)
            if tensor is None:
                raise EmbeddingError(f"the checkpoint has no matrix {embedding.name}", missing=True)
            return read_checkpoint_table(tensors, tensor, most)
        if path.endswith(".bytes"):
            return read_raw_table(embedding.folder, path, embedding.shape, most)
        return read_text_table(embedding.folder, path, most)

    def _look(self) -> dict[int, Embedding]:
        walk = walk_logdir(self._logdir)
        found: dict[int, Embedding] = {}
        complaints: dict[tuple[str, str], str] = {}
        for name in sorted(walk.folder_times):
            folder = ConfigFolder(self._logdir, name)
            try:
                for one in self._embeddings_of(folder, complaints):
                    found[one.id] = one
            except EmbeddingError as error:
                complaints[(name, "config")] = str(error)
        for key, text in complaints.items():
            file = f"{key[0]}/{CONFIG}".lstrip("/")
            self._problems.put("embedding", WARNING, file=file, text=text, subject=key[1])
        for folder_name, subject in self._complaints - complaints.keys():
            file = f"{folder_name}/{CONFIG}".lstrip("/")
            self._problems.remove("embedding", file=file, subject=subject)
        self._complaints = set(complaints)
        self._files.forget_others()
        return found

    def _embeddings_of(
        self, folder: ConfigFolder, complaints: dict[tuple[str, str], str]
    ) -> Iterator[Embedding]:
        config = self._config(folder)
        if config is None:
            return
        prefix = config.model_checkpoint_path
        named = bool(prefix)
        if not prefix and any(not info.tensor_path for info in config.embeddings):
            named = True
        prefix = prefix or latest_checkpoint(folder) or ""
        tensors: dict[str, StoredTensor] = {}
        checkpoint_version: tuple[int, ...] = ()
        if prefix:
            try:
                checkpoint_version = folder.version(index_path(prefix))
                tensors = self._files.read(
                    folder, index_path(prefix), lambda: CheckpointTensors(folder, prefix).matrices()
                )
            except EmbeddingError as error:
                if named:
                    complaints[(folder.path, "checkpoint")] = f"model_checkpoint_path: {error}"
        seen = set()
        for info in [*config.embeddings][:_MAX_EMBEDDINGS]:
            name = info.tensor_name.removesuffix(":0") or info.tensor_path or "tensor"
            if name in seen:
                continue
            seen.add(name)
            shape = tuple(info.tensor_shape)
            stored = tensors.get(name)
            versions = [checkpoint_version]
            for what, reference in (
                ("tensor_path", info.tensor_path),
                ("metadata_path", info.metadata_path),
                ("bookmarks_path", info.bookmarks_path),
                ("sprite", info.sprite.image_path),
            ):
                try:
                    versions.append(folder.version(reference) if reference else ())
                except EmbeddingError as error:
                    complaints[(folder.path, f"{name} {what}")] = f"{name}, {what}: {error}"
            if not info.tensor_path and stored is None:
                if not prefix:
                    complaints[(folder.path, name)] = f"{name}: {_NO_CHECKPOINT}"
                elif tensors or not named:
                    complaints[(folder.path, name)] = f"no matrix {name} in the checkpoint"
                continue
            if stored is not None and not info.tensor_path:
                shape = (stored.rows, stored.dims)
            tile = [*info.sprite.single_image_dim]
            yield Embedding(
                self._number(folder.path, name),
                folder,
                name,
                tensor=info.tensor_path,
                checkpoint=prefix,
                rows=shape[0] if len(shape) == 2 else None,
                dims=shape[1] if len(shape) == 2 else None,
                metadata=info.metadata_path,
                bookmarks=info.bookmarks_path,
                version=_mark(versions),
                sprite=info.sprite.image_path if tile else "",
                sprite_width=tile[0] if tile else 0,
                sprite_height=tile[-1] if tile else 0,
                shape=shape,
            )
        # As in TensorBoard, the other matrices of the checkpoint are offered too.
        for name, stored in list(tensors.items())[:_MAX_EMBEDDINGS]:
            fits = _MIN_ROWS <= stored.rows <= MAX_ROWS and not name.endswith(_SLOTS)
            if name not in seen and fits:
                yield Embedding(
                    self._number(folder.path, name),
                    folder,
                    name,
                    checkpoint=prefix,
                    rows=stored.rows,
                    dims=stored.dims,
                    version=_mark([checkpoint_version]),
                )

    def _config(self, folder: ConfigFolder) -> ProjectorConfig | None:
        """Returns a folder's config, an empty one if it has only a checkpoint, None if neither."""
        try:
            return self._files.read(folder, CONFIG, lambda: _read_config(folder))
        except EmbeddingError as error:
            if not error.missing:
                raise
            return ProjectorConfig() if folder.exists("checkpoint") else None

    def _number(self, folder: str, name: str) -> int:
        return self._ids.setdefault((folder, name), len(self._ids))


def _mark(versions: list[tuple[int, ...]]) -> str:
    return hashlib.blake2b(repr(versions).encode(), digest_size=8).hexdigest()


def _read_config(folder: ConfigFolder) -> ProjectorConfig:
    data = folder.read(CONFIG, _MAX_CONFIG_BYTES)
    config = ProjectorConfig()
    try:
        text_format.Parse(data.decode("utf-8", "replace"), config, allow_unknown_field=True)
    except (text_format.ParseError, RecursionError) as error:
        raise EmbeddingError(f"{CONFIG} is not a projector config: {str(error)[:300]}") from None
    return config
