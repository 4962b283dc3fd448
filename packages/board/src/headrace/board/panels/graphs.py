"""The graphs: which there are, the bundle of one, its nodes, costs, differences and exports."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, request

from headrace.board.web.columns import MEDIA_TYPE, columns_as_json
from headrace.board.graph.diff.diff_response import diff_columns, diff_document
from headrace.board.graph.dot_export import TooManyVertices, dot_of_view
from headrace.board.graph.graph_bundle import GraphPicture
from headrace.board.graph.structure.graph_columns import GraphTooLarge
from headrace.board.graph.diff.graph_diff import Difference, diff_graphs, diff_groups
from headrace.board.graph.sources.graph_list import GraphEntry
from headrace.board.graph.graph_cache import GraphShelf
from headrace.board.graph.sources.graph_upload import NoGraph
from headrace.board.graph.node_details import node_card
from headrace.board.graph.run_costs import RunCosts, steps_to_read
from headrace.board.web.responses import (
    BadRequest,
    NotFound,
    ids_argument,
    int_argument,
    reply_bytes,
    reply_columns,
    reply_json,
)
from headrace.board.web.security import UPLOAD_PATH
from headrace.board.trace.reading.step_columns import BadTrace
from headrace.board.trace.trace_cache import TraceShelf
from headrace.formats.errors import DataLossError

if TYPE_CHECKING:
    from headrace.board.board import Board

MOST_TRACES = 10_000
MOST_OPEN = 5000
CARD_CHARACTERS = 1024  # of an attribute's value
MOST_VALUE_CHARACTERS = 1 << 20  # of one that is asked for in full
_NAME_CHARACTERS = 200
_ROOT = "/api/v1"  # where all panels are mounted


def blueprint(board: Board) -> Blueprint:
    """Returns the endpoints graphs and graph/*."""
    panel = Blueprint("graphs", __name__)
    shelf = GraphShelf(board)
    last_diff = _LastDifference()

    def entry_of(number: int) -> GraphEntry:
        try:
            return shelf.entry(number)
        except KeyError:
            raise NotFound(f"there is no graph {number}") from None

    def group_argument(picture: GraphPicture, name: str) -> int:
        tree = picture.tree
        return int_argument(name, None, tree.n_ops, len(tree) - 1)

    def traces() -> TraceShelf:
        if board.trace_shelf is None:  # the panel of traces is not mounted
            board.trace_shelf = TraceShelf(board)
        found: TraceShelf = board.trace_shelf
        return found

    def answers_damage(view: Callable[..., Response]) -> Callable[..., Response]:
        @wraps(view)
        def answer(**arguments: Any) -> Response:
            try:
                return view(**arguments)
            except (NoGraph, GraphTooLarge, DataLossError, BadTrace) as error:
                return reply_json(board, {"error": f"the graph cannot be shown: {error}"}, 422)

        return answer

    @panel.get("/graphs")
    def graphs() -> Response:
        return reply_json(board, {"graphs": [_document(shelf, e) for e in shelf.entries()]})

    @panel.post(UPLOAD_PATH.removeprefix(_ROOT))
    @answers_damage
    def upload() -> Response:
        name = request.args.get("name", "")[:_NAME_CHARACTERS] or "upload"
        data = request.get_data(cache=False)
        return reply_json(board, {"id": shelf.add_upload(name, data)})

    @panel.get("/graph/<int:number>")
    @answers_damage
    def graph(number: int) -> Response:
        entry = entry_of(number)
        if request.accept_mimetypes.best == "application/json":
            header, columns = shelf.picture(entry).header_and_columns()
            header = {**shelf.header(entry), **header}
            return reply_bytes(columns_as_json(header, columns).encode(), "application/json")
        return reply_bytes(shelf.bundle(entry), MEDIA_TYPE, compress=True)

    @panel.get("/graph/<int:number>/node")
    @answers_damage
    def node(number: int) -> Response:
        entry = entry_of(number)
        picture = shelf.picture(entry)
        name = request.args.get("name")
        if name is not None:
            index = picture.op_named(name)
            if index is None:
                raise NotFound(f"there is no node {name[:200]!r} in this graph")
        else:
            index = int_argument("index", None, 0, len(picture.columns) - 1)
        full = int_argument("full", 0, 0, 1)
        most = MOST_VALUE_CHARACTERS if full else CARD_CHARACTERS
        return reply_json(board, node_card(shelf.graph_def(entry), picture, index, most))

    def difference() -> Difference:
        a = entry_of(int_argument("a"))
        if "group_a" in request.args or "group_b" in request.args:
            picture = shelf.picture(a)
            groups = [group_argument(picture, name) for name in ("group_a", "group_b")]
            graph_def = shelf.graph_def(a)
            return last_diff.of((a.id, *groups), lambda: diff_groups(graph_def, picture, *groups))
        b = entry_of(int_argument("b"))
        sides = [(shelf.graph_def(e), shelf.picture(e)) for e in (a, b)]
        return last_diff.of((a.id, b.id), lambda: diff_graphs(*sides))

    @panel.get("/graph/diff")
    @answers_damage
    def diff() -> Response:
        return reply_json(board, diff_document(difference()))

    @panel.get("/graph/diff/kinds")
    @answers_damage
    def diff_kinds() -> Response:
        return reply_columns(board, {}, diff_columns(difference()), compress=True)

    @panel.get("/graph/<int:number>/costs")
    @answers_damage
    def costs(number: int) -> Response:
        picture = shelf.picture(entry_of(number))
        ids = ids_argument("traces", MOST_TRACES) or []
        chosen = [ids[at] for at in steps_to_read(len(ids), len(picture.columns))]
        costs = RunCosts(picture.columns, picture.slice_names, len(chosen))
        failed = []
        for trace in chosen:
            try:
                costs.add(traces().load(trace).trace)
            except KeyError:
                raise NotFound(f"there is no trace {trace}") from None
            except (BadTrace, DataLossError) as error:
                failed.append({"trace": trace, "error": str(error)})
        header, columns = costs.header_and_columns()
        header.update(asked=len(ids), failed=failed)
        return reply_columns(board, header, columns)

    @panel.get("/graph/<int:number>/export.dot")
    @answers_damage
    def export_dot(number: int) -> Response:
        picture = shelf.picture(entry_of(number))
        try:
            text = dot_of_view(picture, ids_argument("open", MOST_OPEN) or [])
        except TooManyVertices as error:
            raise BadRequest(str(error)) from None
        reply = reply_bytes(text.encode("utf-8", "replace"), "text/vnd.graphviz; charset=utf-8")
        reply.headers["Content-Disposition"] = 'attachment; filename="graph.dot"'
        return reply

    return panel


class _LastDifference:
    """The last difference that was asked for: its words and its columns come one after another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: tuple[tuple[int, ...], Difference] | None = None

    def of(self, key: tuple[int, ...], find: Callable[[], Difference]) -> Difference:
        with self._lock:
            if self._last is None or self._last[0] != key:
                self._last = None
                self._last = (key, find())
            return self._last[1]


def _document(shelf: GraphShelf, entry: GraphEntry) -> dict[str, Any]:
    known = shelf.known(entry)
    return {
        "id": entry.id,
        "run": entry.run,
        "key": entry.key,
        "title": entry.title,
        "kind": entry.kind,
        "step": entry.step,
        "bytes": entry.size_bytes,
        "nodes": known.nodes if known else None,
        "edges": known.edges if known else None,
    }
