"""The client session: sends a graph to a session service, and runs parts of it."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from headrace.formats.errors import OpError
from headrace.graph.client.cost_graph import CostModel, add_cost_graph
from headrace.graph.client.feeds import as_feed, feed_tensor, flat_feeds, resolve
from headrace.graph.client.fetches import FetchPlan, structure_key
from headrace.graph.client.partial_runs import PartialRuns
from headrace.graph.client.program_end import stop_with_the_program
from headrace.graph.client.service import as_target, as_text, open_service, serialized
from headrace.graph.client.tensor_handles import TensorHandle, delete_dead, handles_among
from headrace.graph.framework.default_session import AsDefault, session_stack
from headrace.graph.framework.graph import Graph, get_default_graph
from headrace.graph.framework.graph_codec import graph_wire
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.typing.aliases import FeedDict, Proto

_RECENT_PLANS = 128  # in each of two generations


class _Run:
    """A prepared run of a session: tensors to feed, the step to call, the structure to return."""

    __slots__ = ("build", "feeds", "flat", "fed", "handles", "session", "single", "step")

    def __init__(
        self, step: Any, feeds: list[Tensor], plan: FetchPlan, session: BaseSession
    ) -> None:
        self.step = step
        self.feeds = feeds
        # Fetches that are also fed return the fed values.
        self.fed = [(i, feeds.index(t)) for i, t in enumerate(plan.tensors) if t in feeds]
        self.build = plan.build
        self.handles = handles_among(plan.tensors)
        self.session = weakref.ref(session)  # which owns this run
        self.single = plan.single and not self.fed and not self.handles
        self.flat = plan.flat and not self.fed and not self.handles

    def result(self, values: list[Any], arrays: Any) -> Any:
        """Returns the caller's structure, from fetched values and fed arrays."""
        if self.single:
            return values[0]
        if self.flat:
            return values
        if self.fed:
            values = list(values)
            for position, feed in self.fed:
                # A copy: the caller may modify the fed array later.
                values.insert(position, np.array(arrays[feed])[()])
        if self.handles:
            values = list(values)
            for position, dtype in self.handles:
                values[position] = TensorHandle(values[position], dtype, self.session())
        return self.build(values)


