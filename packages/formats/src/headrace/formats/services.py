"""The services that Headrace's packages offer one another, and the one place that finds them.

A package that offers a service names it in its metadata (`[project.entry-points]`); a package
that needs one asks `find_service` for it. What passes between them is bytes, NumPy arrays and
names, never an object of either package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from headrace.formats.errors import NotFoundError
from headrace.formats.interrupts import interrupts_held

SESSIONS = "headrace.sessions"
KERNELS = "headrace.kernels"
RUNTIMES = "headrace.runtimes"
OPS = "headrace.ops"
GRAPH_OPS = "headrace.graph_ops"

# Which package a user is told to install when a group has no offer of that name.
_OFFERED_BY = {
    (SESSIONS, "local"): "headrace-runtime",
    (SESSIONS, "grpc"): "headrace-distributed",
    (KERNELS, "cpu"): "headrace-kernels",
    (KERNELS, "reference"): "headrace-kernels",
    (KERNELS, "opencl"): "headrace-kernels[opencl]",
    (RUNTIMES, "local"): "headrace-runtime",
}


class Step(Protocol):
    """One signature (feeds, fetches, targets) of a session, ready to run many times.

    Safe to call from several threads at once.
    """

    def __call__(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Runs the step.

        Args:
          values: one array per feed, in the order given to `prepare`, of the fed tensor's dtype
            (strings as object arrays of bytes). Read during the call only, never kept.
        Returns: one array per fetch, in order; a scalar as a NumPy scalar. They are the
          caller's: no later run changes them.
        Raises: errors.OpError, with `.node_name` where one node is to blame.
        """

    def run(self, values: Sequence[np.ndarray], options: bytes) -> tuple[list[np.ndarray], bytes]:
        """As calling it, under a RunOptions message; returns the RunMetadata message too."""

    def explain(self) -> str:
        """Program, segments, specialisations, memory and chosen kernels, for a person to read."""


class PartialStep(Protocol):
    """A step whose feeds arrive, and whose fetches leave, in several calls."""

    def run(self, feeds: Mapping[str, np.ndarray], fetches: Sequence[str]) -> list[np.ndarray]:
        """Hands in some feeds and waits for some fetches.

        Args:
          feeds: values by tensor name; read during the call only, as a Step's.
          fetches: names of tensors, or of operations, that the setup named.
        Returns: one array per fetch, in order; None for an operation.
        Raises: errors.InvalidArgumentError for a tensor that the setup did not name, or a
          feed given twice; errors.OpError as a Step.
        """


class SessionService(Protocol):
    """Runs a graph. `headrace.sessions` entry points are callables
    `(target: str, config: bytes) -> SessionService`, config being a ConfigProto message."""

    def extend(self, graph_def: bytes) -> None:
        """Adds the nodes of a GraphDef message to those the session has.

        Raises: errors.InvalidArgumentError for bytes that are no GraphDef, a name that is
          taken, a dangling edge or a cycle. The session stays as it was.
        """

    def prepare(self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]) -> Step:
        """Makes (or finds) the step of a signature.

        Args:
          feeds: tensor names ("x:0") whose values each run brings; any tensor will do.
          fetches: tensor names whose values each run returns.
          targets: operation names that each run executes without a result.
        """

    def partial_run_setup(
        self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> PartialStep:
        """Begins a step that runs in several calls (TF 1.x's `partial_run`)."""

    def list_devices(self) -> list[bytes]:
        """DeviceAttributes messages."""

    def reset(self, containers: Sequence[str]) -> None:
        """Clears the variables, queues, … of the named containers; of all, where none is named."""

    def close(self) -> None:
        """Ends the session and frees what it owns; blocked runs end with CancelledError."""


class PythonKernels(Protocol):
    """A kernel library written in Python. The entry point is a callable returning one."""

    library: str
    version: str
    device_type: str
    priority: int

    def ops(self) -> Iterable[str]:
        """The ops it has kernels for, whatever their dtypes."""

    def create(self, op: str, attrs: Mapping[str, Any]) -> Callable[..., Any]:
        """The kernel of one node, called once per session and node.

        Args:
          op: one of `ops()`.
          attrs: all attributes of the node, defaults filled in: Python ints, floats, bools,
            bytes (strings), DataType numbers (types), tuples or None (shapes), arrays
            (tensors), lists of these.
        Returns: a callable `(*inputs)` of NumPy arrays, one per input tensor, to one array (an op
          with one output) or a sequence of arrays. It must not change or keep its inputs. May
          raise errors.OpError.
        """


def service_names(group: str) -> list[str]:
    """The names that installed packages offer in an entry-point group, sorted."""
    return sorted({entry.name for entry in _entry_points(group)})


def find_service(group: str, name: str) -> Any:
    """Loads what an installed package offers under a name.

    Args:
      group: an entry-point group, such as `SESSIONS`.
      name: the offer's name, such as "local".
    Raises: NotFoundError naming the group, what is on offer and the package to install; the
      import error of the offering package as it is.
    """
    for entry in _entry_points(group):
        if entry.name == name:
            with interrupts_held():
                return entry.load()
    offered = ", ".join(service_names(group)) or "none"
    package = _OFFERED_BY.get((group, name))
    remedy = f"install {package}" if package else "install the package that offers it"
    raise NotFoundError(
        None,
        None,
        f"no {group} service named {name!r} is installed (installed: {offered}): {remedy}",
    )


def _entry_points(group: str) -> Sequence[Any]:
    with interrupts_held():
        from importlib.metadata import entry_points  # 15 ms: only when a service is asked for

    return tuple(entry_points(group=group))
