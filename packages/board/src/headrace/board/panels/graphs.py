"""Graphs, their nodes, costs, differences and exports: GET /graphs, /graph/..., uploads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flask import Response, request

from headrace.board.errors import BadRequest, NotFound
from headrace.board.graph.diff.diff_cache import DiffCache
from headrace.board.graph.diff.diff_response import diff_columns, diff_document
from headrace.board.graph.diff.graph_diff import Difference, diff_graphs, diff_groups
from headrace.board.graph.dot_export import TooManyVertices, dot_of_view
from headrace.board.graph.graph_bundle import GraphAnalysis
from headrace.board.graph.node_details import node_details
from headrace.board.graph.run_costs import RunCosts, steps_to_read
from headrace.board.graph.sources.graph_list import GraphEntry
from headrace.board.graph.sources.graph_upload import NoGraphError
from headrace.board.graph.structure.graph_columns import GraphTooLarge
from headrace.board.trace.reading.step_columns import TraceError
from headrace.board.web.columns import MEDIA_TYPE, columns_as_json
from headrace.board.web.panel import API_ROOT, ErrorHandler, Panel, Route
from headrace.board.web.query_arguments import flag_argument, ids_argument, int_argument
from headrace.board.web.responses import bytes_response, columns_response, json_response
from headrace.board.web.security import UPLOAD_PATH
from headrace.formats.errors import DataLossError

if TYPE_CHECKING:
    from headrace.board.board import Board

_MAX_TRACES = 10_000
_MAX_OPEN_GROUPS = 5000
_SHORT_VALUE_CHARACTERS = 1024  # of an attribute's value
_FULL_VALUE_CHARACTERS = 1 << 20
_MAX_NAME_CHARACTERS = 200


class GraphsPanel(Panel):
    """Serves the graphs of the logs and those that were uploaded."""

    name = "graphs"

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self._graphs = board.graphs
        self._diffs = DiffCache()

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/graphs", self.graphs),
            Route("POST", UPLOAD_PATH.removeprefix(API_ROOT), self.upload),
            Route("GET", "/graph/<int:number>", self.graph),
            Route("GET", "/graph/<int:number>/node", self.node),
            Route("GET", "/graph/diff", self.diff),
            Route("GET", "/graph/diff/kinds", self.diff_kinds),
            Route("GET", "/graph/<int:number>/costs", self.costs),
            Route("GET", "/graph/<int:number>/export.dot", self.export_dot),
        )

    def error_handlers(self) -> Mapping[type[Exception], ErrorHandler]:
        unusable = (NoGraphError, GraphTooLarge, DataLossError, TraceError)
        return dict.fromkeys(unusable, self._unusable)

    def graphs(self) -> Response:
        """Returns the list of graphs."""
        rows = [self._row(entry) for entry in self._graphs.entries()]
        return json_response(self.board, {"graphs": rows})

    def upload(self) -> Response:
        """Keeps the graph in the request's body, in memory only."""
        name = request.args.get("name", "")[:_MAX_NAME_CHARACTERS] or "upload"
        data = request.get_data(cache=False)
        return json_response(self.board, {"id": self._graphs.add_upload(name, data)})

    def graph(self, number: int) -> Response:
        """Returns a graph with its structure, as columns."""
        entry = self._entry(number)
        if request.accept_mimetypes.best == "application/json":
            header, columns = self._graphs.analysis(entry).header_and_columns()
            header = {**self._graphs.header(entry), **header}
            return bytes_response(columns_as_json(header, columns).encode(), "application/json")
        return bytes_response(self._graphs.bundle(entry), MEDIA_TYPE, compress=True)

    def node(self, number: int) -> Response:
        """Returns the details of a node, found by index or by name."""
        entry = self._entry(number)
        analysis = self._graphs.analysis(entry)
        name = request.args.get("name")
        if name is None:
            index = int_argument("index", None, 0, len(analysis.columns) - 1)
        else:
            found = analysis.op_named(name)
            if found is None:
                raise NotFound(f"there is no node {name[:200]!r} in this graph")
            index = found
        limit = _FULL_VALUE_CHARACTERS if flag_argument("full") else _SHORT_VALUE_CHARACTERS
        graph_def = self._graphs.graph_def(entry)
        return json_response(self.board, node_details(graph_def, analysis, index, limit))

    def diff(self) -> Response:
        """Returns the names of what differs between two graphs or groups."""
        return json_response(self.board, diff_document(self._difference()))

    def diff_kinds(self) -> Response:
        """Returns, for every vertex, in which way it differs."""
        columns = diff_columns(self._difference())
        return columns_response(self.board, {}, columns, compress=True)

    def costs(self, number: int) -> Response:
        """Returns time and memory of each node over the traces requested."""
        analysis = self._graphs.analysis(self._entry(number))
        ids = ids_argument("traces", _MAX_TRACES) or []
        chosen = [ids[at] for at in steps_to_read(len(ids), len(analysis.columns))]
        costs = RunCosts(analysis.columns, analysis.slice_names, len(chosen))
        failed = []
        for trace in chosen:
            try:
                costs.add(self.board.traces.load(trace).trace)
            except KeyError:
                raise NotFound(f"there is no trace {trace}") from None
            except (TraceError, DataLossError) as error:
                failed.append({"trace": trace, "error": str(error)})
        header, columns = costs.header_and_columns()
        header.update(asked=len(ids), failed=failed)
        return columns_response(self.board, header, columns)

    def export_dot(self, number: int) -> Response:
        """Returns the view in which some groups are open, in the DOT language."""
        analysis = self._graphs.analysis(self._entry(number))
        try:
            text = dot_of_view(analysis, ids_argument("open", _MAX_OPEN_GROUPS) or [])
        except TooManyVertices as error:
            raise BadRequest(str(error)) from None
        body = text.encode("utf-8", "replace")
        response = bytes_response(body, "text/vnd.graphviz; charset=utf-8")
        response.headers["Content-Disposition"] = 'attachment; filename="graph.dot"'
        return response

    def _entry(self, number: int) -> GraphEntry:
        try:
            return self._graphs.entry(number)
        except KeyError:
            raise NotFound(f"there is no graph {number}") from None

    def _difference(self) -> Difference:
        """Returns the difference of graphs `a` and `b`, or of two groups of `a`."""
        a = self._entry(int_argument("a"))
        if "group_a" in request.args or "group_b" in request.args:
            analysis = self._graphs.analysis(a)
            groups = [_group_argument(analysis, name) for name in ("group_a", "group_b")]
            graph_def = self._graphs.graph_def(a)
            return self._diffs.get(
                (a.id, *groups), lambda: diff_groups(graph_def, analysis, *groups)
            )
        b = self._entry(int_argument("b"))
        sides = [(self._graphs.graph_def(e), self._graphs.analysis(e)) for e in (a, b)]
        return self._diffs.get((a.id, b.id), lambda: diff_graphs(*sides))

    def _unusable(self, error: Exception) -> Response:
        return json_response(self.board, {"error": f"the graph cannot be shown: {error}"}, 422)

    def _row(self, entry: GraphEntry) -> dict[str, Any]:
        size = self._graphs.known_size(entry)
        return {
            "id": entry.id,
            "run": entry.run,
            "key": entry.key,
            "title": entry.title,
            "kind": entry.kind,
            "step": entry.step,
            "bytes": entry.size_bytes,
            "nodes": size.nodes if size else None,
            "edges": size.edges if size else None,
        }


def _group_argument(analysis: GraphAnalysis, name: str) -> int:
    tree = analysis.tree
    return int_argument(name, None, tree.n_ops, len(tree) - 1)
