"""Converts the feed_dict of `Session.run` to arrays of the tensors' dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.graph.builder.indexed_slices import IndexedSlices, SparseTensor
from headrace.graph.client.fetches import registered_feed
from headrace.graph.framework.nest import flatten_dict_items
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import compatible, show
from headrace.graph.typing.aliases import FeedDict


def resolve(graph: Any, feed_dict: FeedDict) -> list[tuple[Tensor, Any]]:
    """Resolves the keys of a feed_dict to tensors; returns (tensor, value) pairs.

    Raises: TypeError for a key that is not a tensor; ValueError for a tensor that may not be fed.
    """
    if not hasattr(feed_dict, "items"):
        raise TypeError(f"The `feed_dict` must be a dict from tensors to values, not {feed_dict!r}")
    pairs: list[tuple[Tensor, Any]] = []
    for key, value in flatten_dict_items(feed_dict).items():
        for element, part in _expanded(key, value):
            tensor = feed_tensor(graph, element)
            pairs.append((tensor, part))
    return pairs


def _expanded(key: Any, value: Any) -> list[tuple[Any, Any]]:
    if isinstance(key, SparseTensor):
        indices, values, shape = value
        return [(key.indices, indices), (key.values, values), (key.dense_shape, shape)]
    if isinstance(key, IndexedSlices):
        pairs = list(zip((key.values, key.indices), value))
        if key.dense_shape is not None:
            pairs.append((key.dense_shape, value[2]))
        return pairs
    function = registered_feed(key)
    if function is not None:
        return list(function(key, value))
    return [(key, value)]


def feed_tensor(graph: Any, element: Any) -> Tensor:
    """Resolves one key of a feed_dict. Raises: as `resolve`."""
    try:
        tensor = graph.as_graph_element(element, allow_tensor=True, allow_operation=False)
    except (TypeError, ValueError, KeyError) as error:
        text = error.args[0] if error.args else error
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {text}") from None
    if not graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor.name} may not be fed.")
    return tensor


def as_feed(tensor: Tensor, value: Any) -> np.ndarray:
    """Converts a fed value to a row-major array of the tensor's dtype.

    Raises: TypeError for a Tensor or a value of another dtype; ValueError for another shape.
    """
    number = tensor.dtype._base.as_datatype_enum
    if number == 7:
        array = _strings(tensor, value)
    else:
        if value is None or isinstance(value, (Tensor, str, bytes)):
            raise _feed_error(tensor, value)
        requested = tensor.dtype._base.as_numpy_dtype
        try:
            array = np.asarray(value, requested, "C")
        except (TypeError, ValueError, OverflowError) as error:
            raise _raise_not_an_array(tensor, value, error) from None
        if type(value) is int and array != value and tensor.dtype._base.is_integer:
            raise _raise_not_an_array(tensor, value, OverflowError("it does not fit"))
    dims = tensor._shape
    if dims is not None and array.shape != dims and not compatible(dims, array.shape):
        raise ValueError(
            f"Cannot feed value of shape {show(array.shape)} for Tensor {tensor.name!r}, "
            f"which has shape {show(dims)}"
        )
    return array


def _feed_error(tensor: Tensor, value: Any) -> TypeError:
    if isinstance(value, Tensor):
        return TypeError(
            "The value of a feed cannot be a hr.Tensor object. Acceptable feed values include "
            "Python scalars, strings, lists, and numpy ndarrays. For reference, the tensor object "
            f"was {value!r} which was passed to the feed with key {tensor!r}."
        )
    return TypeError(
        f"Cannot feed {value!r} for Tensor {tensor.name!r}, which has dtype {tensor.dtype.name}"
    )


def _raise_not_an_array(tensor: Tensor, value: Any, error: Exception) -> Exception:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    text = (
        f"Type of feed value {shown} with type {type(value)} is not compatible with Tensor "
        f"{tensor.name!r} of type {tensor.dtype.name}: {error}"
    )
    return ValueError(text) if isinstance(error, ValueError) else TypeError(text)


def _strings(tensor: Tensor, value: Any) -> np.ndarray:
    if isinstance(value, (str, bytes)):
        array = np.empty((), object)
        array[()] = value
    else:
        array = np.array(value, object)
    flat = array.reshape(-1)
    for i, item in enumerate(flat):
        if isinstance(item, str):
            flat[i] = item.encode()
        elif not isinstance(item, bytes):
            raise TypeError(
                f"Cannot feed {item!r} of {type(item)} for Tensor {tensor.name!r}, "
                "which has dtype string"
            )
    return array if array.ndim == 0 else flat.reshape(array.shape)


def flat_feeds(feeds: Any) -> list[Any]:
    """Flattens a list of feeds; a SparseTensor is replaced by its three tensors."""
    out: list[Any] = []
    for item in feeds or ():
        if isinstance(item, SparseTensor):
            out.extend([item.indices, item.values, item.dense_shape])
        else:
            out.append(item)
    return out
