"""The graphs of a board by number: where each is, and the last ones, worked out."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from headrace.board.columns import encode_columns
from headrace.board.graph.graph_bundle import GraphPicture, picture_of
from headrace.board.graph.graph_columns import GraphTooLarge
from headrace.board.graph.graph_upload import NoGraph, graph_from_bytes, graph_of_run_metadata
from headrace.board.graph.packed_columns import packed
from headrace.board.store.blob_series import BlobSeries
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.meta_graph_pb2 import MetaGraphDef

if TYPE_CHECKING:
    from headrace.board.board import Board

_PICTURES_NODES = 400_000  # of all kept pictures together, some 400 bytes each
_PARSED = 2
_UPLOADS = 8
_UPLOAD_BYTES = 512 << 20
_ROWS = 16  # of one run and tag: the last ones
_TRACE_BYTES = 32 << 20  # above this nobody looks whether a trace has graphs in it


@dataclass(frozen=True)
class GraphEntry:
    """A graph that can be asked for."""

    id: int
    key: tuple[Any, ...]
    run: int | None
    title: str
    kind: str
    step: int | None
    size_bytes: int


@dataclass
class _Known:
    """What is kept of a graph after its picture was dropped."""

    nodes: int
    edges: int


class GraphShelf:
    """Finds graphs, reads them, and keeps the last pictures. Threads may share it."""

    def __init__(self, board: Board):
        self._board = board
        self._lock = threading.Lock()
        self._ids: dict[tuple[Any, ...], int] = {}
        self._uploads: OrderedDict[int, tuple[str, str, bytes]] = OrderedDict()
        self._pictures: OrderedDict[tuple[Any, ...], tuple[GraphPicture, bytes]] = OrderedDict()
        self._parsed: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._known: dict[tuple[Any, ...], _Known] = {}
        self._busy: dict[tuple[Any, ...], threading.Lock] = {}
        self._has_graph: dict[tuple[Any, ...], bool] = {}

    def entries(self) -> list[GraphEntry]:
        """Returns all graphs, by run; uploads last."""
        found = []
        for kind, label in (("graph", ""), ("run_metadata", "run_metadata")):
            for series in self._board.index.series_of_kind(kind):
                if isinstance(series, BlobSeries):
                    found += self._of_series(series, label)
        with self._lock:
            uploads = list(self._uploads.items())
        for number, (name, _, data) in uploads:
            key = ("upload", number)
            found.append(GraphEntry(self._id(key), key, None, name, "upload", None, len(data)))
        return found

    def entry(self, number: int) -> GraphEntry:
        """Returns one graph. Raises: KeyError."""
        for entry in self.entries():
            if entry.id == number:
                return entry
        raise KeyError(number)

    def known(self, entry: GraphEntry) -> _Known | None:
        """How many nodes and edges, once somebody has looked at it."""
        return self._known.get(entry.key)

    def add_upload(self, name: str, data: bytes) -> int:
        """Keeps an uploaded graph, in memory only. Returns: its number.

        Raises: NoGraph, GraphTooLarge.
        """
        graph, form = graph_from_bytes(data)
        body = graph.SerializeToString()
        with self._lock:
            number = len(self._ids)
            key = ("upload", number)
            self._ids[key] = number
            self._uploads[number] = (name, form, body)
            while len(self._uploads) > 1 and (
                len(self._uploads) > _UPLOADS
                or sum(len(b) for _, _, b in self._uploads.values()) > _UPLOAD_BYTES
            ):
                self._uploads.popitem(last=False)
        try:
            self.picture(self.entry(number))
        except GraphTooLarge:
            with self._lock:
                self._uploads.pop(number, None)
            raise
        return number

    def graph_def(self, entry: GraphEntry) -> Any:
        """Returns the parsed graph; do not change it. Raises: NoGraph, DataLossError."""
        with self._lock:
            graph = self._parsed.get(entry.key)
            if graph is not None:
                self._parsed.move_to_end(entry.key)
                return graph
        graph = self._read(entry)
        with self._lock:
            self._parsed[entry.key] = graph
            while len(self._parsed) > _PARSED:
                self._parsed.popitem(last=False)
        return graph

    def picture(self, entry: GraphEntry) -> GraphPicture:
        """Returns a graph worked out. Raises: NoGraph, GraphTooLarge, DataLossError."""
        return self._worked_out(entry)[0]

    def bundle(self, entry: GraphEntry) -> bytes:
        """Returns the reply of /graph/ID. Raises: as `picture`."""
        return self._worked_out(entry)[1]

    def _worked_out(self, entry: GraphEntry) -> tuple[GraphPicture, bytes]:
        with self._lock:
            kept = self._pictures.get(entry.key)
            if kept is not None:
                self._pictures.move_to_end(entry.key)
                return kept
            busy = self._busy.setdefault(entry.key, threading.Lock())
        with busy:  # two pages that ask at once wait for one another, not for other graphs
            with self._lock:
                kept = self._pictures.get(entry.key)
            if kept is None:
                kept = self._work_out(entry)
        return kept

    def _work_out(self, entry: GraphEntry) -> tuple[GraphPicture, bytes]:
        picture = picture_of(self.graph_def(entry))
        header, columns = picture.header_and_columns()
        header = {"id": entry.id, "title": entry.title, "kind": entry.kind, **header}
        kept = (picture, encode_columns(*packed(header, columns)))
        with self._lock:
            self._pictures[entry.key] = kept
            self._busy.pop(entry.key, None)
            nodes = len(picture.columns)
            self._known[entry.key] = _Known(nodes, len(picture.columns.edge_src))
            while (
                len(self._pictures) > 1
                and sum(len(p.columns) for p, _ in self._pictures.values()) > _PICTURES_NODES
            ):
                self._pictures.popitem(last=False)
        for kind, (count, text) in picture.columns.problems.items():
            self._board.index.problems.put(
                f"graph_{kind}",
                "warning",
                run=entry.run,
                count=count,
                text=f"graph {entry.title}: {text}",
                subject=str(entry.id),
            )
        return kept

    def _of_series(self, series: BlobSeries, label: str) -> list[GraphEntry]:
        rows = series.rows()
        found = []
        for at in range(max(0, len(rows) - _ROWS), len(rows)):
            key = (int(rows.file[at]), int(rows.offset[at]), int(rows.value[at]))
            if label and not self._has_partitions(key, series, at):
                continue
            kind = label or ("meta_graph" if "meta_graph" in series.tag.name else "graph_def")
            title = series.run.name
            if label:
                title += f" {series.tag.name}"
            if kind == "meta_graph":
                title += " (meta graph)"
            elif len(rows) > 1:
                title += f" (step {int(rows.step[at])})"
            found.append(
                GraphEntry(
                    self._id(key),
                    (*key, series.run.id, series.tag.id, at),
                    series.run.id,
                    title,
                    kind,
                    int(rows.step[at]),
                    int(rows.length[at]),
                )
            )
        return found

    def _has_partitions(self, key: tuple[Any, ...], series: BlobSeries, at: int) -> bool:
        if key not in self._has_graph:
            if int(series.rows().length[at]) > _TRACE_BYTES:
                return False
            try:
                data = self._board.records.payload(series.rows(), at)
                self._has_graph[key] = has_partition_graphs(data)
            except Exception:  # damaged: the trace page says so
                self._has_graph[key] = False
        return self._has_graph[key]

    def _id(self, key: tuple[Any, ...]) -> int:
        with self._lock:
            return self._ids.setdefault(key, len(self._ids))

    def _read(self, entry: GraphEntry) -> Any:
        if entry.kind == "upload":
            with self._lock:
                kept = self._uploads.get(entry.key[1])
            if kept is None:
                raise NoGraph("this upload was dropped for later ones; upload it again")
            return GraphDef.FromString(kept[2])
        *_, run, tag, at = entry.key
        try:
            series = self._board.index.series(run, tag)
        except KeyError:
            raise NoGraph("the run of this graph is gone") from None
        assert isinstance(series, BlobSeries)
        rows = series.rows()
        if at >= len(rows):
            raise NoGraph("the record of this graph is gone")
        data = self._board.records.payload(rows, at)
        try:
            if entry.kind == "meta_graph":
                return MetaGraphDef.FromString(data).graph_def
            if entry.kind == "run_metadata":
                return graph_of_run_metadata(data)
            return GraphDef.FromString(data)
        except DecodeError:
            raise NoGraph(f"the record of this {entry.kind} is damaged") from None


def has_partition_graphs(data: bytes) -> bool:
    """Whether a RunMetadata has fields 3 or 4, by a walk over its top level."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        if key >> 3 in (3, 4) and key & 7 == 2:
            return True
        if key & 7 == 2:
            length, at = _varint(data, at)
            at += length
        elif key & 7 == 0:
            _, at = _varint(data, at)
        elif key & 7 in (1, 5):
            at += 8 if key & 7 == 1 else 4
        else:
            return False
    return False


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
    return value, at
