"""RNN cells: variables, states, sharing between steps, errors."""

from __future__ import annotations

import pytest

import headrace.graph as hr

cells = hr.nn.rnn_cell


def _names():
    return [v.name for v in hr.global_variables()]


def test_steps_share_the_variables_of_a_cell():
    cell = cells.BasicLSTMCell(4)
    outputs, state = hr.nn.static_rnn(cell, [hr.zeros([2, 3])] * 3, dtype="float32")
    assert len(outputs) == 3
    assert _names() == ["rnn/basic_lstm_cell/kernel:0", "rnn/basic_lstm_cell/bias:0"]
    assert [v.name for v in cell.trainable_weights] == _names()
    assert isinstance(state, cells.LSTMStateTuple)
    assert state.h.shape.as_list() == state.c.shape.as_list() == [2, 4]


def test_stacked_cells_have_separate_scopes():
    cell = cells.MultiRNNCell([cells.GRUCell(4), cells.BasicRNNCell(2)])
    _, states = cell(hr.zeros([5, 3]), cell.zero_state(5, hr.float32))
    assert _names() == [
        "multi_rnn_cell/cell_0/gru_cell/gates/kernel:0",
        "multi_rnn_cell/cell_0/gru_cell/gates/bias:0",
        "multi_rnn_cell/cell_0/gru_cell/candidate/kernel:0",
        "multi_rnn_cell/cell_0/gru_cell/candidate/bias:0",
        "multi_rnn_cell/cell_1/basic_rnn_cell/kernel:0",
        "multi_rnn_cell/cell_1/basic_rnn_cell/bias:0",
    ]
    assert [s.shape.as_list() for s in states] == [[5, 4], [5, 2]]
    assert cell.state_size == (4, 2) and cell.output_size == 2
    assert [w.name for w in cell.weights] == _names()


def test_zero_state_accepts_any_batch_size():
    batch = hr.placeholder("int32", [])
    state = cells.LSTMCell(4, num_proj=2).zero_state(batch, "float32")
    assert [t.shape.as_list() for t in state] == [[None, 4], [None, 2]]
    assert state.dtype == hr.float32


def test_cell_reuses_a_variable_scope():
    x = hr.zeros([2, 3])
    with hr.variable_scope("s"):
        cell = cells.GRUCell(4)
        cell(x, cell.zero_state(2, hr.float32))
    with hr.variable_scope("s", reuse=True):
        again = cells.GRUCell(4, reuse=True)
        again(x, again.zero_state(2, hr.float32))
    assert len(_names()) == 4


def test_dropout_wrapper_applies_dropout_where_requested():
    def kinds(**options):
        with hr.Graph().as_default() as graph:
            cell = cells.DropoutWrapper(cells.BasicLSTMCell(4), **options)
            cell(hr.zeros([2, 3]), cell.zero_state(2, hr.float32))
            return sum(o.type == "RandomUniform" for o in graph.get_operations()) - 1

    assert kinds() == 0  # only the initial value of the kernel
    assert kinds(input_keep_prob=0.5, output_keep_prob=0.5) == 2
    assert kinds(state_keep_prob=0.5) == 1  # h only, not c
    assert kinds(state_keep_prob=0.5, dropout_state_filter_visitor=lambda s: True) == 2
    assert kinds(output_keep_prob=0.5, variational_recurrent=True, dtype="float32") == 3


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: cells.MultiRNNCell([]), ValueError, "at least one cell"),
        (lambda: cells.MultiRNNCell(cells.GRUCell(2)), TypeError, "list or tuple"),
        (
            lambda: cells.MultiRNNCell([cells.BasicLSTMCell(2)], state_is_tuple=False),
            ValueError,
            "state_is_tuple is not set",
        ),
        (
            lambda: cells.DropoutWrapper(cells.GRUCell(2), input_keep_prob=1.5),
            ValueError,
            "input_keep_prob must be between 0 and 1",
        ),
        (
            lambda: cells.DropoutWrapper(
                cells.GRUCell(2), 0.5, variational_recurrent=True, dtype="float32"
            ),
            ValueError,
            "input_size must be provided",
        ),
        (lambda: hr.nn.static_rnn(cells.GRUCell(2), hr.zeros([2, 3])), TypeError, "sequence"),
        (lambda: hr.nn.static_rnn(cells.GRUCell(2), []), ValueError, "not be empty"),
        (
            lambda: hr.nn.static_rnn(cells.GRUCell(2), [hr.zeros([2, 3])]),
            ValueError,
            "dtype must be specified",
        ),
    ],
)
def test_invalid_arguments_raise(make, error, says):
    with pytest.raises(error, match=says):
        make()