class BaseSession:
    """Runs parts of a graph by a session service.

    Args:
      target: "" for this process, "local://NAME" for state shared by several sessions,
        "grpc://HOST:PORT" for a server.
      graph: graph to run; the default graph if None.
      config: ConfigProto message, or None.
    Raises: NotFoundError if no installed package provides sessions for the target; TypeError for
      arguments of other types.
    """

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: Proto | None = None
    ) -> None:
        self._closed = True
        self._target = as_target(target)
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a hr.Graph, but got {type(graph)}")
        self._graph = get_default_graph() if graph is None else graph
        self._config = config
        self._lock = threading.RLock()
        self._runs: dict[Any, _Run] = {}
        self._older_runs: dict[Any, _Run] = {}
        self._extended = 0
        self._library: bytes | None = None  # the functions that the service has
        self._changes_seen = 0
        self._partial_runs = PartialRuns()
        self._dead_handles: list[str] = []  # of TensorHandles that no longer exist
        self._handle_nodes: dict[Any, Any] = {}
        self._service = open_service(self._target, config)
        self._cost_model = CostModel(config)
        self._closed = False

    @property
    def graph(self) -> Graph:
        """The graph of the session."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The GraphDef message of the graph."""
        return self._graph.as_graph_def()

    @property
    def sess_str(self) -> str:
        """The target."""
        return self._target

    def close(self) -> None:
        """Closes the session and frees its resources; active runs raise CancelledError."""
        if not self._closed:
            self._closed = True
            self._runs.clear()
            self._older_runs.clear()
            self._service.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # noqa: BLE001 - the interpreter may be half gone
            pass

    def list_devices(self) -> list[Any]:
        """Returns the DeviceAttributes messages of the available devices."""
        from headrace.formats.proto.device_pb2 import DeviceAttributes

        return [DeviceAttributes.FromString(wire) for wire in self._service.list_devices()]

    # -- run -------------------------------------------------------------------------------

    def run(
        self,
        fetches: Any,
        feed_dict: FeedDict | None = None,
        options: Proto | None = None,
        run_metadata: Proto | None = None,
    ) -> Any:
        """Runs the operations that the fetches depend on, and returns their values.

        Args:
          fetches: a tensor, operation, variable, sparse tensor or name, or lists, tuples, named
            tuples and dicts of these, at any depth.
          feed_dict: maps tensors (or names, or sparse tensors) to the values that replace them.
          options: RunOptions message.
          run_metadata: RunMetadata message to fill.
        Returns: the structure of the fetches with values: arrays, NumPy scalars, bytes; None for an
          operation.
        Raises: OpError if the run fails; RuntimeError for a closed session or an empty graph;
          TypeError or ValueError for invalid fetches and feeds.
        """
        # Fast path: look up the prepared run by the structure and the leaves of the fetches. The
        # leaves live as long as the graph; Python may reuse the identity of a list or dict.
        kind = type(fetches)
        key = fetches if kind is Tensor or kind is Operation else structure_key(fetches)
        lookup: Any = (key, *feed_dict) if feed_dict else key
        found = None
        if key is not None and len(self._graph._ops) == self._extended:
            try:
                found = self._runs.get(lookup)
            except TypeError:  # something in it is not hashable
                pass
        if found is None or self._closed:
            return self._run_any(key, fetches, feed_dict, options, run_metadata)
        if self._dead_handles:
            delete_dead(self)
        if feed_dict:
            arrays: Any = []
            for tensor, value in zip(found.feeds, feed_dict.values()):
                if type(value) is float and tensor._shape == ():
                    arrays.append(np.asarray(value, tensor.dtype._base._numpy))
                else:
                    arrays.append(as_feed(tensor, value))
        else:
            arrays = ()
        if options is not None or run_metadata is not None:
            return found.result(self._traced(found, arrays, options, run_metadata), arrays)
        try:
            values = found.step(arrays)
        except OpError as error:
            self._locate(error)
            raise
        if found.single:
            return values[0]
        return found.result(values, arrays)

    def _run_any(
        self, key: Any, fetches: Any, feed_dict: Any, options: Any, run_metadata: Any
    ) -> Any:
        """General path: resolves feeds, extends the service's graph, caches the prepared run."""
        self._check_usable()
        pairs = [] if not feed_dict else resolve(self._graph, feed_dict)
        feeds = [tensor for tensor, _ in pairs]
        self.extend()
        run = self._cached_run((key, *feeds) if feeds else key) if key is not None else None
        if run is None:
            run = self._prepared(FetchPlan(self._graph, fetches), feeds)
            if key is not None:
                self._cache_run((key, *feeds) if feeds else key, run)
        if key is not None and feeds and all(type(k) in (Tensor, str) for k in feed_dict):
            self._cache_run((key, *feed_dict), run)
        arrays = [as_feed(tensor, value) for tensor, value in pairs]
        if options is not None or run_metadata is not None:
            return run.result(self._traced(run, arrays, options, run_metadata), arrays)
        try:
            values = run.step(arrays)
        except OpError as error:
            self._locate(error)
            raise
        return run.result(values, arrays)

    def _cached_run(self, lookup: Any) -> _Run | None:
        try:
            found = self._runs.get(lookup)
            if found is None:
                found = self._older_runs.get(lookup)
                if found is not None:
                    self._cache_run(lookup, found)
        except TypeError:  # something in it is not hashable
            return None
        return found

    def _cache_run(self, lookup: Any, run: _Run) -> None:
        # Two generations: runs not used while the younger one fills up are dropped.
        if len(self._runs) >= _RECENT_PLANS:
            self._older_runs, self._runs = self._runs, {}
        try:
            self._runs[lookup] = run
        except TypeError:
            pass

    def _prepared(self, plan: FetchPlan, feeds: list[Tensor]) -> _Run:
        names = tuple([t.name for t in feeds])
        fetches = tuple([t.name for t in plan.tensors if t not in feeds])
        targets = tuple([op.name for op in plan.targets])
        try:
            step = self._service.prepare(names, fetches, targets)
        except OpError as error:
            self._locate(error)
            raise
        return _Run(step, feeds, plan, self)

    def _traced(self, run: _Run, arrays: Any, options: Any, run_metadata: Any) -> list[Any]:
        from headrace.formats.proto.run_pb2 import RunOptions

        wire = b"" if options is None else serialized(options, "options", "RunOptions")
        if run_metadata is not None and not hasattr(run_metadata, "ParseFromString"):
            raise TypeError(f"run_metadata must be a RunMetadata, not {run_metadata!r}")
        measured = run_metadata is not None and self._cost_model.is_due()
        if measured and not getattr(options, "trace_level", 0):
            wire += RunOptions(trace_level=RunOptions.FULL_TRACE).SerializeToString()
        try:
            values, metadata = run.step.run(arrays, wire)
        except OpError as error:
            self._locate(error)
            raise
        if run_metadata is not None:
            run_metadata.ParseFromString(metadata)
            if measured:
                add_cost_graph(self._graph, run_metadata)
        return values

    def _check_usable(self) -> None:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self._graph._ops:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )

    def extend(self) -> None:
        """Sends new nodes to the service. `run` calls it automatically."""
        graph = self._graph
        with self._lock:
            if len(graph._changed) != self._changes_seen:
                self._check_changes()
            count = len(graph._ops)
            if count == self._extended:
                return
            try:
                library = graph._library_wire()
                self._service.extend(graph_wire(graph, self._extended, known_library=self._library))
                self._library = library
            except OpError as error:
                self._locate(error)
                raise
            self._extended = count

    def _check_changes(self) -> None:
        changed = self._graph._changed[self._changes_seen :]
        for op in changed:
            if op._id < self._extended:
                raise RuntimeError(
                    f"Operation {op.name!r} was changed after this session ran a part of its "
                    "graph: build the whole graph before, or make a new Session"
                )
        self._changes_seen += len(changed)

    def _locate(self, error: OpError) -> None:
        """Adds the Operation, NodeDef and the user's source line to an error of a run."""
        stop_with_the_program()
        op = self._graph._by_name.get(error.node_name or "")
        if op is None or error.op is not None:
            return
        error.op = op
        try:
            error.node_def = op.node_def
        except Exception:  # noqa: BLE001 - the error itself matters more
            pass
        line = op.source_line
        if op.source_file is not None and line is not None:
            where = f"({os.path.basename(op.source_file)}:{line})"
            quoted = f"'{op.name}'"
            if error.message.startswith(f"{op.type} {quoted}"):
                error.message = error.message.replace(quoted, f"{quoted} {where}", 1)
            else:
                error.message = f"{error.message} {where}"
            error.args = (error.message,)

    # -- run, prepared in advance ----------------------------------------------------------

    def make_callable(
        self, fetches: Any, feed_list: Any = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Returns a function that runs the fetches for values of feed_list.

        Args:
          fetches: as in `run`.
          feed_list: tensors or their names; the function takes one value per tensor, in order.
          accept_options: whether the function accepts the keywords options and run_metadata.
        Raises: TypeError if feed_list is not a list; as `run`.
        """
        self._check_usable()
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError("`feed_list` must be a list or tuple.")
        plan = FetchPlan(self._graph, fetches)
        feeds = [feed_tensor(self._graph, item) for item in feed_list or ()]
        self.extend()
        run = self._prepared(plan, feeds)
        expected = len(feeds)

        def call(*args: Any, options: Any = None, run_metadata: Any = None) -> Any:
            if self._closed:
                raise RuntimeError("Attempted to use a closed Session.")
            if len(args) != expected:
                raise ValueError(
                    f"this callable was made with a feed_list of {expected} tensors, "
                    f"got {len(args)} values"
                )
            arrays = [as_feed(tensor, value) for tensor, value in zip(feeds, args)]
            if options is not None or run_metadata is not None:
                if not accept_options:
                    raise TypeError("make the callable with accept_options=True to give options")
                return run.result(self._traced(run, arrays, options, run_metadata), arrays)
            try:
                values = run.step(arrays)
            except OpError as error:
                self._locate(error)
                raise
            return run.result(values, arrays)

        return call

    # -- run in several calls --------------------------------------------------------------

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Starts a step that takes feeds and returns fetches over several calls of `partial_run`.

        Args:
          fetches: all fetches of these calls.
          feeds: all tensors that these calls feed.
        Returns: a handle for `partial_run`.
        """
        self._check_usable()
        plan = FetchPlan(self._graph, fetches)
        tensors = [feed_tensor(self._graph, item) for item in flat_feeds(feeds)]
        self.extend()
        try:
            return self._partial_runs.set_up(self._service, tensors, plan)
        except OpError as error:
            self._locate(error)
            raise

    def partial_run(self, handle: str, fetches: Any, feed_dict: FeedDict | None = None) -> Any:
        """Continues a partial run: feeds some of its feeds, and waits for some of its fetches.

        The run ends with the call that completes its feeds and fetches. A session keeps the 1,024
        most recent partial runs.

        Raises: InvalidArgumentError for an unknown or ended handle; as `run`.
        """
        self._check_usable()
        run = self._partial_runs.find(handle)
        plan = FetchPlan(self._graph, fetches)
        pairs = [] if feed_dict is None else resolve(self._graph, feed_dict)
        arrays = {tensor.name: as_feed(tensor, value) for tensor, value in pairs}
        try:
            return plan.build(self._partial_runs.advance(handle, run, arrays, plan))
        except OpError as error:
            self._locate(error)
            raise

    # -- default session -------------------------------------------------------------------

    def as_default(self) -> Any:
        """Returns a context manager that makes this the default session of eval and run."""
        return AsDefault(self)

    def explain(self, fetches: Any, feed_list: Any = ()) -> str:
        """Returns the service's readable report on a signature: segments, memory, kernels."""
        self._check_usable()
        plan = FetchPlan(self._graph, fetches)
        feeds = [feed_tensor(self._graph, item) for item in feed_list]
        self.extend()
        return self._prepared(plan, feeds).step.explain()


class Session(BaseSession):
    """Runs operations of a graph; as a context manager it is the default session until closed."""

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: Proto | None = None
    ) -> None:
        super().__init__(target, graph, config)
        self._entered: list[Any] = []

    def __enter__(self) -> Session:
        default = self.as_default()
        graph = self._graph.as_default()
        graph.__enter__()
        default.__enter__()
        self._entered.append((graph, default))
        return self

    def __exit__(self, *error: Any) -> None:
        graph, default = self._entered.pop()
        default.__exit__(*error)
        graph.__exit__(*error)
        self.close()

    @staticmethod
    def reset(
        target: str, containers: Iterable[str | bytes] | None = None, config: Proto | None = None
    ) -> None:
        """Clears the resources of containers at a target; of all containers if None."""
        service = open_service(as_target(target), config)
        try:
            service.reset([as_text(c) for c in containers or ()])
        finally:
            service.close()


class InteractiveSession(BaseSession):
    """A session that is the default session from its creation until `close`."""

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: Proto | None = None
    ) -> None:
        super().__init__(target, graph, config)
        self._default = self.as_default()
        self._default.__enter__()
        self._graph_default: Any = None
        if graph is not None:
            self._graph_default = graph.as_default()
            self._graph_default.__enter__()

    def close(self) -> None:
        """Closes the session; it is no longer the default session."""
        was_open = not self._closed
        super().close()
        if was_open and self in session_stack.sessions:
            session_stack.sessions.remove(self)
            if self._graph_default is not None:
                self._graph_default.__exit__(None, None, None)
