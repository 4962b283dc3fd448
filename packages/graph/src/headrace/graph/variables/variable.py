"""Variable, the common class of reference and resource variables."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder import operators
from headrace.graph.builder.conversion import convert_to_tensor, register_tensor_conversion_function
from headrace.graph.builder.indexed_slices import IndexedSlices
from headrace.graph.framework.default_graph import outermost_graph
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import init_scope, name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops import state
from headrace.graph.ops.scatter import batch_scatter_update
from headrace.graph.typing.aliases import (
    Collections,
    Constraint,
    Device,
    DTypeLike,
    Proto,
    SessionLike,
    ShapeLike,
    TensorLike,
)
from headrace.graph.variables.distribution import VariableAggregation, VariableSynchronization
from headrace.graph.variables.save_slice_info import SaveSliceInfo
from headrace.graph.variables.variable_collections import (  # noqa: F401 - where TF 1.x's programs look
    global_variables,
    global_variables_initializer,
    local_variables,
    trainable_variables,
    variables_initializer,
)
from headrace.graph.variables.variable_kinds import construct
from headrace.graph.variables.variable_messages import read_variable_def, variable_def

if TYPE_CHECKING:
    from headrace.graph.framework.operator_types import TensorOperators
else:
    TensorOperators = object


def _check_is_outside_of_functions(initial_value: object) -> None:
    """Raises ValueError for the tensor of a function: its variables are made outside of it."""
    if isinstance(initial_value, Tensor) and initial_value.graph.building_function:
        raise ValueError(
            f"The initial value {initial_value!r} is a tensor of a function. Tensor-typed variable "
            "initializers must either be wrapped in an init_scope or callable (e.g., "
            "`hr.Variable(lambda: hr.truncated_normal([10, 40]))`) when building functions."
        )


def _check_is_outside_of_control_flow(initial_value: object, name: str) -> None:
    """Raises ValueError for a tensor of a loop or branch: the initializer runs outside of it."""
    from headrace.graph.control_flow.context_edges import output_context

    if isinstance(initial_value, Tensor) and output_context(initial_value.op) is not None:
        raise ValueError(
            f"Initializer for variable {name} is from inside a control-flow construct, such as a "
            "loop or conditional. When creating a variable inside a loop or conditional, use a "
            "lambda as the initializer."
        )


class _ByKind(type):
    """Metaclass: `Variable(...)` creates a reference or resource variable."""

    if not TYPE_CHECKING:  # type checkers read the parameters of Variable.__init__

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if cls is not Variable:
                return super().__call__(*args, **kwargs)
            names = ("initial_value", "trainable", "collections", "validate_shape")
            kwargs.update(zip(names, args[: len(names)]))
            for name, value in zip(_LATER_ARGUMENTS, args[len(names) :]):
                kwargs[name] = value
            return construct(**kwargs)


_LATER_ARGUMENTS = (
    "caching_device", "name", "variable_def", "dtype", "expected_shape", "import_scope",
    "constraint", "use_resource", "synchronization", "aggregation", "shape",
)  # fmt: skip


class Variable(TensorOperators, metaclass=_ByKind):
    """A value that persists between runs.

    Args:
      initial_value: tensor, convertible value, or function without arguments that returns one; it
        determines dtype and shape.
      trainable: whether optimizers update it by default.
      collections: collections to add it to; [GraphKeys.GLOBAL_VARIABLES] if None.
      validate_shape: False allows an unknown or changing shape.
      caching_device: device of the copy that readers use.
      name: name, made unique.
      variable_def: VariableDef message of an existing variable to use.
      dtype: dtype of the value; by default that of initial_value.
      expected_shape: ignored, as in TF 1.x.
      import_scope: prefix of the names in variable_def.
      constraint: projection that optimizers apply after each update.
      use_resource: create a resource variable; None uses the setting of the variable scope.
      synchronization, aggregation: stored, without effect.
      shape: declared shape, if less specific than that of initial_value.
    Raises: ValueError without an initial value, for one of unknown shape, for a constraint that is
      not callable, or for collections that are not a list.
    """

    _tensor_name: str
    _shape: TensorShape
    _initializer_op: Operation
    _initial_value: Any

    def __init__(
        self,
        initial_value: TensorLike | Callable[[], TensorLike] | None = None,
        trainable: bool | None = None,
        collections: Collections | None = None,
        validate_shape: bool = True,
        caching_device: Device | None = None,
        name: str | None = None,
        variable_def: Proto | None = None,
        dtype: DTypeLike | None = None,
        expected_shape: ShapeLike | None = None,
        import_scope: str | None = None,
        constraint: Constraint | None = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: ShapeLike | None = None,
    ) -> None:
        self._save_slice_info: Any = None
        self._constraint = constraint
        self._synchronization = synchronization or VariableSynchronization.AUTO
        self._aggregation = aggregation or VariableAggregation.NONE
        self._graph_key = outermost_graph()
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._init_from_proto(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
        if not isinstance(collections, (list, tuple, set)):
            raise ValueError(
                "collections argument to Variable constructor must be a list, tuple, or set. "
                f"Got {collections} of type {type(collections)}"
            )
        self._trainable = True if trainable is None else trainable
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections = [*collections, GraphKeys.TRAINABLE_VARIABLES]
        if dtype is not None:
            dtype = as_dtype(dtype).base_dtype
        _check_is_outside_of_functions(initial_value)
        _check_is_outside_of_control_flow(initial_value, name or "Variable")
        with init_scope():
            values = () if callable(initial_value) else (initial_value,)
            with name_scope(name, "Variable", values) as scope:
                self._build(initial_value, scope, dtype, validate_shape, caching_device, shape)
            get_default_graph().add_to_collections(collections, self)

    def _build(
        self,
        initial_value: Any,
        scope: str,
        dtype: DType | None,
        validate_shape: bool,
        caching_device: Any,
        shape: Any,
    ) -> None:
        raise NotImplementedError

    def _init_from_proto(self, message: Any, import_scope: str | None) -> None:
        raise NotImplementedError

    def _make_initial_value(self, initial_value: Any, scope: str, dtype: DType | None) -> Tensor:
        """Creates the initial value; operations of an initial function are colocated."""
        if not callable(initial_value):
            return convert_to_tensor(initial_value, dtype, name="initial_value")
        graph = get_default_graph()
        with graph._attr_scope({"_class": (f"loc:@{scope[:-1]}",)}):
            with graph.name_scope("Initializer"), graph.device(None):
                return convert_to_tensor(initial_value(), dtype, name="initial_value")

    # -- properties ------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """ "variable:0"."""
        return self._tensor_name

    @property
    def op(self) -> Operation:
        """The Operation of its storage."""
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
        """Dtype of the value."""
        raise NotImplementedError

    @property
    def graph(self) -> Any:
        """The graph of the variable."""
        return self.op.graph

    @property
    def device(self) -> str:
        """The requested device; may be partial."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        raise NotImplementedError

    def get_shape(self) -> TensorShape:
        """The static shape."""
        return self.shape

    @property
    def initializer(self) -> Operation:
        """The Operation that initialises it."""
        return self._initializer_op

    @property
    def initial_value(self) -> Tensor:
        """The tensor of its initial value, which may differ between runs."""
        return self._initial_value

    @property
    def trainable(self) -> bool:
        """Whether optimizers update it by default."""
        return self._trainable

    @property
    def constraint(self) -> Any:
        """The projection that optimizers apply after each update, or None."""
        return self._constraint

    @property
    def synchronization(self) -> VariableSynchronization:
        """The given value."""
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        """The given value."""
        return self._aggregation

    # -- its value -------------------------------------------------------------------------

    def value(self) -> Tensor:
        """Returns a tensor of its value at some time of the run."""
        raise NotImplementedError

    def read_value(self) -> Tensor:
        """Returns its value, read after the active control dependencies."""
        raise NotImplementedError

    def _as_tensor(self) -> Tensor:
        return self.value()

    def _ref(self) -> Tensor:
        return self.value()

    def eval(self, session: SessionLike | None = None) -> Any:
        """Evaluates it in a session, by default the default session. Raises: as Tensor.eval."""
        return self._as_graph_element().eval(session=session)

    def _as_graph_element(self) -> Tensor:
        raise NotImplementedError

    def initialized_value(self) -> Tensor:
        """Returns its value if it is initialised, otherwise its initial value."""
        from headrace.graph.control_flow.cond import cond

        with init_scope():
            return cond(
                state.is_variable_initialized(self), self.read_value, lambda: self.initial_value
            )

    def load(self, value: TensorLike, session: SessionLike | None = None) -> None:
        """Assigns a value immediately, in a session, by default the default session.

        Raises: ValueError if there is no session.
        """
        from headrace.graph.framework.default_session import get_default_session

        session = get_default_session() if session is None else session
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be "
                "established"
            )
        session.run(self.initializer, {self._initializer_input: value})

    @property
    def _initializer_input(self) -> Tensor:
        return self.initializer.inputs[1]

    # -- updates ---------------------------------------------------------------------------

    def assign(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Assigns a value; returns the new value, or the Operation if read_value is False."""
        raise NotImplementedError

    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Adds a value; returns as `assign`."""
        raise NotImplementedError

    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Subtracts a value; returns as `assign`."""
        raise NotImplementedError

    def __iadd__(self, other: TensorLike) -> NoReturn:
        raise RuntimeError(
            "Variable += value not supported. Use variable.assign_add(value) to modify the "
            "variable value and variable = variable + value to get a new Tensor object."
        )

    def __isub__(self, other: TensorLike) -> NoReturn:
        raise RuntimeError(
            "Variable -= value not supported. Use variable.assign_sub(value) to modify the "
            "variable value and variable = variable - value to get a new Tensor object."
        )

    def __imul__(self, other: TensorLike) -> NoReturn:
        raise RuntimeError(
            "Variable *= value not supported. Use `var.assign(var * value)` to modify the "
            "variable or `var = var * value` to get a new Tensor object."
        )

    def __itruediv__(self, other: TensorLike) -> NoReturn:
        raise RuntimeError(
            "Variable /= value not supported. Use `var.assign(var / value)` to modify the "
            "variable or `var = var / value` to get a new Tensor object."
        )

    def count_up_to(self, limit: int) -> Tensor:
        """Increments it up to a limit; see hr.count_up_to."""
        return state.count_up_to(self, limit)

    def scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Sets the rows of IndexedSlices; returns the new value."""
        return self._scattered(state.scatter_update, sparse_delta, use_locking, name)

    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Sets slices of each batch; see hr.batch_scatter_update. Returns the new value."""
        return self._scattered(batch_scatter_update, sparse_delta, use_locking, name)

    def scatter_add(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Adds to the rows of IndexedSlices; returns the new value."""
        return self._scattered(state.scatter_add, sparse_delta, use_locking, name)

    def scatter_sub(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Subtracts from the rows of IndexedSlices; returns the new value."""
        return self._scattered(state.scatter_sub, sparse_delta, use_locking, name)

    def scatter_mul(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Multiplies the rows of IndexedSlices; returns the new value."""
        return self._scattered(state.scatter_mul, sparse_delta, use_locking, name)

    def scatter_div(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Divides the rows of IndexedSlices; returns the new value."""
        return self._scattered(state.scatter_div, sparse_delta, use_locking, name)

    def scatter_min(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Takes the minimum with the rows of IndexedSlices; returns the new value."""
        return self._scattered(state.scatter_min, sparse_delta, use_locking, name)

    def scatter_max(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        """Takes the maximum with the rows of IndexedSlices; returns the new value."""
        return self._scattered(state.scatter_max, sparse_delta, use_locking, name)

    def _scattered(self, function: Any, delta: Any, use_locking: bool, name: str | None) -> Tensor:
        if not isinstance(delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {delta}")
        return function(self, delta.indices, delta.values, use_locking=use_locking, name=name)

    def scatter_nd_update(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Tensor:
        """Sets slices by coordinates; returns the new value."""
        return state.scatter_nd_update(self, indices, updates, name=name)

    def scatter_nd_add(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Tensor:
        """Adds to slices by coordinates; returns the new value."""
        return state.scatter_nd_add(self, indices, updates, name=name)

    def scatter_nd_sub(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Tensor:
        """Subtracts from slices by coordinates; returns the new value."""
        return state.scatter_nd_sub(self, indices, updates, name=name)

    # -- parts of a partitioned variable -----------------------------------------------------

    def _set_save_slice_info(self, info: Any) -> None:
        self._save_slice_info = info

    def _get_save_slice_info(self) -> Any:
        return self._save_slice_info

    # -- messages --------------------------------------------------------------------------

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Returns the VariableDef message, or None if it is outside of export_scope."""
        raise NotImplementedError

    def _to_proto(self, snapshot: str, is_resource: bool, export_scope: str | None) -> Any:
        return variable_def(self, snapshot, is_resource, export_scope)

    def _read_proto(self, message: Any, import_scope: str | None) -> tuple[Any, Any]:
        """Sets the common attributes; returns the elements of variable_name and snapshot_name."""
        return read_variable_def(self, message, import_scope)

    @staticmethod
    def _listed_as_trainable(message: Any) -> bool:
        return False

    @staticmethod
    def from_proto(variable_def: Proto, import_scope: str | None = None) -> Any:
        """Returns the variable of a VariableDef message; its nodes are in the default graph."""
        return Variable(variable_def=variable_def, import_scope=import_scope)

    def __iter__(self) -> Any:
        raise TypeError("'Variable' object is not iterable.")

    def __repr__(self) -> str:
        return f"<hr.Variable '{self.name}' shape={self.shape} dtype={self.dtype.base_dtype.name}>"

    __array_priority__ = 100


VariableV1 = Variable


# The metaclass takes any arguments; these are the ones that it passes on.
_PARAMETERS = list(inspect.signature(Variable.__init__).parameters.values())[1:]
Variable.__signature__ = inspect.Signature(_PARAMETERS)  # type: ignore[attr-defined]
Variable.SaveSliceInfo = SaveSliceInfo  # type: ignore[attr-defined]


# ---- conversion and operators --------------------------------------------------------------------


def _to_tensor(
    variable: Variable, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Any:
    if dtype is not None and not as_dtype(dtype).is_compatible_with(variable.dtype.base_dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{as_dtype(dtype).name}' for "
            f"variable of type '{variable.dtype.base_dtype.name}'"
        )
    return variable._ref() if as_ref else variable.value()


register_tensor_conversion_function(Variable, _to_tensor, 90)
operators.overload(Variable)
