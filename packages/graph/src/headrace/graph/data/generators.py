"""Datasets of the elements of a Python generator."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.conversion import convert_n_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.data import element_nest as nest
from headrace.graph.data.dataset_node import make_dataset
from headrace.graph.data.element_specs import flat_structure, spec_of, to_tensors
from headrace.graph.data.mapping import flat_map
from headrace.graph.data.sources import from_tensors
from headrace.graph.data.user_functions import UserFunction
from headrace.graph.framework.tensor_shape import TensorShape, as_shape
from headrace.graph.ops.script import py_func

_NAME = "Dataset.from_generator()"


class _Iterators:
    """The Python iterators of one generator: one for each pass over the dataset."""

    def __init__(self, generator: Callable[..., Any]) -> None:
        self._generator = generator
        self._lock = threading.Lock()
        self._next_number = 0
        self._args: dict[int, tuple[Any, ...]] = {}
        self._open: dict[int, Iterator[Any]] = {}

    def begin(self, *args: Any) -> np.ndarray:
        """Returns the number of a new pass, with arguments for the generator."""
        with self._lock:
            number = self._next_number
            self._next_number += 1
            self._args[number] = args
        return np.array(number, np.int64)

    def next(self, number: Any) -> Any:
        """Returns the next value of a pass. Raises: StopIteration at its end."""
        number = int(number)
        iterator = self._open.get(number)
        if iterator is None:
            iterator = iter(self._generator(*self._args.pop(number)))
            self._open[number] = iterator
        return next(iterator)

    def end(self, number: Any) -> np.ndarray:
        """Releases the iterator of a pass."""
        self._args.pop(int(number), None)
        self._open.pop(int(number), None)
        return np.array(0, np.int64)


def from_generator(
    generator: Callable[..., Any], output_types: Any, output_shapes: Any, args: Any
) -> Any:
    """Returns a dataset of the values of a generator.

    Raises: TypeError if the generator is not callable, or for shapes of another structure.
    """
    if not callable(generator):
        raise TypeError("`generator` must be callable.")
    if output_shapes is None:
        output_shapes = nest.map_structure(lambda _: TensorShape(None), output_types)
    else:
        output_shapes = nest.map_structure_up_to(output_types, as_shape, output_shapes)
    tensors = () if args is None else tuple(convert_n_to_tensor(args, name="args"))
    types = [as_dtype(t) for t in nest.flatten(output_types)]
    shapes = nest.flatten(output_shapes)
    iterators = _Iterators(generator)

    def next_arrays(number: Any) -> list[np.ndarray]:
        return _checked(iterators.next(number), output_types, types, shapes)

    def begin(_: Any) -> Any:
        return py_func(iterators.begin, tensors, as_dtype("int64"))

    def next_element(number: Any) -> Any:
        results = py_func(next_arrays, [number], types)
        for tensor, shape in zip(results, shapes, strict=True):
            tensor.set_shape(shape)
        return nest.pack_sequence_as(output_types, results)

    def end(number: Any) -> Any:
        return py_func(iterators.end, [number], as_dtype("int64"))

    return flat_map(
        from_tensors(0), lambda dummy: generator_dataset(dummy, begin, next_element, end)
    )


def generator_dataset(
    argument: Any,
    init_func: Callable[..., Any],
    next_func: Callable[..., Any],
    finalize_func: Callable[..., Any],
) -> Any:
    """Returns a dataset of the results of a function, until it raises OutOfRangeError.

    Args:
      argument: what init_func gets; its result is the argument of the other two.
    """
    spec = spec_of(argument)
    init = UserFunction(init_func, _NAME, spec)
    following = UserFunction(next_func, _NAME, init.output_spec)
    final = UserFunction(finalize_func, _NAME, init.output_spec)
    node = op(
        "GeneratorDataset",
        [*to_tensors(spec, argument), *init.captured_inputs],
        following.captured_inputs,
        final.captured_inputs,
        init_func=init.function,
        next_func=following.function,
        finalize_func=final.function,
        **flat_structure(following.output_spec),
    )
    return make_dataset(node, following.output_spec)


def _checked(
    value: Any, structure: Any, types: list[DType], shapes: list[TensorShape]
) -> list[np.ndarray]:
    """Returns a value of a generator as arrays.

    Raises: TypeError for another structure or dtype; ValueError for another shape.
    """
    try:
        leaves = nest.flatten_up_to(structure, value)
    except (TypeError, ValueError):
        raise TypeError(
            "`generator` yielded an element that did not match the expected structure. The "
            f"expected structure was {structure}, but the yielded element was {value}."
        ) from None
    arrays = []
    for leaf, dtype, shape in zip(leaves, types, shapes, strict=True):
        array = _as_array(leaf, dtype)
        if not shape.is_compatible_with(array.shape):
            raise ValueError(
                f"`generator` yielded an element of shape {array.shape} where an element of shape "
                f"{shape} was expected."
            )
        arrays.append(array)
    return arrays


def _as_array(leaf: Any, dtype: DType) -> np.ndarray:
    try:
        array = np.asarray(leaf, dtype=dtype.as_numpy_dtype, order="C")
    except (OverflowError, TypeError, ValueError):
        raise TypeError(
            "`generator` yielded an element that could not be converted to the expected type. The "
            f"expected type was {dtype.name}, but the yielded element was {leaf}."
        ) from None
    if array.dtype == object:  # strings
        flat = [v.encode() if isinstance(v, str) else v for v in array.ravel().tolist()]
        if not all(isinstance(v, bytes) for v in flat):
            raise TypeError(
                "`generator` yielded an element that could not be converted to the expected type. "
                f"The expected type was {dtype.name}, but the yielded element was {leaf}."
            )
        encoded = np.empty(len(flat), object)
        encoded[:] = flat
        return encoded.reshape(array.shape)
    return array
