"""Recurrent networks: against the same cells unrolled, and their gradients against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace.graph as hr

cells = hr.nn.rnn_cell
contrib = hr.contrib.rnn
X = np.random.default_rng(11).normal(size=(2, 4, 3)).astype(np.float32)
LENGTHS = [2, 4]
CELLS = {
    "basic": lambda: cells.BasicRNNCell(3),
    "gru": lambda: cells.GRUCell(3),
    "basic lstm": lambda: cells.BasicLSTMCell(3),
    "joined lstm": lambda: cells.BasicLSTMCell(3, state_is_tuple=False),
    "lstm": lambda: cells.LSTMCell(4, use_peepholes=True, num_proj=2, cell_clip=1.0),
    "stacked": lambda: cells.MultiRNNCell([cells.GRUCell(2), cells.BasicLSTMCell(3)]),
    "wrapped": lambda: cells.ResidualWrapper(
        cells.DropoutWrapper(cells.GRUCell(3), input_keep_prob=1.0)
    ),
    "attention": lambda: contrib.AttentionCellWrapper(cells.GRUCell(2), attn_length=2),
    "layer norm": lambda: contrib.LayerNormBasicLSTMCell(3),
    "nas": lambda: contrib.NASCell(3, num_proj=2, use_bias=True),
    "ugrnn": lambda: contrib.UGRNNCell(3),
    "highway": lambda: contrib.HighwayWrapper(cells.GRUCell(3)),
    "highway of two gates": lambda: contrib.HighwayWrapper(cells.BasicLSTMCell(3), False, 0.5),
    "projected inputs": lambda: contrib.InputProjectionWrapper(cells.GRUCell(3), 2, hr.tanh),
    "projected outputs": lambda: contrib.OutputProjectionWrapper(cells.BasicLSTMCell(3), 2),
}


@pytest.fixture(autouse=True)
def graph() -> Any:
    """Gives each test a graph of its own."""
    with hr.Graph().as_default() as made:
        yield made


def waves(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
    shape = [int(n) for n in shape]
    count = int(np.prod(shape))
    return hr.constant(np.sin(0.4 + 0.9 * np.arange(count)).reshape(shape), hr.float32)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [t for part in value for t in _flat(part)]
    return [value]


def build(network: Any, make: Any, reuse: Any = None, **options: Any) -> list[Any]:
    """Returns outputs [batch, time, n] and final states of a network, flat."""
    x = hr.constant(X)
    with hr.variable_scope("net", initializer=waves, reuse=reuse):
        if network is hr.nn.static_rnn:
            steps = hr.unstack(x, axis=1)
            outputs, state = network(make(), steps, dtype=hr.float32, **options)
            outputs = hr.stack(outputs, axis=1)
        else:
            outputs, state = network(make(), x, dtype=hr.float32, **options)
    return [outputs, *_flat(state)]


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["whole", "with lengths"])
@pytest.mark.parametrize("name", CELLS)
def test_a_loop_and_an_unrolled_network_agree(name: str, lengths: Any) -> None:
    results = []
    for network in (hr.nn.dynamic_rnn, hr.nn.static_rnn):
        with hr.Graph().as_default(), hr.Session() as session:
            parts = build(network, CELLS[name], sequence_length=lengths)
            loss = hr.add_n([hr.reduce_sum(hr.square(p)) for p in parts])
            weights = hr.trainable_variables()
            names = [w.name for w in weights]
            grads = [hr.convert_to_tensor(g) for g in hr.gradients(loss, weights)]
            session.run(hr.global_variables_initializer())
            results.append((names, session.run([*parts, *grads])))
    (names, dynamic), (unrolled_names, unrolled) = results
    assert names == unrolled_names
    for mine, other in zip(dynamic, unrolled, strict=True):
        np.testing.assert_allclose(mine, other, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("time_major", [False, True])
def test_both_directions_read_each_row_up_to_its_length(time_major: bool) -> None:
    x = hr.constant(X.transpose(1, 0, 2) if time_major else X)
    with hr.variable_scope("net", initializer=waves):
        outputs, states = hr.nn.bidirectional_dynamic_rnn(
            cells.GRUCell(2), cells.BasicLSTMCell(3), x, sequence_length=LENGTHS,
            dtype=hr.float32, time_major=time_major,
        )  # fmt: skip
    names = [v.name for v in hr.global_variables()]
    assert names[0] == "net/bidirectional_rnn/fw/gru_cell/gates/kernel:0"
    assert names[-1] == "net/bidirectional_rnn/bw/basic_lstm_cell/bias:0"
    steps = [hr.constant(X[:, t]) for t in range(4)]
    with hr.variable_scope("net", reuse=True):
        unrolled, fw, bw = hr.nn.static_bidirectional_rnn(
            cells.GRUCell(2), cells.BasicLSTMCell(3), steps, sequence_length=LENGTHS,
            dtype=hr.float32,
        )  # fmt: skip
    joint = hr.stack(unrolled, axis=0 if time_major else 1)
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        found = session.run([hr.concat(outputs, 2), *_flat(states)])
        expected = session.run([joint, *_flat([fw, bw])])
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


def test_shapes_are_known_as_far_as_the_inputs_are() -> None:
    x = hr.placeholder(hr.float32, [None, None, 3])
    outputs, state = hr.nn.dynamic_rnn(cells.GRUCell(2), x, dtype=hr.float32)
    assert outputs.shape.as_list() == [None, None, 2] and state.shape.as_list() == [None, 2]
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        assert session.run(outputs, {x: np.zeros((3, 5, 3))}).shape == (3, 5, 2)
        assert session.run(outputs, {x: np.zeros((1, 2, 3))}).shape == (1, 2, 2)


def test_nested_inputs_and_initial_states() -> None:
    class Pairs(cells.RNNCell):
        state_size = property(lambda self: (3, hr.TensorShape([3])))
        output_size = property(lambda self: {"sum": 3, "both": hr.TensorShape([2, 3])})

        def call(self, inputs: Any, state: Any) -> Any:
            a, b = inputs
            total = a + b + state[0]
            return {"sum": total, "both": hr.stack([a, b], axis=1)}, (total, state[1] * 2.0)

    x = hr.constant(X)
    start = (hr.ones([2, 3]), hr.ones([2, 3]))
    outputs, state = hr.nn.dynamic_rnn(Pairs(), (x, x * 2.0), initial_state=start)
    with hr.Session() as session:
        found, last = session.run([outputs, state])
    np.testing.assert_allclose(found["sum"], 1 + 3 * np.cumsum(X, 1), rtol=1e-5)
    np.testing.assert_allclose(found["both"][:, :, 1], 2 * X)
    np.testing.assert_allclose(last[1], np.full((2, 3), 16.0))


def test_a_raw_network_reads_and_stops_as_its_function_says() -> None:
    cell = cells.GRUCell(3)
    source = hr.TensorArray(hr.float32, size=4).unstack(hr.constant(X.transpose(1, 0, 2)))
    lengths = hr.constant(LENGTHS)

    def step(time: Any, output: Any, state: Any, calls: Any) -> Any:
        finished = time >= lengths
        following = hr.cond(
            hr.reduce_all(finished),
            lambda: hr.zeros([2, 3]),
            lambda: source.read(time),
        )
        if output is None:
            return finished, following, cell.zero_state(2, hr.float32), None, hr.constant(0)
        return finished, following, state, output, calls + 1

    with hr.variable_scope("net", initializer=waves):
        arrays, state, calls = hr.nn.raw_rnn(cell, step)
    raw = [hr.transpose(arrays.stack(), [1, 0, 2]), state]
    expected = build(hr.nn.dynamic_rnn, lambda: cell, reuse=True, sequence_length=LENGTHS)
    (weights, *_) = hr.trainable_variables()
    grads = [
        hr.gradients(hr.add_n([hr.reduce_sum(hr.square(p)) for p in parts]), weights)[0]
        for parts in (raw, expected)
    ]
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        assert session.run(calls) == 4
        for mine, other in zip(raw, expected, strict=True):
            np.testing.assert_allclose(*session.run([mine, other]), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(*session.run(grads), rtol=1e-4, atol=1e-5)


def test_a_saved_state_is_read_and_written() -> None:
    class Saver:
        def __init__(self) -> None:
            self.kept = {n: hr.Variable(hr.zeros([2, 3]), name=n) for n in ("c", "h")}

        def state(self, name: str) -> Any:
            return self.kept[name].read_value()

        def save_state(self, name: str, value: Any) -> Any:
            return self.kept[name].assign(value).op

    steps = [hr.constant(X[:, t]) for t in range(4)]
    with hr.variable_scope("net", initializer=waves):
        outputs, state = hr.nn.static_state_saving_rnn(
            cells.BasicLSTMCell(3), steps[:2], saver := Saver(), ("c", "h")
        )
    whole = build(hr.nn.dynamic_rnn, lambda: cells.BasicLSTMCell(3), reuse=True)
    del state
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        session.run(outputs[-1])
        expected = session.run(whole[0])
        np.testing.assert_allclose(
            session.run(saver.kept["h"]), expected[:, 1], rtol=1e-5, atol=1e-6
        )
    with pytest.raises(ValueError, match="same type as cell.state_size"):
        hr.nn.static_state_saving_rnn(cells.BasicLSTMCell(3), steps, saver, "c")


def fused(make: Any) -> list[Any]:
    x = hr.constant(X.transpose(1, 0, 2))
    with hr.variable_scope("net/rnn", initializer=waves):
        outputs, state = make()(x, dtype=hr.float32, sequence_length=LENGTHS)
    return [hr.transpose(outputs, [1, 0, 2]), *state]


def test_cells_in_one_op_give_what_cells_of_many_give() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        lstm = build(
            hr.nn.dynamic_rnn, lambda: cells.LSTMCell(3, name="lstm_cell"), sequence_length=LENGTHS
        )
        names = [v.name for v in hr.global_variables()]
        block = build(
            hr.nn.dynamic_rnn, lambda: contrib.LSTMBlockCell(3), reuse=True, sequence_length=LENGTHS
        )
        with hr.variable_scope("", reuse=True):
            whole = fused(lambda: contrib.LSTMBlockFusedCell(3, name="lstm_cell"))
        assert [v.name for v in hr.global_variables()] == names
        weights = hr.trainable_variables()
        grads = [
            hr.gradients(hr.add_n([hr.reduce_sum(hr.square(p)) for p in parts]), weights)
            for parts in (lstm, block, whole)
        ]
        session.run(hr.global_variables_initializer())
        first, second, third = session.run([[*lstm], [*block], [*whole]])
        for one, two, three in zip(first, second, third, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(one, three, rtol=1e-5, atol=1e-6)
        for one, two, three in zip(*session.run(grads), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(one, three, rtol=1e-4, atol=1e-5)


def test_a_gru_in_one_op_has_the_variables_of_a_gru() -> None:
    many = build(hr.nn.dynamic_rnn, lambda: cells.GRUCell(3))
    one = build(hr.nn.dynamic_rnn, lambda: contrib.GRUBlockCellV2(3), reuse=True)
    assert len(hr.global_variables()) == 4
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        for mine, other in zip(one, many, strict=True):
            np.testing.assert_allclose(*session.run([mine, other]), rtol=1e-5, atol=1e-6)


def test_variational_dropout_has_one_mask_for_all_steps() -> None:
    class Passing(cells.RNNCell):
        state_size = output_size = property(lambda self: 3)

        def call(self, inputs: Any, state: Any) -> Any:
            return inputs, state

    cell = cells.DropoutWrapper(
        Passing(), output_keep_prob=0.5, variational_recurrent=True, dtype=hr.float32, seed=3
    )
    outputs, _ = hr.nn.dynamic_rnn(cell, hr.ones([5, 6, 3]), dtype=hr.float32)
    with hr.Session() as session:
        found = session.run(outputs)
    assert set(np.unique(found)) <= {0.0, 2.0}
    assert (found == found[:1, :1]).all()


def test_weights_of_cells_that_make_variables_when_called_are_known() -> None:
    cell = contrib.LayerNormBasicLSTMCell(3)
    hr.nn.dynamic_rnn(cell, hr.constant(X), dtype=hr.float32)
    names = [w.name for w in cell.trainable_weights]
    assert len(names) == 11 and names[0] == "rnn/layer_norm_basic_lstm_cell/kernel:0"
    assert "rnn/layer_norm_basic_lstm_cell/state/gamma:0" in names


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"inputs": X[0]}, ValueError, "at least"),
        ({"dtype": None}, ValueError, "you must give a dtype"),
        ({"sequence_length": [[1, 2]]}, ValueError, "must be a vector"),
        ({"cell": None}, TypeError, "is not an RNNCell"),
    ],
)
def test_invalid_arguments_are_errors(options: Any, error: type[Exception], message: str) -> None:
    arguments = {"cell": cells.GRUCell(2), "inputs": X, "dtype": hr.float32}
    with pytest.raises(error, match=message):
        hr.nn.dynamic_rnn(**{**arguments, **options})


def test_lengths_of_another_batch_are_an_error() -> None:
    outputs, _ = hr.nn.dynamic_rnn(
        cells.GRUCell(2),
        hr.constant(X),
        sequence_length=hr.placeholder_with_default([1, 2, 3], [None]),
        dtype=hr.float32,
    )
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        with pytest.raises(hr.errors.InvalidArgumentError, match="Expected shape for Tensor"):
            session.run(outputs)
