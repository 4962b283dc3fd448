"""Training operations and loops of contrib.training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices
from headrace.graph.builder.op_builder import op
from headrace.graph.control_flow.control_flow_ops import no_op, with_dependencies
from headrace.graph.framework.graph import get_default_graph
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.ops.clipping import clip_by_norm, global_norm
from headrace.graph.optimizers.optimizer import Optimizer
from headrace.graph.platform import logging
from headrace.graph.summary.summaries import histogram, scalar
from headrace.graph.training.global_step import get_or_create_global_step
from headrace.graph.training.monitored_session import MonitoredTrainingSession
from headrace.graph.training.scaffold import Scaffold
from headrace.graph.training.session_run_hook import SessionRunHook
from headrace.graph.typing.aliases import Proto, TensorLike, VariableLike
from headrace.graph.variables.variable_collections import trainable_variables

if TYPE_CHECKING:
    from headrace.graph.typing.aliases import GraphElement

_Pairs = list[tuple[Any, Any]]


def _values(gradient: Any) -> Tensor:
    values: Tensor = gradient.values if isinstance(gradient, IndexedSlices) else gradient
    return values


def _with_values(gradient: Any, values: Tensor) -> Any:
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return values


def add_gradients_summaries(grads_and_vars: Sequence[tuple[Any, Any]]) -> list[Tensor]:
    """Adds a histogram and the norm of each gradient. Returns: the summaries."""
    summaries = []
    for gradient, variable in grads_and_vars:
        if gradient is None:
            logging.info("Var %s has no gradient", variable.op.name)
            continue
        name, values = variable.op.name, _values(gradient)
        summaries.append(histogram(f"{name}_gradient", values))
        summaries.append(scalar(f"{name}_gradient_norm", global_norm([values])))
    return summaries


def clip_gradient_norms(
    gradients_to_variables: Sequence[tuple[Any, Any]], max_norm: float
) -> _Pairs:
    """Scales each gradient down so that its L2 norm is at most max_norm."""
    return [
        (g if g is None else _with_values(g, clip_by_norm(_values(g), max_norm)), v)
        for g, v in gradients_to_variables
    ]


def clip_gradient_norms_fn(max_norm: float) -> Callable[[Sequence[tuple[Any, Any]]], _Pairs]:
    """Returns clip_gradient_norms as a function of the pairs, for create_train_op."""
    return lambda gradients_to_variables: clip_gradient_norms(gradients_to_variables, max_norm)


def multiply_gradients(
    grads_and_vars: list[tuple[Any, Any]], gradient_multipliers: Mapping[Any, TensorLike]
) -> _Pairs:
    """Multiplies gradients by factors, given by variable or by its operation name.

    Raises: ValueError for an empty or wrong argument, or a factor for a gradient of None.
    """
    if not isinstance(grads_and_vars, list):
        raise ValueError("`grads_and_vars` must be a list.")
    if not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    if not isinstance(gradient_multipliers, dict):
        raise ValueError("`gradient_multipliers` must be a dict.")
    pairs = []
    for gradient, variable in grads_and_vars:
        key = variable if variable in gradient_multipliers else variable.op.name
        if key in gradient_multipliers:
            if gradient is None:
                raise ValueError("Requested multiple of `None` gradient.")
            values = _values(gradient)
            factor = convert_to_tensor(gradient_multipliers[key], dtype=values.dtype)
            gradient = _with_values(gradient, op("Mul", values, factor))
        pairs.append((gradient, variable))
    return pairs


def create_train_op(
    total_loss: Tensor,
    optimizer: Optimizer,
    global_step: VariableLike | int | None = 0,
    update_ops: Sequence[Operation | Tensor] | None = None,
    variables_to_train: Sequence[VariableLike] | None = None,
    transform_grads_fn: Callable[[_Pairs], _Pairs] | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: int | None = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Tensor:
    """Creates a tensor that makes a training step and has the value of the loss.

    Args:
      total_loss: scalar.
      global_step: counter of steps; 0 takes or creates that of the graph, None counts nothing.
      update_ops: operations to run before the loss; None takes GraphKeys.UPDATE_OPS.
      variables_to_train: variables to update; None takes all trainable ones.
      transform_grads_fn: function of the (gradient, variable) pairs.
      summarize_gradients: add summaries of the gradients.
      gate_gradients, aggregation_method, colocate_gradients_with_ops: as in hr.train.Optimizer.
      check_numerics: fail if the loss is not finite.
    Returns: [], in GraphKeys.TRAIN_OP.
    Raises: ValueError without variables to train, or for variables that are not trainable.
    """
    graph = get_default_graph()
    step: Any = get_or_create_global_step() if isinstance(global_step, int) else global_step
    collected = graph.get_collection(GraphKeys.UPDATE_OPS)
    updates = list(dict.fromkeys(collected if update_ops is None else update_ops))
    if not set(map(id, collected)) <= set(map(id, updates)):
        logging.warning(
            "update_ops in create_train_op does not contain all the update_ops in "
            "GraphKeys.UPDATE_OPS"
        )
    if updates:
        with graph.control_dependencies(updates):
            barrier = no_op(name="update_barrier")
        total_loss = with_dependencies([barrier], total_loss)
    variables = trainable_variables() if variables_to_train is None else list(variables_to_train)
    if not variables:
        raise ValueError("create_train_op: there are no variables to train")
    known = set(map(id, trainable_variables()))
    frozen = [v for v in variables if not getattr(v, "trainable", False) and id(v) not in known]
    if frozen:
        raise ValueError(f"create_train_op: not trainable: {', '.join([v.name for v in frozen])}")
    pairs = optimizer.compute_gradients(
        total_loss,
        variables,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        with name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    update = optimizer.apply_gradients(pairs, global_step=step)
    with name_scope("train_op"):
        if check_numerics:
            total_loss = op("CheckNumerics", total_loss, message="LossTensor is inf or nan")
        train_op: Tensor = with_dependencies([update], total_loss)
    graph.add_to_collection(GraphKeys.TRAIN_OP, train_op)
    return train_op


def train(
    train_op: GraphElement,
    logdir: str | None,
    master: str = "",
    is_chief: bool = True,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: int | None = 600,
    save_summaries_steps: int | None = 100,
    config: Proto | None = None,
    max_wait_secs: int = 7200,
    run_metadata: Proto | None = None,
) -> Any:
    """Runs train_op until a hook requests a stop.

    Args:
      logdir: folder of checkpoints and summaries; None if neither is written.
      the others: as in hr.train.MonitoredTrainingSession.
    Returns: the value of the last step.
    Raises: ValueError for a logdir of None with checkpoints or summaries.
    """
    if logdir is None and is_chief:
        for what, given in (
            ("save_summaries_steps", save_summaries_steps),
            ("save_checkpoint_secs", save_checkpoint_secs),
        ):
            if given:
                raise ValueError(f"logdir cannot be None when {what} is not None")
    loss = None
    with MonitoredTrainingSession(
        master=master,
        is_chief=is_chief,
        checkpoint_dir=logdir,
        scaffold=scaffold,
        hooks=hooks,
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
        max_wait_secs=max_wait_secs,
    ) as session:
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss
