"""Lists the graphs of the logs, with their names and permanent keys."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from headrace.board.graph.sources import keras_model
from headrace.board.graph.sources.record_view import holds_graphs
from headrace.board.store.blob_series import BlobRows, BlobSeries
from headrace.board.store.run import Run
from headrace.formats.errors import DataLossError

if TYPE_CHECKING:
    from headrace.board.board import Board

_OLDEST, _NEWEST = 8, 8  # of one series of graphs, and of the traced steps of one run

Place = tuple[int, int, int, int]


@dataclass(frozen=True)
class GraphEntry:
    """A graph that can be requested.

    Attributes:
      key: identifies the graph in addresses: unique, and the same in every process.
      title: for display; unique, and independent of graphs that are added later.
      place: file, offset and length of its record, and its index in the event's summary.
    """

    id: int
    key: str
    run: int | None
    title: str
    kind: str
    step: int | None
    size_bytes: int
    place: Place | None


class GraphList:
    """Lists the graphs of a log without reading them. Threads may share it."""

    def __init__(self, board: Board):
        self._board = board
        self._lock = threading.Lock()
        self._ids: dict[tuple[Any, ...], int] = {}
        self._by_id: dict[int, GraphEntry] = {}
        self._holds_graphs: dict[tuple[int, int, int], bool] = {}

    def id_of(self, identity: tuple[Any, ...]) -> int:
        """Returns a number that stays the same for the life of the process."""
        with self._lock:
            return self._ids.setdefault(identity, len(self._ids))

    def entry(self, number: int) -> GraphEntry:
        """Returns a graph of the log. Raises: KeyError."""
        found = self._by_id.get(number)
        if found is None:
            self.entries()
            found = self._by_id[number]
        return found

    def entries(self) -> list[GraphEntry]:
        """Returns the graphs of the log: Keras models, graphs, then traced steps.

        Keras models come first, because their layers are what the program says. If a tag has
        many graphs, or a run many traced steps, only the oldest and the newest are listed.
        """
        index = self._board.index
        found = []
        for series in index.series_of_kind("tensor"):
            if isinstance(series, BlobSeries) and series.tag.plugin == keras_model.PLUGIN:
                found += self._keras_models(series)
        for series in index.series_of_kind("graph"):
            if isinstance(series, BlobSeries):
                found += self._graphs(series)
        steps: dict[int, list[BlobSeries]] = {}
        for series in index.series_of_kind("run_metadata"):
            if isinstance(series, BlobSeries):
                steps.setdefault(series.run.id, []).append(series)
        for of_run in steps.values():
            found += self._steps(of_run)
        taken: set[str] = set()
        for at, entry in enumerate(found):
            if entry.title in taken:  # a run has the same name as a step of another run
                entry = found[at] = replace(entry, title=f"{entry.title} [{entry.key}]")
            taken.add(entry.title)
        by_id = {entry.id: entry for entry in found}
        with self._lock:
            self._by_id.update(by_id)
        return found

    def _graphs(self, series: BlobSeries) -> list[GraphEntry]:
        rows = series.rows()
        kind = "meta_graph" if "meta_graph" in series.tag.name else "graph_def"
        group = "meta_graph" if kind == "meta_graph" else "graph"
        about = ["meta graph"] if kind == "meta_graph" else []
        run = series.run
        return [
            self._entry(rows, at, run.id, kind, group, run.name, self._title_of(run), about)
            for at in oldest_and_newest(len(rows))
        ]

    def _keras_models(self, series: BlobSeries) -> list[GraphEntry]:
        rows, run, tag = series.rows(), series.run, series.tag.name
        about = ["Keras model"] if tag == "keras" else [f"Keras model {tag}"]
        name = f"{quote(tag, safe='')}/{run.name}"
        return [
            self._entry(rows, at, run.id, "keras_model", "keras", name, self._title_of(run), about)
            for at in oldest_and_newest(len(rows))
        ]

    def _steps(self, of_run: list[BlobSeries]) -> list[GraphEntry]:
        all_rows = [series.rows() for series in of_run]
        places = [
            (int(step), number, at)
            for number, rows in enumerate(all_rows)
            for at, step in enumerate(rows.step.tolist())
        ]
        places.sort()
        result = []
        for which in oldest_and_newest(len(places)):
            _, number, at = places[which]
            rows, series = all_rows[number], of_run[number]
            if not self._has_graphs(rows, at):
                continue
            run, tag = series.run, series.tag.name
            name = f"{quote(tag, safe='')}/{run.name}"
            title = f"{self._title_of(run)} {tag}"
            result.append(
                self._entry(rows, at, run.id, "run_metadata", "trace", name, title, [])
            )  # fmt: skip
        return result

    def _title_of(self, run: Run) -> str:
        """Returns the name of a run; of the log folder's own run, ".", that of the folder."""
        return self._board.name or run.name if run.name == "." else run.name

    def _entry(
        self,
        rows: BlobRows,
        at: int,
        run: int,
        kind: str,
        group: str,
        name: str,
        title: str,
        about: list[str],
    ) -> GraphEntry:
        key = f"{group}/{numbered_step(rows.step, at)}/{name}"
        if at:  # the first of a series keeps the plain name when others are added
            again = occurrence(rows.step, at)
            about = [*about, f"step {int(rows.step[at])}", *([f"no. {again}"] if again > 1 else [])]
        if about:
            title += f" ({', '.join(about)})"
        place = (
            int(rows.file[at]),
            int(rows.offset[at]),
            int(rows.length[at]),
            int(rows.value[at]),
        )
        return GraphEntry(
            id=self.id_of((key, *place)),
            key=key,
            run=run,
            title=title,
            kind=kind,
            step=int(rows.step[at]),
            size_bytes=place[2],
            place=place,
        )

    def _has_graphs(self, rows: BlobRows, at: int) -> bool:
        file, offset, length = int(rows.file[at]), int(rows.offset[at]), int(rows.length[at])
        key = (file, offset, int(rows.value[at]))
        known = self._holds_graphs.get(key)
        if known is None:
            try:
                known = holds_graphs(self._board.records, file, offset, length, key[2])
            except DataLossError:
                return False  # not cached, because the file may be readable later
            self._holds_graphs[key] = known
        return known


def oldest_and_newest(count: int) -> Iterable[int]:
    """Returns all indices if there are few, otherwise the first and the last ones."""
    if count <= _OLDEST + _NEWEST:
        return range(count)
    return [*range(_OLDEST), *range(count - _NEWEST, count)]


def occurrence(steps: np.ndarray, at: int) -> int:
    """Returns 1 for the first row of a step, 2 for the next row of the same step, and so on."""
    return int(np.count_nonzero(steps[:at] == steps[at])) + 1


def numbered_step(steps: np.ndarray, at: int) -> str:
    """Returns the step in the form of keys: `7`, or `7.2` for the second row of step 7."""
    again = occurrence(steps, at)
    return f"{int(steps[at])}.{again}" if again > 1 else f"{int(steps[at])}"
