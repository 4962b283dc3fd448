"""Resource variables: ops read and assign them through a handle."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.typing.aliases import ShapeLike
from headrace.graph.variables.initial_dependencies import without_uninitialized
from headrace.graph.variables.variable import Variable
from headrace.graph.variables.variable_kinds import variable_kind


@variable_kind(use_resource=True)
class ResourceVariable(Variable):
    """A resource variable (VarHandleOp, ReadVariableOp, ...)."""

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
        name = scope[:-1]
        with graph._attr_scope({"_class": (f"loc:@{name}",)}):
            if callable(initial_value):
                initial = self._make_initial_value(initial_value, scope, dtype)
            else:
                with graph.name_scope("Initializer"), graph.device(None):
                    initial = convert_to_tensor(initial_value, dtype, name="initial_value")
            declared = initial._shape if validate_shape else None
            if shape is not None:
                declared = TensorShape(shape)._dims
            self._dtype = initial.dtype.base_dtype
            self._handle = op(
                "VarHandleOp", dtype=self._dtype, shape=declared, shared_name=name, name=scope
            )
        self._initial_value = initial
        self._shape = TensorShape(declared)
        self._tensor_name = f"{name}:0"
        with graph.name_scope("IsInitialized"):
            self._is_initialized = op("VarIsInitializedOp", self._handle)
        value = without_uninitialized(name, initial)
        with graph.name_scope("Assign") as at, graph.colocate_with(None, ignore_existing=True):
            with graph.device(self._handle.device or None):
                self._initializer_op = op("AssignVariableOp", self._handle, value, name=at)
        with graph.name_scope("Read"), graph.device(self._handle.device or None):
            self._graph_element = self._read()
        self._cached: Tensor | None = None
        if caching_device is not None:
            with graph.colocate_with(None, ignore_existing=True), graph.device(caching_device):
                self._cached = op("Identity", self._graph_element)

    def _init_from_proto(self, message: Any, import_scope: str | None) -> None:
        self._handle, self._graph_element = self._read_proto(message, import_scope)
        graph = self._handle.graph
        self._dtype = as_dtype(self._handle.op._attrs.values["dtype"])
        self._shape = TensorShape(self._handle.op._attrs.values["shape"])
        self._tensor_name = self._handle.name
        self._is_initialized = None
        found = graph._by_name.get(f"{self._handle.op.name}/IsInitialized/VarIsInitializedOp")
        if found is not None:
            self._is_initialized = found.outputs[0]
        self._cached = None
        if self._graph_element.op.type == "Identity":
            self._cached = self._graph_element

    def _read(self) -> Tensor:
        return op("ReadVariableOp", self._handle, dtype=self._dtype)

    @property
    def handle(self) -> Tensor:
        """The resource handle of its storage."""
        return self._handle

    @property
    def op(self) -> Operation:
        """The VarHandleOp Operation."""
        return self._handle.op

    @property
    def dtype(self) -> DType:
        """Dtype of the value."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    def set_shape(self, shape: ShapeLike) -> None:
        """Merges `shape` into the static shape. Raises: ValueError if they are incompatible."""
        self._shape = self._shape.merge_with(shape)
        self._graph_element.set_shape(self._shape)

    @property
    def create(self) -> Operation:
        """The Operation that initialises it."""
        return self._initializer_op

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Returns whether it is initialised, [] bool."""
        return op("VarIsInitializedOp", self._handle, name=name)

    def _as_graph_element(self) -> Tensor:
        return self._graph_element

    def value(self) -> Tensor:
        """Returns its value, from a new read op."""
        if self._cached is not None:
            return self._cached
        with get_default_graph().colocate_with(None, ignore_existing=True):
            with get_default_graph().device(self._handle.device or None):
                return self._read()

    def read_value(self) -> Tensor:
        """Returns its value, read after the active control dependencies."""
        with name_scope("Read"), get_default_graph().device(self._handle.device):
            value = self._read()
        return op("Identity", value)

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Gathers rows of its value."""
        with name_scope("Gather" if name is None else name) as scope:
            value = op("ResourceGather", self._handle, indices, dtype=self._dtype, name=scope)
        return op("Identity", value)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """Gathers slices of its value without reading all of it.

        Args:
          indices: [..., k] int32 or int64, places in the first k dimensions.
          name: name of the node.
        Returns: [..., dimensions after the first k].
        """
        with name_scope("GatherNd" if name is None else name) as scope:
            value = op("ResourceGatherNd", self._handle, indices, dtype=self._dtype, name=scope)
        return op("Identity", value)

    def _value_after(self, update: Operation) -> Tensor:
        with get_default_graph().control_dependencies([update]):
            return self._read()

    def _assign_op(self, kind: str, value: Any, name: str | None, read_value: bool) -> Any:
        tensor = convert_to_tensor(value, self._dtype)
        try:
            self._shape.assert_is_compatible_with(tensor.shape)
        except ValueError:
            raise ValueError(
                f"{kind}: a value of shape {tensor.shape} does not fit variable '{self.name}' of "
                f"shape {self._shape}: Shapes {self._shape} and {tensor.shape} are incompatible"
            ) from None
        update = op(kind, self._handle, tensor, name=name)
        return self._value_after(update) if read_value else update

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Assigns a value; returns the new value, or the Operation if read_value is False."""
        return self._assign_op("AssignVariableOp", value, name, read_value)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds a value; returns as `assign`."""
        return self._assign_op("AssignAddVariableOp", delta, name, read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts a value; returns as `assign`."""
        return self._assign_op("AssignSubVariableOp", delta, name, read_value)

    def _strided_slice_assign(
        self, begin: Any, end: Any, strides: Any, value: Any, **how: Any
    ) -> Tensor:
        value = convert_to_tensor(value, self._dtype)
        return self._value_after(
            op("ResourceStridedSliceAssign", self._handle, begin, end, strides, value, **how)
        )

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the VariableDef message, or None if it is outside of export_scope."""
        element = self._cached if self._cached is not None else self._graph_element
        return self._to_proto(element.name, True, export_scope)
