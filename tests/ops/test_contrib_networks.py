"""Networks and wrappers of `hr.contrib.rnn`: against the plain networks that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace.graph as hr

cells = hr.nn.rnn_cell
rnn = hr.contrib.rnn
X = np.random.default_rng(3).normal(size=(2, 4, 3)).astype(np.float32)  # batch, time, n
LENGTHS = [2, 4]


@pytest.fixture(autouse=True)
def graph() -> Any:
    """Gives each test a graph of its own."""
    with hr.Graph().as_default() as made:
        yield made


def waves(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
    count = int(np.prod([int(n) for n in shape]))
    return hr.constant(np.sin(np.arange(count)).reshape([int(n) for n in shape]), hr.float32)


def equal(first: list[Any], second: list[Any]) -> None:
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        found = session.run([first, second])
    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


# ---- stacks of bidirectional networks ------------------------------------------------------------


def layers() -> tuple[list[Any], list[Any]]:
    return [cells.GRUCell(3), cells.GRUCell(2)], [cells.GRUCell(2), cells.GRUCell(3)]


def test_a_layer_reads_both_directions_of_the_layer_below() -> None:
    with hr.variable_scope("", initializer=waves):
        found, ends, _ = rnn.stack_bidirectional_dynamic_rnn(
            *layers(), hr.constant(X), dtype=hr.float32, sequence_length=LENGTHS, scope="net"
        )
    with hr.variable_scope("net", reuse=True):
        layer: Any = hr.constant(X)
        for i, pair in enumerate(zip(*layers(), strict=True)):
            with hr.variable_scope(f"cell_{i}"):
                both, (end, _) = hr.nn.bidirectional_dynamic_rnn(
                    *pair, layer, dtype=hr.float32, sequence_length=LENGTHS
                )
                layer = hr.concat(both, 2)
    equal([found, ends[1]], [layer, end])
    assert found.shape.as_list() == [2, 4, 5]
    names = {v.name for v in hr.global_variables()}
    assert "net/cell_1/bidirectional_rnn/bw/gru_cell/gates/kernel:0" in names


def test_unrolled_stacks_and_loops_agree() -> None:
    with hr.variable_scope("", initializer=waves):
        steps, *ends = rnn.stack_bidirectional_rnn(
            *layers(), hr.unstack(hr.constant(X), axis=1), dtype=hr.float32
        )
    assert [v.name.split("/")[1] for v in hr.trainable_variables()] == ["cell_0"] * 8 + [
        "cell_1"
    ] * 8
    with hr.variable_scope("", initializer=waves):
        found, *other = rnn.stack_bidirectional_dynamic_rnn(
            *layers(), hr.constant(X), dtype=hr.float32, scope="loop"
        )
    equal([hr.stack(steps, 1), *ends[0], *ends[1]], [found, *other[0], *other[1]])


def test_stacks_start_with_the_states_given() -> None:
    starts = [hr.ones([2, 3])], [hr.zeros([2, 2])]
    steps, states, _ = rnn.stack_bidirectional_rnn(
        [cells.GRUCell(3)], [cells.GRUCell(2)], [hr.constant(X[:, 0])], *starts
    )
    with hr.variable_scope("stack_bidirectional_rnn/cell_0/fw", reuse=True):
        step, _ = cells.GRUCell(3)(hr.constant(X[:, 0]), hr.ones([2, 3]))
    equal([steps[0][:, :3], states[0]], [step, step])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "at least one fw cell"),
        (([None], []), "at least one bw cell"),
        (((None,), [None]), "cells_fw must be a list"),
        (([None], [None, None]), "same depth"),
        (([None], [None], None, [1, 2]), "initial_states_fw must be a list of state tensors"),
        (([None], [None], None, None, 1), "initial_states_bw must be a list of state tensors"),
    ],
)
@pytest.mark.parametrize("make", ["stack_bidirectional_rnn", "stack_bidirectional_dynamic_rnn"])
def test_cells_and_states_are_lists_of_one_length(make: str, arguments: Any, message: str) -> None:
    fw, bw, *rest = arguments
    with pytest.raises(ValueError, match=message):
        getattr(rnn, make)(fw, bw, *(rest or [None]))


# ---- fused cells ---------------------------------------------------------------------------------


@pytest.mark.parametrize("use_dynamic_rnn", [False, True])
@pytest.mark.parametrize("listed", [False, True])
def test_a_cell_can_be_used_as_a_fused_cell(use_dynamic_rnn: bool, listed: bool) -> None:
    time_major = hr.constant(X.transpose(1, 0, 2))
    fused = rnn.FusedRNNCellAdaptor(cells.GRUCell(3), use_dynamic_rnn)
    outputs, state = fused(hr.unstack(time_major) if listed else time_major, dtype=hr.float32)
    assert isinstance(fused, rnn.FusedRNNCell) and isinstance(outputs, list) == listed
    with hr.variable_scope(hr.get_variable_scope(), reuse=True):
        plain, end = hr.nn.dynamic_rnn(
            cells.GRUCell(3), time_major, dtype=hr.float32, time_major=True
        )
    equal([hr.stack(outputs) if listed else outputs, state], [plain, end])


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["whole", "with lengths"])
def test_a_reversed_fused_cell_is_the_backward_network(lengths: Any) -> None:
    x = hr.constant(X)
    with hr.variable_scope("bw"):
        fused = rnn.TimeReversedFusedRNN(rnn.FusedRNNCellAdaptor(cells.GRUCell(3), True))
        outputs, state = fused(
            hr.transpose(x, [1, 0, 2]), dtype=hr.float32, sequence_length=lengths
        )
    with hr.variable_scope("bw", reuse=True):
        turned = hr.reverse_sequence(x, lengths or [4, 4], seq_axis=1)
        plain, end = hr.nn.dynamic_rnn(
            cells.GRUCell(3), turned, dtype=hr.float32, sequence_length=lengths
        )
        plain = hr.reverse_sequence(plain, lengths or [4, 4], seq_axis=1)
    equal([hr.transpose(outputs, [1, 0, 2]), state], [plain, end])


def test_lists_are_reversed_whole() -> None:
    def keep(inputs: Any, **options: Any) -> Any:
        return [*inputs[:-1], "last"], options["sequence_length"]

    assert rnn.TimeReversedFusedRNN(keep)([1, 2, 3], sequence_length=4) == (["last", 2, 3], 4)


# ---- wrappers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", [cells.GRUCell, cells.BasicLSTMCell])
def test_symbols_are_embedded(cell: Any) -> None:
    symbols = np.array([[[1], [2]], [[0], [3]]], np.int32)
    outputs, _ = hr.nn.dynamic_rnn(rnn.EmbeddingWrapper(cell(3), 4, 5), symbols, dtype=hr.float32)
    table = next(v for v in hr.global_variables() if "embedding:" in v.name)
    assert table.name == "rnn/embedding_wrapper/embedding:0" and table.shape.as_list() == [4, 5]
    with hr.variable_scope("rnn/embedding_wrapper", reuse=True):
        own = cell(3)
        state = own.zero_state(2, hr.float32)
        for step in (0, 1):
            plain, state = own(hr.gather(table, symbols[:, step, 0]), state)
    equal([outputs[:, 1]], [plain])


def test_sizes_of_wrappers() -> None:
    inner = cells.BasicLSTMCell(3)
    projected = rnn.OutputProjectionWrapper(inner, 5)
    assert (projected.output_size, projected.state_size) == (5, inner.state_size)
    for wrapper in (
        rnn.InputProjectionWrapper(inner, 5),
        rnn.EmbeddingWrapper(inner, 5, 5),
        rnn.HighwayWrapper(inner),
    ):
        assert (wrapper.output_size, wrapper.state_size) == (3, inner.state_size)
        assert wrapper.zero_state(2, hr.float32).c.shape.as_list() == [2, 3]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: rnn.EmbeddingWrapper(None, 2, 2), TypeError, "is not an RNNCell"),
        (lambda: rnn.EmbeddingWrapper(cells.GRUCell(2), 0, 2), ValueError, "must be > 0: 0, 2"),
        (lambda: rnn.OutputProjectionWrapper(cells.GRUCell(2), 0), ValueError, "must be > 0: 0"),
        (lambda: rnn.InputProjectionWrapper(None, 2), TypeError, "is not an RNNCell"),
    ],
)
def test_invalid_wrappers_are_errors(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
