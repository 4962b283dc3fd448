"""Outputs of layers in collections, and the aliases by which programs look them up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.typing.aliases import Collections, Ints

# A graph keeps the aliases of its tensors in a collection of one dict, by tensor name.
_ALIASES = ("__tensor_aliases",)


def _aliases(graph: Any) -> dict[str, list[str]]:
    kept = graph.get_collection_ref(_ALIASES)
    if not kept:
        kept.append({})
    found: dict[str, list[str]] = kept[0]
    return found


def append_tensor_alias(tensor: Tensor, alias: str) -> Tensor:
    """Adds an alias to a tensor, without a last slash; returns the tensor."""
    _aliases(tensor.graph).setdefault(tensor.name, []).append(alias.removesuffix("/"))
    return tensor


def get_tensor_aliases(tensor: Tensor) -> list[str]:
    """Returns the aliases of a tensor; its name if it has none."""
    found = _aliases(tensor.graph).get(tensor.name)
    return list(found) if found else [tensor.name.removesuffix(":0")]


def gather_tensors_aliases(tensors: Iterable[Tensor]) -> list[str]:
    """Returns the aliases of some tensors, one list."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> dict[str, Any]:
    """Returns the tensors of a collection by their aliases.

    Args:
      clear_collection: remove the tensors from the collection.
    """
    held = get_default_graph().get_collection_ref(collection)
    found = {alias: tensor for tensor in held for alias in get_tensor_aliases(tensor)}
    if clear_collection:
        del held[:]
    return found


def collect_named_outputs(collections: Collections | None, alias: str, outputs: Any) -> Any:
    """Adds outputs to collections under an alias; returns the outputs."""
    if collections:
        if isinstance(outputs, Tensor):
            append_tensor_alias(outputs, alias)
        get_default_graph().add_to_collections(collections, outputs)
    return outputs


def get_variable_collections(
    variables_collections: Collections | Mapping[str, Collections] | None, name: str
) -> Any:
    """Returns the collections of a variable: a list for all, or a dict of lists by name."""
    if isinstance(variables_collections, Mapping):
        return variables_collections.get(name)
    return variables_collections


def last_dimension(shape: TensorShape, min_rank: int = 1) -> int:
    """Returns the size of the last dimension.

    Raises: ValueError if it is unknown, or the rank is less than min_rank.
    """
    return channel_dimension(shape, "channels_last", min_rank)


def first_dimension(shape: TensorShape, min_rank: int = 1) -> int:
    """Returns the size of the first dimension; see last_dimension."""
    return _dimension(shape, 0, min_rank, "first")


def channel_dimension(shape: TensorShape, data_format: str, min_rank: int = 1) -> int:
    """Returns the number of channels.

    Args:
      data_format: "channels_first", "channels_last", or a layout such as "NHWC".
    Raises: ValueError if it is unknown, or the rank is less than min_rank.
    """
    is_first = data_format == "channels_first" or data_format.startswith("NC")
    return _dimension(shape, 1 if is_first else -1, min_rank, "channel" if is_first else "last")


def _dimension(shape: Any, axis: int, min_rank: int, which: str) -> int:
    if shape.ndims is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.ndims < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.ndims}")
    size = shape.as_list()[axis]
    if size is None:
        raise ValueError(f"{which} dimension shape must be known but is None")
    return int(size)


def n_positive_integers(n: int, value: Ints) -> tuple[int, ...]:
    """Returns n positive integers for one of them or n of them.

    Raises: ValueError for other values.
    """
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"n must be a positive integer, got {n!r}")
    values = (value,) * n if isinstance(value, int) else tuple(value)
    if len(values) != n or any(int(v) < 1 for v in values):
        raise ValueError(f"{value!r} is not {n} positive integers")
    return tuple(int(v) for v in values)


def two_element_tuple(int_or_tuple: Ints | TensorShape) -> tuple[int, int]:
    """Returns two ints for one int or two of them. Raises: ValueError for other values."""
    if isinstance(int_or_tuple, int):
        return int_or_tuple, int_or_tuple
    values = tuple(int(v) for v in getattr(int_or_tuple, "as_list", lambda: int_or_tuple)())
    if len(values) != 2:
        raise ValueError(f"Must be a list with 2 elements: {int_or_tuple}")
    return values[0], values[1]
