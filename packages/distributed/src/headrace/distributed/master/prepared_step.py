"""Steps of a session, as the client of this process calls them."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from headrace.distributed.master.placement_search import PlacementSearch
from headrace.distributed.master.planned_signature import PlannedSignature
from headrace.distributed.native.step import Running, Step
from headrace.distributed.traces.merge_traces import merge_traces
from headrace.formats import errors
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.plan_pb2 import PlacementReport
from headrace.formats.proto.run_pb2 import RunMetadata, RunOptions

_TRACED = RunOptions(trace_level=RunOptions.FULL_TRACE).SerializeToString()
_log = logging.getLogger("headrace.distributed")


class StepOwner(Protocol):
    """What a step needs of its session."""

    unsettled: bool
    timeout_ms: int

    def settle(self, signature: PlannedSignature) -> None: ...

    def doubt(self, signature: PlannedSignature) -> None: ...

    def clock_offsets_ns(self, signature: PlannedSignature) -> dict[str, int]: ...

    def placement(self, signature: PlannedSignature, trace: bytes) -> PlacementReport: ...


class PreparedStep:
    """services.Step of a session over several tasks.

    Args:
      session: the master's.
      signature: which is registered with its tasks.
      step: of the endpoint.
    """

    def __init__(self, session: StepOwner, signature: PlannedSignature, step: Step) -> None:
        self.session = session
        self.current = signature, step
        self.numbers = [signature.number]  # of all placements that are registered
        self.search: PlacementSearch | None = None  # while its nodes may move
        self._fed = signature.fed_fetches

    @property
    def signature(self) -> PlannedSignature:
        return self.current[0]

    @property
    def step(self) -> Step:
        return self.current[1]

    def __call__(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        search = self.search
        if search is not None:
            return search.run(lambda: self._run_plain(values), lambda: self.run(values, _TRACED)[0])
        return self._run_plain(values)

    def _run_plain(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        session = self.session
        current = self.current
        if session.unsettled:
            session.settle(current[0])
        try:
            results: list[np.ndarray] = current[1].run(values, session.timeout_ms)[0]
        except errors.OpError as error:
            results = self._again(current, error, values, session.timeout_ms, False)[0]
        return self.with_fed(results, values) if self._fed else results

    def run(self, values: Sequence[np.ndarray], options: bytes) -> tuple[list[np.ndarray], bytes]:
        """Runs the step with serialized RunOptions; services.Step.run."""
        parsed = RunOptions.FromString(options)
        timeout_ms = parsed.timeout_in_ms or self.session.timeout_ms
        traced = parsed.trace_level > RunOptions.NO_TRACE
        current = self.current
        if self.session.unsettled:
            self.session.settle(current[0])
        try:
            results, trace = current[1].run(values, timeout_ms, traced)
        except errors.OpError as error:
            results, trace = self._again(current, error, values, timeout_ms, traced)
        metadata = self.metadata(trace, traced, parsed.output_partition_graphs, current[0])
        return self.with_fed(results, values), metadata

    def start(self, values: Sequence[np.ndarray]) -> Running:
        """Starts a run, which `finish` ends and Running.cancel cancels."""
        signature, step = self.current
        if self.session.unsettled:
            self.session.settle(signature)
        if len(values) != len(signature.feed_dtypes):
            raise errors.InvalidArgumentError(
                None, None, f"{len(values)} values for {len(signature.feed_dtypes)} feeds"
            )
        try:
            running = step.start()
        except errors.OpError as error:
            self._may_start_again(signature, error)
            running = step.start()
        for i, value in enumerate(values):
            running.feed(i, value)
        return running

    def finish(self, running: Running, values: Sequence[np.ndarray], timeout_ms: int) -> list[Any]:
        """Returns the results of a run that `start` has started."""
        until = time.monotonic() + timeout_ms / 1000
        try:
            results = []
            for i in range(len(self.signature.plan.fetch) - len(self._fed)):
                results.append(running.fetch(i, _left_ms(until, timeout_ms)))
            running.finish(_left_ms(until, timeout_ms))
        except errors.OpError as error:
            if error.error_code in (errors.UNAVAILABLE, errors.ABORTED):
                self.session.doubt(self.signature)
            raise
        return self.with_fed(results, values)

    def metadata(
        self,
        trace: bytes,
        traced: bool,
        with_graphs: bool,
        signature: PlannedSignature | None = None,
    ) -> bytes:
        """Returns the serialized RunMetadata of a run.

        Args:
          signature: as it was planned for the run; None: as it is now.
        """
        if not traced and not with_graphs:
            return b""
        signature = signature or self.signature
        graphs = [GraphDef.FromString(part.graph_def) for part in signature.plan.partition]
        if not traced:
            return RunMetadata(partition_graphs=graphs).SerializeToString()
        offsets_ns = self.session.clock_offsets_ns(signature)
        merged = merge_traces(trace, graphs, offsets_ns, with_graphs)
        # Concatenated messages are merged.
        return merged + self._placement(signature, merged)

    def _placement(self, signature: PlannedSignature, trace: bytes) -> bytes:
        """Returns a RunMetadata that says why nodes are where they are; empty if that fails."""
        try:
            report = self.session.placement(signature, trace)
        except Exception as error:  # the run is over, and its results are good
            _log.warning("no report of the placement: %s", error)
            return b""
        return RunMetadata(placement=report).SerializeToString()

    def with_fed(self, results: list[Any], values: Sequence[np.ndarray]) -> list[Any]:
        """Adds the fetches that are fed."""
        for place, feed in self._fed:
            # A copy: the caller may modify the fed array later.
            results.insert(place, np.array(values[feed])[()])
        return results

    def _again(
        self,
        current: tuple[PlannedSignature, Step],
        error: errors.OpError,
        values: Any,
        timeout_ms: int,
        traced: bool,
    ) -> Any:
        """Runs a step again that could not start for want of a link. Raises: the error."""
        self._may_start_again(current[0], error)
        return current[1].run(values, timeout_ms, traced)

    def _may_start_again(self, signature: PlannedSignature, error: errors.OpError) -> None:
        if error.error_code not in (errors.UNAVAILABLE, errors.ABORTED):
            raise error
        self.session.doubt(signature)
        if error.details != "not started":
            raise error
        self.session.settle(signature)

    def explain(self) -> str:
        """Returns a readable report: tasks, partitions, and the tensors between them."""
        plan = self.signature.plan
        lines = [f"{len(plan.partition)} tasks, {len(plan.edge)} edges"]
        for part in plan.partition:
            nodes = len(GraphDef.FromString(part.graph_def).node)
            lines.append(f"  {part.task}: {nodes} nodes")
        for edge in plan.edge:
            source, target = edge.send_task or "client", edge.recv_task or "client"
            lines.append(f"  edge {edge.id}: {edge.tensor}, {source} -> {target}")
        return "\n".join(lines)


def _left_ms(until: float, timeout_ms: int) -> int:
    """The time limit that is left; 0 if there is none."""
    return max(1, round((until - time.monotonic()) * 1000)) if timeout_ms else 0
