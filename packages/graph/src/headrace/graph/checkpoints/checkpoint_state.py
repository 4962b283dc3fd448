"""Reads and writes the file `checkpoint` of a folder: its checkpoints and the latest one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from headrace.formats.bundle_files import bundle_exists, bundle_files, index_path, remove
from headrace.formats.errors import NotFoundError, OpError
from headrace.formats.file_systems import is_remote, local_path
from headrace.formats.proto.checkpoint_state_pb2 import CheckpointState
from headrace.formats.remote_file import read_bytes
from headrace.graph.platform import gfile
from headrace.graph.platform.atomic_write import write_atomically


def _state_path(folder: str, latest_filename: str | None) -> str:
    return os.path.join(folder, latest_filename or "checkpoint")


def generate_checkpoint_state_proto(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> CheckpointState:
    """Creates a CheckpointState; in a relative folder its paths are relative, as in TensorFlow.

    Raises: ValueError if the numbers of timestamps and paths differ.
    """
    folder = os.fspath(save_dir)
    paths = list(all_model_checkpoint_paths or [])
    times = list(all_model_checkpoint_timestamps or [])
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
    if times and len(times) != len(paths):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths "
            f"(got paths {paths} and timestamps {times})"
        )
    if not _is_absolute(folder):
        paths = [p if _is_absolute(p) else os.path.relpath(p, folder) for p in paths]
        if not _is_absolute(model_checkpoint_path):
            model_checkpoint_path = os.path.relpath(model_checkpoint_path, folder)
    return CheckpointState(
        model_checkpoint_path=model_checkpoint_path,
        all_model_checkpoint_paths=paths,
        all_model_checkpoint_timestamps=times,
        last_preserved_timestamp=last_preserved_timestamp or 0.0,
    )


def update_checkpoint_state(
    save_dir: str | os.PathLike[str],
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
    save_relative_paths: bool = False,
) -> None:
    """Writes the file `checkpoint` of a folder atomically.

    Args:
      save_dir: the folder.
      model_checkpoint_path: prefix of the latest checkpoint.
      all_model_checkpoint_paths: prefixes, oldest first.
      latest_filename: name of the file; `checkpoint` by default.
      save_relative_paths: write paths relative to the folder, so that it can be moved.
    Raises: RuntimeError if the file would have the name of the checkpoint.
    """
    from google.protobuf import text_format

    folder = os.fspath(save_dir)
    paths: Any = all_model_checkpoint_paths
    if save_relative_paths:
        model_checkpoint_path = _relative(model_checkpoint_path, folder)
        paths = [_relative(p, folder) for p in paths or []]
        relative = CheckpointState(model_checkpoint_path=model_checkpoint_path)
        relative.all_model_checkpoint_paths.extend(paths or [model_checkpoint_path])
        relative.all_model_checkpoint_timestamps.extend(all_model_checkpoint_timestamps or [])
        relative.last_preserved_timestamp = last_preserved_timestamp or 0.0
        state = relative
    else:
        state = generate_checkpoint_state_proto(
            folder,
            model_checkpoint_path,
            paths,
            all_model_checkpoint_timestamps,
            last_preserved_timestamp,
        )
    path = _state_path(folder, latest_filename)
    if path == model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state. "
            "Please use a different save path."
        )
    write_atomically(path, text_format.MessageToString(state).encode(), sync=True)


def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> CheckpointState | None:
    """Reads the file `checkpoint` of a folder; relative paths are joined to the folder.

    Returns: a CheckpointState, or None if the file is missing or invalid.
    Raises: ValueError if it lists no checkpoint; for a URL as file_systems.errors_about.
    """
    from google.protobuf import text_format

    folder = local_path(checkpoint_dir)
    path = _state_path(folder, latest_filename)
    try:
        if is_remote(path):
            text = read_bytes(path).decode()
        else:
            with open(path, encoding="utf-8") as stream:
                text = stream.read()
        state = text_format.Parse(text, CheckpointState())
    except (FileNotFoundError, NotFoundError):
        return None
    except OpError:
        raise  # a store that cannot be reached is no folder without checkpoints
    except (OSError, UnicodeDecodeError, text_format.ParseError) as error:
        import warnings

        warnings.warn(f"{path}: the checkpoint state cannot be read: {error}", stacklevel=2)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {folder}: it lists no checkpoint")
    state.model_checkpoint_path = _below(folder, state.model_checkpoint_path)
    for number, name in enumerate(state.all_model_checkpoint_paths):
        state.all_model_checkpoint_paths[number] = _below(folder, name)
    return state


def _below(folder: str, path: str) -> str:
    return path if _is_absolute(path) else os.path.join(folder, path)


def _is_absolute(path: str) -> bool:
    return is_remote(path) or os.path.isabs(path)


def _relative(path: str, folder: str) -> str:
    """Returns a path relative to a folder; a URL outside of the folder stays as it is."""
    if not is_remote(folder) and not is_remote(path):
        return os.path.relpath(path, folder)
    start = folder.rstrip("/") + "/"
    return path[len(start) :] if path.startswith(start) else path


def latest_checkpoint(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> str | None:
    """Returns the prefix of the latest checkpoint of a folder, or None."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is not None and checkpoint_exists(state.model_checkpoint_path):
        return state.model_checkpoint_path
    return None


def checkpoint_exists(checkpoint_prefix: str | os.PathLike[str]) -> bool:
    """Returns whether a checkpoint with this prefix exists, or files of format V1 match it."""
    path = local_path(checkpoint_prefix)
    return bundle_exists(path) or bool(gfile.Glob(path))


def remove_checkpoint(
    checkpoint_prefix: str,
    checkpoint_format_version: int = 2,
    meta_graph_suffix: str = "meta",
) -> None:
    """Removes the files of a checkpoint and of its MetaGraphDef; missing files are ignored.

    Args:
      checkpoint_prefix: prefix of the checkpoint, or a pattern of its files in format V1.
      checkpoint_format_version: 1 or 2.
    """
    prefix = local_path(checkpoint_prefix)
    remove(meta_graph_filename(prefix, meta_graph_suffix))
    for path in bundle_files(prefix) if checkpoint_format_version == 2 else gfile.Glob(prefix):
        remove(path)


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """Returns the times at which checkpoints were written, in seconds since 1970.

    Missing checkpoints are omitted.
    """
    times = []
    for prefix in map(local_path, checkpoint_prefixes):
        found = [index_path(prefix)] if bundle_exists(prefix) else gfile.Glob(prefix)
        times += [max(gfile.Stat(path).mtime_nsec for path in found) / 1e9] if found else []
    return times


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """Returns the file name of a checkpoint's MetaGraphDef."""
    import re

    basename = re.sub(r"-[\d\?]+-of-\d+$", "", checkpoint_filename)
    return f"{basename}.{meta_graph_suffix}"
