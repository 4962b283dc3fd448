"""A session of a client over the tasks of a cluster: the shell around its state machine."""

from __future__ import annotations

import itertools
import logging
import secrets
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from typing import Any

from headrace.distributed.machines import master_session as machine
from headrace.distributed.master.cluster_view import ClusterView
from headrace.distributed.master.partial_step import PartialStep
from headrace.distributed.master.placement_search import Current, PlacementSearch
from headrace.distributed.master.planned_signature import Names, PlannedSignature
from headrace.distributed.master.planning import SignaturePlanner
from headrace.distributed.master.prepared_step import PreparedStep
from headrace.distributed.master.step_cache import StepCache
from headrace.distributed.master.task_calls import TaskCalls
from headrace.distributed.native.step import Step
from headrace.distributed.rpc.daemon_threads import DaemonThreads
from headrace.distributed.rpc.deadline import Deadline, operation_timeout_s
from headrace.distributed.rpc.links import Links
from headrace.formats import errors
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.plan_pb2 import PlacementReport
from headrace.formats.proto.run_pb2 import ConfigProto
from headrace.formats.proto.worker_service_pb2 import GetStatusResponse
from headrace.formats.services import Planner

_log = logging.getLogger("headrace.distributed")
_CLOCKS_S = 2.0  # for tasks to tell the time


@dataclass(frozen=True)
class _Outcome:
    """How a request to the machine ended."""

    error: errors.OpError | None = None


