"""Whole LSTMs and GRUs in one op: every way to divide the work gives what the reference gives.

Of headrace.graph: shape_rules.recurrent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tolerances import assert_same

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError
from headrace.graph.builder.op_builder import op
from headrace.kernels.reference import oracle

# steps, batch, inputs, cells: one thread; parts of the batch by each; products divided among them.
SIZES = [
    (3, 2, 3, 5),
    (5, 9, 40, 33),
    (4, 20, 64, 72),
    (3, 3, 150, 200),
    (1, 20, 100, 90),
    (2, 0, 3, 4),
    (0, 2, 3, 4),
    (3, 2, 0, 4),
    (2, 2, 3, 0),
]
# The inputs' share of the gates, and their gradients, do not fit the memory that is kept of them.
LONG = (600, 64, 7, 32)


def _run(kind: str, inputs: Sequence[Any], attrs: dict[str, Any], threads: int) -> list[np.ndarray]:
    config = hr.ConfigProto(intra_op_parallelism_threads=threads)
    config.experimental.refuse_reference_kernels = True
    with hr.Graph().as_default(), hr.Session(config=config) as session:
        fed = [hr.placeholder(x.dtype, [None] * x.ndim) for x in inputs]
        result = op(kind, *fed, **attrs)
        return session.run(list(result), dict(zip(fed, inputs, strict=True)))


def _numbers(*shapes: tuple[int, ...], scale: float = 1.0) -> list[np.ndarray]:
    rng = np.random.default_rng(sum(sum(shape) for shape in shapes))
    return [(scale * rng.uniform(-1, 1, shape)).astype(np.float32) for shape in shapes]


def _compare(kind: str, inputs: Sequence[Any], attrs: dict[str, Any], threads: int) -> None:
    found, expected = _run(kind, inputs, attrs, threads), oracle.run(kind, *inputs, **attrs)
    for one, other in zip(found, expected, strict=True):
        assert_same(kind, one, other)


def _lstm(sizes: tuple[int, ...]) -> list[np.ndarray]:
    _, batch, inputs, cells = sizes
    state, weights, cell = (batch, cells), (inputs + cells, 4 * cells), (cells,)
    return [
        *_numbers(sizes[:3], state, state),
        *_numbers(weights, scale=(inputs + cells + 1) ** -0.5),
        *_numbers(cell, cell, cell, (4 * cells,)),
    ]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("sizes", [*SIZES, LONG], ids=str)
def test_a_block_and_its_gradient_are_those_of_the_reference(
    sizes: tuple[int, ...], threads: int
) -> None:
    steps, batch, _, cells = sizes
    length = np.array(steps if steps < 3 or steps > 99 else steps - 1, np.int64)
    of_op = [length, *_lstm(sizes)]
    saved = _numbers(*[(steps, batch, cells)] * 9, scale=0.9)
    if sizes == LONG:  # gradients that neither vanish nor grow
        saved = [np.abs(x) if i < 6 else x for i, x in enumerate(saved)]
    for version, peeps in (("", True), ("V2", False)):
        attrs = {"use_peephole": peeps}
        _compare(f"BlockLSTM{version}", of_op, {**attrs, "cell_clip": 0.8}, threads)
        _compare(f"BlockLSTMGrad{version}", [*of_op, *saved], attrs, threads)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_cells_and_their_gradients_are_those_of_the_reference(
    sizes: tuple[int, ...], threads: int
) -> None:
    _, batch, inputs, n = sizes
    state = (batch, n)
    (x,), others = _numbers((batch, inputs)), _lstm(sizes)[1:]
    saved = _numbers(*[state] * 8, scale=0.9)
    for peeps in (False, True):
        attrs = {"use_peephole": peeps}
        _compare("LSTMBlockCell", [x, *others], {**attrs, "cell_clip": -1.0}, threads)
        _compare("LSTMBlockCellGrad", [x, *others, *saved], attrs, threads)
    scale = (inputs + n + 1) ** -0.5
    gru = [
        *_numbers((batch, inputs), state),
        *_numbers((inputs + n, 2 * n), (inputs + n, n), scale=scale),
        *_numbers((2 * n,), (n,)),
    ]
    _compare("GRUBlockCell", gru, {}, threads)
    _compare("GRUBlockCellGrad", [*gru, *np.abs(saved[:3]), saved[3]], {}, threads)


def test_a_state_that_is_not_finite_stays_in_its_row() -> None:
    of_op = [np.array(3, np.int64), *_lstm((3, 4, 3, 5))]
    expected = _run("BlockLSTM", of_op, {}, 2)
    of_op[1][1, 2, 0] = np.nan
    found = _run("BlockLSTM", of_op, {}, 2)
    for one, other in zip(found, expected, strict=True):
        assert np.isnan(one[1:, 2]).all()
        np.testing.assert_array_equal(np.delete(one, 2, 1), np.delete(other, 2, 1))


@pytest.mark.parametrize(
    ("kind", "at", "shape", "words"),
    [
        ("BlockLSTM", 2, (3, 5), r"cs_prev.dim_size\(0\) != batch_size: 3 vs. 2"),
        ("BlockLSTM", 3, (2, 6), r"h_prev.dim_size\(1\) != cell_size: 6 vs. 5"),
        ("BlockLSTM", 4, (7, 20), r"w.dim_size\(0\) != input_size \+ cell_size: 7 vs. 8"),
        ("BlockLSTM", 6, (4,), r"wcf.dim_size\(0\) != cell_size: 4 vs. 5"),
        ("BlockLSTM", 8, (24,), "cell_size"),
        ("BlockLSTMGrad", 9, (3, 2, 4), r"i.dim_size\(2\) != cell_size: 4 vs. 5"),
        ("BlockLSTMGrad", 17, (2, 2, 5), r"h_grad.dim_size\(0\) != timelen: 2 vs. 3"),
    ],
)
def test_sizes_that_do_not_belong_together_are_rejected(
    kind: str, at: int, shape: tuple[int, ...], words: str
) -> None:
    of_op = [np.array(3, np.int64), *_lstm((3, 2, 3, 5))]
    if kind == "BlockLSTMGrad":
        of_op += _numbers(*[(3, 2, 5)] * 9)
    of_op[at] = np.zeros(shape, np.float32)
    attrs = {"use_peephole": True}
    with pytest.raises(InvalidArgumentError, match=words):
        _run(kind, of_op, attrs, 1)
    with pytest.raises(InvalidArgumentError):
        oracle.run(kind, *of_op, **attrs)


def test_static_shapes_follow_from_the_inputs_the_state_and_the_bias() -> None:
    with hr.Graph().as_default():
        unknown = hr.placeholder(hr.float32)

        def matrix(*shape: int | None) -> hr.Tensor:
            return hr.placeholder(hr.float32, list(shape))

        weights = [unknown] * 4
        steps = hr.placeholder(hr.int64, [])
        block = [steps, matrix(None, 2, 3), unknown, unknown, *weights, matrix(20)]
        assert op("BlockLSTM", *block).h.shape.as_list() == [None, 2, 5]
        cell = [matrix(2, 3), matrix(None, 5), unknown, *weights, unknown]
        assert op("LSTMBlockCell", *cell).cs.shape.as_list() == [2, 5]
        with pytest.raises(ValueError, match="evenly divisible by 4 but is 18"):
            op("BlockLSTM", *block[:-1], matrix(18))


@pytest.mark.parametrize("length", [-1, 4])
def test_a_length_beyond_the_steps_is_rejected(length: int) -> None:
    of_op = [np.array(length, np.int64), *_lstm((3, 2, 3, 5))]
    for kind, more in (("BlockLSTM", []), ("BlockLSTMGrad", _numbers(*[(3, 2, 5)] * 9))):
        with pytest.raises(InvalidArgumentError, match=rf"seq_len_max {length} is not in \[0, 3\]"):
            _run(kind, [*of_op, *more], {"use_peephole": False}, 1)
