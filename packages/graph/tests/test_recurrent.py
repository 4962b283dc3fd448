"""Shapes of recurrent cells and networks in one op."""

from __future__ import annotations

import pytest

import headrace.graph as hr

TIME, BATCH, INPUTS, CELLS = 5, 2, 3, 4


def zeros(*shape: int | None) -> hr.Tensor:
    return hr.placeholder(hr.float32, shape)


def weights(gates: int) -> dict[str, hr.Tensor]:
    peepholes = {name: zeros(CELLS) for name in ("wci", "wcf", "wco")}
    return {"w": zeros(INPUTS + CELLS, gates), "b": zeros(gates), **peepholes}


def test_a_cell_has_outputs_of_batch_and_cells() -> None:
    state = {"cs_prev": zeros(BATCH, CELLS), "h_prev": zeros(BATCH, CELLS)}
    outputs = hr.raw_ops.LSTMBlockCell(x=zeros(BATCH, INPUTS), **state, **weights(4 * CELLS))
    assert [t.shape.as_list() for t in outputs] == [[BATCH, CELLS]] * 7


@pytest.mark.parametrize("batch", [BATCH, None])
def test_a_network_has_outputs_for_each_time(batch: int | None) -> None:
    state = {"cs_prev": zeros(batch, CELLS), "h_prev": zeros(batch, CELLS)}
    outputs = hr.raw_ops.BlockLSTM(
        seq_len_max=hr.constant(TIME, hr.int64),
        x=zeros(TIME, batch, INPUTS),
        **state,
        **weights(4 * CELLS),
    )
    assert [t.shape.as_list() for t in outputs] == [[TIME, batch, CELLS]] * 7


def test_the_bias_of_a_network_has_four_gates() -> None:
    state = {"cs_prev": zeros(BATCH, CELLS), "h_prev": zeros(BATCH, CELLS)}
    with pytest.raises(ValueError, match="must be evenly divisible by 4 but is 15"):
        hr.raw_ops.BlockLSTM(
            seq_len_max=hr.constant(TIME, hr.int64),
            x=zeros(TIME, BATCH, INPUTS),
            **state,
            **weights(15),
        )
