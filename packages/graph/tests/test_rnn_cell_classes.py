"""RNN cells and wrappers: sizes of states."""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.graph.rnn_cells import cell, wrappers

X = (2, 3)


def test_custom_cell_has_zero_states_of_its_sizes():
    class Own(hr.nn.rnn_cell.RNNCell):
        state_size = (4, (5, 6))

    state = Own().zero_state(2, hr.float32)
    assert [t.shape.as_list() for t in hr.nest.flatten(state)] == [[2, 4], [2, 5], [2, 6]]
    assert issubclass(Own, cell.RNNCell)


@pytest.mark.parametrize("name", ["BasicRNNCell", "GRUCell", "BasicLSTMCell", "LSTMCell"])
def test_wrappers_keep_the_sizes_of_a_cell(name):
    result = getattr(hr.nn.rnn_cell, name)(3)
    for wrapper in (
        wrappers.ResidualWrapper(result),
        wrappers.DropoutWrapper(result, output_keep_prob=0.5),
        wrappers.DeviceWrapper(result, "/cpu:0"),
        hr.nn.rnn_cell.MultiRNNCell([result]),
    ):
        assert wrapper.output_size == result.output_size == 3
        output, state = wrapper(hr.zeros(X), wrapper.zero_state(2, hr.float32))
        assert output.shape.as_list() == [2, 3]


def test_a_state_of_an_lstm_has_two_parts():
    state = hr.nn.rnn_cell.LSTMStateTuple(hr.zeros(X), hr.ones(X))
    assert (state.c, state.h) == tuple(state) and state.dtype == hr.float32