class MasterSession:
    """A session. It is safe to use from several threads at once.

    Args:
      config: of the session, with the server's defaults.
      view: the tasks that it sees.
      planner: with an empty graph.
      links: of this process.
      threads: for calls to tasks.
      address: of this master.
    Attributes:
      number: a random number, by which workers know it.
      unsettled: whether a run has to ask first whether its tasks still live.
      timeout_ms: of a run without options; 0: none.
    """

    def __init__(
        self,
        config: ConfigProto,
        view: ClusterView,
        planner: Planner,
        links: Links,
        threads: DaemonThreads,
        address: str,
    ) -> None:
        self.number = secrets.randbits(62) + 1
        self.handle = f"{self.number:016x}"
        self.view = view
        self.unsettled = False
        self.timeout_ms = max(0, config.operation_timeout_in_ms)
        self.operation_s = operation_timeout_s(config.operation_timeout_in_ms)
        self.graph_version = 0
        self._endpoint = links.endpoint
        self._threads = threads
        self._planner = SignaturePlanner(planner, view, self.operation_s)
        self._placement_period = config.placement_period
        self._calls = TaskCalls(self.number, config, view, links, address, self.operation_s)
        self._lock = threading.Lock()  # of the graph
        self._steps = StepCache()
        self._partial: weakref.WeakSet[PartialStep] = weakref.WeakSet()
        self._changed = threading.Condition()  # of the machine
        self._machine = machine.MasterSession()
        self._signatures: dict[int, PlannedSignature] = {}
        self._outcomes: dict[tuple[str, int], _Outcome] = {}
        self._served: dict[int, PreparedStep] = {}
        self._numbers = itertools.count(1)

    # ---- the graph

    def extend(self, graph_def: GraphDef | bytes) -> None:
        """Adds nodes; as services.SessionService.extend."""
        self._check_open()
        wire = graph_def if isinstance(graph_def, bytes) else graph_def.SerializeToString()
        with self._lock:
            self._planner.extend(wire)
            self.graph_version += 1

    # ---- steps

    def prepare(
        self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> PreparedStep:
        """Returns the step of a signature; as services.SessionService.prepare."""
        return self._step(Names(tuple(feeds), tuple(fetches), tuple(targets)), False)

    def partial_run_setup(
        self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> PartialStep:
        """Starts a partial run; as services.SessionService.partial_run_setup."""
        self._check_open()
        with self._lock:
            markers = self._planner.mark(targets)
        step = self._step(Names(tuple(feeds), (*fetches, *markers), tuple(targets)), True)
        if self.unsettled:
            self.settle(step.signature)
        partial = PartialStep(step, self._planner.inputs, tuple(fetches), tuple(targets))
        self._partial.add(partial)
        return partial

    def _step(self, names: Names, partial: bool) -> PreparedStep:
        return self._steps.get((names, partial), lambda: self._make(names, partial))

    def _make(self, names: Names, partial: bool) -> PreparedStep:
        self._check_open()
        self.drop_unused()
        signature = self._planner.plan(next(self._numbers), names)
        while True:
            self._register(signature)
            if not self._planner.is_stale(signature):
                break
            # A task has other devices than were assumed before it answered.
            self._tell(machine.Drop(signature.number))
            self._signatures.pop(signature.number, None)
            signature = self._planner.plan(next(self._numbers), names)
        step = PreparedStep(self, signature, self._native_step(signature))
        if not partial and signature.may_move:
            step.search = PlacementSearch(self, step, self._placement_period)
        return step

    def _native_step(self, signature: PlannedSignature) -> Step:
        with self._changed:
            self._check_open()  # it may have been closed since
            partitions = dict(self._machine.signatures[signature.number].partitions)
        return signature.step(self._endpoint, self.number, self._calls.instances, partitions)

    def place_again(self, step: PreparedStep) -> Current | None:
        """Plans a signature again, by what was measured; None: no node would move.

        Raises: OpError if a task does not take it.
        """
        signature = self._planner.plan(next(self._numbers), step.signature.names)
        if signature.places() == step.signature.places():
            return None
        self._register(signature)
        step.numbers.append(signature.number)
        return signature, self._native_step(signature)

    def search_ended(self, step: PreparedStep) -> None:
        """Lets linked clients run a step by number, now that its nodes stay."""
        step.search = None
        with self._changed:
            for number, served in self._served.items():
                if served is step and not self.unsettled:
                    self._endpoint.serve(number, step.step)

    def _register(self, signature: PlannedSignature) -> None:
        self._signatures[signature.number] = signature
        try:
            self._tell(machine.Prepare(signature.number, signature.tasks))
            self._await("signature", signature.number)
        except BaseException:
            self._tell(machine.Drop(signature.number))
            self._signatures.pop(signature.number, None)
            raise

    def drop_unused(self) -> None:
        """Lets the tasks forget the signatures that no step holds any more."""
        for number in self._steps.dropped():
            self._signatures.pop(number, None)
            self._tell(machine.Drop(number))

    def serve(self, callable_: int, step: PreparedStep) -> None:
        """Lets linked clients run a step by number."""
        with self._changed:
            self._served[callable_] = step
            if not self.unsettled and step.search is None:
                self._endpoint.serve(callable_, step.step)

    def unserve(self, callable_: int) -> None:
        """Ends that."""
        with self._changed:
            self._served.pop(callable_, None)
            self._endpoint.unserve(callable_)

    # ---- tasks that were lost

    def settle(self, signature: PlannedSignature) -> None:
        """Makes sure that the tasks of a signature live and are linked.

        Raises: AbortedError if one was restarted; UnavailableError if one cannot be reached.
        """
        run = next(self._numbers)
        self._tell(machine.Run(run, signature.number))
        self._await("run", run)

    def doubt(self, signature: PlannedSignature) -> None:
        """Notes that a step has failed in a way that a lost task explains."""
        for task in signature.tasks:
            self._tell(machine.Doubt(task))

    def on_lost(self, incarnation: int) -> None:
        """Notes that the link to a task was lost."""
        for task, instance in list(self._calls.instances.items()):
            if instance.incarnation == incarnation:
                self._tell(machine.LinkLost(task, incarnation))

    def clock_offsets_ns(self, signature: PlannedSignature) -> dict[str, int]:
        """Returns the wall clocks of a signature's tasks minus this machine's."""
        return self.view.clock_offsets_ns(signature.tasks, Deadline.after(_CLOCKS_S))

    def placement(self, signature: PlannedSignature, trace: bytes) -> PlacementReport:
        """As SignaturePlanner.placement."""
        return self._planner.placement(signature, trace)

    # ---- the cluster

    def ask_all(self, timeout_s: float) -> dict[str, GetStatusResponse]:
        """Returns the status of the tasks that answer."""
        self._check_open()
        return self.view.ask(list(self.view.clients), Deadline.after(timeout_s))

    def used_tasks(self) -> list[str]:
        """Returns the tasks that have this session."""
        with self._changed:
            tasks = self._machine.tasks.items()
            return [name for name, task in tasks if task.phase is machine.Phase.OPEN]

    # ---- the end

    def close(self, why: str = "the session was closed", code: int = errors.CANCELLED) -> None:
        """Ends the session at all tasks; runs end with CancelledError."""
        with self._changed:
            if self._machine.closed:
                return
            for number in list(self._served):
                self._endpoint.unserve(number)
            self._served.clear()
        closing = self._tell(machine.Close(why, code))
        for partial in list(self._partial):
            partial.cancel(why)
        self._steps.clear()
        wait(closing, min(self.operation_s, 5.0))

    def _check_open(self) -> None:
        closed = self._machine.closed
        if closed is not None:
            raise errors.from_code(closed.code, closed.why)

    # ---- the machine

    def _await(self, kind: str, number: int) -> None:
        with self._changed:
            while (kind, number) not in self._outcomes:
                self._changed.wait()
            outcome = self._outcomes.pop((kind, number))
        if outcome.error is not None:
            raise outcome.error

    def _tell(self, event: machine.Event) -> list[Any]:
        """Reports an event. Returns: futures of the calls that it causes."""
        calls = []
        with self._changed:
            for instruction in self._machine.handle(event):
                match instruction:
                    case machine.Ready(number):
                        self._outcomes["signature", number] = _Outcome()
                    case machine.Fail(number, code, message):
                        error = self._calls.error_of(code, message)
                        self._outcomes["signature", number] = _Outcome(error)
                    case machine.Go(run):
                        self._outcomes["run", run] = _Outcome()
                    case machine.Refuse(run, code, message):
                        error = self._calls.error_of(code, message)
                        self._outcomes["run", run] = _Outcome(error)
                    case _:
                        calls.append(instruction)
            self._note_settled()
            self._changed.notify_all()
        return [self._threads.submit(self._follow, instruction) for instruction in calls]

    def _note_settled(self) -> None:
        unsettled = not self._machine.settled
        if unsettled != self.unsettled:
            self.unsettled = unsettled
            # Clients that run callables by number must ask first, too.
            for number, step in self._served.items():
                if unsettled:
                    self._endpoint.unserve(number)
                elif step.search is None:
                    self._endpoint.serve(number, step.step)

    def _follow(self, instruction: machine.Instruction) -> None:
        """Carries out an instruction that calls a task, and reports how it went."""
        calls = self._calls
        match instruction:
            case machine.OpenTask(task):
                self._report(
                    lambda: calls.open(task, lambda: self._machine.closed is not None),
                    lambda code, message: machine.OpenFailed(task, code, message),
                )
            case machine.CheckTask(task, incarnation):
                with self._changed:
                    signatures = list(self._signatures.values())
                self._report(
                    lambda: calls.check(task, incarnation, signatures),
                    lambda code, message: machine.CheckFailed(task, code, message),
                )
            case machine.RegisterGraph(number, task):
                signature = self._signatures.get(number)
                if signature is None:  # given up meanwhile
                    return
                self._report(
                    lambda: calls.register(signature, task),
                    lambda code, message: machine.RegisterFailed(number, task, code, message),
                )
            case machine.Deregister(task, partition):
                calls.deregister(task, partition)
            case machine.CloseTask(task):
                calls.close(task)

    def _report(
        self, call: Callable[[], machine.Event], failed: Callable[[int, str], machine.Event]
    ) -> None:
        try:
            event = call()
        except Exception as error:  # noqa: BLE001 - whoever waits for the event must get one
            event = failed(*self._calls.internal(error))
        self._tell(event)
