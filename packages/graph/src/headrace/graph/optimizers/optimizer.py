"""Optimizer, the base class: gradients, slots, and one update operation per variable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.formats.dtypes import resource, string
from headrace.graph.autodiff.gradients import gradients
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import (
    IndexedSlices,
    convert_to_tensor_or_indexed_slices,
)
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import group, no_op
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import (
    colocate_with,
    control_dependencies,
    init_scope,
    name_scope,
)
from headrace.graph.typing.aliases import DTypeLike, TensorLike, VariableLike
from headrace.graph.variables.save_slice_info import share_slice
from headrace.graph.variables.variable import Variable, trainable_variables
from headrace.graph.variables.variable_scope import get_variable_scope


class Optimizer:
    """Base class of optimizers.

    A subclass sets `_update_op`, the op that updates a variable, such as "ApplyAdam"; the names of
    the Resource and Sparse forms are derived from it. It creates its slots in `_create_slots`, and
    returns the inputs of the op in `_arguments`.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    _update_op = ""
    _slot_names: tuple[str, ...] = ()

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Any, Any]] = {}
        self._non_slots: dict[tuple[str, Any], Any] = {}

    def get_name(self) -> str:
        """Returns the name of the optimizer, used for slots and updates."""
        return self._name

    def minimize(
        self,
        loss: Any,
        global_step: Variable | None = None,
        var_list: Sequence[VariableLike] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: TensorLike | None = None,
    ) -> Operation:
        """Adds the operations of a training step, which minimizes loss.

        Args:
          loss: scalar.
          global_step: variable to increment.
          var_list: variables to update; None means all trainable variables.
          gate_gradients: GATE_NONE, GATE_OP or GATE_GRAPH.
          aggregation_method, colocate_gradients_with_ops: as in hr.gradients.
          name: name of the operation.
          grad_loss: gradient of loss; 1 by default.
        Returns: the operation of one training step.
        Raises: ValueError if no variable has a gradient; as compute_gradients.
        """
        pairs = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(grad is None for grad, _ in pairs):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {[v.name for _, v in pairs]} and loss "
                f"{loss.name}."
            )
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: TensorLike,
        var_list: Sequence[VariableLike] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: TensorLike | None = None,
    ) -> list[tuple[Any, Any]]:
        """Computes (gradient or None, variable) pairs, the first part of minimize.

        Raises: ValueError for an invalid loss or gate_gradients, or no variables.
        """
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                f"gate_gradients must be GATE_NONE, GATE_OP or GATE_GRAPH, not {gate_gradients}"
            )
        if callable(loss):
            loss = loss()
        loss = convert_to_tensor(loss)
        if not (loss.dtype.is_floating or loss.dtype.is_complex):
            raise ValueError(
                f"Invalid type {loss.dtype.name} for {loss.name}, expected floating point"
            )
        variables = list(
            trainable_variables()
            if var_list is None
            else var_list
            if isinstance(var_list, Iterable) and not hasattr(var_list, "op")
            else [var_list]
        )
        if not variables:
            raise ValueError("No variables to optimize.")
        grads = gradients(
            loss,
            variables,
            grad_ys=grad_loss,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            gate_gradients=gate_gradients == self.GATE_OP,
        )
        if gate_gradients == self.GATE_GRAPH:
            from headrace.graph.control_flow.control_flow_ops import tuple as tuple_op

            grads = tuple_op(grads)
        return list(zip(grads, variables, strict=True))

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Operation:
        """Applies gradients to variables, the second part of minimize.

        Args:
          grads_and_vars: (gradient or None, variable) pairs.
          global_step: variable to increment.
          name: name of the operation.
        Returns: the operation of one training step.
        Raises: ValueError if no pair has a gradient.
        """
        pairs = [(_as_gradient(grad), v) for grad, v in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        present = [(grad, v) for grad, v in pairs if grad is not None]
        if not present:
            raise ValueError(
                f"No gradients provided for any variable: {[v.name for _, v in pairs]}."
            )
        with init_scope():
            self._create_slots([v for _, v in present])
        with name_scope(name or self._name) as scope:
            self._prepare()
            updates = []
            for grad, variable in present:
                with name_scope(f"update_{variable.op.name}"), colocate_with(variable.op):
                    updates.append(self._update(grad, variable))
            if global_step is None:
                train = self._finish(updates, scope)
            else:
                with control_dependencies([self._finish(updates, "update")]):
                    with colocate_with(global_step.op):
                        one = convert_to_tensor(1, dtype=global_step.dtype.base_dtype)
                        if isinstance(global_step, Tensor):  # of get_global_step, by its name
                            train = op("AssignAdd", global_step, one, name=scope)
                        else:
                            train = global_step.assign_add(one, name=scope)
                        train = getattr(train, "op", train)
            collection = get_default_graph().get_collection_ref(GraphKeys.TRAIN_OP)
            if train not in collection:
                collection.append(train)
            return train

    # ---- slots ---------------------------------------------------------------------------------

    def get_slot(self, var: VariableLike, name: str) -> Any:
        """Returns a slot of a variable by name, or None."""
        return self._slots.get(name, {}).get(_key(var))

    def get_slot_names(self) -> list[str]:
        """Returns the names of the slots created so far, sorted."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """Returns all variables of the optimizer, sorted by name."""
        result = [v for slots in self._slots.values() for v in slots.values()]
        result += self._non_slots.values()
        return sorted(result, key=lambda v: v.name)

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        return self._slot(var, slot_name, op_name, 0.0)

    def _slot(self, var: Any, slot_name: str, op_name: str, value: float) -> Any:
        """Creates a slot: a variable of the shape of var, filled with value, named var/op_name."""
        slots = self._slots.setdefault(slot_name, {})
        if _key(var) not in slots:
            outer = get_variable_scope().name  # as in TensorFlow: below the active variable scope
            scope = f"{outer}/{var.op.name}/" if outer else f"{var.op.name}/"
            with name_scope(None), name_scope(scope), colocate_with(var.op):
                slots[_key(var)] = _slot_variable(var, op_name, value)
                share_slice(var, slots[_key(var)])
        return slots[_key(var)]

    def _shared(self, name: str, value: TensorLike, like: Any) -> Any:
        """Creates a scalar variable for all variables, such as a power of beta1."""
        key = (name, like.graph)
        if key not in self._non_slots:
            with colocate_with(like.op):
                self._non_slots[key] = Variable(
                    value, name=name, trainable=False, use_resource=_is_resource(like)
                )
        return self._non_slots[key]

    # ---- for subclasses ------------------------------------------------------------------------

    def _create_slots(self, var_list: list[Any]) -> None:
        """Creates the slots of the variables."""

    def _prepare(self) -> None:
        """Creates tensors of the hyperparameters."""

    def _arguments(self, var: Any, grad: Tensor, sparse: bool) -> list[Any]:
        """Returns the inputs of the update op after the variable and its slots."""
        raise NotImplementedError

    def _attributes(self) -> dict[str, Any]:
        """Returns the attributes of the update op except use_locking."""
        return {}

    def _finish(self, updates: list[Any], name: str) -> Operation:
        return group(*updates, name=name) if updates else no_op(name=name)

    # ---- updates ---------------------------------------------------------------------------------

    def _update(self, grad: Any, var: Any) -> Operation:
        sparse = isinstance(grad, IndexedSlices)
        if sparse:
            grad = _unique_rows(grad)
        return self._apply(var, grad.values if sparse else grad, grad.indices if sparse else None)

    def _apply(self, var: Any, grad: Tensor, indices: Tensor | None) -> Operation:
        if indices is None:
            try:
                var.get_shape().assert_is_compatible_with(grad.get_shape())
            except ValueError as error:
                raise ValueError(
                    f"{self._update_op}: the gradient of variable '{var.op.name}' must have its "
                    f"shape: {error}"
                ) from None
        slots = [self.get_slot(var, name) for name in self._slot_names]
        dtype = var.dtype.base_dtype
        arguments = []
        for value in self._arguments(var, grad, indices is not None):
            if (
                isinstance(value, Tensor)
                and value is not grad
                and value.dtype.base_dtype is not dtype
                and value.dtype.base_dtype is not string  # the update op rejects it
            ):
                value = op("Cast", value, DstT=dtype)
            arguments.append(value)
        if indices is not None:
            at = next(i for i, value in enumerate(arguments) if value is grad)
            arguments.insert(at + 1, indices)
        kind = ("Sparse" if indices is not None else "") + self._update_op
        if _is_resource(var):
            kind = "Resource" + kind
            places = [v.handle for v in (var, *slots)]
        else:
            places = [_reference(v) for v in (var, *slots)]
        result = op(kind, *places, *arguments, use_locking=self._use_locking, **self._attributes())
        return result.op if isinstance(result, Tensor) else result


def hyper(value: Any, name: str) -> Tensor:
    """Converts a hyperparameter (number, tensor or callable) to a tensor."""
    return convert_to_tensor(value() if callable(value) else value, name=name)


def _slot_variable(var: Any, op_name: str, value: float) -> Any:
    """Creates a variable of the shape of var filled with a value, in the current name scope."""
    shape, dtype = var.get_shape(), var.dtype.base_dtype
    if shape.is_fully_defined():
        dims = convert_to_tensor(shape.as_list(), dtype="int32")
        initial = op("Fill", dims, constant_of(value, dtype))
    else:
        initial = op("ZerosLike", var.initialized_value()) + constant_of(value, dtype)
    return Variable(
        initial,
        name=op_name,
        trainable=False,
        use_resource=_is_resource(var),
        validate_shape=shape.is_fully_defined(),
    )


def constant_of(value: float, dtype: DTypeLike) -> Tensor:
    """Creates a scalar constant of a dtype."""
    return convert_to_tensor(value, dtype=dtype)


def _as_gradient(grad: Any) -> Any:
    """Returns a Tensor, IndexedSlices or None. Raises: TypeError for another value."""
    if grad is None or isinstance(grad, Tensor | IndexedSlices):
        return grad
    try:
        return convert_to_tensor_or_indexed_slices(grad)
    except TypeError:
        raise TypeError(
            f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad!r}"
        ) from None


def _key(var: Any) -> Any:
    return (var.graph, var.op.name)


def _is_resource(var: Any) -> bool:
    handle = getattr(var, "handle", None)
    return isinstance(handle, Tensor) and handle.dtype.base_dtype is resource


def _reference(var: Any) -> Tensor:
    return var._ref() if hasattr(var, "_ref") else convert_to_tensor(var, as_ref=True)  # noqa: SLF001


def _unique_rows(grad: IndexedSlices) -> IndexedSlices:
    """Sums the rows of IndexedSlices with equal indices, so that each row is updated once."""
    found = op("Unique", grad.indices)
    values = op("UnsortedSegmentSum", grad.values, found[1], op("Size", found[0]))
    return IndexedSlices(values, found[0], grad.dense_shape)
