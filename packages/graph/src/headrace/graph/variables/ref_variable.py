"""Reference variables, the default kind: ops read them through a reference to their storage."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import DType
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops import state
from headrace.graph.typing.aliases import ShapeLike
from headrace.graph.variables.initial_dependencies import without_uninitialized
from headrace.graph.variables.variable import Variable
from headrace.graph.variables.variable_kinds import variable_kind


@variable_kind(use_resource=False)
class RefVariable(Variable):
    """A reference variable (VariableV2, Assign, ...)."""

    def _build(
        self,
        initial_value: Any,
        scope: str,
        dtype: DType | None,
        validate_shape: bool,
        caching_device: Any,
        shape: Any,
    ) -> None:
        graph = get_default_graph()
        initial = self._make_initial_value(initial_value, scope, dtype)
        if validate_shape and not initial.shape.is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {initial}")
        declared = TensorShape(initial._shape if validate_shape else None)
        if shape is not None:
            declared = TensorShape(shape)
        self._initial_value = initial
        extra = {"_class": (f"loc:@{scope[:-1]}",)} if callable(initial_value) else {}
        with graph._attr_scope(extra):
            self._variable = state.variable_op_v2(declared, initial.dtype.base_dtype, name=scope)
        self._tensor_name = self._variable.name
        value = without_uninitialized(scope[:-1], initial)
        self._initializer_op = state.assign(self._variable, value, validate_shape=validate_shape).op
        if caching_device is not None:
            with graph.device(caching_device):
                self._snapshot = op("Identity", self._variable, name="read")
        else:
            with graph.colocate_with(self._variable.op):
                self._snapshot = op("Identity", self._variable, name="read")

    def _init_from_proto(self, message: Any, import_scope: str | None) -> None:
        self._variable, self._snapshot = self._read_proto(message, import_scope)
        self._tensor_name = self._variable.name

    @property
    def op(self) -> Operation:
        """The VariableV2 Operation."""
        return self._variable.op

    @property
    def dtype(self) -> DType:
        """Reference dtype of the value."""
        return self._variable.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._variable.shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Merges `shape` into the static shape. Raises: ValueError if they are incompatible."""
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)

    def _ref(self) -> Tensor:
        return self._variable

    def _as_graph_element(self) -> Tensor:
        return self._variable

    def value(self) -> Tensor:
        """Returns a tensor of its value at some time of the run."""
        return self._snapshot

    def read_value(self) -> Tensor:
        """Returns its value, read after the active control dependencies."""
        return op("Identity", self._variable, name="read")

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Assigns a value; returns the reference, or the Operation if read_value is False."""
        done = state.assign(self._variable, value, use_locking=use_locking, name=name)
        return done if read_value else done.op

    def _strided_slice_assign(
        self, begin: Any, end: Any, strides: Any, value: Any, **how: Any
    ) -> Tensor:
        return op("StridedSliceAssign", self._variable, begin, end, strides, value, **how)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds a value; returns as `assign`."""
        done = state.assign_add(self._variable, delta, use_locking=use_locking, name=name)
        return done if read_value else done.op

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts a value; returns as `assign`."""
        done = state.assign_sub(self._variable, delta, use_locking=use_locking, name=name)
        return done if read_value else done.op

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the VariableDef message, or None if it is outside of export_scope."""
        return self._to_proto(self._snapshot.name, False, export_scope)
