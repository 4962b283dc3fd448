"""Shape rules of recurrent cells and networks in one op."""

from __future__ import annotations

from headrace.graph.framework.op_registry import shape_rule
from headrace.graph.framework.shape_query import ShapeQuery
from headrace.graph.shape_rules.algebra import Shape, with_rank

Shapes = list[Shape]


@shape_rule("recurrent_cell")
def recurrent_cell(op: ShapeQuery) -> Shapes:
    """Outputs of [batch, cells], by x and the state."""
    x, state = with_rank(op.inputs[0], 2, "x"), with_rank(op.inputs[1], 2, "the state")
    return [(x[0], state[1])] * op.n_outputs


@shape_rule("lstm_cell_grad")
def lstm_cell_grad(op: ShapeQuery) -> Shapes:
    x, state = with_rank(op.inputs[0], 2, "x"), with_rank(op.inputs[1], 2, "cs_prev")
    batch, cells = x[0], state[1]
    gates = None if cells is None else 4 * cells
    return [(batch, cells), (batch, gates), *[(cells,)] * 3]


@shape_rule("gru_cell_grad")
def gru_cell_grad(op: ShapeQuery) -> Shapes:
    x, h = with_rank(op.inputs[0], 2, "x"), with_rank(op.inputs[1], 2, "h_prev")
    gates = with_rank(op.inputs[2], 2, "w_ru")
    return [x, (x[0], h[1]), (x[0], h[1]), (x[0], gates[1])]


@shape_rule("block_lstm")
def block_lstm(op: ShapeQuery) -> Shapes:
    """Outputs of [time, batch, cells], by x and the bias of four gates."""
    x, (gates,) = with_rank(op.inputs[1], 3, "x"), with_rank(op.inputs[8], 1, "b")
    if gates is not None and gates % 4:
        raise ValueError(f"Dimension size must be evenly divisible by 4 but is {gates}")
    return [(x[0], x[1], None if gates is None else gates // 4)] * op.n_outputs


@shape_rule("block_lstm_grad")
def block_lstm_grad(op: ShapeQuery) -> Shapes:
    """A gradient for each input but seq_len_max and what the forward op saved."""
    ranks = {"x": 3, "cs_prev": 2, "h_prev": 2, "w": 2, "wci": 1, "wcf": 1, "wco": 1, "b": 1}
    rows = zip(op.inputs[1:9], ranks.items(), strict=True)
    return [with_rank(shape, rank, name) for shape, (name, rank) in rows]
