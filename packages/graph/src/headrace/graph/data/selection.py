"""Transformations that leave out elements: take_while, unique, ignore_errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.op_builder import op
from headrace.graph.data.dataset_node import DatasetNode, make_dataset
from headrace.graph.data.element_specs import is_scalar_of, output_types
from headrace.graph.data.order import unchanged
from headrace.graph.data.user_functions import UserFunction

Transformation = Callable[[Any], Any]


def take_while(predicate: Callable[..., Any]) -> Transformation:
    """Returns a transformation that ends a dataset before the first element that is rejected.

    Args: predicate: function of an element that returns a [] bool.
    Raises: the transformation raises ValueError for a predicate that returns something else.

    >>> import headrace.graph as hr
    >>> small = hr.data.Dataset.range(9).apply(hr.data.experimental.take_while(lambda x: x < 2))
    >>> element = small.batch(9).make_one_shot_iterator().get_next()
    >>> with hr.Session() as session:
    ...     print(session.run(element))
    [0 1]
    """

    def apply(dataset: DatasetNode) -> Any:
        name = "tf.data.experimental.take_while()"
        function = UserFunction(predicate, name, dataset.element_spec)
        if not is_scalar_of(function.output_spec, as_dtype("bool")):
            raise ValueError("`predicate` must return a scalar boolean tensor.")
        node = op(
            "TakeWhileDataset",
            dataset._variant_tensor,
            function.captured_inputs,
            predicate=function.function,
            **dataset._flat_structure,
        )
        return make_dataset(node, dataset.element_spec, [dataset], [function])

    return apply


def unique() -> Transformation:
    """Returns a transformation that leaves out elements that were there before.

    Raises: the transformation raises TypeError unless the dataset has one component of int32, int64
      or strings.

    >>> import headrace.graph as hr
    >>> numbers = hr.data.Dataset.from_tensor_slices([1, 37, 2, 37, 2, 1])
    >>> found = numbers.apply(hr.data.experimental.unique())
    >>> element = found.batch(9).make_one_shot_iterator().get_next()
    >>> with hr.Session() as session:
    ...     print(session.run(element))
    [ 1 37  2]
    """

    def apply(dataset: DatasetNode) -> Any:
        types = output_types(dataset.element_spec)
        if types not in [as_dtype(name) for name in ("int32", "int64", "string")]:
            raise TypeError(
                "`tf.data.experimental.unique()` only supports inputs with a single `tf.int32`, "
                "`tf.int64`, or `tf.string` component."
            )
        return unchanged("UniqueDataset", dataset)

    return apply


def ignore_errors() -> Transformation:
    """Returns a transformation that leaves out the elements whose computation fails.

    >>> import headrace.graph as hr
    >>> numbers = hr.data.Dataset.from_tensor_slices([1.0, 0.0, 4.0])
    >>> inverse = numbers.map(lambda x: hr.debugging.check_numerics(1.0 / x, "error"))
    >>> found = inverse.apply(hr.data.experimental.ignore_errors())
    >>> element = found.batch(9).make_one_shot_iterator().get_next()
    >>> with hr.Session() as session:
    ...     print(session.run(element))
    [1.   0.25]
    """
    return lambda dataset: unchanged("IgnoreErrorsDataset", dataset)
