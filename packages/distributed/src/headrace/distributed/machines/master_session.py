"""A session as its master sees it: tasks that are opened, checked and lost; signatures and runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from headrace.distributed.machines.master_events import (
    Checked,
    CheckFailed,
    CheckTask,
    Close,
    CloseTask,
    Deregister,
    Doubt,
    Drop,
    Event,
    Fail,
    Go,
    Instruction,
    LinkLost,
    Opened,
    OpenFailed,
    OpenTask,
    Prepare,
    Ready,
    Refuse,
    Registered,
    RegisterFailed,
    RegisterGraph,
    Run,
)
from headrace.formats import errors


class Phase(Enum):
    """What a session knows of a task."""

    NEW = "new"  # not used yet, or it could not be opened
    OPENING = "opening"
    OPEN = "open"
    DOUBTED = "doubted"  # it was open; whether it still is has to be asked
    CHECKING = "checking"
    GONE = "gone"  # it was restarted, or has closed the session


_TROUBLED = {Phase.DOUBTED, Phase.CHECKING, Phase.GONE}
_NOT_OPEN = set(Phase) - {Phase.OPEN}


@dataclass
class Task:
    phase: Phase = Phase.NEW
    incarnation: int = 0
    tried: bool = False  # it may have the session
    why: str = ""  # it is gone


@dataclass
class Signature:
    """A signature: `missing` are the tasks that have not registered it yet."""

    tasks: tuple[str, ...]
    registering: bool = False
    missing: set[str] = field(default_factory=set)
    partitions: dict[str, int] = field(default_factory=dict)

    @cached_property
    def task_set(self) -> frozenset[str]:
        return frozenset(self.tasks)

    @property
    def ready(self) -> bool:
        return self.registering and not self.missing


@dataclass
class MasterSession:
    """The machine. A task is opened when the first signature uses it."""

    tasks: dict[str, Task] = field(default_factory=dict)
    signatures: dict[int, Signature] = field(default_factory=dict)
    runs: dict[int, int] = field(default_factory=dict)  # that wait: run -> signature
    closed: Close | None = None
    # Names of tasks by phase, so that an event costs the same however many tasks there are.
    _not_open: set[str] = field(default_factory=set)
    _troubled: set[str] = field(default_factory=set)  # in doubt, being checked, or gone

    @property
    def settled(self) -> bool:
        """Whether runs of ready signatures need not ask."""
        return self.closed is None and not self._troubled

    def handle(self, event: Event) -> list[Instruction]:
        """Returns what to do, in order, about an event."""
        match event:
            case Prepare(signature, tasks):
                return self._prepare(signature, tasks)
            case Opened(name, incarnation):
                if self.closed:
                    return [CloseTask(name)]
                self._move(name, Phase.OPEN).incarnation = incarnation
                return self._advance()
            case OpenFailed(name, code, message):
                if self.closed:
                    return [CloseTask(name)]
                self._move(name, Phase.NEW)
                return self._fail_waiting(name, code, message)
            case Registered():
                return self._registered(event)
            case RegisterFailed():
                return self._register_failed(event)
            case Run(run, signature):
                return self._run(run, signature)
            case LinkLost(name, incarnation):
                known = self.tasks.get(name)
                if known and known.phase is Phase.OPEN and known.incarnation == incarnation:
                    return self._doubt(name)
                return []
            case Doubt(name):
                return self._doubt(name)
            case Checked(name):
                if self.closed:
                    return []
                self._move(name, Phase.OPEN)
                return self._advance()
            case CheckFailed(name, code, message):
                return self._check_failed(name, code, message)
            case Drop(signature):
                return self._forget(signature)
            case Close():
                return self._close(event)

    # ---- signatures

    def _prepare(self, number: int, names: tuple[str, ...]) -> list[Instruction]:
        refusal = self._refusal(names)
        if refusal is not None:
            return [Fail(number, *refusal)]
        self.signatures[number] = Signature(names)
        return [*self._ask(names), *self._advance()]

    def _ask(self, names: tuple[str, ...]) -> list[Instruction]:
        """Opens tasks that are new, and checks those in doubt."""
        found: list[Instruction] = []
        for name in names:
            task = self._task(name)
            if task.phase is Phase.NEW:
                self._move(name, Phase.OPENING).tried = True
                found.append(OpenTask(name))
            elif task.phase is Phase.DOUBTED:
                self._move(name, Phase.CHECKING)
                found.append(CheckTask(name, task.incarnation))
        return found

    def _advance(self) -> list[Instruction]:
        """Goes on with the signatures and runs whose tasks are all open now."""
        found: list[Instruction] = []
        for number, signature in self.signatures.items():
            if not signature.registering and self._all_open(signature):
                signature.registering = True
                signature.missing = set(signature.tasks)
                found += [RegisterGraph(number, name) for name in signature.tasks]
                if not signature.tasks:
                    found.append(Ready(number))
        for run, number in list(self.runs.items()):
            if self._all_open(self.signatures[number]):
                del self.runs[run]
                found.append(Go(run))
        return found

    def _registered(self, event: Registered) -> list[Instruction]:
        signature = self.signatures.get(event.signature)
        if signature is None or event.task not in signature.missing:
            if self.closed or self._task(event.task).phase is Phase.GONE:
                return []
            return [Deregister(event.task, event.partition)]
        signature.missing.discard(event.task)
        signature.partitions[event.task] = event.partition
        return [Ready(event.signature)] if signature.ready else []

    def _register_failed(self, event: RegisterFailed) -> list[Instruction]:
        found = self._fail(event.signature, event.code, event.message)
        if event.code in (errors.ABORTED, errors.UNAVAILABLE):
            found += self._doubt(event.task)
        return found

    def _fail(self, number: int, code: int, message: str) -> list[Instruction]:
        """Gives up a signature that is not ready."""
        signature = self.signatures.get(number)
        if signature is None or signature.ready:
            return []
        return [Fail(number, code, message), *self._forget(number)]

    def _fail_waiting(self, name: str, code: int, message: str) -> list[Instruction]:
        """Gives up the signatures and runs that wait for a task."""
        found: list[Instruction] = []
        for number, signature in list(self.signatures.items()):
            if not signature.ready and name in signature.tasks:
                found += self._fail(number, code, message)
        for run, number in list(self.runs.items()):
            if name in self.signatures[number].tasks:
                del self.runs[run]
                found.append(Refuse(run, code, message))
        return found

    def _forget(self, number: int) -> list[Instruction]:
        signature = self.signatures.pop(number, None)
        if signature is None:
            return []
        found: list[Instruction] = []
        for run in [run for run, of in self.runs.items() if of == number]:
            del self.runs[run]
            found.append(Refuse(run, errors.CANCELLED, "the signature was dropped"))
        for name, partition in signature.partitions.items():
            if not self.closed and self._task(name).phase is not Phase.GONE:
                found.append(Deregister(name, partition))
        return found

    # ---- runs

    def _run(self, run: int, number: int) -> list[Instruction]:
        signature = self.signatures.get(number)
        refusal = self._refusal(signature.tasks if signature else ())
        if refusal is not None:
            return [Refuse(run, *refusal)]
        if signature is None or not signature.ready:
            return [Refuse(run, errors.ABORTED, "the signature is not registered")]
        if self._all_open(signature):
            return [Go(run)]
        self.runs[run] = number
        return self._ask(signature.tasks)

    # ---- tasks

    def _doubt(self, name: str) -> list[Instruction]:
        """Asks about a task before it is used again; at once if something waits to use it."""
        if self._task(name).phase is not Phase.OPEN or self.closed:
            return []
        self._move(name, Phase.DOUBTED)
        found: list[Instruction] = []
        for signature in self.signatures.values():
            if not signature.ready:
                found += self._ask(signature.tasks)
        for number in self.runs.values():
            found += self._ask(self.signatures[number].tasks)
        return found

    def _check_failed(self, name: str, code: int, message: str) -> list[Instruction]:
        if self.closed:
            return []
        if code == errors.ABORTED:
            self._move(name, Phase.GONE).why = message
        else:
            self._move(name, Phase.DOUBTED)
        return self._fail_waiting(name, code, message)

    def _close(self, event: Close) -> list[Instruction]:
        if self.closed:
            return []
        self.closed = event
        found: list[Instruction] = []
        for run in list(self.runs):
            del self.runs[run]
            found.append(Refuse(run, event.code, event.why))
        for number in list(self.signatures):
            found += self._fail(number, event.code, event.why)
        self.signatures.clear()
        for name, task in self.tasks.items():
            if task.tried and task.phase not in (Phase.OPENING, Phase.GONE):
                found.append(CloseTask(name))
        return found

    def _refusal(self, names: tuple[str, ...]) -> tuple[int, str] | None:
        if self.closed:
            return self.closed.code, self.closed.why
        for name in names:
            if self._task(name).phase is Phase.GONE:
                return errors.ABORTED, self._task(name).why
        return None

    def _all_open(self, signature: Signature) -> bool:
        return self._not_open.isdisjoint(signature.task_set)

    def _task(self, name: str) -> Task:
        if name not in self.tasks:
            self.tasks[name] = Task()
            self._not_open.add(name)
        return self.tasks[name]

    def _move(self, name: str, phase: Phase) -> Task:
        task = self._task(name)
        task.phase = phase
        for names, phases in (
            (self._not_open, _NOT_OPEN),
            (self._troubled, _TROUBLED),
        ):
            if phase in phases:
                names.add(name)
            else:
                names.discard(name)
        return task
