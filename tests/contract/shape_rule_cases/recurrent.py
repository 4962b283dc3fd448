"""Cases of the shape rules of recurrent cells."""

from __future__ import annotations

from shape_rule_cases.maker import Maker, rule, sizes


@rule("recurrent_cell")
def recurrent_cell(m: Maker, name: str) -> None:
    m.case.n_outputs = 4
    m.input(m.some(2, 2))
    m.input(m.some(2, 2))


@rule("lstm_cell_grad")
def lstm_cell_grad(m: Maker, name: str) -> None:
    m.case.n_outputs = 5
    m.input(m.some(2, 2))
    m.input(m.some(2, 2))


@rule("gru_cell_grad")
def gru_cell_grad(m: Maker, name: str) -> None:
    m.case.n_outputs = 4
    for _ in range(3):
        m.input(m.some(2, 2))


def _sequence(m: Maker, gates: int) -> None:
    for rank in (0, 3, 2, 2, 2, 1, 1, 1):
        m.input(m.some(rank, rank))
    m.input(m.near((gates,)))


@rule("block_lstm")
def block_lstm(m: Maker, name: str) -> None:
    m.case.n_outputs = 7
    _sequence(m, 4 * m.draw(sizes))


@rule("block_lstm_grad")
def block_lstm_grad(m: Maker, name: str) -> None:
    m.case.n_outputs = 8
    _sequence(m, m.draw(sizes))
