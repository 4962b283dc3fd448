"""Layer, the base class: creates its variables at the first call, in its variable scope."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from typing import Any

from headrace.formats.dtypes import as_dtype, float32
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework import nest
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.layers.input_spec import check_inputs
from headrace.graph.typing.aliases import (
    Constraint,
    DTypeLike,
    Initializer,
    Partitioner,
    Regularizer,
    ShapeLike,
    TensorLike,
)
from headrace.graph.variables.distribution import VariableAggregation, VariableSynchronization
from headrace.graph.variables.get_variable import get_variable
from headrace.graph.variables.partitioned_variable import PartitionedVariable
from headrace.graph.variables.variable_collections import global_variables
from headrace.graph.variables.variable_scope import get_variable_scope, variable_scope

# counts of automatic layer names, by graph and scope
_counts: weakref.WeakKeyDictionary[Any, dict[tuple[str, str], int]] = weakref.WeakKeyDictionary()


def snake_case(name: str) -> str:
    """Converts a class name to a scope name: MaxPooling2D to max_pooling2d."""
    apart = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    result = re.sub(r"([a-z])([A-Z])", r"\1_\2", apart).lower()
    return "private" + result if result.startswith("_") else result


class Layer:
    """Base class of layers; subclasses implement `build` and `call`.

    Args:
      trainable: default of `trainable` for its variables.
      name: name of its variable scope, made unique; by default derived from the class.
      dtype: dtype of its variables; by default that of the first input.
      activity_regularizer: function from an output to a loss.
    Raises: TypeError for unknown keywords.
    """

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        **kwargs: Any,
    ) -> None:
        scope = kwargs.pop("_scope", None)
        self._reuse = kwargs.pop("_reuse", None)
        self._activity_regularizer = kwargs.pop("activity_regularizer", None)
        if kwargs:
            raise TypeError(f"Keyword argument not understood: {', '.join(sorted(kwargs))}")
        self.trainable = trainable
        self.stateful = False
        self.built = False
        self.input_spec: Any = None
        self._dtype = None if dtype is None else as_dtype(dtype).base_dtype
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._updates: list[Operation] = []
        self._losses: list[Any] = []
        self._graph: Any = None
        self._current_scope: Any = None
        self._base_name = name or snake_case(type(self).__name__)
        self._name = name or self._unique_name()
        self._scope: Any = None
        if scope:
            with variable_scope(scope) as captured:
                self._scope = captured

    def _unique_name(self) -> str:
        counts = _counts.setdefault(get_default_graph(), {})
        key = (get_variable_scope().original_name_scope, self._base_name)
        counts[key] = counts.get(key, 0) + 1
        return f"{self._base_name}_{counts[key]}"

    # ---- attributes --------------------------------------------------------------------------

    name = property(lambda self: self._name, doc="Name of the layer.")
    activity_regularizer = property(lambda self: self._activity_regularizer, doc="As given.")
    updates = property(lambda self: list(self._updates), doc="Operations to run while training.")
    losses = property(lambda self: list(self._losses), doc="Losses that it adds.")

    @property
    def dtype(self) -> Any:
        """Name of the dtype of its variables; None before the first call."""
        return None if self._dtype is None else self._dtype.name

    @property
    def graph(self) -> Any:
        """The graph of its first call."""
        return self._graph

    @property
    def scope_name(self) -> str:
        """Name of the variable scope. Raises: ValueError before the first call."""
        if not self._scope:
            raise ValueError(
                f'No name available for layer scope because the layer "{self._name}" has not been '
                "used yet. The scope name is determined the first time the layer instance is "
                "called. You must therefore call the layer before querying `scope_name`."
            )
        return str(self._scope.name)

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables; [] if the layer is not trainable."""
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables."""
        if self.trainable:
            return list(self._non_trainable_weights)
        return self._trainable_weights + self._non_trainable_weights

    @property
    def weights(self) -> list[Any]:
        """All variables, trainable ones first."""
        return self.trainable_weights + self.non_trainable_weights

    trainable_variables = property(lambda self: self.trainable_weights, doc="The same.")
    non_trainable_variables = property(lambda self: self.non_trainable_weights, doc="The same.")
    variables = property(lambda self: self.weights, doc="The same as weights.")

    def count_params(self) -> int:
        """Returns the number of elements of all variables. Raises: ValueError before `build`."""
        if not self.built:
            raise ValueError(
                f'You tried to call `count_params` on layer "{self._name}", but the layer isn\'t '
                f"built. You can build it manually via: `{self._name}.build(batch_input_shape)`."
            )
        return sum(int(v.get_shape().num_elements()) for v in self.weights)

    # ---- for subclasses ----------------------------------------------------------------------

    def build(self, input_shape: ShapeLike) -> None:
        """Creates the variables; called once.

        Args:
          input_shape: TensorShape, or a structure of TensorShapes.
        """
        self.built = True

    def call(self, inputs: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Computes the output for inputs."""
        return inputs

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Returns the shape of the output. Raises: NotImplementedError unless overridden."""
        raise NotImplementedError

    # ---- calling -----------------------------------------------------------------------------

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Applies the layer to a tensor or a structure of tensors.

        Raises: ValueError for inputs that violate input_spec.
        """
        self._set_scope(kwargs.pop("scope", None))
        if self.built:
            entered = variable_scope(self._scope, reuse=True, auxiliary_name_scope=False)
        else:
            entered = variable_scope(self._scope, reuse=self._reuse, auxiliary_name_scope=False)
        before = len(self._updates)
        with entered as scope:
            self._current_scope = scope
            with name_scope(scope.original_name_scope):
                inputs = nest.map_structure(_as_input, inputs)
                self._build_once(inputs)
                outputs = self.call(inputs, *args, **kwargs)
                if self._activity_regularizer is not None:
                    self._regularize(outputs)
        _collect(self._updates[before:], GraphKeys.UPDATE_OPS)
        return outputs

    def apply(self, inputs: TensorLike, *args: Any, **kwargs: Any) -> Any:
        """Same as calling the layer."""
        return self(inputs, *args, **kwargs)

    def _set_scope(self, scope: Any = None) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            result = variable_scope(scope if scope is not None else self._base_name)
        else:
            result = variable_scope(scope, default_name=self._base_name)
        with result as captured:
            self._scope = captured

    def _build_once(self, inputs: Any) -> None:
        flat = nest.flatten(inputs)
        check_inputs(self.input_spec, flat, self._name)
        if self.built:
            return
        if flat:
            if self._dtype is None:
                self._dtype = flat[0].dtype.base_dtype
            self._graph = flat[0].graph
        self.build(nest.map_structure(lambda t: t.get_shape(), inputs))
        self.built = True
        check_inputs(self.input_spec, flat, self._name)

    def _regularize(self, outputs: Any) -> None:
        with name_scope("ActivityRegularizer"):
            for output in nest.flatten(outputs):
                loss = self._activity_regularizer(output)
                batch = op("Cast", op("Shape", output)[0], DstT=loss.dtype.base_dtype)
                self.add_loss(loss / batch)

    def add_weight(
        self,
        name: str,
        shape: ShapeLike,
        dtype: DTypeLike | None = None,
        initializer: Initializer | None = None,
        regularizer: Regularizer | None = None,
        trainable: bool | None = None,
        constraint: Constraint | None = None,
        use_resource: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        partitioner: Partitioner | None = None,
    ) -> Any:
        """Creates a variable of the layer, or returns the existing one if its scope is reused.

        Args:
          name: name in the layer's scope.
          trainable: True by default; False if synchronization is ON_READ.
          the others: as in get_variable.
        Raises: ValueError for a trainable variable with ON_READ; as get_variable.
        """
        on_read = synchronization == VariableSynchronization.ON_READ
        if trainable and on_read:
            raise ValueError(
                "Synchronization value can be set to VariableSynchronization.ON_READ only for "
                "non-trainable variables. You have specified trainable=True and "
                "synchronization=VariableSynchronization.ON_READ."
            )
        if trainable is None:
            trainable = not on_read
        self._set_scope()
        known = set(map(id, global_variables()))
        losses = get_default_graph().get_collection_ref(GraphKeys.REGULARIZATION_LOSSES)
        before = len(losses)
        reuse = self.built or self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope:
            with name_scope(scope.original_name_scope):
                result = get_variable(
                    name,
                    shape,
                    dtype=as_dtype(dtype or self._dtype or float32),
                    initializer=initializer_of(initializer),
                    regularizer=regularizer_of(regularizer),
                    trainable=trainable and self.trainable,
                    constraint=constraint,
                    partitioner=partitioner,
                    use_resource=use_resource,
                    synchronization=synchronization,
                    aggregation=aggregation,
                )
        parts = list(result) if isinstance(result, PartitionedVariable) else [result]
        if regularizer is not None and not known & set(map(id, parts)):
            self._losses.extend(losses[before:])
        (self._trainable_weights if trainable else self._non_trainable_weights).extend(parts)
        return result

    add_variable = add_weight

    def add_loss(self, losses: Any, inputs: TensorLike | None = None) -> None:
        """Adds losses to the layer and to GraphKeys.REGULARIZATION_LOSSES."""
        new = [loss for loss in _listed(losses) if loss is not None]
        self._losses.extend(new)
        _collect(new, GraphKeys.REGULARIZATION_LOSSES)

    def add_update(self, updates: Any, inputs: TensorLike | None = None) -> None:
        """Adds operations to run with each training step; calls add them to UPDATE_OPS."""
        for update in _listed(updates):
            result = update() if callable(update) else update
            self._updates.append(result if isinstance(result, Operation) else result.op)

    def get_updates_for(self, inputs: TensorLike) -> list[Operation]:
        """Returns all updates, independent of inputs."""
        return list(self._updates)

    def get_losses_for(self, inputs: TensorLike) -> list[Any]:
        """Returns all losses, independent of inputs."""
        return list(self._losses)


