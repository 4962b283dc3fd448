"""The sessions of masters at a worker: opened, registered with, closed, expired, fenced."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.distributed.machines.leases import Leases
from headrace.formats import errors

_MOST_CLOSED = 4096  # sessions that are remembered as closed


# ---- events


@dataclass(frozen=True)
class OpenSession:
    """A master opens a session. `master` is a name that its next start has as well."""

    session: int
    master: str
    incarnation: int


@dataclass(frozen=True)
class RegisterGraph:
    """A master registers what this task runs of a signature."""

    session: int
    signature: int


@dataclass(frozen=True)
class Registered:
    """The runtime has registered a partition."""

    session: int
    signature: int
    partition: int


@dataclass(frozen=True)
class RegisterFailed:
    """The runtime could not register a partition."""

    session: int
    signature: int


@dataclass(frozen=True)
class DeregisterGraph:
    session: int
    partitions: tuple[int, ...]


@dataclass(frozen=True)
class UseSession:
    """A master asks whether its session is open."""

    session: int


@dataclass(frozen=True)
class CloseSession:
    session: int


@dataclass(frozen=True)
class MasterLost:
    """There is no link to a master any more."""

    incarnation: int
    now: float


@dataclass(frozen=True)
class MasterBack:
    """There is a link to a master."""

    incarnation: int


@dataclass(frozen=True)
class Tick:
    now: float


Event = (
    OpenSession | RegisterGraph | Registered | RegisterFailed | DeregisterGraph | UseSession
    | CloseSession | MasterLost | MasterBack | Tick
)  # fmt: skip


# ---- instructions


@dataclass(frozen=True)
class Accept:
    """Answer the request: it is done, or was done before."""

    partition: int = -1  # of a RegisterGraph


@dataclass(frozen=True)
class Reject:
    """Answer the request with an error."""

    code: int
    message: str


@dataclass(frozen=True)
class Open:
    """Open the session in the runtime, and answer."""

    session: int


@dataclass(frozen=True)
class Register:
    """Register the partition in the runtime, and report Registered or RegisterFailed."""

    session: int
    signature: int


@dataclass(frozen=True)
class AwaitRegistration:
    """The same request is being carried out: ask again when it has ended."""


@dataclass(frozen=True)
class Deregister:
    """Forget a partition of a session."""

    session: int
    partition: int


@dataclass(frozen=True)
class Close:
    """Close the session in the runtime, with all that is registered."""

    session: int
    partitions: tuple[int, ...]
    why: str


Instruction = Accept | Reject | Open | Register | AwaitRegistration | Deregister | Close


@dataclass
class Session:
    """An open session: its partitions by signature; None: being registered."""

    partitions: dict[int, int | None] = field(default_factory=dict)


@dataclass
class WorkerSessions:
    """The machine.

    Args:
      leases: which master holds which session.
    """

    leases: Leases
    sessions: dict[int, Session] = field(default_factory=dict)
    closed: dict[int, str] = field(default_factory=dict)  # why, in order of time

    def handle(self, event: Event) -> list[Instruction]:
        """Returns what to do, in order, about an event."""
        match event:
            case OpenSession():
                return self._open(event)
            case RegisterGraph(session, signature):
                return self._register(session, signature)
            case Registered(session, signature, partition):
                found = self.sessions.get(session)
                if found is None or signature not in found.partitions:
                    return [Deregister(session, partition)]
                found.partitions[signature] = partition
                return [Accept(partition)]
            case RegisterFailed(session, signature):
                if session in self.sessions:
                    self.sessions[session].partitions.pop(signature, None)
                return []
            case DeregisterGraph(session, partitions):
                return self._deregister(session, partitions)
            case UseSession(session):
                return [Accept() if session in self.sessions else self._unknown(session)]
            case CloseSession(session):
                return [*self._close(session, "its master has closed it"), Accept()]
            case MasterLost(incarnation, now):
                self.leases.lost(incarnation, now)
                return []
            case MasterBack(incarnation):
                self.leases.back(incarnation)
                return []
            case Tick(now):
                return [
                    close
                    for session in self.leases.expired(now)
                    for close in self._close(session, "the connection to its master was lost")
                ]

    def _open(self, event: OpenSession) -> list[Instruction]:
        if self.leases.is_fenced(event.incarnation):
            why = f"{event.master} has been restarted: its session of an earlier start is refused"
            return [Reject(errors.ABORTED, why)]
        if event.session in self.sessions:
            return [Accept()]
        if event.session in self.closed:
            return [self._unknown(event.session)]
        ended = self.leases.add(event.session, event.master, event.incarnation)
        why = f"{event.master} has been restarted"
        closes = [close for session in ended for close in self._close(session, why)]
        self.sessions[event.session] = Session()
        return [*closes, Open(event.session)]

    def _register(self, session: int, signature: int) -> list[Instruction]:
        found = self.sessions.get(session)
        if found is None:
            return [self._unknown(session)]
        if signature not in found.partitions:
            found.partitions[signature] = None
            return [Register(session, signature)]
        partition = found.partitions[signature]
        return [AwaitRegistration() if partition is None else Accept(partition)]

    def _deregister(self, session: int, partitions: tuple[int, ...]) -> list[Instruction]:
        found = self.sessions.get(session)
        if found is None:  # closed, and so is all that was registered
            return [Accept()]
        gone = {s: p for s, p in found.partitions.items() if p is not None and p in partitions}
        for signature in gone:
            del found.partitions[signature]
        return [*(Deregister(session, p) for p in gone.values()), Accept()]

    def _close(self, session: int, why: str) -> list[Instruction]:
        found = self.sessions.pop(session, None)
        self.leases.remove(session)
        if session not in self.closed:  # a request to open it may still be on its way
            self.closed[session] = why
            if len(self.closed) > _MOST_CLOSED:
                del self.closed[next(iter(self.closed))]
        if found is None:
            return []
        partitions = tuple(p for p in found.partitions.values() if p is not None)
        return [Close(session, partitions, why)]

    def _unknown(self, session: int) -> Reject:
        why = self.closed.get(session, "it was closed, or the task has been restarted")
        return Reject(errors.ABORTED, f"there is no session {session:x} here: {why}")
