"""The store of a graph's get_variable variables: lookup, creation and partitioning."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from headrace.formats.dtypes import as_dtype, float32
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import init_scope, name_scope
from headrace.graph.framework.tensor_shape import TensorShape, as_shape
from headrace.graph.typing.aliases import (
    Collections,
    Constraint,
    Device,
    DTypeLike,
    Initializer,
    Partitioner,
    Regularizer,
    ShapeLike,
)
from headrace.graph.variables.distribution import VariableAggregation, VariableSynchronization
from headrace.graph.variables.partitioned_variable import PartitionedVariable, split_shape
from headrace.graph.variables.save_slice_info import SaveSliceInfo
from headrace.graph.variables.variable import Variable

STORE = ("__variable_store",)


class VariableStore:
    """The variables created by get_variable in a graph, by name."""

    def __init__(self) -> None:
        self.vars: dict[str, Any] = {}
        self.partitioned: dict[str, PartitionedVariable] = {}

    def get(self, name: str, custom_getter: Callable[..., Any] | None, **kwargs: Any) -> Any:
        """Returns or creates a variable, through the custom getter if there is one."""
        if custom_getter is None:
            return self.find_or_make(name, **kwargs)
        parameters = inspect.signature(custom_getter).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            kwargs = {k: v for k, v in kwargs.items() if k in parameters}
        return custom_getter(getter=self.find_or_make, name=name, **kwargs)

    def find_or_make(
        self,
        name: str,
        shape: ShapeLike | None = None,
        dtype: DTypeLike = float32,
        initializer: Initializer | None = None,
        regularizer: Regularizer | None = None,
        reuse: Any = None,
        trainable: bool | None = None,
        collections: Collections | None = None,
        caching_device: Device | None = None,
        partitioner: Partitioner | None = None,
        validate_shape: bool = True,
        use_resource: bool | None = None,
        constraint: Constraint | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Any:
        """Returns or creates the variable of a full name.

        Raises: ValueError for a violation of reuse, another shape or dtype, or invalid partitions.
        """
        making = {
            "trainable": trainable,
            "collections": collections,
            "caching_device": caching_device,
            "validate_shape": validate_shape,
            "use_resource": use_resource,
            "constraint": constraint,
            "synchronization": synchronization,
            "aggregation": aggregation,
        }
        is_scalar = isinstance(shape, (list, tuple)) and not shape
        if partitioner is not None and not is_scalar:
            if not callable(partitioner):
                raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
            return self._partitioned(
                name, partitioner, shape, dtype, initializer, regularizer, reuse, making
            )
        if reuse is True and name in self.partitioned:
            return self._partitioned(
                name, None, shape, dtype, initializer, regularizer, reuse, making
            )
        if f"{name}/part_0" in self.vars:
            raise ValueError(
                "No partitioner was provided, but a partitioned version of the variable was "
                f"found: {name}/part_0. Perhaps a variable of the same name was already created "
                "with partitioning?"
            )
        return self._single(name, shape, dtype, initializer, regularizer, reuse, making)

    def _single(
        self,
        name: str,
        shape: Any,
        dtype: Any,
        initializer: Any,
        regularizer: Any,
        reuse: Any,
        making: dict[str, Any],
        partition_info: Any = None,
    ) -> Any:
        from_value = initializer is not None and not callable(initializer)
        if shape is not None and from_value:
            raise ValueError("If initializer is a constant, do not specify shape.")
        dtype = as_dtype(dtype)
        shape = as_shape(shape)
        if name in self.vars:
            return self._found(name, shape, dtype, reuse)
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with hr.get_variable(). "
                "Did you mean to set reuse=hr.AUTO_REUSE in VarScope?"
            )
        if initializer is None:
            initializer = _default_initializer(name, dtype)
        with init_scope():
            initial, variable_dtype = _initial(initializer, shape, dtype, partition_info)
        variable = Variable(initial_value=initial, name=name, dtype=variable_dtype, **making)
        self.vars[name] = variable
        if regularizer:
            with init_scope():
                graph = get_default_graph()
                with graph.colocate_with(variable.op), name_scope(name + "/Regularizer/"):
                    loss = regularizer(variable)
                if loss is not None:
                    graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
        return variable

    def _found(self, name: str, shape: TensorShape, dtype: Any, reuse: Any) -> Any:
        found = self.vars[name]
        if not reuse:
            where = ""
            if found.op.source_file:
                where = f" (it was made at {found.op.source_file}:{found.op.source_line})"
            raise ValueError(
                f"Variable {name} already exists, disallowed{where}. Did you mean to set "
                "reuse=True or reuse=hr.AUTO_REUSE in VarScope?"
            )
        if not shape.is_compatible_with(found.get_shape()):
            raise ValueError(
                f"Trying to share variable {name}, but specified shape {shape} and found shape "
                f"{found.get_shape()}."
            )
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(
                f"Trying to share variable {name}, but specified dtype {dtype.name} and found "
                f"dtype {found.dtype.name}."
            )
        return found

    def _partitioned(
        self,
        name: str,
        partitioner: Any,
        shape: Any,
        dtype: Any,
        initializer: Any,
        regularizer: Any,
        reuse: Any,
        making: dict[str, Any],
    ) -> PartitionedVariable:
        shape = as_shape(shape)
        dtype = as_dtype(dtype)
        if isinstance(initializer, Tensor):
            shape = shape.merge_with(initializer.get_shape())
        if name in self.vars:
            raise ValueError(
                "A partitioner was provided, but an unpartitioned version of the variable was "
                f"found: {name}. Perhaps a variable of the same name was already created without "
                "partitioning?"
            )
        partitions = None
        if partitioner is not None:
            if not shape.is_fully_defined():
                raise ValueError(
                    f"Shape of a new partitioned variable ({name}) must be fully defined, but "
                    f"instead was {shape}."
                )
            partitions = _checked_partitions(partitioner(shape=shape, dtype=dtype), shape)
        if name in self.partitioned:
            if reuse is False:
                raise ValueError(
                    f"Partitioned variable with name {name} already exists. Did you mean to set "
                    "reuse=True or reuse=hr.AUTO_REUSE in VarScope?"
                )
            existing = self.partitioned[name]
            if not shape.is_compatible_with(existing.get_shape()):
                raise ValueError(
                    f"Trying to reuse partitioned variable {name}, but specified shape {shape} "
                    f"and found shape {existing.get_shape()}."
                )
            if partitions is not None and existing._get_partitions() != partitions:
                raise ValueError(
                    f"Trying to reuse partitioned variable {name}, but specified partitions "
                    f"{partitions} and found partitions {existing._get_partitions()}."
                )
            return existing
        if reuse is True or partitions is None:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with "
                "hr.get_variable(). Did you mean to set reuse=False or reuse=hr.AUTO_REUSE?"
            )
        parts = []
        for i, (offset, part) in enumerate(split_shape(shape.as_list(), partitions)):
            info = _PartitionInfo(shape.as_list(), offset)
            own: Any = initializer
            own_shape: list[int] | None = part
            with name_scope(f"{name}/part_{i}/PartitionedInitializer"):
                if initializer is None:
                    own = _default_initializer(name, dtype)
                elif not callable(initializer):
                    own, own_shape = _slice_of(initializer, dtype, offset, part), None
            with name_scope(""):
                variable = self._single(
                    f"{name}/part_{i}", own_shape, dtype, own, regularizer, reuse, making, info
                )
            variable._set_save_slice_info(SaveSliceInfo(name, shape.as_list(), offset, part))
            parts.append(variable)
        result = PartitionedVariable(name, shape, dtype, parts, partitions)
        self.partitioned[name] = result
        return result


def _slice_of(value: Any, dtype: Any, offset: list[int], size: list[int]) -> Tensor:
    """Returns the part of an initial value that a partition starts with."""
    whole = value if isinstance(value, Tensor) else convert_to_tensor(value, dtype)
    return op("Slice", whole, offset, size)


def _checked_partitions(partitions: Any, shape: TensorShape) -> list[int]:
    if not isinstance(partitions, Sequence):
        raise ValueError(f"Partitioner must return a sequence, but saw: {partitions}")
    partitions = list(partitions)
    if len(partitions) != (shape.ndims or 0):
        raise ValueError(
            f"Partitioner returned a partition list that does not match the Variable's rank: "
            f"{partitions} vs. {shape}"
        )
    if any(p < 1 for p in partitions):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {partitions}")
    if sum(p > 1 for p in partitions) > 1:
        raise ValueError(
            "Cannot slice a variable along more than one dimension: partitioner returned "
            f"{partitions}"
        )
    return partitions


class _PartitionInfo:
    """The slice of a partitioned variable for which an initializer is called."""

    def __init__(self, full_shape: list[int], var_offset: list[int]) -> None:
        self.full_shape = full_shape
        self.var_offset = var_offset

    def single_offset(self, shape: Any) -> int:
        """Returns the offset on the partitioned axis; 0 if there is none."""
        axis = self.single_slice_dim(shape)
        return 0 if axis is None else self.var_offset[axis]

    def single_slice_dim(self, shape: Any) -> int | None:
        """Returns the partitioned axis, or None."""
        cut = [i for i, (a, b) in enumerate(zip(shape, self.full_shape)) if a != b]
        return cut[0] if cut else None


def _default_initializer(name: str, dtype: Any) -> Any:
    from headrace.graph.variables.initializers import GlorotUniform, Zeros

    if dtype.is_floating:
        return GlorotUniform()
    if dtype.is_integer or dtype.is_bool or dtype.base_dtype.name == "string":
        return Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype.base_dtype} is required")


def _initial(initializer: Any, shape: TensorShape, dtype: Any, info: Any) -> tuple[Any, Any]:
    """Returns (initial value or function, dtype) for Variable."""
    if not callable(initializer):
        return initializer, None
    if inspect.isclass(initializer):
        initializer = initializer()
    try:
        parameters = list(inspect.signature(initializer).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    if shape.is_fully_defined():
        kwargs: dict[str, Any] = {}
        takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
        named = any(p.name == "partition_info" for p in parameters)
        if named or (takes_all and info is not None):
            kwargs["partition_info"] = info
        return (
            lambda: initializer(shape.as_list(), dtype=dtype.base_dtype, **kwargs),
            dtype.base_dtype,
        )
    if all(p.default is not p.empty for p in parameters):
        return initializer, None
    raise ValueError(
        "The initializer passed is not valid. It should be a callable with no arguments and the "
        "shape should not be provided or an initializer object and `shape` should be fully defined."
    )


def get_store() -> VariableStore:
    kept = get_default_graph().get_collection_ref(STORE)
    if not kept:
        kept.append(VariableStore())
    return kept[0]
