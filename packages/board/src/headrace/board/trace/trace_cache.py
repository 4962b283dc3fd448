"""The step traces of a board, with a cache of the traces read last."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from google.protobuf.message import DecodeError

from headrace.board.graph.sources.record_view import holds_slices
from headrace.board.reading.trace_file_names import title_of_trace
from headrace.board.store.blob_series import BlobRows, BlobSeries
from headrace.board.store.path_text import path_text
from headrace.board.store.run import Run, Tag
from headrace.board.store.trace_files import TraceFile
from headrace.board.trace.analysis.critical_path import NO_PATH, CriticalPath, critical_path
from headrace.board.trace.analysis.memory_curve import MemoryCurve, memory_curves
from headrace.board.trace.analysis.stalls import Stall, find_stalls
from headrace.board.trace.foreign.trace_file import read_trace_file
from headrace.board.trace.reading.graph_edges import GraphEdges, partitions_of, read_edges
from headrace.board.trace.reading.read_step import read_step
from headrace.board.trace.reading.step_trace import StepTrace
from headrace.board.trace.run_graphs import RunGraphs
from headrace.board.trace.zoom.downsample import DownsampledTrace, downsample_trace
from headrace.formats.errors import DataLossError
from headrace.formats.proto import event_pb2, step_stats_pb2
from headrace.formats.wire import MalformedError, fields

if TYPE_CHECKING:
    from headrace.board.board import Board

_MAX_SLICES = 3_000_000  # kept in memory, about 60 bytes each
_MAX_WHOLE_STEPS = 4
_TAGGED_RUN_METADATA = 8  # of Event
_RUN_METADATA = 2  # of TaggedRunMetadata


@dataclass(frozen=True)
class TraceEntry:
    """A step trace in a log, or a trace file; its bytes stay in the file.

    step: None for a trace file, whose title tells it from others of its run.
    """

    id: int
    run: Run
    tag: Tag
    step: int | None
    wall: float
    file: int
    offset: int
    length: int
    value: int
    key: str  # unique, and the same in every process
    source: TraceFile | None = None
    title: str = ""


class LoadedTrace:
    """A trace that was read, with analyses that are computed on demand."""

    def __init__(
        self,
        entry: TraceEntry,
        trace: StepTrace,
        graph_edges: GraphEdges,
        payload_at: int | None,
        run_graphs: RunGraphs,
    ) -> None:
        self.entry, self.trace, self.graph_edges = entry, trace, graph_edges
        self.payload_at = payload_at  # where the RunMetadata lies in its record, if it is a part
        self._run_graphs = run_graphs
        self._lock = threading.RLock()
        self._whole: OrderedDict[tuple[int, bool], DownsampledTrace] = OrderedDict()

    @cached_property
    def _analysis(self) -> tuple[CriticalPath, list[Stall], np.ndarray]:
        if self.trace.nested is not None:  # calls within calls do not wait for each other
            return NO_PATH, [], np.zeros(len(self.trace), bool)
        path = critical_path(self.trace, self.graph_edges)
        marked = np.zeros(len(self.trace), bool)
        marked[path.slices] = True
        return path, find_stalls(self.trace), marked

    @property
    def analysed(self) -> bool:
        """Whether the critical path is known already."""
        return "_analysis" in self.__dict__

    def analysis(self) -> tuple[CriticalPath, list[Stall], np.ndarray]:
        """Returns: the critical path, the stalls, and which slices are on the path."""
        with self._lock:
            return self._analysis

    @cached_property
    def _graph_nodes(self) -> list[str]:
        names, ops = self.trace.names, self.trace.ops_of_names()
        return self._run_graphs.node_names(self.entry.run, names, ops)

    def graph_nodes(self) -> list[str]:
        """Returns the name of each node in the run's graph, "" if the graph does not have it."""
        with self._lock:
            return self._graph_nodes

    @cached_property
    def _curves(self) -> list[MemoryCurve]:
        return memory_curves(self.trace, self.graph_edges)

    def curves(self) -> list[MemoryCurve]:
        """Returns: the memory curves."""
        with self._lock:
            return self._curves

    def window(self, t0: float, t1: float, px: int, lanes: list[int] | None) -> DownsampledTrace:
        """Returns a window of the trace, with the critical path marked if it is already known."""
        critical = self._analysis[2] if self.analysed else None
        whole = lanes is None and t0 <= 0 and t1 >= self.trace.duration_ns
        if not whole:
            return downsample_trace(self.trace, t0, t1, px, lanes, critical)
        # The whole step is the first view of every page, and the only one that reads all slices.
        key = (px, critical is not None)
        with self._lock:
            found = self._whole.get(key)
            if found is None:
                found = self._whole[key] = downsample_trace(self.trace, t0, t1, px, None, critical)
                while len(self._whole) > _MAX_WHOLE_STEPS:
                    self._whole.popitem(last=False)
            return found


