"""The placements of a board's traces, with a cache of those that were read last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from headrace.board.trace.placement.placement import Placement
from headrace.board.trace.placement.placement_report import PlacementError, read_report
from headrace.board.trace.reading.step_columns import TraceError
from headrace.board.trace.trace_cache import TraceEntry
from headrace.formats.errors import DataLossError

if TYPE_CHECKING:
    from headrace.board.board import Board

_MAX_NODES = 200_000  # kept in memory, about 700 bytes each
_MAX_WITHOUT = 10_000  # traces that are known to have no placement
_MAX_STEPS_SEARCHED = 16


class PlacementCache:
    """Reads placements on demand. Thread-safe."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Placement] = OrderedDict()
        self._without: OrderedDict[int, None] = OrderedDict()

    def load(self, number: int) -> Placement | None:
        """Returns the placement of a trace; None if it has none.

        Raises: KeyError for an unknown id; PlacementError, TraceError or DataLossError if the bytes
          are corrupted.
        """
        entry = self._board.traces.entry(number)
        with self._lock:
            if number in self._kept:
                self._kept.move_to_end(number)
                return self._kept[number]
            if number in self._without:
                return None
        report = read_report(self._board.records, entry) if entry.source is None else None
        if report is None:
            with self._lock:
                self._without[number] = None
                while len(self._without) > _MAX_WITHOUT:
                    self._without.popitem(last=False)
            return None
        names, ops = [node.name for node in report.node], [node.op for node in report.node]
        graph_nodes = self._board.traces.run_graphs.node_names(entry.run, names, ops)
        made = Placement(report, self._board.traces.load(number).trace, graph_nodes)
        with self._lock:
            self._kept[number] = made
            while len(self._kept) > 1 and sum(map(len, self._kept.values())) > _MAX_NODES:
                self._kept.popitem(last=False)
        return made

    def of_node(
        self, run: int, name: str, step: int | None
    ) -> tuple[TraceEntry, Placement, int] | None:
        """Finds a node of a run's graph in the placements of its traced steps.

        Args:
          step: the nearest steps are searched; None: the last ones. Those that cannot be read are
            left out: their own pages report the error.
        Returns: the trace, its placement, and the index of the node there; None if there is none.
        """
        entries = [
            (entry.step, entry)
            for entry in self._board.traces.entries()
            if entry.run.id == run and entry.step is not None
        ]
        entries.sort(key=lambda one: -one[0] if step is None else abs(one[0] - step))
        for _, entry in entries[:_MAX_STEPS_SEARCHED]:
            try:
                placement = self.load(entry.id)
            except (PlacementError, TraceError, DataLossError, KeyError):
                continue
            at = None if placement is None else placement.by_graph_name.get(name)
            if placement is not None and at is not None:
                return entry, placement, at
        return None
