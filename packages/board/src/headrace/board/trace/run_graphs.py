"""The graph of a run as its traces need it: edges between nodes, and names of nodes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.message import DecodeError

from headrace.board.graph.slice_names import SliceNames
from headrace.board.graph.structure.graph_columns import GraphTooLarge, read_columns
from headrace.board.store.blob_series import BlobRows, BlobSeries
from headrace.board.store.run import Run
from headrace.board.trace.reading.graph_edges import GraphEdges, read_edges
from headrace.formats.errors import DataLossError
from headrace.formats.proto import graph_pb2, meta_graph_pb2

if TYPE_CHECKING:
    from headrace.board.board import Board

_MAX_KEPT = 4

Made = TypeVar("Made")


class RunGraphs:
    """Reads the last graph of a run on demand, and caches the results."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, int, int], Any] = OrderedDict()

    def graph_edges(self, run: Run) -> GraphEdges:
        """Returns the edges of the run's last graph; empty if it has no graph."""
        return self._made(run, "graph_edges", lambda graph: read_edges([graph])) or GraphEdges()

    def slice_names(self, run: Run) -> SliceNames | None:
        """Returns the finder of nodes in the run's last graph; None if it has no graph."""
        return self._made(run, "names", lambda graph: SliceNames(read_columns(graph)))

    def node_names(self, run: Run, names: Sequence[str], ops: Sequence[str]) -> list[str]:
        """Returns the name in the run's graph of each node of a step, "" for unknown ones.

        Args:
          names: as the executor has them.
          ops: the op of each name, empty where it is not known.
        """
        finder = self.slice_names(run)
        if finder is None:
            return [""] * len(names)
        nodes = finder.nodes_of(names, ops).tolist()
        return [finder.node_name(node) if node >= 0 else "" for node in nodes]

    def _made(self, run: Run, what: str, make: Callable[[Any], Made]) -> Made | None:
        place = self._last_graph(run)
        if place is None:
            return None
        rows, i, plain = place
        key = (what, int(rows.file[i]), int(rows.offset[i]))
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                found: Made = self._kept[key]
                return found
        try:
            data = self._board.records.payload(rows, i)
            if plain:
                graph = graph_pb2.GraphDef.FromString(data)
            else:
                graph = meta_graph_pb2.MetaGraphDef.FromString(data).graph_def
            result = make(graph)
        except (DecodeError, DataLossError, GraphTooLarge):  # opening the graph reports the error
            return None
        with self._lock:
            self._kept[key] = result
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
        return result

    def _last_graph(self, run: Run) -> tuple[BlobRows, int, bool] | None:
        """Returns rows and index of the last graph, and whether it is a GraphDef."""
        best: tuple[BlobRows, int, bool] | None = None
        for series in self._board.index.series_of_kind("graph"):
            if series.run is not run or not isinstance(series, BlobSeries):
                continue
            rows = series.rows()
            plain = series.tag.name == "graph_def"
            if len(rows) and (best is None or plain > best[2]):
                best = (rows, len(rows) - 1, plain)
        return best