def activation_of(value: Any) -> Callable[[Any], Any] | None:
    """Resolves an activation: a function, or a name in hr.nn; None for "linear"."""
    if value is None or (isinstance(value, str) and value == "linear"):
        return None
    found: Callable[[Any], Any] = _resolve_callable(value, "nn", "activation function")
    return found


def initializer_of(value: Any) -> Any:
    """Resolves an initializer: a function, a value, or a name in hr.initializers."""
    found = _resolve_callable(value, "initializers", "initializer")
    return found() if isinstance(value, str) and not hasattr(found, "get_config") else found


def regularizer_of(value: Any) -> Any:
    """Resolves a regularizer: a function, or "l1", "l2" or "l1_l2" with a factor of 0.01.

    Raises: ValueError for another value.
    """
    if value in ("l1", "l2", "l1_l2"):
        squares, moduli = 0.01 * (value != "l1"), 0.01 * (value != "l2")
        return lambda w: (
            moduli * op("Sum", op("Abs", w), list(range(w.get_shape().ndims)))
            + (squares * op("Sum", op("Square", w), list(range(w.get_shape().ndims))))
        )
    if value is not None and not callable(value):
        raise ValueError(f"Could not interpret regularizer identifier: {value!r}")
    return value


def _resolve_callable(value: Any, space: str, what: str) -> Any:
    """Resolves a callable or a public name. Raises: ValueError for an unknown name."""
    if not isinstance(value, str):
        return value
    from headrace.graph.api.namespace import find

    try:
        found = find(f"{space}.{value}")
    except AttributeError:
        raise ValueError(f"Unknown {what}:{value}") from None
    return found() if isinstance(found, type) else found


def _as_input(value: Any) -> Tensor:
    return convert_to_tensor(value)


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _collect(elements: list[Any], key: str) -> None:
    kept = get_default_graph().get_collection_ref(key)
    kept.extend(e for e in elements if not any(e is k for k in kept))
