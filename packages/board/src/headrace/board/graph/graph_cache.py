"""The graphs of a board by number, with a cache of the graphs analysed last."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from headrace.board.graph.delta_encoding import packed
from headrace.board.graph.graph_bundle import GraphAnalysis, analyse_graph
from headrace.board.graph.sources.graph_list import GraphEntry, GraphList, Place
from headrace.board.graph.sources.graph_upload import (
    NoGraphError,
    graph_from_bytes,
    graph_of_run_metadata,
)
from headrace.board.graph.sources.keras_model import graph_of_keras_model
from headrace.board.graph.structure.graph_columns import NOTES, GraphTooLarge
from headrace.board.store.blob_series import BlobRows
from headrace.board.web.columns import encode_columns
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.meta_graph_pb2 import MetaGraphDef

if TYPE_CHECKING:
    from headrace.board.board import Board

_MAX_ANALYSED_NODES = 400_000  # of all cached analyses together, about 400 bytes each
_PARSED = 2
_UPLOADS = 8
_UPLOAD_BYTES = 512 << 20


@dataclass
class GraphSize:
    """The size of a graph, kept after its analysis was dropped."""

    nodes: int
    edges: int


@dataclass
class _Upload:
    name: str
    key: str
    body: bytes


class GraphCache:
    """Finds, reads and analyses graphs, and caches the last analyses. Thread-safe."""

    def __init__(self, board: Board):
        self._board = board
        self._list = GraphList(board)
        self._lock = threading.Lock()
        self._uploads: OrderedDict[int, _Upload] = OrderedDict()
        self._analyses: OrderedDict[int, tuple[GraphAnalysis, bytes]] = OrderedDict()
        self._parsed: OrderedDict[int, Any] = OrderedDict()
        self._known: dict[int, GraphSize] = {}
        self._busy: dict[int, threading.Lock] = {}

    def entries(self) -> list[GraphEntry]:
        """Returns all graphs: those of the logs by run, then the uploads, the newest last."""
        return self._list.entries() + self._upload_entries()

    def entry(self, number: int) -> GraphEntry:
        """Returns one graph. Raises: KeyError."""
        with self._lock:
            uploaded = number in self._uploads
        if uploaded:
            return next(e for e in self._upload_entries() if e.id == number)
        return self._list.entry(number)

    def _upload_entries(self) -> list[GraphEntry]:
        with self._lock:
            uploads = list(self._uploads.items())
        result = []
        for at, (number, upload) in enumerate(uploads):
            later = sum(other.name == upload.name for _, other in uploads[at + 1 :])
            title = upload.name
            if later:  # only the newest upload has the plain name
                digest = upload.key.split("/")[1]
                title += f" (uploaded before, {digest})"
            size = len(upload.body)
            result.append(
                GraphEntry(number, upload.key, None, title, "upload", None, size, None)
            )  # fmt: skip
        return result

    def known_size(self, entry: GraphEntry) -> GraphSize | None:
        """Returns the size of a graph that was opened before, else None."""
        return self._known.get(entry.id)

    def add_upload(self, name: str, data: bytes) -> int:
        """Keeps an uploaded graph in memory; the same file under the same name is the same graph.

        Returns: the number of the graph.
        Raises: NoGraphError, GraphTooLarge.
        """
        graph, _ = graph_from_bytes(data)
        body = graph.SerializeToString()
        key = f"upload/{hashlib.blake2b(data, digest_size=6).hexdigest()}/{name}"
        number = self._list.id_of((key,))
        with self._lock:
            self._uploads[number] = _Upload(name, key, body)
            self._uploads.move_to_end(number)
            while len(self._uploads) > 1 and (
                len(self._uploads) > _UPLOADS
                or sum(len(u.body) for u in self._uploads.values()) > _UPLOAD_BYTES
            ):
                self._uploads.popitem(last=False)
        try:
            self.analysis(self.entry(number))
        except GraphTooLarge:
            with self._lock:
                self._uploads.pop(number, None)
            raise
        return number

    def graph_def(self, entry: GraphEntry) -> Any:
        """Returns the parsed graph; do not modify it. Raises: NoGraphError, DataLossError."""
        with self._lock:
            graph = self._parsed.get(entry.id)
            if graph is not None:
                self._parsed.move_to_end(entry.id)
                return graph
        graph = self._read(entry)
        with self._lock:
            self._parsed[entry.id] = graph
            while len(self._parsed) > _PARSED:
                self._parsed.popitem(last=False)
        return graph

    def analysis(self, entry: GraphEntry) -> GraphAnalysis:
        """Returns the analysis of a graph. Raises: NoGraphError, GraphTooLarge, DataLossError."""
        return self._worked_out(entry)[0]

    def bundle(self, entry: GraphEntry) -> bytes:
        """Returns the encoded reply of /graph/ID. Raises: as `analysis`."""
        return self._worked_out(entry)[1]

    def header(self, entry: GraphEntry) -> dict[str, Any]:
        """Returns the fields of the reply of /graph/ID that describe the entry."""
        return {"id": entry.id, "key": entry.key, "title": entry.title, "kind": entry.kind}

    def _worked_out(self, entry: GraphEntry) -> tuple[GraphAnalysis, bytes]:
        with self._lock:
            kept = self._analyses.get(entry.id)
            if kept is not None:
                self._analyses.move_to_end(entry.id)
                return kept
            busy = self._busy.setdefault(entry.id, threading.Lock())
        with busy:  # requests for one graph wait for each other, not for other graphs
            try:
                with self._lock:
                    kept = self._analyses.get(entry.id)
                return kept or self._work_out(entry)
            finally:
                with self._lock:
                    self._busy.pop(entry.id, None)

    def _work_out(self, entry: GraphEntry) -> tuple[GraphAnalysis, bytes]:
        analysis = analyse_graph(self.graph_def(entry))
        header, columns = analysis.header_and_columns()
        kept = (analysis, encode_columns(*packed({**self.header(entry), **header}, columns)))
        with self._lock:
            self._analyses[entry.id] = kept
            nodes = len(analysis.columns)
            self._known[entry.id] = GraphSize(nodes, len(analysis.columns.edge_src))
            while (
                len(self._analyses) > 1
                and sum(len(p.columns) for p, _ in self._analyses.values()) > _MAX_ANALYSED_NODES
            ):
                self._analyses.popitem(last=False)
        for kind, (count, text) in analysis.columns.problems.items():
            if kind in NOTES:
                continue
            self._board.index.problems.put(
                f"graph_{kind}",
                "warning",
                run=entry.run,
                count=count,
                text=f"graph {entry.title}: {text}",
                subject=entry.key,
            )
        return kept

    def _read(self, entry: GraphEntry) -> Any:
        if entry.place is None:
            with self._lock:
                kept = self._uploads.get(entry.id)
            if kept is None:
                raise NoGraphError("this upload was dropped for later ones; upload it again")
            return GraphDef.FromString(kept.body)
        data = self._board.records.payload(_one_row(entry.place), 0)
        try:
            if entry.kind == "meta_graph":
                return MetaGraphDef.FromString(data).graph_def
            if entry.kind == "keras_model":
                return graph_of_keras_model(data)
            if entry.kind == "run_metadata":
                return graph_of_run_metadata(data)
            return GraphDef.FromString(data)
        except DecodeError:
            raise NoGraphError(f"the record of this {entry.kind} is corrupted") from None


def _one_row(place: Place) -> BlobRows:
    file, offset, length, value = place
    nothing = np.zeros(1)
    return BlobRows(
        step=nothing,
        wall=nothing,
        file=np.array([file], np.int32),
        offset=np.array([offset], np.int64),
        length=np.array([length], np.int64),
        value=np.array([value], np.int32),
        superseded=nothing,
    )
