"""Assigns values of checkpoints, or given values, to variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headrace.graph.checkpoints.checkpoint_reader import load_checkpoint
from headrace.graph.checkpoints.saver import Saver
from headrace.graph.contrib.framework.variables import get_unique_variable, get_variable_full_name
from headrace.graph.control_flow.control_flow_ops import group
from headrace.graph.framework.operation import Operation
from headrace.graph.ops.arrays.placeholders import placeholder
from headrace.graph.ops.state import assign
from headrace.graph.platform import logging
from headrace.graph.typing.aliases import FeedDict, SessionLike, TensorLike
from headrace.graph.variables.variable import Variable


def assign_from_values(
    var_names_to_values: Mapping[str, TensorLike],
) -> tuple[Operation, dict[Any, Any]]:
    """Creates an operation that assigns values to variables.

    Args:
      var_names_to_values: values by the operation names of variables.
    Returns: the operation, and the feeds with which it must run.
    Raises: ValueError for an unknown variable, or a value of another shape.
    """
    feeds: dict[Any, Any] = {}
    assignments = []
    for name, value in var_names_to_values.items():
        variable = get_unique_variable(name)
        feed, assignment = _assignment(variable, name, np.asarray(value))
        feeds[feed] = np.asarray(value).reshape(variable.get_shape().as_list())
        assignments.append(assignment)
    return group(*assignments), feeds


def _assignment(variable: Any, name: str, value: np.ndarray) -> tuple[Any, Any]:
    shape = variable.get_shape()
    if value.size != shape.num_elements():
        raise ValueError(
            f"Total size of new array must be unchanged for {name} lh_shape: "
            f"[{list(value.shape)}], rh_shape: [{shape.as_list()}]"
        )
    feed = placeholder(variable.dtype.base_dtype, shape.as_list(), name=f"{name}/placeholder")
    return feed, assign(variable, feed)


def assign_from_values_fn(
    var_names_to_values: Mapping[str, TensorLike],
) -> Callable[[SessionLike], None]:
    """Same as assign_from_values, as a function of a session."""
    operation, feeds = assign_from_values(var_names_to_values)
    return _run(operation, feeds)


def _run(operation: Operation, feeds: FeedDict) -> Callable[[SessionLike], None]:
    def function(session: SessionLike) -> None:
        session.run(operation, feeds)

    return function


def assign_from_checkpoint(
    model_path: str,
    var_list: Sequence[Variable] | Mapping[str, Any],
    ignore_missing_vars: bool = False,
) -> tuple[Operation, dict[Any, Any]]:
    """Creates an operation that assigns the values of a checkpoint to variables.

    Args:
      model_path: path of the checkpoint, or of its folder.
      var_list: variables, or variables (or lists of their parts) by their names in the checkpoint.
      ignore_missing_vars: skip names that the checkpoint does not have, with a warning.
    Returns: the operation, and the feeds with which it must run.
    Raises: ValueError for a missing name, or a value of another shape.
    """
    reader = load_checkpoint(model_path)
    feeds: dict[Any, Any] = {}
    assignments = []
    for name, parts in _by_name(var_list).items():
        if not reader.has_tensor(name):
            text = f"Checkpoint is missing variable [{name}]"
            if not ignore_missing_vars:
                raise ValueError(text)
            logging.warning(text)
            continue
        value = reader.get_tensor(name)
        for part in parts:
            info = getattr(part, "_save_slice_info", None)
            piece = value
            if info is not None:
                ends = np.add(info.var_offset, info.var_shape)
                piece = value[tuple(map(slice, info.var_offset, ends))]
            feed, assignment = _assignment(part, part.op.name, piece)
            feeds[feed] = piece.reshape(part.get_shape().as_list())
            assignments.append(assignment)
    return group(*assignments), feeds


def _by_name(var_list: Any) -> dict[str, list[Any]]:
    """Returns the variables, each as a list of parts, by their names in a checkpoint."""
    grouped: dict[str, list[Any]] = {}
    if isinstance(var_list, Mapping):
        pairs = [
            (name, v) for name, value in var_list.items()
            for v in (value if isinstance(value, (list, tuple)) else [value])
        ]  # fmt: skip
    else:
        pairs = [(get_variable_full_name(v), v) for v in var_list]
    for name, variable in pairs:
        grouped.setdefault(name, []).append(variable)
    return grouped


def assign_from_checkpoint_fn(
    model_path: str,
    var_list: Sequence[Variable] | Mapping[str, Any],
    ignore_missing_vars: bool = False,
    reshape_variables: bool = False,
) -> Callable[[SessionLike], None] | None:
    """Returns a function of a session that restores variables from a checkpoint.

    Args:
      model_path: path of the checkpoint.
      var_list: variables, or variables by their names in the checkpoint.
      ignore_missing_vars: skip names that the checkpoint does not have, with a warning.
      reshape_variables: accept saved values of the same size but another shape.
    Returns: the function; None if no variable remains.
    Raises: ValueError for an empty var_list.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    chosen: Any = var_list
    if ignore_missing_vars:
        reader = load_checkpoint(model_path)
        chosen = {}
        for name, parts in _by_name(var_list).items():
            if reader.has_tensor(name):
                chosen[name] = parts if len(parts) > 1 else parts[0]
            else:
                logging.warning("Variable %s missing in checkpoint %s", name, model_path)
    if not chosen:
        logging.warning("No Variables to restore")
        return None
    saver = Saver(chosen, reshape=reshape_variables, write_version=2)

    def restore(session: SessionLike) -> None:
        saver.restore(session, model_path)

    return restore
