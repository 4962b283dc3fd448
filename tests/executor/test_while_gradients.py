"""Gradients of loops, against differences: nested with conds, of both orders, on each executor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace.graph as hr

Function = Callable[[Any, Any], Any]
X, W = [0.3, 0.7], [0.9, 1.1]


def loop(n: Any, body: Callable[..., Any], start: Any, **options: Any) -> Any:
    """Returns the second loop variable after n iterations of body(i, y)."""
    return hr.while_loop(
        lambda i, y: i < n, lambda i, y: (i + 1, body(i, y)), [hr.constant(0), start], **options
    )[1]


def differences(session: Any, y: Any, x: Any, value: np.ndarray) -> np.ndarray:
    found = np.zeros_like(value)
    for at in np.ndindex(value.shape):
        step = np.zeros_like(value)
        step[at] = 1e-6
        above, below = (np.sum(session.run(y, {x: value + s})) for s in (step, -step))
        found[at] = (above - below) / 2e-6
    return found


def check(f: Function, x: Any = X, w: Any = W, order: int = 1) -> None:
    values = [np.asarray(x, np.float64), np.asarray(w, np.float64)]
    sources = [hr.constant(v) for v in values]
    y = f(*sources)
    for _ in range(order - 1):
        grads = [g for g in hr.gradients(y, sources) if g is not None]
        y = hr.add_n([hr.reduce_sum(hr.square(hr.convert_to_tensor(g))) for g in grads])
    grads = [
        hr.zeros_like(s) if g is None else hr.convert_to_tensor(g)
        for s, g in zip(sources, hr.gradients(y, sources), strict=True)
    ]
    with hr.Session() as session:
        for source, value, grad in zip(sources, values, grads, strict=True):
            expected = differences(session, y, source, value)
            np.testing.assert_allclose(session.run(grad), expected, rtol=1e-4, atol=1e-6)


def nested(x: Any, w: Any) -> Any:
    return loop(2, lambda i, y: loop(3, lambda j, z: hr.sin(z * w) + z, y) * x, x)


def cond_in_loop(x: Any, w: Any) -> Any:
    return loop(
        5,
        lambda i, y: hr.cond(hr.equal(i % 2, 0), lambda: y * w * y, lambda: hr.sin(y) + x),
        x,
    )


def loop_in_taken_branch(x: Any, w: Any) -> Any:
    return hr.cond(
        hr.reduce_sum(x) < 100.0, lambda: loop(3, lambda i, y: y * w * y, x), lambda: x * w
    )


def loop_in_other_branch(x: Any, w: Any) -> Any:
    return hr.cond(
        hr.reduce_sum(x) > 100.0, lambda: loop(3, lambda i, y: y * w * y, x), lambda: x * w
    )


def loop_in_cond_in_loop(x: Any, w: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        return hr.cond(
            hr.equal(i % 2, 0),
            lambda: loop(i + 1, lambda j, z: hr.sin(z * w) + y, y),
            lambda: hr.sin(y) + x,
        )

    return loop(5, body, x)


def case_in_loop(x: Any, w: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        return hr.case(
            [(hr.equal(i, 0), lambda: y * w), (hr.equal(i, 2), lambda: hr.sin(y))],
            default=lambda: y + x,
        )

    return loop(4, body, x)


def no_iterations(x: Any, w: Any) -> Any:
    return loop(0, lambda i, y: y * w, x)


def growing(x: Any, w: Any) -> Any:
    shapes = [hr.TensorShape([]), hr.TensorShape([None])]
    return loop(3, lambda i, y: hr.concat([y, y * w[0]], 0), x, shape_invariants=shapes)


def rows_of_an_invariant(x: Any, w: Any) -> Any:
    return loop(3, lambda i, y: y * hr.gather(w, [i % 2, 1]) * hr.gather(w, 0), x)


def gradient_in_the_body(x: Any, w: Any) -> Any:
    return loop(3, lambda i, y: y - 0.1 * hr.gradients(hr.sin(y * w) * y, y)[0], x)


def gradient_in_the_body_of_an_outer_value(x: Any, w: Any) -> Any:
    return loop(3, lambda i, y: y - 0.1 * hr.gradients(hr.sin(y * w) * y, w)[0], x)


def two_variables_that_swap(x: Any, w: Any) -> Any:
    def body(i: Any, a: Any, b: Any) -> Any:
        return i + 1, b * a, hr.sin(a)

    return hr.while_loop(lambda i, a, b: i < 4, body, [hr.constant(0), x, w])[1]


def counted(x: Any, w: Any) -> Any:
    return hr.while_loop(lambda y: True, lambda y: hr.sin(y) * w, [x], maximum_iterations=3)


def until_large(x: Any, w: Any) -> Any:
    return hr.while_loop(lambda y: hr.reduce_sum(y) < 50.0, lambda y: y * (1.0 + w), [x])


def value_that_the_loop_only_keeps(x: Any, w: Any) -> Any:
    kept, _ = hr.while_loop(lambda k, i: i < 3, lambda k, i: (k, i + 1), [x * w, hr.constant(0)])
    return kept


PROGRAMS = [
    nested,
    cond_in_loop,
    loop_in_taken_branch,
    loop_in_other_branch,
    loop_in_cond_in_loop,
    case_in_loop,
    no_iterations,
    growing,
    rows_of_an_invariant,
    gradient_in_the_body,
    gradient_in_the_body_of_an_outer_value,
    two_variables_that_swap,
    counted,
    until_large,
    value_that_the_loop_only_keeps,
]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_loops_gradient_is_that_of_differences(program: Function, order: int) -> None:
    check(program, order=order)


def test_third_order() -> None:
    check(lambda x, w: loop(3, lambda i, y: hr.sin(y * w), x), order=3)


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_read_in_a_loop_get_their_gradient(use_resource: bool) -> None:
    v = hr.get_variable("v", initializer=[2.0, 3.0], use_resource=use_resource)
    y = loop(3, lambda i, y: y * v, hr.constant([1.0, 1.0]))
    train = hr.train.GradientDescentOptimizer(0.01).minimize(hr.reduce_sum(y))
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run(v), [2 - 0.01 * 12, 3 - 0.01 * 27], rtol=1e-6)


def test_rows_of_a_variable_get_indexed_slices() -> None:
    table = hr.get_variable("table", initializer=np.ones((4, 2), np.float32))
    y = loop(3, lambda i, y: y * hr.nn.embedding_lookup(table, [i]), hr.constant([[2.0, 3.0]]))
    (grad,) = hr.gradients(y, table)
    assert isinstance(grad, hr.IndexedSlices)
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        dense = session.run(hr.convert_to_tensor(grad))
    np.testing.assert_array_equal(dense, [[2, 3], [2, 3], [2, 3], [0, 0]])


def test_back_prop_false_gives_none() -> None:
    x = hr.constant(2.0)
    y = loop(3, lambda i, y: y * y, x, back_prop=False)
    assert hr.gradients(y, x) == [None]


def test_an_unconnected_source_gives_none() -> None:
    x, z = hr.constant(2.0), hr.constant(3.0)
    y = loop(3, lambda i, y: y * y, x)
    assert hr.gradients(y, z) == [None]


def test_integers_in_a_loop_stop_the_gradient() -> None:
    x = hr.constant(2.5)
    y = loop(3, lambda i, y: hr.cast(hr.cast(y, hr.int32), hr.float32), x)
    with hr.Session() as session:
        grad = hr.gradients(y, x)[0]
        assert grad is None or session.run(grad) == 0.0


def test_stop_gradients_inside_a_loop() -> None:
    x = hr.constant(2.0)
    y = loop(2, lambda i, y: hr.stop_gradient(y) * y, x)
    with hr.Session() as session:
        # y1 = s(x) x, y2 = s(y1) y1: dy2/dx = y1 x
        assert session.run(hr.gradients(y, x)[0]) == 8.0


def test_gradients_of_two_calls_share_what_the_loop_keeps() -> None:
    x = hr.constant(2.0)
    y = loop(3, lambda i, y: hr.sin(y), x)
    first = hr.gradients(y, x)[0]
    graph = hr.get_default_graph()
    pushes = [o for o in graph.get_operations() if o.type == "TensorListPushBack"]
    second = hr.gradients(y, x)[0]
    assert [o for o in graph.get_operations() if o.type == "TensorListPushBack"] == pushes
    with hr.Session() as session:
        assert session.run(first) == session.run(second)


def test_loops_of_an_imported_meta_graph_have_gradients() -> None:
    x = hr.placeholder(hr.float32, [], name="x")
    hr.identity(loop_in_cond_in_loop(x, hr.constant(1.5)), name="y")
    saved = hr.train.export_meta_graph()
    with hr.Graph().as_default() as graph:
        hr.train.import_meta_graph(saved)
        x, y = (graph.get_tensor_by_name(f"{name}:0") for name in "xy")
        (grad,) = hr.gradients(y, x)
        with hr.Session(graph=graph) as session:
            got = session.run(grad, {x: 0.4})
            above, below = (session.run(y, {x: v}) for v in (0.401, 0.399))
    assert got == pytest.approx((above - below) / 0.002, rel=1e-2)


@pytest.mark.host_execution("a million launches of the fake device take minutes")
def test_a_million_iterations_need_bounded_memory_per_iteration() -> None:
    n = hr.placeholder(hr.int32, [])
    x = hr.constant(1.0)
    grad = hr.gradients(loop(n, lambda i, y: y * 1.0000001, x), x)[0]
    with hr.Session() as session:
        assert session.run(grad, {n: 1_000_000}) == pytest.approx(1.1192, rel=1e-3)


@pytest.mark.parametrize("rows", [1, 3, None])
def test_the_gradient_of_weights_is_one_product_of_all_iterations(rows: int | None) -> None:
    n, size = 4, 40
    rng = np.random.default_rng(4)
    w = hr.constant(rng.normal(size=(size, size)) / size)
    x = hr.placeholder(hr.float64, [rows, size])
    y = loop(hr.placeholder_with_default(n, []), lambda i, y: hr.sin(hr.matmul(y, w)) + x, x * 2.0)
    grads = hr.gradients(hr.reduce_sum(hr.square(y)), [w, x])
    second = hr.gradients(hr.reduce_sum(hr.square(grads[0])), w)
    unrolled = x * 2.0
    for _ in range(n):
        unrolled = hr.sin(hr.matmul(unrolled, w)) + x
    expected = hr.gradients(hr.reduce_sum(hr.square(unrolled)), [w, x])
    expected_second = hr.gradients(hr.reduce_sum(hr.square(expected[0])), w)
    joined = [op for op in hr.get_default_graph().get_operations() if "ListConcat" in op.type]
    assert len(joined) >= 2 * (rows is not None and rows * 2 <= size)
    with hr.Session() as session:
        feed = {x: rng.normal(size=(rows or 2, size))}
        found = session.run([*grads, *second], feed)
        for mine, other in zip(
            found, session.run([*expected, *expected_second], feed), strict=True
        ):
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)
        assert session.run(grads[0], feed).shape == (size, size)
