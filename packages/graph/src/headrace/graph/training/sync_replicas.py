"""SyncReplicasOptimizer: applies the average of the gradients of several workers at once."""

from __future__ import annotations

from typing import Any

from headrace.graph.builder.indexed_slices import IndexedSlices
from headrace.graph.control_flow.control_flow_ops import group, no_op
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import (
    colocate_with,
    control_dependencies,
    device,
    name_scope,
)
from headrace.graph.ops.arrays.creation import fill
from headrace.graph.ops.queues import FIFOQueue
from headrace.graph.ops.state import assign
from headrace.graph.ops.synchronisation.accumulators import (
    ConditionalAccumulator,
    SparseConditionalAccumulator,
)
from headrace.graph.ops.synchronisation.queue_runner import QueueRunner
from headrace.graph.optimizers.optimizer import Optimizer
from headrace.graph.platform import logging
from headrace.graph.training.session_run_hook import SessionRunHook
from headrace.graph.training.sync_hook import SyncReplicasHook
from headrace.graph.training.sync_quorum import Quorum
from headrace.graph.variables.variable import Variable
from headrace.graph.variables.variable_collections import (
    global_variables,
    report_uninitialized_variables,
)


class SyncReplicasOptimizer(Optimizer):
    """Averages the gradients of replicas_to_aggregate steps, and applies the averages.

    Workers wait for a token of each global step, so that all compute gradients of the same values;
    stale gradients are dropped. With fewer gradients in an average than workers, the slowest ones
    are not waited for. With the hook of make_session_run_hook and sessions over several tasks, an
    average takes fewer gradients while workers are dead, and the others end with the chief.

    Args:
      opt: optimizer that applies the averages.
      replicas_to_aggregate: number of gradients in an average.
      total_num_replicas: number of workers; by default replicas_to_aggregate.
      variable_averages: ExponentialMovingAverage to update after each step.
      variables_to_average: its variables.
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(use_locking, name)
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        logging.info(
            "SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s",
            replicas_to_aggregate,
            total,
        )
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = total
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._gradients_applied = False
        self._global_step: Any = None
        self._accumulators: list[tuple[Any, str]] = []
        # Set by apply_gradients.
        self._quorum: Quorum
        self._local_step: Variable
        self._sync_token_queue: FIFOQueue
        self._chief_queue_runner: QueueRunner
        self.local_step_init_op: Any
        self.chief_init_op: Operation
        self.ready_for_local_init_op: Tensor

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Computes gradients with the optimizer that is wrapped."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Returns the training operation of a worker: it applies a gradient, and waits for a token.

        Args:
          grads_and_vars: list of (gradient, variable).
          global_step: variable that counts the updates; required.
        Raises: ValueError without gradients or global_step.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        self._global_step = global_step
        # Beside an operation of the worker: a variable of its own is not on a parameter server.
        with colocate_with(no_op()):
            local_step = self._local_step = Variable(
                initial_value=0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=global_step.dtype.base_dtype,
                name="sync_rep_local_step",
            )
        self.local_step_init_op = assign(local_step, global_step)
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        with name_scope(None, self._name):
            self._quorum = Quorum(
                global_step,
                self._replicas_to_aggregate,
                self._total_num_replicas,
                local_step,
                shared_name=f"{pairs[0][1].name}/{self._name}",
            )
            applied, averages = self._accumulate(pairs, local_step)
            update = self._apply_averages(averages, global_step)
            train_op = self._wait_for_token(applied, update, local_step)
            steps = [self.local_step_init_op, self._quorum.init_op]
            for accumulator, place in self._accumulators:
                with device(place):
                    steps.append(accumulator.set_global_step(global_step, name="SetGlobalStep"))
            self.chief_init_op = group(*steps)
            self._gradients_applied = True
            return train_op

    def _accumulate(
        self, pairs: list[tuple[Any, Any]], local_step: Any
    ) -> tuple[list[Operation], list[tuple[Any, Any]]]:
        """Returns the operations that add the gradients, and the averages with their variables."""
        applied, averages = [], []
        for grad, var in pairs:
            with device(var.device):
                if grad is None:
                    averages.append((None, var))
                    continue
                shared = f"{var.name}/grad_accum"
                accumulator: Any
                average: Any
                if isinstance(grad, Tensor):
                    accumulator = ConditionalAccumulator(
                        grad.dtype, shape=var.get_shape(), shared_name=shared
                    )
                    applied.append(accumulator.apply_grad(grad, local_step=local_step))
                    average = accumulator.take_grad(self._quorum.n_gradients)
                elif isinstance(grad, IndexedSlices):
                    accumulator = SparseConditionalAccumulator(
                        grad.dtype, shape=(), shared_name=shared
                    )
                    applied.append(
                        accumulator.apply_indexed_slices_grad(grad, local_step=local_step)
                    )
                    average = accumulator.take_indexed_slices_grad(self._quorum.n_gradients)
                else:
                    raise ValueError("Unknown grad type!")
                averages.append((average, var))
                self._accumulators.append((accumulator, var.device))
        return applied, averages

    def _apply_averages(self, averages: list[tuple[Any, Any]], global_step: Any) -> Any:
        with device(global_step.device), name_scope(""):
            return self._opt.apply_gradients(averages, global_step)

    def _wait_for_token(self, applied: list[Operation], update: Any, local_step: Any) -> Any:
        """Returns the operation of a worker, and makes the queue runner of the chief."""
        step = self._global_step
        with device(step.device), name_scope(""):
            queue = self._sync_token_queue = FIFOQueue(
                -1, step.dtype.base_dtype, shapes=[[]], name="sync_token_q",
                shared_name="sync_token_q",
            )  # fmt: skip
            # The queue runner closes its queue when it stops: the workers still read the tokens.
            closed = FIFOQueue(
                1, "int32", shapes=[[]], name="dummy_queue", shared_name="dummy_queue"
            )
            with control_dependencies([*applied, self._quorum.arrive(applied)]):
                token = queue.dequeue()
            train_op = assign(local_step, token)
            sync = queue.enqueue_many((self._quorum.tokens_after(update),))
            self._quorum.add_end(queue)
            if self._variable_averages is not None:
                with control_dependencies([sync]), name_scope(""):
                    sync = self._variable_averages.apply(self._variables_to_average)
            self._chief_queue_runner = QueueRunner(closed, [sync])
        return train_op

    def get_chief_queue_runner(self) -> QueueRunner:
        """Returns the queue runner that applies the averages; the chief worker runs it.

        Raises: ValueError before apply_gradients.
        """
        if not self._gradients_applied:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """Returns the operation that enqueues the first tokens; the chief runs it once.

        Args:
          num_tokens: by default replicas_to_aggregate.
        Raises: ValueError before apply_gradients, or for too few tokens.
        """
        if not self._gradients_applied:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} "
                "(needed)"
            )
        if num_tokens == 0:
            return no_op(name="no_init_tokens")
        with device(self._global_step.device), name_scope(""):
            return self._sync_token_queue.enqueue_many((fill([num_tokens], self._global_step),))

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """Returns a hook that initialises the local step, and for the chief starts the updates."""
        return SyncReplicasHook(self, is_chief, num_tokens)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """Returns a slot of the optimizer that is wrapped."""
        return self._opt.get_slot(*args, **kwargs)

    def variables(self) -> Any:
        """Returns the variables of the optimizer that is wrapped."""
        return self._opt.variables()

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the names of the slots of the optimizer that is wrapped."""
        return self._opt.get_slot_names(*args, **kwargs)
