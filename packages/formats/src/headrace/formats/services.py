"""Protocols of the services between Headrace's packages, and their discovery by entry point.

A package declares the services it provides in its metadata (`[project.entry-points]`); a package
that needs one calls `find_service`. Only bytes, NumPy arrays and names cross a package boundary,
never an object of either package.
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
SERVERS = "headrace.servers"
OPS = "headrace.ops"
GRAPH_OPS = "headrace.graph_ops"
FUNCTION_GRADIENTS = "headrace.function_gradients"

# The packages of Headrace that provide a service.
_PROVIDERS = {
    (SESSIONS, "local"): "runtime",
    (FUNCTION_GRADIENTS, "autodiff"): "graph",
    (RUNTIMES, "local"): "runtime",
    (SESSIONS, "grpc"): "distributed",
    (SERVERS, "grpc"): "distributed",
    (KERNELS, "cpu"): "kernels",
    (KERNELS, "reference"): "kernels",
}


class Step(Protocol):
    """A prepared step of a session: one combination of feeds, fetches and targets.

    It is safe to run from several threads at once.
    """

    def __call__(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Runs the step.

        Args:
          values: one array per feed, in the order given to `prepare`, of the fed tensor's dtype
            (strings as object arrays of bytes). They are read only during the call.
        Returns: one array per fetch, in order; a scalar as a NumPy scalar. The caller owns them:
          no later run changes them.
        Raises: errors.OpError, with `.node_name` if one node caused it.
        """

    def run(self, values: Sequence[np.ndarray], options: bytes) -> tuple[list[np.ndarray], bytes]:
        """Runs the step with serialized RunOptions.

        Returns: (arrays, metadata): the arrays as from a call, and a serialized RunMetadata.
        Raises: as a call.
        """

    def explain(self) -> str:
        """Returns a readable report: program, segments, specialisations, memory, chosen kernels."""


class PartialStep(Protocol):
    """A step that takes its feeds and returns its fetches over several calls."""

    def run(self, feeds: Mapping[str, np.ndarray], fetches: Sequence[str]) -> list[np.ndarray]:
        """Supplies some of the feeds and waits for some of the fetches.

        Args:
          feeds: values by tensor name; they are read only during the call.
          fetches: names of tensors or operations; all were passed to `partial_run_setup`.
        Returns: one array per fetch, in order; None for an operation.
        Raises: errors.InvalidArgumentError for a tensor that was not passed to the setup, or a
            feed given twice; errors.OpError as for a Step.
        """


class SessionService(Protocol):
    """Runs a graph.

    An entry point of the group `headrace.sessions` is a callable
    `(target: str, config: bytes) -> SessionService`; config is a serialized ConfigProto."""

    def extend(self, graph_def: bytes) -> None:
        """Adds the nodes of a serialized GraphDef to the session's graph.

        Raises: errors.InvalidArgumentError for bytes that are not a GraphDef, a duplicate name, a
          dangling edge or a cycle. The session is then unchanged.
        """

    def prepare(self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]) -> Step:
        """Returns the step of a signature, from a cache where possible.

        Args:
          feeds: names ("x:0") of the tensors that each run feeds; any tensor can be fed.
          fetches: tensor names whose values each run returns.
          targets: operation names that each run executes without a result.
        """

    def partial_run_setup(
        self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str]
    ) -> PartialStep:
        """Starts a step that runs in several calls (TF 1.x's `partial_run`)."""

    def list_devices(self) -> list[bytes]:
        """Returns serialized DeviceAttributes, one per device."""

    def reset(self, containers: Sequence[str]) -> None:
        """Clears the resources of the named containers; of all containers if the list is empty."""

    def close(self) -> None:
        """Closes the session and frees its resources; blocked runs raise CancelledError."""


