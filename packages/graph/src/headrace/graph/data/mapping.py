"""Transformations by user functions: map, filter, flat_map, interleave, reduce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.data.component_specs import DatasetSpec
from headrace.graph.data.dataset_node import DatasetNode, make_dataset
from headrace.graph.data.element_specs import (
    as_element,
    flat_structure,
    from_tensors,
    is_scalar_of,
    spec_of,
    to_tensors,
)
from headrace.graph.data.user_functions import UserFunction, stable_function
from headrace.graph.framework.op_registry import no_gradient
from headrace.graph.framework.scopes import name_scope

_INT64 = as_dtype("int64")
AUTOTUNE = -1


def map_elements(
    dataset: DatasetNode,
    map_func: Callable[..., Any],
    num_parallel_calls: Any = None,
    preserve_cardinality: bool = False,
    legacy: bool = False,
    use_inter_op_parallelism: bool = True,
) -> Any:
    """Returns a dataset of the results of a function of each element."""
    function = UserFunction(map_func, "Dataset.map()", dataset.element_spec, legacy=legacy)
    inputs = [dataset._variant_tensor, function.captured_inputs]
    op_type = "MapDataset"
    if num_parallel_calls is not None:
        op_type = "ParallelMapDataset"
        calls = convert_to_tensor(num_parallel_calls, as_dtype("int32"), name="num_parallel_calls")
        inputs.append(calls)
    node = op(
        op_type,
        *inputs,
        f=function.function,
        use_inter_op_parallelism=use_inter_op_parallelism,
        preserve_cardinality=preserve_cardinality,
        **flat_structure(function.output_spec),
    )
    return make_dataset(node, function.output_spec, [dataset], [function])


def filtered(dataset: DatasetNode, predicate: Callable[..., Any], legacy: bool = False) -> Any:
    """Returns a dataset of the elements that a predicate accepts.

    Raises: ValueError for a predicate that does not return a scalar bool.
    """
    function = UserFunction(predicate, "Dataset.filter()", dataset.element_spec, legacy=legacy)
    if not is_scalar_of(function.output_spec, as_dtype("bool")):
        raise ValueError(
            "`predicate` return type must be convertible to a scalar boolean tensor. Was "
            f"{function.output_spec}."
        )
    node = op(
        "FilterDataset",
        dataset._variant_tensor,
        function.captured_inputs,
        predicate=function.function,
        **dataset._flat_structure,
    )
    return make_dataset(node, dataset.element_spec, [dataset], [function])


def dataset_function(
    dataset: DatasetNode, map_func: Callable[..., Any], transformation: str
) -> tuple[UserFunction, Any]:
    """Returns the function of elements that returns datasets, and the spec of their elements.

    Raises: TypeError if it returns something else.
    """
    function = UserFunction(map_func, transformation, dataset.element_spec)
    spec = function.output_spec
    if not isinstance(spec, DatasetSpec):
        raise TypeError(f"`map_func` must return a `Dataset` object. Got {type(spec)}")
    return function, spec._element_spec


def flat_map(dataset: DatasetNode, map_func: Callable[..., Any]) -> Any:
    """Returns a dataset of the elements of the datasets that a function makes of each element."""
    function, specs = dataset_function(dataset, map_func, "Dataset.flat_map()")
    node = op(
        "FlatMapDataset",
        dataset._variant_tensor,
        function.captured_inputs,
        f=function.function,
        **flat_structure(specs),
    )
    return make_dataset(node, specs, [dataset], [function])


def interleave(
    dataset: DatasetNode,
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any,
    num_parallel_calls: Any,
) -> Any:
    """Returns a dataset of the elements of several datasets at a time, in turns."""
    function, specs = dataset_function(dataset, map_func, "Dataset.interleave()")
    cycle = convert_to_tensor(cycle_length, _INT64, name="cycle_length")
    block = convert_to_tensor(block_length, _INT64, name="block_length")
    inputs = [dataset._variant_tensor, function.captured_inputs, cycle, block]
    op_type = "InterleaveDataset"
    if num_parallel_calls is not None:
        op_type = "ParallelInterleaveDatasetV2"
        inputs.append(convert_to_tensor(num_parallel_calls, _INT64, name="num_parallel_calls"))
    node = op(op_type, *inputs, f=function.function, **flat_structure(specs))
    return make_dataset(node, specs, [dataset], [function])


def reduce(dataset: DatasetNode, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
    """Returns the last state of a function of (state, element) -> state, as tensors.

    Raises: TypeError for a new state of other classes or dtypes.
    """
    with name_scope("initial_state"):
        state = as_element(initial_state)
    function, spec = stable_function(
        reduce_func, "reduce()", spec_of(state), dataset.element_spec, lambda made: made
    )
    results = op(
        "ReduceDataset",
        dataset._variant_tensor,
        to_tensors(spec, state),
        function.captured_inputs,
        f=function.function,
        **flat_structure(spec),
    )
    return from_tensors(spec, results)


no_gradient("ReduceDataset", "datasets are not differentiated")
