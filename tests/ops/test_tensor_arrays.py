"""Ops of TensorArrays and stacks: against Python's lists, their gradients, and what they reject."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError, NotFoundError, OpError, UnimplementedError

R = hr.raw_ops
SHAPES = st.sampled_from([(), (3,), (40, 50)])  # the last with a buffer of its own


@pytest.fixture(autouse=True)
def graph() -> Any:
    """Gives each test a graph of its own."""
    with hr.Graph().as_default() as made:
        yield made


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 5), unique=True, min_size=1, max_size=6), SHAPES, st.booleans())
def test_an_array_holds_what_was_written(
    order: list[int], shape: tuple[int, ...], dynamic: bool
) -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(6, *shape))
    with hr.Graph().as_default():
        array = hr.TensorArray(
            hr.float64,
            size=0 if dynamic else 6,
            dynamic_size=dynamic,
            clear_after_read=False,
            element_shape=shape,
        )
        for index in order:
            array = array.write(index, hr.constant(values[index]) * 1.0)
        results = [array.size(), array.gather(order), array.read(order[0])]
        whole = len(order) == (max(order) + 1 if dynamic else 6)
        if whole:
            results.append(array.stack())
        with hr.Session() as session:
            size, gathered, first, *stacked = session.run(results)
    assert size == (max(order) + 1 if dynamic else 6)
    np.testing.assert_array_equal(gathered, values[order])
    np.testing.assert_array_equal(first, values[order[0]])
    for found in stacked:
        np.testing.assert_array_equal(found, values[: len(order)])


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128, np.bool_, np.str_])
def test_every_kind_of_element_comes_back(dtype: Any) -> None:
    values = np.array([[1, 0], [0, 3]]).astype(dtype)
    tensor = hr.constant(values)
    array = hr.TensorArray(tensor.dtype, size=2).unstack(tensor)
    with hr.Session() as session:
        np.testing.assert_array_equal(session.run(array.stack()).astype(dtype), values)


def test_rows_are_split_and_joined() -> None:
    x = np.arange(12.0).reshape(4, 3)
    array = hr.TensorArray(hr.float64, size=3, infer_shape=False).split(x, [1, 0, 3])
    raw = R.TensorArrayConcatV3(handle=array.handle, flow_in=array.flow, dtype=hr.float64)
    with hr.Session() as session:
        joined, lengths = session.run(raw)
    np.testing.assert_array_equal(joined, x)
    assert lengths.tolist() == [1, 0, 3]


def test_an_array_is_new_in_each_run_and_each_iteration() -> None:
    _, total = hr.while_loop(
        lambda i, _: i < 3,
        lambda i, total: (
            i + 1,
            total + hr.TensorArray(hr.int32, size=1).write(0, i).read(0),
        ),
        (hr.constant(0), hr.constant(0)),
    )
    with hr.Session() as session:
        assert [int(session.run(total)) for _ in range(3)] == [3, 3, 3]


def version_2(size: int = 2, **attrs: Any) -> Any:
    return R.TensorArrayV2(size=size, dtype=hr.float64, **attrs)


def test_version_2_has_handles_of_strings() -> None:
    x = hr.constant(np.arange(6.0).reshape(2, 3))
    handle = version_2(tensor_array_name="mine")
    flow = R.TensorArrayScatterV2(handle=handle, indices=[0, 1], value=x, flow_in=0.0)
    read = R.TensorArrayReadV2(handle=hr.identity(handle), index=1, flow_in=flow, dtype=hr.float64)
    rest = R.TensorArrayGatherV2(handle=handle, indices=[0], flow_in=flow, dtype=hr.float64)
    size = R.TensorArraySizeV2(handle=handle, flow_in=flow)
    (grad,) = hr.gradients(hr.reduce_sum(read * read), x)
    with hr.Session() as session:
        container, name = session.run(handle)
        assert container == b"_tensor_arrays" and name.startswith(b"mine_")
        assert session.run(size) == 2
        np.testing.assert_array_equal(session.run(rest), [[0, 1, 2]])
        np.testing.assert_array_equal(session.run(grad), [[0, 0, 0], [6, 8, 10]])
        stale = session.run(handle)
        with pytest.raises(NotFoundError, match="does not exist"):
            session.run(size, {handle: stale})
        session.run(R.TensorArrayCloseV2(handle=handle))


def test_older_ops_write_split_and_join() -> None:
    first = version_2(2)
    flow = R.TensorArraySplitV2(
        handle=first, value=hr.constant([1.0, 2.0, 3.0], hr.float64), lengths=[2, 1], flow_in=0.0
    )
    joined = R.TensorArrayConcatV2(handle=first, flow_in=flow, dtype=hr.float64)
    second = version_2(1)
    written = R.TensorArrayWriteV2(
        handle=second, index=0, value=hr.constant(4.0, hr.float64), flow_in=0.0
    )
    found = R.TensorArrayReadV2(handle=second, index=0, flow_in=written, dtype=hr.float64)
    with hr.Session() as session:
        assert session.run(joined.value).tolist() == [1.0, 2.0, 3.0]
        assert session.run(joined.lengths).tolist() == [2, 1]
        assert session.run(found) == 4.0


# ---- gradients -----------------------------------------------------------------------------------


def differences(session: Any, y: Any, x: Any, value: np.ndarray) -> np.ndarray:
    found = np.zeros_like(value)
    for at in np.ndindex(value.shape):
        step = np.zeros_like(value)
        step[at] = 1e-6
        above, below = (session.run(y, {x: value + s}) for s in (step, -step))
        found[at] = (above - below) / 2e-6
    return found


X = np.random.default_rng(5).normal(size=(4, 3))


def many_reads(x: Any) -> Any:
    array = hr.TensorArray(hr.float64, size=4, clear_after_read=False).unstack(x)
    parts = [array.read(1) * array.read(1), array.read(3), array.gather([1, 1, 2])]
    return hr.add_n([hr.reduce_sum(hr.sin(p) * p) for p in parts])


def writes(x: Any) -> Any:
    array = hr.TensorArray(hr.float64, size=3)
    array = array.write(2, x[0]).write(0, hr.square(x[1])).scatter([1], x[2:3] * 2.0)
    return hr.reduce_sum(hr.square(array.stack()))


def parts(x: Any) -> Any:
    array = hr.TensorArray(hr.float64, size=2, infer_shape=False).split(hr.sin(x), [1, 3])
    return hr.reduce_sum(hr.square(array.concat()))


def loop(x: Any) -> Any:
    source = hr.TensorArray(hr.float64, size=4).unstack(x)
    results = hr.TensorArray(hr.float64, size=4)
    _, state, results = hr.while_loop(
        lambda i, s, r: i < 4,
        lambda i, s, r: (i + 1, hr.sin(s * source.read(i)) + s, r.write(3 - i, s * s)),
        (hr.constant(0), hr.ones([3], hr.float64), results),
    )
    return hr.reduce_sum(hr.square(results.stack())) + hr.reduce_sum(state)


def growing(x: Any) -> Any:
    _, results = hr.while_loop(
        lambda i, r: i < 4,
        lambda i, r: (i + 1, r.write(i, hr.exp(x[i]))),
        (hr.constant(0), hr.TensorArray(hr.float64, size=0, dynamic_size=True)),
    )
    return hr.reduce_sum(hr.square(results.stack()))


def conditional(x: Any) -> Any:
    array = hr.TensorArray(hr.float64, size=4, clear_after_read=False).unstack(x)

    def body(i: Any, r: Any) -> Any:
        value = hr.cond(
            hr.equal(i % 2, 0), lambda: hr.square(array.read(i)), lambda: hr.sin(x[i]) * x[0]
        )
        r = hr.cond(i < 3, lambda: r.write(i, value), lambda: r.write(i, value * 2.0))
        return i + 1, r

    _, results = hr.while_loop(
        lambda i, r: i < 4, body, (hr.constant(0), hr.TensorArray(hr.float64, size=4))
    )
    return hr.reduce_sum(hr.square(results.stack()))


def nested(x: Any) -> Any:
    outer = hr.TensorArray(hr.float64, size=4).unstack(x)

    def row(i: Any, total: Any) -> Any:
        inner = hr.TensorArray(hr.float64, size=3, clear_after_read=False).unstack(outer.read(i))
        return i + 1, hr.while_loop(
            lambda j, t: j < 3,
            lambda j, t: (j + 1, t * inner.read(j) + hr.sin(inner.read(2 - j))),
            (hr.constant(0), total),
        )[1]

    return hr.while_loop(lambda i, t: i < 4, row, (hr.constant(0), hr.constant(0.5, hr.float64)))[1]


def partly_unread(x: Any) -> Any:
    array = hr.TensorArray(hr.float64, size=4, element_shape=[3]).unstack(x)
    return hr.reduce_sum(hr.square(array.read(2)))


PROGRAMS = [
    many_reads, writes, parts, loop, growing, conditional, nested, partly_unread,
]  # fmt: skip


@pytest.mark.parametrize("traced", [False, True], ids=["fast", "traced"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_gradients_pass_through_arrays(program: Any, traced: bool) -> None:
    x = hr.constant(X)
    y = program(x)
    (grad,) = hr.gradients(y, x)
    options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE) if traced else None
    with hr.Session() as session:
        found = session.run(hr.convert_to_tensor(grad), options=options)
        np.testing.assert_allclose(found, differences(session, y, x, X), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("program", [many_reads, writes, parts, loop], ids=lambda p: p.__name__)
def test_gradients_of_gradients_pass_through_arrays(program: Any) -> None:
    x = hr.constant(X)
    (grad,) = hr.gradients(program(x), x)
    y = hr.reduce_sum(hr.square(grad))
    (second,) = hr.gradients(y, x)
    with hr.Session() as session:
        found = session.run(hr.convert_to_tensor(second))
        np.testing.assert_allclose(found, differences(session, y, x, X), rtol=1e-4, atol=1e-5)


def test_two_calls_of_gradients_in_one_run_do_not_add_up() -> None:
    x = hr.constant(X)
    y = loop(x)
    (one,), (two,) = hr.gradients(y, x), hr.gradients(y, x, name="mine")
    with hr.Session() as session:
        first, second, alone = *session.run([one, two]), session.run(one)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, alone)


def test_the_gradient_array_has_the_name_of_the_call() -> None:
    with hr.Graph().as_default() as graph:
        x = hr.constant(X)
        with hr.name_scope("train"):
            hr.gradients(hr.reduce_sum(hr.TensorArray(hr.float64, size=4).unstack(x).stack()), x)
    nodes = [op for op in graph.get_operations() if op.type == "TensorArrayGradV3"]
    assert {op.get_attr("source") for op in nodes} == {b"train/gradients"}


def test_an_array_survives_a_graph_def() -> None:
    x = hr.placeholder(hr.float64, [4, 3], name="x")
    y = hr.identity(loop(x), name="y")
    (grad,) = hr.gradients(y, x)
    hr.identity(grad, name="grad")
    message = hr.get_default_graph().as_graph_def()
    with hr.Session() as session:
        expected = session.run(["y:0", "grad:0"], {x: X})
    with hr.Graph().as_default():
        found = hr.import_graph_def(message, return_elements=["x:0", "y:0", "grad:0"], name="")
        with hr.Session() as session:
            got = session.run(found[1:], {found[0]: X})
    for mine, theirs in zip(got, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_grad_with_shape_prepends_dimensions() -> None:
    array = hr.TensorArray(hr.float32, size=1, element_shape=[2]).write(0, [1.0, 2.0])
    handle, flow = R.TensorArrayGradWithShape(
        handle=array.handle, flow_in=array.flow, shape_to_prepend=[3], source="s"
    )
    value = R.TensorArrayReadV3(handle=handle, index=0, flow_in=flow, dtype=hr.float32)
    with hr.Session() as session:
        assert session.run(value).tolist() == [[0.0, 0.0]] * 3


# ---- errors --------------------------------------------------------------------------------------


def new(**options: Any) -> Any:
    return hr.TensorArray(hr.float32, **{"size": 2, "infer_shape": False, **options})


def raw_write(array: Any, value: Any, index: Any = 0) -> Any:
    return R.TensorArrayWriteV3(
        handle=array.handle, index=index, value=hr.constant(value), flow_in=array.flow
    )


REJECTED = {
    "write twice": (
        lambda: new().write(0, 1.0).write(0, 2.0).flow,
        "Could not write to TensorArray index 0 because it has already been written to",
    ),
    "write after read": (
        lambda: _after(new().write(0, 1.0), lambda a: a.read(0), lambda a: a.write(0, 1.0).flow),
        "Could not write to TensorArray index 0 because it has already been read",
    ),
    "read twice": (
        lambda: _after(new().write(0, 1.0), lambda a: a.read(0), lambda a: a.read(0)),
        "Could not read index 0 twice because it was cleared after a previous read",
    ),
    "write beyond the end": (
        lambda: new().write(2, 1.0).flow,
        "Tried to write to index 2 but array is not resizeable and size is: 2",
    ),
    "write before the start": (lambda: new(dynamic_size=True).write(-1, 1.0).flow, "index -1"),
    "read beyond the end": (
        lambda: new().read(2),
        "Tried to read from index 2 but array size is: 2",
    ),
    "read of nothing": (lambda: new().read(1), "the element shape is not fully defined"),
    "other dtype": (
        lambda: raw_write(new(), 1),
        "TensorArray dtype is float but Op is trying to write dtype int32",
    ),
    "other dtype requested": (
        lambda: R.TensorArrayReadV3(
            handle=new().handle, index=0, flow_in=0.0, dtype=hr.int32
        ),
        "TensorArray dtype is float but Op requested dtype int32",
    ),
    "other shape": (
        lambda: raw_write(hr.TensorArray(hr.float32, 2, element_shape=[2]), [1.0, 2.0, 3.0]),
        r"the value shape is \[3\] which is incompatible with the TensorArray's inferred element "
        r"shape: \[2\]",
    ),
    "shapes differ": (
        lambda: hr.identity(
            _raw_gather(new().write(0, [1.0]).write(1, [1.0, 2.0])), name="gathered"
        ),
        r"TensorArray has inconsistent shapes.  Index 0 has shape: \[1\] but index 1 has shape",
    ),
    "nothing to stack": (
        lambda: new(size=0).stack(),
        "TensorArray has size zero, but element shape <unknown> is not fully defined",
    ),
    "scalars to join": (
        lambda: new().write(0, 1.0).write(1, 1.0).concat(),
        "Concat saw a scalar shape at index 0 but requires at least vectors",
    ),
    "few rows": (
        lambda: R.TensorArrayScatterV3(
            handle=new().handle, indices=[0, 1], value=hr.constant([1.0]), flow_in=0.0
        ),
        r"Expected len\(indices\) == values.shape\[0\], but saw: 2 vs. 1",
    ),
    "scatter beyond the end": (
        lambda: new().scatter([5], [1.0]).flow,
        r"Max scatter index must be < array size \(5 vs. 2\)",
    ),
    "lengths do not add up": (
        lambda: new().split([1.0, 2.0], [1, 2]).flow,
        r"Expected sum of lengths to be equal to values.shape\[0\], but sum of lengths is 3",
    ),
    "other number of lengths": (
        lambda: new().split([1.0, 2.0], [2]).flow,
        "size is not equal to the size of lengths",
    ),
    "a negative length": (lambda: new().split([1.0], [2, -1]).flow, "non-negative"),
    "a negative size": (lambda: new(size=hr.constant(-1)).size(), "Size should be >= 0"),
    "closed": (
        lambda: _after(new(), lambda a: a.close(), lambda a: a.size()),
        "has already been closed",
    ),
    "a stack underflows": (
        lambda: R.StackPopV2(handle=stack(), elem_type=hr.float32),
        r"Stack\[mine\] is empty when calling Pop\(\)",
    ),
    "a stack overflows": (
        lambda: _pushed(stack(1), 1.0, 2.0),
        r"Stack\[mine\] overflowed its max_size \(1\)",
    ),
    "a stack of another dtype": (
        lambda: R.StackPushV2(handle=stack(), elem=hr.constant(1)),
        "Must have type float but got int32",
    ),
}  # fmt: skip


def _after(array: Any, first: Any, then: Any) -> Any:
    with hr.control_dependencies([first(array)]):
        return then(array)


def _raw_gather(array: Any) -> Any:
    return R.TensorArrayGatherV3(
        handle=array.handle, indices=[0, 1], flow_in=array.flow, dtype=hr.float32
    )


def stack(size: int = -1) -> Any:
    return R.StackV2(max_size=size, elem_type=hr.float32, stack_name="mine")


def _pushed(handle: Any, *values: float) -> Any:
    pushed: list[Any] = []
    for value in values:
        with hr.control_dependencies(pushed):
            pushed = [R.StackPushV2(handle=handle, elem=hr.constant(value))]
    return pushed[0]


@pytest.mark.parametrize("name", REJECTED)
def test_invalid_uses_are_errors(name: str) -> None:
    build, message = REJECTED[name]
    with hr.Session() as session:
        with pytest.raises((InvalidArgumentError, UnimplementedError), match=message):
            session.run(build())


def test_handles_of_other_things_are_errors() -> None:
    read = R.TensorArrayReadV3(handle=stack(), index=0, flow_in=0.0, dtype=hr.float32)
    pop = R.StackPopV2(handle=new().handle, elem_type=hr.float32)
    with hr.Session() as session:
        for wrong in (read, pop):
            with pytest.raises(NotFoundError, match="does not exist"):
                session.run(wrong)


def test_a_size_beyond_memory_is_an_error() -> None:
    size = hr.placeholder(hr.int32, [])
    array = hr.TensorArray(hr.float32, size=size, dynamic_size=True)
    with hr.Session() as session:
        for wrong in (array.size(), array.write(size - 1, 1.0).size()):
            try:
                session.run(wrong, {size: 2**31 - 1})
            except OpError as error:
                assert error.code == 8  # RESOURCE_EXHAUSTED


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: hr.TensorArray(hr.float32), ValueError, "Size must be provided"),
        (lambda: hr.TensorArray(hr.float32, handle="h"), TypeError, "Handle must be a Tensor"),
        (
            lambda: hr.TensorArray(hr.float32, handle=new().handle, size=2),
            ValueError,
            "both a handle and size",
        ),
        (
            lambda: hr.TensorArray(hr.float32, handle=new().handle),
            ValueError,
            "flow must not be None",
        ),
        (
            lambda: hr.TensorArray(hr.float32, 2).write(0, [1.0]).write(1, [1.0, 2.0]),
            ValueError,
            "Inconsistent shapes",
        ),
    ],
)
def test_invalid_arguments_are_errors(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


# ---- stacks --------------------------------------------------------------------------------------


def test_a_stack_gives_the_last_tensor_first() -> None:
    handle = stack()
    pushed = _pushed(handle, 1.0, 2.0)
    with hr.control_dependencies([pushed]):
        last = R.StackPopV2(handle=handle, elem_type=hr.float32)
    with hr.control_dependencies([last]):
        first = R.StackPopV2(handle=handle, elem_type=hr.float32)
    with hr.control_dependencies([first]):
        closed = R.StackCloseV2(handle=handle)
    with hr.Session() as session:
        assert session.run([last, first, closed])[:2] == [2.0, 1.0]
