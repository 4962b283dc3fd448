"""What happens to a session of a master, and what is to be done about it."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.formats import errors

# ---- events


@dataclass(frozen=True)
class Prepare:
    """A planned signature is to be registered with its tasks."""

    signature: int
    tasks: tuple[str, ...]


@dataclass(frozen=True)
class Opened:
    """A task was found, is linked, and has the session."""

    task: str
    incarnation: int


@dataclass(frozen=True)
class OpenFailed:
    task: str
    code: int
    message: str


@dataclass(frozen=True)
class Registered:
    signature: int
    task: str
    partition: int


@dataclass(frozen=True)
class RegisterFailed:
    signature: int
    task: str
    code: int
    message: str


@dataclass(frozen=True)
class Run:
    """A caller wants to run a signature. `run` numbers the request."""

    run: int
    signature: int


@dataclass(frozen=True)
class LinkLost:
    """A link to a task was lost."""

    task: str
    incarnation: int


@dataclass(frozen=True)
class Doubt:
    """A step failed in a way that a lost link or session explains."""

    task: str


@dataclass(frozen=True)
class Checked:
    """A task lives, has the session, and its links work."""

    task: str


@dataclass(frozen=True)
class CheckFailed:
    """ABORTED: the session is gone from the task for good; otherwise it may come back."""

    task: str
    code: int
    message: str


@dataclass(frozen=True)
class Drop:
    """A signature is not needed any longer."""

    signature: int


@dataclass(frozen=True)
class Close:
    why: str
    code: int = errors.CANCELLED  # of what is refused from now on


Event = (
    Prepare | Opened | OpenFailed | Registered | RegisterFailed | Run | LinkLost | Doubt | Checked
    | CheckFailed | Drop | Close
)  # fmt: skip


# ---- instructions


@dataclass(frozen=True)
class OpenTask:
    """Find a task, link to it, open the session there; report Opened or OpenFailed."""

    task: str


@dataclass(frozen=True)
class RegisterGraph:
    """Register a partition with a task; report Registered or RegisterFailed."""

    signature: int
    task: str


@dataclass(frozen=True)
class CheckTask:
    """Ask whether a task still has the session, and link again; report Checked or CheckFailed."""

    task: str
    incarnation: int


@dataclass(frozen=True)
class Ready:
    """The signature can run."""

    signature: int


@dataclass(frozen=True)
class Fail:
    """The signature cannot be prepared."""

    signature: int
    code: int
    message: str


@dataclass(frozen=True)
class Go:
    """The run may start."""

    run: int


@dataclass(frozen=True)
class Refuse:
    """The run may not start."""

    run: int
    code: int
    message: str


@dataclass(frozen=True)
class Deregister:
    """Let a task forget a partition."""

    task: str
    partition: int


@dataclass(frozen=True)
class CloseTask:
    """Let a task close the session, if it has it."""

    task: str


Instruction = (
    OpenTask | RegisterGraph | CheckTask | Ready | Fail | Go | Refuse | Deregister | CloseTask
)
