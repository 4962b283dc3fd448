"""map_fn, foldl, foldr and scan: against NumPy, and their gradients against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace.graph as hr

X = np.random.default_rng(8).normal(size=(4, 3))


@pytest.fixture(autouse=True)
def graph() -> Any:
    """Gives each test a graph of its own."""
    with hr.Graph().as_default() as made:
        yield made


def run(*tensors: Any, feed: Any = None) -> Any:
    with hr.Session() as session:
        return session.run(list(tensors), feed)


def check_gradient(build: Any) -> None:
    x = hr.placeholder(hr.float64, [None, 3])
    y = build(x)
    (grad,) = hr.gradients(y, x)
    with hr.Session() as session:
        found = session.run(hr.convert_to_tensor(grad), {x: X})
        expected = np.zeros_like(X)
        for at in np.ndindex(X.shape):
            step = np.zeros_like(X)
            step[at] = 1e-6
            above, below = (np.sum(session.run(y, {x: X + s})) for s in (step, -step))
            expected[at] = (above - below) / 2e-6
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_map_fn_applies_a_function_to_each_row() -> None:
    x = hr.constant(X)
    (squares, pair, counts) = run(
        hr.map_fn(lambda r: r * r, x),
        hr.map_fn(lambda r: (r[0] + r[1]["a"], r[1]["a"]), (x, {"a": x}), dtype=(x.dtype,) * 2),
        hr.map_fn(lambda r: hr.size(r), x, dtype=hr.int32),
    )
    np.testing.assert_allclose(squares, X * X)
    np.testing.assert_allclose(pair[0], 2 * X)
    np.testing.assert_allclose(pair[1], X)
    assert counts.tolist() == [3] * 4


def test_results_have_static_shapes() -> None:
    x = hr.constant(X)
    assert hr.map_fn(lambda r: r[:2], x).shape.as_list() == [4, 2]
    assert hr.scan(lambda a, r: a + r, x).shape.as_list() == [4, 3]
    assert hr.foldl(lambda a, r: a + r, x).shape.as_list() == [3]
    y = hr.placeholder(hr.float32, [None, 3])
    assert hr.map_fn(lambda r: r, y).shape.as_list() == [None, 3]


def test_rows_of_different_shapes_are_an_error_only_when_stacked() -> None:
    def ones(n: Any) -> Any:
        return hr.ones(hr.expand_dims(n, 0))

    with pytest.raises(hr.errors.InvalidArgumentError, match="inferred element shape|inconsistent"):
        run(hr.map_fn(ones, hr.constant([1, 2]), dtype=hr.float32))
    same = hr.map_fn(ones, hr.constant([2, 2]), dtype=hr.float32, infer_shape=False)
    assert run(same)[0].tolist() == [[1, 1], [1, 1]]


def test_folds_combine_rows_in_both_orders() -> None:
    digits = hr.constant([1, 2, 3, 4])
    found = run(
        hr.foldl(lambda a, d: 10 * a + d, digits),
        hr.foldr(lambda a, d: 10 * a + d, digits),
        hr.foldl(lambda a, d: 10 * a + d, digits, initializer=9),
        hr.foldr(lambda a, d: 10 * a + d, digits, initializer=hr.constant(9)),
        hr.foldl(lambda a, d: [a[0] + d["x"], a[1] * d["y"]], {"x": digits, "y": digits}, [0, 1]),
    )
    assert [int(v) for v in found[:4]] == [1234, 4321, 91234, 94321]
    assert [int(v) for v in found[4]] == [10, 24]


def test_scan_returns_all_accumulators() -> None:
    digits = hr.constant([1, 2, 3, 4])
    found = run(
        hr.scan(lambda a, d: a + d, digits),
        hr.scan(lambda a, d: a + d, digits, reverse=True),
        hr.scan(lambda a, d: a + d, digits, initializer=hr.constant(10)),
        hr.scan(lambda a, d: a + d, digits, initializer=10, reverse=True),
        *hr.scan(lambda a, _: (a[1], a[0] + a[1]), digits, initializer=(0, 1)),
    )
    assert [v.tolist() for v in found] == [
        [1, 3, 6, 10],
        [10, 9, 7, 4],
        [11, 13, 16, 20],
        [20, 19, 17, 14],
        [1, 1, 2, 3],
        [1, 2, 3, 5],
    ]


def test_no_rows_give_no_results() -> None:
    x = hr.placeholder(hr.float32, [None, 3])
    mapped = hr.map_fn(lambda r: r * 2.0, x)
    folded = hr.foldl(lambda a, r: a + hr.reduce_sum(r), x, initializer=1.0)
    scanned = hr.scan(lambda a, r: a + r, x, initializer=hr.zeros([3]))
    found = run(mapped, folded, scanned, feed={x: np.zeros((0, 3))})
    assert found[0].shape == (0, 3) and found[1] == 1.0 and found[2].shape == (0, 3)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: hr.map_fn(lambda r: hr.sin(r) * r, x),
        lambda x: hr.map_fn(lambda r: hr.map_fn(lambda e: e * e * e, r), x),
        lambda x: hr.foldl(lambda a, r: hr.sin(a * r), x),
        lambda x: hr.foldr(lambda a, r: hr.sin(a * r) + a, x, initializer=x[1]),
        lambda x: hr.scan(lambda a, r: hr.tanh(a * r) + r, x),
        lambda x: hr.scan(lambda a, r: hr.sin(a * r), x, initializer=x[0], reverse=True),
        lambda x: hr.map_fn(
            lambda r: hr.cond(r[0] > 0.0, lambda: r * r, lambda: hr.sin(r)) * x[0], x
        ),
    ],
)
def test_gradients(build: Any) -> None:
    check_gradient(build)


def test_without_back_prop_there_is_no_gradient() -> None:
    x = hr.constant(X)
    assert hr.gradients(hr.map_fn(lambda r: r * r, x, back_prop=False), x) == [None]


def test_variables_are_made_in_functions() -> None:
    def layer(r: Any) -> Any:
        w = hr.get_variable("w", [3], initializer=hr.ones_initializer(), dtype=hr.float64)
        return r * w

    y = hr.map_fn(layer, hr.constant(X))
    (grad,) = hr.gradients(y, hr.trainable_variables())
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        np.testing.assert_allclose(session.run(y), X)
        np.testing.assert_allclose(session.run(grad), X.sum(0))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: hr.map_fn(3, [1.0]), TypeError, "fn must be callable"),
        (lambda: hr.foldl(3, [1.0]), TypeError, "fn must be callable"),
        (lambda: hr.map_fn(hr.abs, hr.constant(1.0)), ValueError, "1\\+ dimensional"),
        (
            lambda: hr.map_fn(lambda r: r[0], (hr.constant(1.0), hr.constant(1.0))),
            ValueError,
            "1\\+ dimensional Tensors",
        ),
        (lambda: hr.map_fn(hr.abs, ()), ValueError, "at least one"),
        (
            lambda: hr.map_fn(lambda r: r[0], (hr.zeros([2]), hr.zeros([3]))),
            ValueError,
            "not compatible",
        ),
        (lambda: hr.map_fn(lambda r: (r, r), hr.zeros([2])), ValueError, "structure"),
        (
            lambda: hr.map_fn(hr.abs, hr.SparseTensor([[0]], [1.0], [2])),
            TypeError,
            "map over the values of a sparse tensor",
        ),
        (
            lambda: hr.scan(lambda a, r: (a, r), hr.zeros([2])),
            ValueError,
            "structure",
        ),
    ],
)
def test_invalid_arguments_are_errors(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()
