"""Placements of traced steps: GET /trace/ID/placement, its nodes, and that of a graph's node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flask import Response, request

from headrace.board.errors import BadRequest, NotFound
from headrace.board.trace.placement.placement import Placement
from headrace.board.trace.placement.placement_report import PlacementError
from headrace.board.trace.placement.placement_response import (
    ORDERS,
    chosen_nodes,
    node_row,
    placement_summary,
)
from headrace.board.trace.reading.step_columns import TraceError
from headrace.board.web.panel import ErrorHandler, Panel, Route
from headrace.board.web.query_arguments import int_argument, step_argument
from headrace.board.web.responses import json_response
from headrace.formats.errors import DataLossError

if TYPE_CHECKING:
    from headrace.board.board import Board

_MAX_NODES = 1000  # in one response
_MAX_TEXT = 200


class PlacementsPanel(Panel):
    """Serves where the nodes of traced steps run, why, and expected against measured times."""

    name = "placements"

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        self._placements = board.placements

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/trace/<int:number>/placement", self.placement),
            Route("GET", "/trace/<int:number>/placement/nodes", self.nodes),
            Route("GET", "/graph/<int:number>/placement", self.of_graph_node),
        )

    def error_handlers(self) -> Mapping[type[Exception], ErrorHandler]:
        return dict.fromkeys((PlacementError, TraceError, DataLossError), self._unreadable)

    def placement(self, number: int) -> Response:
        """Returns all about the placement of a step except its nodes."""
        found = self._loaded(number)
        summary = None if found is None else placement_summary(found)
        return json_response(self.board, {"placement": summary})

    def nodes(self, number: int) -> Response:
        """Returns a part of the nodes, sorted and filtered."""
        order = request.args.get("order") or "start"
        if order.removeprefix("-") not in ORDERS:
            raise BadRequest(f"order is {order[:40]!r}, not one of {', '.join(ORDERS)}")
        first = int_argument("from", 0)
        count = int_argument("count", 100, 1, _MAX_NODES)
        found = self._loaded(number)
        if found is None:
            raise NotFound(f"trace {number} has no placement")
        text = request.args.get("find", "")[:_MAX_TEXT]
        at = chosen_nodes(found, order, text, _device(found))
        rows = [node_row(found, i) for i in at[first : first + count].tolist()]
        return json_response(self.board, {"n": len(at), "from": first, "nodes": rows})

    def of_graph_node(self, number: int) -> Response:
        """Returns the placement of a graph's node in the traced step nearest to a step."""
        try:
            run = self.board.graphs.entry(number).run
        except KeyError:
            raise NotFound(f"there is no graph {number}") from None
        name = request.args.get("name")
        if name is None:
            raise BadRequest("name is missing")
        step = step_argument("step")
        # A graph that was uploaded as a file belongs to no run.
        found = None if run is None else self._placements.of_node(run, name, step)
        if found is None:
            return json_response(self.board, {"node": None})
        entry, placement, at = found
        row = node_row(placement, at)
        return json_response(self.board, {"trace": entry.id, "step": entry.step, "node": row})

    def _loaded(self, number: int) -> Placement | None:
        try:
            return self._placements.load(number)
        except KeyError:
            raise NotFound(f"there is no trace {number}") from None

    def _unreadable(self, error: Exception) -> Response:
        return json_response(self.board, {"error": f"the placement cannot be read: {error}"}, 422)


def _device(placement: Placement) -> int | None:
    """Returns the argument `device`, None without one. Raises: BadRequest."""
    if not request.args.get("device"):
        return None
    return int_argument("device", None, 0, len(placement.devices) - 1)
