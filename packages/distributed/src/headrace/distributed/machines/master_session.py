"""A session as its master sees it: tasks that are opened, checked and lost; signatures and runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

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

    @property
    def settled(self) -> bool:
        """Whether runs of ready signatures need not ask."""
        return self.closed is None and all(
            task.phase in (Phase.NEW, Phase.OPENING, Phase.OPEN) for task in self.tasks.values()
        )

    def handle(self, event: Event) -> list[Instruction]:
        """Returns what to do, in order, about an event."""
        match event:
            case Prepare(signature, tasks):
                return self._prepare(signature, tasks)
            case Opened(name, incarnation):
                if self.closed:
                    return [CloseTask(name)]
                task = self._task(name)
                task.phase, task.incarnation = Phase.OPEN, incarnation
                return self._advance()
            case OpenFailed(name, code, message):
                if self.closed:
                    return [CloseTask(name)]
                self._task(name).phase = Phase.NEW
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
                    return self._doubt(known)
                return []
            case Doubt(name):
                return self._doubt(self._task(name))
            case Checked(name):
                if self.closed:
                    return []
                self._task(name).phase = Phase.OPEN
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
                task.phase, task.tried = Phase.OPENING, True
                found.append(OpenTask(name))
            elif task.phase is Phase.DOUBTED:
                task.phase = Phase.CHECKING
                found.append(CheckTask(name, task.incarnation))
        return found

    def _advance(self) -> list[Instruction]:
        """Goes on with the signatures and runs whose tasks are all open now."""
        found: list[Instruction] = []
        for number, signature in self.signatures.items():
            if not signature.registering and self._all_open(signature.tasks):
                signature.registering = True
                signature.missing = set(signature.tasks)
                found += [RegisterGraph(number, name) for name in signature.tasks]
                if not signature.tasks:
                    found.append(Ready(number))
        for run, number in list(self.runs.items()):
            if self._all_open(self.signatures[number].tasks):
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
            found += self._doubt(self._task(event.task))
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
        names = signature.tasks if signature else ()
        refusal = self._refusal(names)
        if refusal is None and (signature is None or not signature.ready):
            refusal = errors.ABORTED, "the signature is not registered"
        if refusal is not None:
            return [Refuse(run, *refusal)]
        if self._all_open(names):
            return [Go(run)]
        self.runs[run] = number
        return self._ask(names)

    # ---- tasks

    def _doubt(self, task: Task) -> list[Instruction]:
        """Asks about a task before it is used again; at once if something waits to use it."""
        if task.phase is not Phase.OPEN or self.closed:
            return []
        task.phase = Phase.DOUBTED
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
        task = self._task(name)
        task.phase = Phase.DOUBTED
        if code == errors.ABORTED:
            task.phase, task.why = Phase.GONE, message
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

    def _all_open(self, names: tuple[str, ...]) -> bool:
        return all(self._task(name).phase is Phase.OPEN for name in names)

    def _task(self, name: str) -> Task:
        return self.tasks.setdefault(name, Task())
