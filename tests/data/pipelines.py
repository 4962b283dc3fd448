"""Datasets of raw ops, in the manner of data.Dataset, for tests of their kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import headrace.graph as hr
from headrace.graph.functions.defun import Defun

raw = hr.raw_ops


def _int64(value: int) -> Any:
    return hr.constant(value, hr.int64)


class Pipe:
    """A dataset: its variant, and what its elements are."""

    def __init__(self, variant: Any, types: Sequence[Any], shapes: Sequence[Any]) -> None:
        self.variant = variant
        self.types = list(types)
        self.shapes = list(shapes)

    def _next(
        self, op: str, types: Sequence[Any] = (), shapes: Sequence[Any] = (), **arguments: Any
    ) -> Pipe:
        types = list(types) or self.types
        shapes = list(shapes) or self.shapes
        variant = getattr(raw, op)(
            input_dataset=self.variant, output_types=types, output_shapes=shapes, **arguments
        )
        return Pipe(variant, types, shapes)

    # ---- sources

    @staticmethod
    def range(*limits: int) -> Pipe:
        start, stop, step = {1: (0, *limits, 1), 2: (*limits, 1), 3: limits}[len(limits)]
        variant = raw.RangeDataset(
            start=_int64(start), stop=_int64(stop), step=_int64(step),
            output_types=[hr.int64], output_shapes=[[]],
        )  # fmt: skip
        return Pipe(variant, [hr.int64], [[]])

    @staticmethod
    def slices(*values: Any) -> Pipe:
        tensors = [hr.convert_to_tensor(value) for value in values]
        types = [t.dtype for t in tensors]
        shapes = [t.get_shape().as_list()[1:] for t in tensors]
        variant = raw.TensorSliceDataset(components=tensors, output_shapes=shapes)
        return Pipe(variant, types, shapes)

    @staticmethod
    def zip(*pipes: Pipe) -> Pipe:
        types = [t for pipe in pipes for t in pipe.types]
        shapes = [s for pipe in pipes for s in pipe.shapes]
        variant = raw.ZipDataset(
            input_datasets=[pipe.variant for pipe in pipes], output_types=types,
            output_shapes=shapes,
        )  # fmt: skip
        return Pipe(variant, types, shapes)

    # ---- functions

    def _function(self, body: Callable[..., Any]) -> Any:
        return Defun(*self.types)(body)

    def map(
        self, body: Callable[..., Any], types: Sequence[Any] = (), calls: int = 0,
        shapes: Sequence[Any] = (), captured: Sequence[Any] = (), ordered: bool = True,
    ) -> Pipe:  # fmt: skip
        """Maps elements; with `calls`, so many at once. `captured`: further arguments."""
        f = Defun(*self.types, *(t.dtype for t in captured))(body)
        types = list(types) or self.types
        arguments = {
            "other_arguments": list(captured), "f": f, "types": types,
            "shapes": list(shapes) or [None] * len(types),
        }  # fmt: skip
        if not calls:
            return self._next("MapDataset", **arguments)
        return self._next(
            "ParallelMapDataset", num_parallel_calls=calls, sloppy=not ordered, **arguments
        )

    def filter(self, body: Callable[..., Any]) -> Pipe:
        return self._next("FilterDataset", other_arguments=[], predicate=self._function(body))

    def flat_map(self, body: Callable[..., Any]) -> Pipe:
        return self._next("FlatMapDataset", other_arguments=[], f=self._function(body))

    def interleave(
        self, body: Callable[..., Any], cycle: int, block: int = 1, calls: int = 0
    ) -> Pipe:
        arguments = {
            "other_arguments": [], "f": self._function(body), "cycle_length": _int64(cycle),
            "block_length": _int64(block),
        }  # fmt: skip
        if not calls:
            return self._next("InterleaveDataset", **arguments)
        return self._next(
            "ParallelInterleaveDatasetV2", num_parallel_calls=_int64(calls), **arguments
        )

    # ---- the other transformations

    def batch(self, size: int, drop: bool = False) -> Pipe:
        shapes = [None if s is None else [None, *s] for s in self.shapes]
        return self._next(
            "BatchDatasetV2", shapes=shapes, batch_size=_int64(size), drop_remainder=drop
        )

    def unbatch(self) -> Pipe:
        return self._next("UnbatchDataset", shapes=[None] * len(self.types))

    def repeat(self, count: int = -1) -> Pipe:
        return self._next("RepeatDataset", count=_int64(count))

    def take(self, count: int) -> Pipe:
        return self._next("TakeDataset", count=_int64(count))

    def skip(self, count: int) -> Pipe:
        return self._next("SkipDataset", count=_int64(count))

    def shard(self, shards: int, index: int) -> Pipe:
        return self._next("ShardDataset", num_shards=_int64(shards), index=_int64(index))

    def shuffle(self, size: int, seed: int = 1, each: bool = True) -> Pipe:
        return self._next(
            "ShuffleDataset", buffer_size=_int64(size), seed=_int64(seed), seed2=_int64(7),
            reshuffle_each_iteration=each,
        )  # fmt: skip

    def prefetch(self, size: int) -> Pipe:
        return self._next("PrefetchDataset", buffer_size=_int64(size))

    def cache(self, file: str = "") -> Pipe:
        return self._next("CacheDataset", filename=file)

    def concatenate(self, other: Pipe) -> Pipe:
        return self._next("ConcatenateDataset", another_dataset=other.variant)

    def window(self, size: int, shift: int, stride: int = 1, drop: bool = False) -> Pipe:
        return self._next(
            "WindowDataset", types=[hr.variant] * len(self.types), shapes=[[]] * len(self.types),
            size=_int64(size), shift=_int64(shift), stride=_int64(stride), drop_remainder=drop,
        )  # fmt: skip

    # ---- iterators

    def iterator(self, name: str = "") -> tuple[Any, Any]:
        """Returns an iterator's handle and the operation that initialises it."""
        handle = raw.IteratorV2(
            shared_name=name, container="", output_types=self.types, output_shapes=self.shapes
        )
        return handle, raw.MakeIterator(dataset=self.variant, iterator=handle)

    def get_next(self, handle: Any) -> list[Any]:
        found = raw.IteratorGetNext(
            iterator=handle, output_types=self.types, output_shapes=self.shapes
        )
        return list(found) if isinstance(found, (list, tuple)) else [found]

    def values(self, session: Any = None) -> list[Any]:
        """Runs the dataset to its end: a value, or a tuple of several, for each element."""
        if session is None:
            with hr.Session() as opened:
                return self.values(opened)
        handle, initializer = self.iterator()
        following = self.get_next(handle)
        session.run(initializer)
        return drained(session, following)


def drained(session: Any, following: list[Any], most: int = 100_000) -> list[Any]:
    found = []
    try:
        while len(found) < most:
            values = session.run(following)
            found.append(values[0] if len(values) == 1 else tuple(values))
    except hr.errors.OutOfRangeError as error:
        assert "End of sequence" in str(error)
    return found
