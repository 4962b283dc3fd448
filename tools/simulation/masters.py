"""Masters of the simulation. What they decide is decided by the machines of the package."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

from simulation.network import Kind
from simulation.partitions import Signature
from simulation.tasks import SimulatedTask, StepKey

from headrace.distributed.machines import master_session, worker_sessions
from headrace.distributed.native.step_machine import StepMachine
from headrace.formats import errors


class SimulatedStep:
    """A step: events go to a StepMachine, its orders are carried out.

    Attributes:
      code: 0, or that of its error.
    """

    def __init__(
        self, tasks: tuple[str, ...], done: Callable[[SimulatedStep], None], begin: float
    ) -> None:
        self.machine = StepMachine(len(tasks))
        self.tasks = tasks
        self.number = {task: i for i, task in enumerate(tasks)}
        self.done = done
        self.begin = begin

    @property
    def code(self) -> int:
        code: int = self.machine.code
        return code


class SimulatedMaster:
    """A session of a client in the process of a task.

    Attributes:
      machine: the state machine of the package.
    """

    def __init__(self, task: SimulatedTask) -> None:
        self.task = task
        self.session = next(task.cluster.sessions)
        self.machine = master_session.MasterSession()
        self.task.masters[self.session] = self
        self._signatures: dict[int, Signature] = {}
        self._waiting: dict[tuple[str, int], Callable[[int], None]] = {}
        self._steps: dict[int, SimulatedStep] = {}
        self._numbers = itertools.count(1)

    # ---- what a client does

    def prepare(self, signature: Signature, ready: Callable[[int], None]) -> None:
        """Registers a signature, and calls `ready` with its number.

        Raises: OpError, later, if that fails.
        """
        number = next(self._numbers)
        self._signatures[number] = signature
        self._waiting["signature", number] = lambda code: _ready_or_raise(code, ready, number)
        self.tell(master_session.Prepare(number, tuple(signature.partitions)))

    def run(self, number: int, done: Callable[[SimulatedStep], None]) -> None:
        """Runs a signature that is ready, and calls `done` at the end of the step."""
        if self.machine.settled:
            self._launch(number, done)
            return
        run = next(self._numbers)
        self._waiting["run", run] = lambda code: _ready_or_raise(
            code, lambda _: self._launch(number, done), run
        )
        self.tell(master_session.Run(run, number))

    def lose(self, task: str) -> None:
        """Notes that the link to a task is lost."""
        clock = self.task.cluster.clock
        for key, step in list(self._steps.items()):
            if task in step.number:
                message = f"{task} is not available"
                orders = step.machine.ended(step.number[task], errors.UNAVAILABLE, "", message)
                clock.at(clock.now, self._follow_orders, key, step, orders)
        incarnation = self.task.cluster.task(task).incarnation
        self.tell(master_session.LinkLost(task, incarnation))

    # ---- steps

    def _launch(self, number: int, done: Callable[[SimulatedStep], None]) -> None:
        cluster, signature = self.task.cluster, self._signatures[number]
        step = SimulatedStep(tuple(signature.partitions), done, cluster.clock.now)
        key = next(self._numbers)
        self._steps[key] = step
        registered = self.machine.signatures[number].partitions
        at = self.task.port.io.use(cluster.costs.client_s)
        cluster.clock.at(at, self._send_runs, key, step, registered)

    def _send_runs(self, key: int, step: SimulatedStep, registered: dict[str, int]) -> None:
        for task in step.tasks:
            self.task.send(Kind.RUN, task, ((self.session, key), registered[task]))
        self._follow_orders(key, step, step.machine.started())

    def on_done(self, key: StepKey, task: str) -> None:
        """A task reports the end of its run."""
        step = self._steps.get(key[1])
        if step is not None:
            self._follow_orders(key[1], step, step.machine.ended(step.number[task], 0, "", ""))

    def _follow_orders(self, key: int, step: SimulatedStep, orders: tuple[bool, bool]) -> None:
        abort, finish = orders
        if abort:
            for i, task in enumerate(step.tasks):
                if step.machine.running(i):
                    self.task.send(Kind.ABORT, task, (self.session, key))
        if finish:
            self._steps.pop(key, None)
            step.done(step)

    # ---- the session

    def tell(self, event: master_session.Event) -> None:
        """Gives an event to the machine, and carries out its instructions."""
        for instruction in self.machine.handle(event):
            match instruction:
                case master_session.OpenTask(task):
                    self._open(task)
                case master_session.RegisterGraph(number, task):
                    self._register(number, task)
                case master_session.CheckTask(task, _):
                    asking = worker_sessions.UseSession(self.session)
                    self._call(task, asking, partial(_checked, task))
                case master_session.Ready(number):
                    self._waiting.pop(("signature", number))(errors.OK)
                case master_session.Fail(number, code, _):
                    self._waiting.pop(("signature", number))(code)
                case master_session.Go(run):
                    self._waiting.pop(("run", run))(errors.OK)
                case master_session.Refuse(run, code, _):
                    self._waiting.pop(("run", run))(code)

    def _open(self, task: str) -> None:
        own, incarnation = self.task, self.task.cluster.task(task).incarnation
        event = worker_sessions.OpenSession(self.session, own.name, own.incarnation)
        self._call(task, event, lambda _: master_session.Opened(task, incarnation))

    def _register(self, number: int, task: str) -> None:
        event = worker_sessions.RegisterGraph(self.session, number)

        def registered(answer: worker_sessions.Accept) -> master_session.Event:
            return master_session.Registered(number, task, answer.partition)

        self._call(task, event, registered, self._signatures[number])

    def _call(
        self,
        task: str,
        event: worker_sessions.Event,
        outcome: Callable[[worker_sessions.Accept], master_session.Event],
        signature: Signature | None = None,
    ) -> None:
        def reply(answer: worker_sessions.Accept | worker_sessions.Reject) -> None:
            if isinstance(answer, worker_sessions.Reject):
                raise errors.from_code(answer.code, answer.message)
            self.tell(outcome(answer))

        self.task.send(Kind.CALL, task, (event, reply, signature))


def _checked(task: str, _: worker_sessions.Accept) -> master_session.Event:
    return master_session.Checked(task)


def _ready_or_raise(code: int, ready: Callable[[int], None], number: int) -> None:
    if code:
        raise errors.from_code(code, f"request {number} of a simulated master failed")
    ready(number)
