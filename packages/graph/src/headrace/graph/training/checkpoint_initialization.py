"""Initialisation of variables from checkpoints."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headrace.graph.builder.op_builder import op
from headrace.graph.checkpoints.checkpoint_reader import CheckpointReader, load_checkpoint
from headrace.graph.checkpoints.checkpoint_state import latest_checkpoint
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.scopes import init_scope
from headrace.graph.platform import gfile
from headrace.graph.typing.aliases import Path
from headrace.graph.variables.partitioned_variable import PartitionedVariable
from headrace.graph.variables.variable_collections import global_variables
from headrace.graph.variables.variable_store import get_store


def _checkpoint_path(ckpt_dir_or_file: Any) -> str:
    path = os.fspath(ckpt_dir_or_file)
    return (latest_checkpoint(path) or path) if gfile.IsDirectory(path) else path


def init_from_checkpoint(ckpt_dir_or_file: Path, assignment_map: Mapping[str, Any]) -> None:
    """Replaces the initial values of variables by values of a checkpoint.

    Args:
      ckpt_dir_or_file: a checkpoint, or a folder with checkpoints, of which the latest is used.
      assignment_map: dict or list of pairs from names of tensors to variables (or their names, or
        lists of partitions), or from scopes "a/" of the checkpoint to scopes "b/" of the graph.
    Raises: ValueError for names that the checkpoint or graph lacks, or different shapes.
    """
    path = _checkpoint_path(ckpt_dir_or_file)
    reader = load_checkpoint(path)
    pairs = assignment_map.items() if hasattr(assignment_map, "items") else assignment_map
    for source, target in list(pairs):
        if isinstance(target, str) and (source == "/" or source.endswith("/")):
            _initialize_scope(reader, path, source, target)
        else:
            _initialize_variable(reader, path, source, _variable(target))


def _variable(target: Any) -> Any:
    if not isinstance(target, str):
        return target
    name = target[:-2] if target.endswith(":0") else target
    for variable in global_variables():
        if variable.op.name == name:
            return variable
    found = get_store().partitioned.get(name)
    if found is not None:
        return found
    part = re.compile(rf"{re.escape(name)}/part_\d+")
    parts = [v for v in global_variables() if part.fullmatch(v.op.name)]
    if parts:
        return parts
    raise ValueError(
        f"Assignment map: the graph has no variable {name!r}; it has "
        f"{[v.op.name for v in global_variables()]}"
    )


def _initialize_scope(reader: CheckpointReader, path: str, source: str, target: str) -> None:
    scope = "" if target == "/" else target.rstrip("/") + "/"
    prefix = "" if source == "/" else source
    known = reader.get_variable_to_shape_map()
    taken: set[str] = set()
    for variable in list(global_variables()):
        name = re.sub(r"/part_\d+$", "", variable.op.name)
        if not name.startswith(scope) or name in taken:
            continue
        taken.add(name)
        key = prefix + name[len(scope) :]
        if key not in known:
            raise ValueError(
                f"Tensor {key} ({name} in {scope}) is not found in {path} checkpoint {known}"
            )
        _initialize_variable(reader, path, key, _variable(name))


def _initialize_variable(reader: CheckpointReader, path: str, key: str, target: Any) -> None:
    if not reader.has_tensor(key):
        raise ValueError(
            f"Tensor {key} is not found in {path} checkpoint {reader.get_variable_to_shape_map()}"
        )
    if isinstance(target, PartitionedVariable):
        target = list(target)
    parts = target if isinstance(target, (list, tuple)) else [target]
    shape = reader.get_variable_to_shape_map()[key]
    for part in parts:
        info = part._get_save_slice_info()
        whole = list(info.full_shape) if info is not None else part.get_shape().as_list()
        if whole != list(shape):
            raise ValueError(
                f"Shape of variable {part.name} ({whole}) doesn't match with shape of tensor "
                f"{key} ({list(shape)}) from checkpoint reader."
            )
        _restore_at_start(part, path, key, info.spec if info is not None else "")


def _restore_at_start(variable: Any, path: str, key: str, slice_spec: str) -> None:
    """Replaces a variable's initializer by a restore from a checkpoint."""
    with init_scope(), get_default_graph().colocate_with(variable.op):
        result = op("RestoreV2", path, [key], [slice_spec], dtypes=[variable.dtype.base_dtype])
        value = result[0] if isinstance(result, (list, tuple)) else result
        value.set_shape(variable.get_shape())
        changed = variable.assign(value, read_value=False)
    variable._initializer_op = getattr(changed, "op", changed)
    variable._initial_value = value


def warm_start(
    ckpt_to_initialize_from: Any,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Any = None,
    var_name_to_prev_var_name: Any = None,
) -> None:
    """Replaces the initial values of variables by those of equally named tensors of a checkpoint.

    Args:
      ckpt_to_initialize_from: a checkpoint or a folder with checkpoints.
      vars_to_warm_start: regular expression for names of trainable variables, or a list of
        expressions for names of global variables, or of variables.
      var_name_to_prev_var_name: maps names to names in the checkpoint.
    Raises: NotImplementedError for var_name_to_vocab_info; ValueError for a name of
      var_name_to_prev_var_name that is not used.
    """
    if var_name_to_vocab_info:
        raise NotImplementedError("warm_start: different vocabularies are not implemented")
    renamed = dict(var_name_to_prev_var_name or {})
    path = _checkpoint_path(ckpt_to_initialize_from)
    assignments: dict[str, list[Any]] = {}
    for variable in _chosen(vars_to_warm_start):
        name = re.sub(r"/part_\d+$", "", variable.op.name)
        assignments.setdefault(renamed.pop(name, name), []).append(variable)
    if renamed:
        raise ValueError(
            "You provided the following variables in var_name_to_prev_var_name that were not "
            f"used: {sorted(renamed)}"
        )
    init_from_checkpoint(path, assignments)


def _chosen(requested: Any) -> list[Any]:
    if isinstance(requested, str):
        return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=requested)
    if not isinstance(requested, (list, tuple)):
        raise ValueError(f"vars_to_warm_start must be a list or a string, got {requested!r}")
    found: list[Any] = []
    for item in requested:
        if isinstance(item, str):
            found += get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope=item)
        else:
            found.append(item)
    return list({id(v): v for v in found}.values())


def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Yields each new latest checkpoint of a folder.

    Args:
      checkpoint_dir: the folder.
      min_interval_secs: minimum number of seconds between two checkpoints.
      timeout: seconds to wait for a checkpoint; None waits forever.
      timeout_fn: called after a timeout; True ends the iteration.
    """
    path: str | None = None
    while True:
        found = _next_checkpoint(checkpoint_dir, path, timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        path, began = found, time.time()
        yield path
        time.sleep(max(0.0, began + min_interval_secs - time.time()))


def _next_checkpoint(folder: str, last: str | None, timeout: float | None) -> str | None:
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        found = latest_checkpoint(folder)
        if found is not None and found != last:
            return found
        if end is not None and time.monotonic() + 0.2 > end:
            return None
        time.sleep(0.2)