class Planner(Protocol):
    """A graph that is cut into one partition per task, for one signature at a time."""

    def extend(self, graph_def: bytes) -> None:
        """Adds the nodes of a serialized GraphDef; as SessionService.extend."""

    def plan(
        self,
        feeds: Sequence[str],
        fetches: Sequence[str],
        targets: Sequence[str],
        devices: Sequence[str],
    ) -> bytes:
        """Prunes and places a signature and cuts it at the borders between tasks.

        Args:
          feeds, fetches, targets: names, as SessionService.prepare.
          devices: full names, "/job:ps/replica:0/task:3/device:CPU:0"; the first is the default.
        Returns: a serialized PartitionPlan. Nodes of other tasks are met through `_Send` and
          `_Recv` nodes, whose attribute `_edge` numbers the edge. Each task that runs a node of a
          loop has the loop's control (white paper, section 4.4).
        Raises: errors.InvalidArgumentError and errors.NotFoundError, as SessionService.prepare.
        """

    def observe(self, run_metadata: bytes) -> None:
        """Takes the times and sizes of a traced step; later plans expect these.

        Nodes with state keep their devices. A plan that was made before stays valid.

        Args:
          run_metadata: a serialized RunMetadata, of one task or of several.
        """

    def placement(
        self,
        feeds: Sequence[str],
        fetches: Sequence[str],
        targets: Sequence[str],
        devices: Sequence[str],
    ) -> bytes:
        """Returns a serialized PlacementReport: why each node runs where `plan` places it, and the
        expected against the measured times. Arguments and errors are those of `plan`."""

    def explain(
        self,
        feeds: Sequence[str],
        fetches: Sequence[str],
        targets: Sequence[str],
        devices: Sequence[str],
    ) -> str:
        """Returns the report of `placement` as text."""

    def tensor_spec(self, name: str) -> tuple[str, int, tuple[int | None, ...] | None]:
        """Returns a tensor's full name, DataType and declared shape (None: unknown)."""


class Worker(Protocol):
    """Runs the partitions of one task. It is safe to use from several threads at once.

    Attributes:
      capsule: a PyCapsule named HR_WORKER_CAPSULE with the `hr_worker` of `headrace/worker.h`,
        through which runs are started. It is valid until `close` and as long as the worker exists.
    """

    capsule: Any

    def list_devices(self) -> list[bytes]:
        """Returns serialized DeviceAttributes, one per device, with names of the task."""

    def open_session(self, session: str, config: bytes, own_state: bool) -> None:
        """Opens a session, to which partitions belong.

        Args:
          session: a name of the caller's choice.
          config: a serialized ConfigProto.
          own_state: whether the session has variables and other resources of its own, instead of
            sharing the worker's.
        Raises: errors.AlreadyExistsError for a name in use.
        """

    def register(self, session: str, graph_def: bytes) -> int:
        """Registers a partition and returns its number, for `hr_worker.run`.

        Raises: errors.NotFoundError for an unknown session; errors.InvalidArgumentError.
        """

    def deregister(self, partition: int) -> None:
        """Forgets a partition; its runs end with CancelledError."""

    def close_session(self, session: str) -> None:
        """Deregisters the partitions of a session and frees its own state."""

    def reset(self, containers: Sequence[str]) -> None:
        """Clears resources of the worker's state, as SessionService.reset."""

    def close(self) -> None:
        """Ends all runs and closes all sessions."""


class RuntimeService(Protocol):
    """What a distributed runtime needs of this machine: the group `headrace.runtimes`.

    An entry point is a callable that takes nothing and returns a RuntimeService."""

    def open_planner(self, config: bytes) -> Planner:
        """Returns a planner with an empty graph; config is a serialized ConfigProto."""

    def open_worker(self, task: str, config: bytes) -> Worker:
        """Returns a worker for a task, "/job:ps/replica:0/task:3"."""

    def open_rendezvous(self) -> Any:
        """Returns a rendezvous for one step of workers of this process, with a `capsule`."""


