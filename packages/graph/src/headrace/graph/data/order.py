"""Transformations that pass elements on unchanged: fewer, more, in another order, or kept."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.data.dataset_node import DatasetNode, make_dataset
from headrace.graph.data.sources import optional_tensor
from headrace.graph.framework.default_graph import get_seed
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.elementwise.elementwise import equal, logical_and, where

_INT64 = as_dtype("int64")


def unchanged(op_type: str, dataset: DatasetNode, *inputs: Any, **attrs: Any) -> Any:
    """Returns a dataset with the elements of another one, made by an op of its variant."""
    node = op(op_type, dataset._variant_tensor, *inputs, **attrs, **dataset._flat_structure)
    return make_dataset(node, dataset.element_spec, [dataset])


def repeat(dataset: DatasetNode, count: Any) -> Any:
    """Repeats the elements; count None or -1 repeats without end."""
    return unchanged("RepeatDataset", dataset, optional_tensor("count", count, -1))


def take(dataset: DatasetNode, count: Any) -> Any:
    """Passes the first elements."""
    return unchanged("TakeDataset", dataset, convert_to_tensor(count, _INT64, name="count"))


def skip(dataset: DatasetNode, count: Any) -> Any:
    """Leaves out the first elements."""
    return unchanged("SkipDataset", dataset, convert_to_tensor(count, _INT64, name="count"))


def shard(dataset: DatasetNode, num_shards: Any, index: Any) -> Any:
    """Passes every num_shards-th element."""
    shards = convert_to_tensor(num_shards, _INT64, name="num_shards")
    return unchanged(
        "ShardDataset", dataset, shards, convert_to_tensor(index, _INT64, name="index")
    )


def cache(dataset: DatasetNode, filename: Any) -> Any:
    """Keeps the elements of the first pass, in memory or in files."""
    return unchanged(
        "CacheDataset", dataset, convert_to_tensor(filename, as_dtype("string"), name="filename")
    )


def prefetch(dataset: DatasetNode, buffer_size: Any) -> Any:
    """Computes elements ahead; buffer_size None or -1 lets the runtime choose."""
    size = convert_to_tensor(-1 if buffer_size is None else buffer_size, _INT64, name="buffer_size")
    return unchanged("PrefetchDataset", dataset, size)


def shuffle(
    dataset: DatasetNode, buffer_size: Any, seed: Any, reshuffle_each_iteration: bool | None
) -> Any:
    """Passes elements in random order, chosen from a buffer."""
    size = convert_to_tensor(buffer_size, _INT64, name="buffer_size")
    again = True if reshuffle_each_iteration is None else reshuffle_each_iteration
    return unchanged("ShuffleDataset", dataset, size, *seeds(seed), reshuffle_each_iteration=again)


def shuffle_and_repeat(dataset: DatasetNode, buffer_size: Any, count: Any, seed: Any) -> Any:
    """Shuffles and repeats, with a buffer that is not emptied between repetitions."""
    size = convert_to_tensor(buffer_size, _INT64, name="buffer_size")
    times = optional_tensor("count", count, -1)
    return unchanged("ShuffleAndRepeatDataset", dataset, size, *seeds(seed), times)


def seeds(seed: Any) -> tuple[Tensor, Tensor]:
    """Returns the two seeds of a dataset as [] int64 tensors; (0, 0) is chosen in the run."""
    is_tensor = isinstance(seed, Tensor)
    first, second = get_seed(0 if is_tensor else seed)
    if is_tensor:
        second = seed % (2**31 - 1)
    one = constant(0 if first is None else first, _INT64, name="seed")
    if second is None:
        return one, constant(0, _INT64, name="seed2")
    with name_scope("seed2") as scope:
        # (0, 0) would be a random seed.
        two = convert_to_tensor(second, _INT64)
        both_zero = logical_and(equal(one, 0), equal(two, 0))
        return one, where(both_zero, constant(2**31 - 1, _INT64), two, name=scope)