@dataclass
class _Slot:
    lock: threading.Lock = field(default_factory=threading.Lock)
    loaded: LoadedTrace | None = None


class TraceCache:
    """All traces of a board by small ids; reads traces on demand and caches the last ones."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._lock = threading.Lock()
        self._ids: dict[tuple[int, int, int, int], int] = {}
        self._slots: OrderedDict[int, _Slot] = OrderedDict()
        self._by_id: dict[int, TraceEntry] = {}
        self._timed: dict[tuple[int, int, int], bool] = {}  # by file, offset and value
        self.run_graphs = RunGraphs(board)

    def entries(self) -> list[TraceEntry]:
        """Returns: all traces, by run and step; a RunMetadata that times no node is none."""
        found = []
        for series in self._board.index.series_of_kind("run_metadata"):
            if not isinstance(series, BlobSeries):
                continue
            rows = series.rows()
            name = f"{quote(series.tag.name, safe='')}/{series.run.name}"
            times: Counter[int] = Counter()
            for i in range(len(rows)):
                step = int(rows.step[i])
                if not self._is_timed(rows, i):
                    continue
                times[step] += 1
                again = f".{times[step]}" if times[step] > 1 else ""
                key = (series.run.id, series.tag.id, int(rows.file[i]), int(rows.offset[i]))
                with self._lock:
                    number = self._ids.setdefault(key, len(self._ids))
                found.append(
                    TraceEntry(
                        number,
                        series.run,
                        series.tag,
                        step,
                        float(rows.wall[i]),
                        int(rows.file[i]),
                        int(rows.offset[i]),
                        int(rows.length[i]),
                        int(rows.value[i]),
                        f"{step}{again}/{name}",
                    )
                )
        found.sort(key=lambda e: (e.run.name, e.step, e.offset))
        found += self._file_entries()
        by_id = {entry.id: entry for entry in found}
        with self._lock:
            self._by_id.update(by_id)
        return found

    def _is_timed(self, rows: BlobRows, i: int) -> bool:
        key = (int(rows.file[i]), int(rows.offset[i]), int(rows.value[i]))
        known = self._timed.get(key)
        if known is None:
            file, offset, value = key
            try:
                known = holds_slices(self._board.records, file, offset, int(rows.length[i]), value)
            except DataLossError:
                return True  # opening the trace reports the error
            self._timed[key] = known
        return known

    def _file_entries(self) -> list[TraceEntry]:
        found = []
        for file in self._board.index.trace_files.all():
            with self._lock:
                number = self._ids.setdefault((-1, file.id, 0, 0), len(self._ids))
            title = path_text(title_of_trace(file.run.folder, file.name))
            tag = Tag(-1, title, "trace_file")
            key = f"file/{quote(path_text(file.name), safe='')}"
            found.append(
                TraceEntry(
                    *(number, file.run, tag, None, file.mtime, -1, 0, file.size, -1, key),
                    source=file,
                    title=title,
                )
            )
        return found

    def entry(self, number: int) -> TraceEntry:
        """Returns: a trace's entry. Raises: KeyError."""
        found = self._by_id.get(number)
        if found is None:
            self.entries()
            found = self._by_id[number]
        return found

    def known(self, number: int) -> LoadedTrace | None:
        """Returns: a trace if it is in memory."""
        slot = self._slots.get(number)
        return slot.loaded if slot else None

    def load(self, number: int) -> LoadedTrace:
        """Reads a trace, unless it is cached.

        Raises: KeyError for an unknown id; TraceError or DataLossError if the trace is corrupted.
        """
        entry = self.entry(number)
        with self._lock:
            slot = self._slots.setdefault(number, _Slot())
            self._slots.move_to_end(number)
        with slot.lock:
            if slot.loaded is None and entry.source is not None:
                trace = read_trace_file(self._board.folder, entry.source)
                slot.loaded = LoadedTrace(entry, trace, GraphEdges(), None, self.run_graphs)
            elif slot.loaded is None:
                metadata, at = self._payload(entry)
                partitions = partitions_of(metadata)
                own = read_edges(partitions)
                trace = read_step(metadata, own)
                graph_edges = own or self.run_graphs.graph_edges(entry.run)
                slot.loaded = LoadedTrace(entry, trace, graph_edges, at, self.run_graphs)
            loaded = slot.loaded
        self._forget_old()
        return loaded

    def node_stats(self, loaded: LoadedTrace, slice_: int) -> Any:
        """Returns: the NodeExecStats of a slice, read again from the log. Raises: DataLossError."""
        if loaded.trace.nested is not None:
            return step_stats_pb2.NodeExecStats()
        columns, row = loaded.trace.columns, int(loaded.trace.row[slice_])
        at, length, entry = int(columns.offset[row]), int(columns.length[row]), loaded.entry
        if loaded.payload_at is None:
            data = self._payload(entry)[0][at : at + length].tobytes()
        else:
            begin = loaded.payload_at + at
            data = self._board.records.part(entry.file, entry.offset, begin, length)
        try:
            return step_stats_pb2.NodeExecStats.FromString(data)
        except DecodeError as error:
            raise DataLossError(None, None, f"the slice cannot be read again: {error}") from None

    def _payload(self, entry: TraceEntry) -> tuple[memoryview, int | None]:
        """Finds the RunMetadata without parsing a large Event, which would copy it twice.

        Returns: its bytes, and their offset in the record (None if they are not contiguous there).
        """
        # The CRC was checked by the scanner; checking a hundred MB again would take too long.
        data = self._board.records.part(entry.file, entry.offset, 0, entry.length)
        if entry.value >= 0:  # the tensor form of TensorFlow 2
            try:
                summary = event_pb2.Event.FromString(data).summary
            except DecodeError:
                raise DataLossError(None, None, "the record is not an Event") from None
            strings = (
                summary.value[entry.value].tensor.string_val
                if entry.value < len(summary.value)
                else ()
            )
            return memoryview(strings[0] if strings else b""), None
        found, at = memoryview(b""), 0
        try:
            for number, wire, begin, end in fields(data, 0, len(data)):
                if number == _TAGGED_RUN_METADATA and wire == 2:
                    for part, kind, low, high in fields(data, begin, end):
                        if part == _RUN_METADATA and kind == 2:
                            found, at = memoryview(data)[low:high], low
        except MalformedError:
            raise DataLossError(None, None, "the record is not an Event") from None
        return found, at

    def _forget_old(self) -> None:
        with self._lock:
            kept = 0
            for number in reversed(list(self._slots)):
                loaded = self._slots[number].loaded
                if loaded is None:
                    continue
                if kept and kept + len(loaded.trace) > _MAX_SLICES:
                    del self._slots[number]
                else:
                    kept += len(loaded.trace)