class ServerService(Protocol):
    """A task of a cluster, with its worker and a master for clients.

    An entry point of the group `headrace.servers` is a callable `(server_def: bytes) ->
    ServerService`; server_def is a serialized ServerDef, whose `protocol` begins with the name of
    the entry point. It binds the port of the task and does not serve yet.

    Attributes:
      target: what a session connects to, "grpc://HOST:PORT".
      server_def: the serialized ServerDef, with what was filled in.
    Raises: errors.InvalidArgumentError for a task that the cluster does not have;
      errors.UnknownError or UnavailableError for a port that is in use.
    """

    target: str
    server_def: bytes

    def start(self) -> None:
        """Begins to serve; nothing happens if it serves already."""

    def stop(self) -> None:
        """Ends all sessions and frees the port. A stopped server does not start again."""

    def join(self) -> None:
        """Waits until the server is stopped, by another thread or a signal."""


class ClusterSession(SessionService, Protocol):
    """What a session over several tasks offers beyond a SessionService."""

    def live_tasks(self, job: str) -> list[int]:
        """Returns the indices of the tasks of a job that are alive, as far as this session's tasks
        know: they hold sessions on them, or answer."""


class PythonKernels(Protocol):
    """A kernel library written in Python; its entry point is a callable that returns one."""

    library: str
    version: str
    device_type: str
    priority: int

    def ops(self) -> Iterable[str]:
        """Returns the ops that have a kernel for at least one dtype."""

    def create(self, op: str, attrs: Mapping[str, Any]) -> Callable[..., Any]:
        """Creates the kernel of a node; called once per session and node.

        Args:
          op: one of `ops()`.
          attrs: all attributes of the node, including defaults: Python ints, floats, bools, bytes
            (strings), DataType numbers (types), tuples or None (shapes), arrays (tensors), and
            lists of these.
        Returns: a callable that takes one NumPy array per input tensor and returns one array (for
          an op with one output) or a sequence of arrays. It must neither change nor keep its
          inputs, and may raise errors.OpError.
        """


class FunctionGradient(Protocol):
    """Differentiates functions; an entry point of the group `headrace.function_gradients`.

    A runtime calls it for a SymbolicGradient node whose function has no gradient in the library.
    """

    def __call__(self, library: bytes, function: bytes) -> bytes:
        """Returns the gradient function of a function.

        Args:
          library: a serialized FunctionDefLibrary with the function and those that it calls.
          function: a serialized NameAttrList: the function's name and attributes.
        Returns: a serialized FunctionDefLibrary. Its first function is the gradient: it takes the
          arguments of the function, then a gradient for each of its results, and returns a gradient
          for each argument, zeros where there is none. The functions that the gradient calls and
          that are not in `library` follow.
        Raises: errors.InvalidArgumentError for malformed messages or an unknown function;
          LookupError for an operation that has no gradient.
        """


def service_names(group: str) -> list[str]:
    """Returns the names of the services installed in an entry-point group, sorted."""
    return sorted({entry.name for entry in _entry_points(group)})


def find_service(group: str, name: str) -> Any:
    """Loads a service of an installed package.

    Args:
      group: an entry-point group, such as `SESSIONS`.
      name: name of the service, such as "local".
    Returns: the object that the entry point names.
    Raises: NotFoundError if no such service is installed; the message names the installed services
      and the package to install. An error while importing the package is raised unchanged.
    """
    for entry in _entry_points(group):
        if entry.name == name:
            with interrupts_held():
                return entry.load()
    offered = ", ".join(service_names(group)) or "none"
    raise NotFoundError(
        None,
        None,
        f"no {group} service named {name!r} is installed (installed: {offered}): "
        f"{remedy(group, name)}",
    )


def remedy(group: str, name: str) -> str:
    """Returns what a user does about a service that no installed package offers."""
    package = _PROVIDERS.get((group, name))
    if package is None:
        return "Headrace does not offer it; install a package that does"
    return (
        f"install headrace-{package} (in a checkout of Headrace: pip install ./packages/{package})"
    )


def _entry_points(group: str) -> Sequence[Any]:
    with interrupts_held():
        from importlib.metadata import entry_points  # imported late: it takes 15 ms

    return tuple(entry_points(group=group))
