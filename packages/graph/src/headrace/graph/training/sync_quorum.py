"""The quorum of synchronous training: the number of gradients in an average as workers die."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from headrace.formats.dtypes import float32, int32, int64
from headrace.graph.builder.conversion import constant
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import counted_as
from headrace.graph.framework.device_spec import DeviceSpec
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import control_dependencies, device, name_scope
from headrace.graph.ops.arrays.creation import fill
from headrace.graph.ops.elementwise.elementwise import cast
from headrace.graph.ops.queues import FIFOQueue
from headrace.graph.ops.synchronisation.accumulators import ConditionalAccumulator

# Each worker adds its gradients to the accumulators of the variables, and then 1 to one more,
# `arrived`. The chief takes from `arrived` first and learns how many workers are done with all
# variables; no other accumulator can make it wait then, even if a worker dies between two of them.
#
# Progress. A step has as many tokens as there are workers, or gradients in an average, less the
# dead workers; the average takes at most that number. A worker takes a token only after a gradient,
# and a worker that (re)joins brings one without a token. So for each step there are as many
# gradients as tokens, but for those tokens that workers which are dead now hold.
#
# A worker dies with a token: the chief's watch adds to `dead`, so that the next takes need less,
# and then fills in for the take that waits already: a 0 that counts as one gradient. Where that
# take ended in the meantime, the fill-in counts in the next one: one average is of fewer gradients,
# but of at least 1. A worker comes back: `dead` is lowered first, then tokens of the present step
# are added, since those of this step may have been counted before. The watch learns of each that
# comes, from `members`, so that it also makes up for one that has died again since it last looked.
#
# Nothing is applied twice: accumulators drop what is older than their last take, and a take empties
# them. What a take of a chief that died has taken is lost, and its step is done again.
#
# Queues are the counters, since a queue needs no initial value: a chief that starts again finds
# them as they were, and no worker has to wait until they are initialised. In `members` a worker
# says that it comes (its task plus 1) or leaves (negative): its server may go on to answer.

_LATEST = 2**63 - 1  # a step that is never stale


class Quorum:
    """The operations that count gradients, tokens and dead workers, beside the global step.

    Args:
      global_step: variable that counts the updates.
      replicas_to_aggregate: number of gradients in an average while all workers live.
      n_workers: number of workers.
      local_step: the worker's variable with the step of its gradients, on the worker's device.
      shared_name: begin of the names under which workers share the counters.
    """

    def __init__(
        self,
        global_step: Any,
        replicas_to_aggregate: int,
        n_workers: int,
        local_step: Any,
        shared_name: str,
    ) -> None:
        self.replicas_to_aggregate = replicas_to_aggregate
        self.n_workers = n_workers
        self.tokens_per_step = max(n_workers, replicas_to_aggregate)
        self._global_step = global_step
        self._local_step = local_step
        own = DeviceSpec.from_string(local_step.device)
        self.worker = own.job or "worker", own.task or 0
        with name_scope("quorum") as self._scope:
            pass
        with self._beside_the_step():
            self._arrived = ConditionalAccumulator(
                float32,
                shape=[],
                shared_name=f"{shared_name}/arrived",
                name="arrived",
                reduction_type="SUM",
            )
            self._dead = _queue("dead", shared_name)
            self._ended = _queue("ended", shared_name)
            members = _queue("members", shared_name)
            self.join = members.enqueue(self.worker[1] + 1)
            self.leave = members.enqueue(-(self.worker[1] + 1))
            self.n_changes, self.change = members.size(), members.dequeue()
            self.n_dead = self._dead.size()
            self.add_dead = self._dead.enqueue(0)
            self.remove_dead = self._dead.dequeue()
            self.fill_in = self._arrived.apply_grad(0.0, local_step=constant(_LATEST, int64))
            self.init_op = self._arrived.set_global_step(global_step)
            # At the begin of the chief's step.
            self._required = self._less_the_dead(replicas_to_aggregate)
            taken = cast(self._arrived.take_grad(self._required), int32)
            self.n_gradients = op("Maximum", op("Minimum", taken, self._required), 1)

    @contextlib.contextmanager
    def _beside_the_step(self) -> Iterator[None]:
        """Places nodes that TensorFlow does not have on the device of the global step."""
        with counted_as(0), device(self._global_step.device), name_scope(self._scope):
            yield

    def _less_the_dead(self, most: int) -> Tensor:
        """Returns min(most, tokens_per_step less the dead workers), but at least 1."""
        left = op("Sub", self.tokens_per_step, self._dead.size())
        return op("Maximum", op("Minimum", left, most), 1)

    def arrive(self, applied: list[Operation]) -> Operation:
        """Returns `arrival`, by which a worker counts as done with all variables."""
        with self._beside_the_step():
            one = constant(1.0)
            with control_dependencies(applied):
                self.arrival: Operation = self._arrived.apply_grad(one, self._local_step)
        return self.arrival

    def tokens_after(self, update: Operation) -> Tensor:
        """Returns the tokens of the step that an update begins."""
        # The step is read anew: a snapshot may be the value before the update.
        with control_dependencies([update]):
            step = self._global_step.read_value()
            with counted_as(1), name_scope(self._scope):  # TensorFlow's is a constant
                dims = op("Reshape", self._less_the_dead(self.tokens_per_step), [1])
            return fill(dims, step)

    def add_end(self, queue: FIFOQueue) -> None:
        """Adds `end`, by which the chief ends training, and `token`, one more of the present step.

        `end` adds two tokens for each worker: a run that waits for the first may have asked before
        whether training has ended, and one more run asks again.
        """
        with self._beside_the_step():
            self.token = queue.enqueue(self._global_step.read_value())
            with control_dependencies([self._ended.enqueue(0)]):
                step = self._global_step.read_value()
                self.end = queue.enqueue_many((fill([2 * self.tokens_per_step], step),))
            self.n_ended = self._ended.size()

    def n_missing(self, n_dead: int) -> int:
        """Returns by how many gradients n_dead dead workers make an average smaller."""
        left = max(1, min(self.replicas_to_aggregate, self.tokens_per_step - n_dead))
        return self.replicas_to_aggregate - left


def _queue(name: str, shared_name: str) -> FIFOQueue:
    """Returns a queue of numbers without a limit, to count by its size."""
    return FIFOQueue(-1, int32, shapes=[[]], shared_name=f"{shared_name}/{name}", name=name)
