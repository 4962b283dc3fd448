"""Ops of tensor lists: against Python's lists, their gradients, and what they reject."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError, ResourceExhaustedError

R = hr.raw_ops
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, 9)),
        st.tuples(st.just("pop"), st.just(0)),
        st.tuples(st.just("set"), st.integers(0, 9)),
        st.tuples(st.just("resize"), st.integers(0, 9)),
        st.tuples(st.just("branch"), st.integers(0, 9)),
    ),
    max_size=14,
)


def empty(shape: Any, dtype: Any = hr.float32) -> hr.Tensor:
    shape = hr.constant(shape, hr.int32, [len(shape)] if isinstance(shape, list) else [])
    return R.EmptyTensorList(
        element_shape=shape, max_num_elements=hr.constant(-1), element_dtype=dtype
    )


def push(handle: hr.Tensor, value: Any) -> hr.Tensor:
    return R.TensorListPushBack(input_handle=handle, tensor=hr.constant(value))


def length(handle: hr.Tensor) -> hr.Tensor:
    return R.TensorListLength(input_handle=handle)


def stack(handle: hr.Tensor, shape: Any = -1, dtype: Any = hr.float32, n: int = -1) -> hr.Tensor:
    return R.TensorListStack(
        input_handle=handle,
        element_shape=hr.constant(shape, hr.int32),
        element_dtype=dtype,
        num_elements=n,
    )


@settings(max_examples=60, deadline=None)
@given(CHANGES, st.sampled_from([(), (2,), (80,)]))  # packed, packed, and with buffers
def test_lists_are_values_as_pythons_tuples_are(
    changes: list[tuple[str, int]], shape: tuple[int, ...]
) -> None:
    with hr.Graph().as_default():
        handle, model = empty(list(shape)), ()
        every = [(handle, model)]
        for count, (kind, n) in enumerate(changes):
            if kind == "push":
                handle = push(handle, np.full(shape, count, np.float32))
                model = (*model, float(count))
            elif kind == "pop" and model:
                handle, _ = R.TensorListPopBack(
                    input_handle=handle,
                    element_shape=hr.constant(list(shape), hr.int32, [len(shape)]),
                    element_dtype=hr.float32,
                )
                model = model[:-1]
            elif kind == "set" and model:
                at = n % len(model)
                handle = R.TensorListSetItem(
                    input_handle=handle, index=at, item=hr.constant(np.full(shape, -count, "f4"))
                )
                model = (*model[:at], float(-count), *model[at + 1 :])
            elif kind == "resize":
                handle = R.TensorListResize(input_handle=handle, size=n)
                model = (*model[:n], *[0.0] * (n - len(model)))
            elif kind == "branch":  # an older list goes on beside its successors
                handle, model = every[n % len(every)]
            every.append((handle, model))
        with hr.Session() as session:
            found = session.run([stack(h, list(shape)) for h, _ in every])
    for got, (_, values) in zip(found, every, strict=True):
        expected = np.zeros((len(values), *shape), np.float32)
        for row, value in enumerate(values):
            expected[row] = value
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex128, np.bool_, np.str_])
def test_every_kind_of_item_comes_back(dtype: Any) -> None:
    values = np.array([[1, 0], [0, 3]]).astype(dtype)
    tensor = hr.constant(values)
    handle = R.TensorListFromTensor(tensor=tensor, element_shape=hr.constant([2]))
    with hr.Session() as session:
        got = session.run(stack(handle, [2], tensor.dtype))
    np.testing.assert_array_equal(got.astype(dtype), values)


def test_items_of_a_tensor_gather_scatter_concat_and_split() -> None:
    x = np.arange(12.0).reshape(4, 3)
    shape = hr.constant([3])
    handle = R.TensorListFromTensor(tensor=hr.constant(x), element_shape=shape)
    gathered = R.TensorListGather(
        input_handle=handle,
        indices=hr.constant([2, 0, 2]),
        element_shape=shape,
        element_dtype=hr.float64,
    )
    scattered = R.TensorListScatterV2(
        tensor=hr.constant(x[:2]), indices=[3, 0], element_shape=shape, num_elements=5
    )
    halves = R.TensorListSplit(
        tensor=hr.constant(x), element_shape=hr.constant([-1, 3]), lengths=[1, 3]
    )
    joined = R.TensorListConcatV2(
        input_handle=halves,
        element_shape=hr.constant([-1, 3]),
        leading_dims=hr.constant([], hr.int64, [0]),
        element_dtype=hr.float64,
    )
    both = R.TensorListConcatLists(input_a=handle, input_b=handle, element_dtype=hr.float64)
    with hr.Session() as session:
        np.testing.assert_array_equal(session.run(gathered), x[[2, 0, 2]])
        expected = np.zeros((5, 3))
        expected[3], expected[0] = x[0], x[1]
        np.testing.assert_array_equal(session.run(stack(scattered, [3], hr.float64)), expected)
        np.testing.assert_array_equal(session.run(joined.tensor), x)
        assert session.run(joined.lengths).tolist() == [1, 3]
        assert session.run(stack(both, [3], hr.float64)).shape == (8, 3)
        assert session.run(R.TensorListLength(input_handle=both)) == 8
        assert session.run(
            R.TensorListElementShape(input_handle=handle, shape_type=hr.int32)
        ).tolist() == [3]


def test_the_gradient_of_a_list_is_a_list_of_gradients() -> None:
    values = np.arange(1.0, 13.0).reshape(4, 3)
    x = hr.constant(values)
    shape = hr.constant([3])
    handle = R.TensorListFromTensor(tensor=x, element_shape=shape)
    changed = R.TensorListSetItem(input_handle=handle, index=1, item=x[0] * 2.0)
    total = hr.add_n([handle, changed])
    halves = R.TensorListSplit(tensor=x, element_shape=hr.constant([-1, 3]), lengths=[1, 3])
    joined = R.TensorListConcatV2(
        input_handle=halves,
        element_shape=hr.constant([-1, 3]),
        leading_dims=hr.constant([], hr.int64, [0]),
        element_dtype=hr.float64,
    ).tensor
    item = R.TensorListGetItem(
        input_handle=total, index=3, element_shape=shape, element_dtype=hr.float64
    )
    few = R.TensorListGather(
        input_handle=total, indices=[1, 1], element_shape=shape, element_dtype=hr.float64
    )
    parts = [stack(total, [3], hr.float64), joined, item, few]
    y = hr.add_n([hr.reduce_sum(hr.square(p)) for p in parts])
    (grad,) = hr.gradients(y, x)
    with hr.Session() as session:
        expected = np.zeros_like(values)
        for at in np.ndindex(values.shape):
            step = np.zeros_like(values)
            step[at] = 1e-5
            above, below = (session.run(y, {x: values + s}) for s in (step, -step))
            expected[at] = (above - below) / 2e-5
        np.testing.assert_allclose(session.run(grad), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: R.TensorListPopBack(
                input_handle=empty([]), element_shape=hr.constant(-1), element_dtype=hr.float32
            )[1],
            "Trying to pop from an empty list",
        ),
        (
            lambda: stack(push(empty(-1), [1, 2]), -1),
            "Invalid data types; op elements int32 but list elements float",
        ),
        (
            lambda: stack(push(empty([3]), [1.0, 2.0])),
            "Tried to append a tensor with incompatible shape to a list",
        ),
        (lambda: stack(push(push(empty(-1), [1.0]), [1.0, 2.0])), "incompatible shapes"),
        (lambda: stack(empty(-1)), "empty list with non-fully-defined element_shape"),
        (lambda: stack(push(empty([]), 1.0), [], n=3), "expected a list with 3 elements but got"),
        (
            lambda: R.TensorListGetItem(
                input_handle=push(empty([]), 1.0),
                index=5,
                element_shape=hr.constant([], hr.int32, [0]),
                element_dtype=hr.float32,
            ),
            "Trying to access element 5 in a list with 1 elements",
        ),
        (
            lambda: R.TensorListLength(
                input_handle=R.TensorListSetItem(input_handle=empty([]), index=-1, item=1.0)
            ),
            "Trying to modify element -1 in a list with 0 elements",
        ),
        (
            lambda: stack(hr.zeros_like(hr.placeholder_with_default(empty([]), [])), [2], hr.int64),
            "Invalid data types",
        ),
        (
            lambda: R.TensorListLength(input_handle=hr.add_n([push(empty([]), 1.0), empty([])])),
            "different lengths",
        ),
        (
            lambda: R.TensorListLength(
                input_handle=R.TensorListReserve(
                    element_shape=hr.constant([2]), num_elements=-2, element_dtype=hr.float32
                )
            ),
            "must be a non negative number",
        ),
    ],
)
def test_invalid_uses_are_errors(build: Any, message: str) -> None:
    with hr.Session() as session, pytest.raises(InvalidArgumentError, match=message):
        session.run(build())


def test_a_push_copies_no_earlier_item() -> None:
    n = hr.placeholder(hr.int32, [])
    item = hr.zeros([1000])
    _, handle = hr.while_loop(
        lambda i, h: i < n,
        lambda i, h: (i + 1, R.TensorListPushBack(input_handle=h, tensor=item)),
        [hr.constant(0), empty([1000])],
    )
    with hr.Session() as session:  # 100,000 pushes of lists of up to 400 MB would take minutes
        assert session.run(length(handle), {n: 100_000}) == 100_000


# ---- lists of lists ------------------------------------------------------------------------------


def pop_list(handle: hr.Tensor) -> tuple[hr.Tensor, hr.Tensor]:
    rest, last = R.TensorListPopBack(
        input_handle=handle, element_shape=hr.constant([], hr.int32, [0]), element_dtype=hr.variant
    )
    return rest, last


def test_a_list_may_hold_an_older_version_of_itself() -> None:
    none = empty(-1, hr.variant)
    one = R.TensorListPushBack(input_handle=none, tensor=none)
    two = R.TensorListPushBack(input_handle=one, tensor=one)
    three = R.TensorListPushBack(input_handle=two, tensor=two)
    batch = R.TensorListPushBackBatch(
        input_handles=hr.stack([two, none]), tensor=hr.stack([none, two])
    )
    changed = R.TensorListSetItem(input_handle=three, index=0, item=three)
    rest, last = pop_list(three)
    lengths = [length(x) for x in (one, two, three, changed, rest, last, *hr.unstack(batch, 2))]
    with hr.Session() as session:
        for _ in range(3):  # what a run holds is freed at its end
            assert session.run(lengths) == [1, 2, 3, 3, 2, 2, 3, 1]


def test_a_loop_nests_lists_and_reads_them_back() -> None:
    n = hr.constant(40)
    _, nested = hr.while_loop(
        lambda i, h: i < n,
        lambda i, h: (i + 1, R.TensorListPushBack(input_handle=h, tensor=h)),
        [hr.constant(0), empty(-1, hr.variant)],
    )
    depth, _ = hr.while_loop(
        lambda i, h: length(h) > 0,
        lambda i, h: (i + 1, pop_list(h)[1]),
        [hr.constant(0), nested],
    )
    with hr.Session() as session:
        assert session.run([length(nested), depth]) == [40, 40]


def test_a_push_to_a_list_of_lists_copies_no_earlier_item() -> None:
    n = hr.placeholder(hr.int32, [])
    inner = push(empty([]), 1.0)
    _, handle = hr.while_loop(
        lambda i, h: i < n,
        lambda i, h: (i + 1, R.TensorListPushBack(input_handle=h, tensor=inner)),
        [hr.constant(0), empty(-1, hr.variant)],
    )
    with hr.Session() as session:  # with copies it would take minutes
        assert session.run(length(handle), {n: 50_000}) == 50_000


# ---- sizes that no memory has --------------------------------------------------------------------


def test_first_dimensions_that_add_up_beyond_int64_are_rejected() -> None:
    handle = R.TensorListReserve(
        element_shape=hr.constant([-1, 2]), num_elements=3, element_dtype=hr.float32
    )
    sizes = hr.constant([2**63 - 1, 2**63 - 1, 4], hr.int64)
    joined, _ = R.TensorListConcatV2(
        input_handle=handle, element_shape=hr.constant([-1, 2]), leading_dims=sizes,
        element_dtype=hr.float32,
    )  # fmt: skip
    with hr.Session() as session, pytest.raises(InvalidArgumentError, match="more than 2.63"):
        session.run(joined)


def test_unset_items_that_exceed_the_memory_are_an_error() -> None:
    n = 2**31 - 1
    handle = push(empty([]), 1.0)
    resized = R.TensorListResize(input_handle=handle, size=n)
    grown = R.TensorListSetItem(
        input_handle=handle, index=n - 1, item=1.0, resize_if_index_out_of_bounds=True
    )
    with hr.Session() as session:
        for changed in (resized, grown):
            with pytest.raises(ResourceExhaustedError):
                session.run(length(changed))


# ---- max_num_elements ----------------------------------------------------------------------------


def test_a_push_to_a_full_list_is_rejected() -> None:
    limited = R.EmptyTensorList(
        element_shape=hr.constant(-1), max_num_elements=hr.constant(1), element_dtype=hr.float32
    )
    one = push(limited, 1.0)
    longer = R.TensorListResize(input_handle=one, size=3)
    popped, _ = R.TensorListPopBack(
        input_handle=one, element_shape=hr.constant(-1), element_dtype=hr.float32
    )
    with hr.Session() as session:
        assert session.run([length(one), length(longer), length(push(popped, 2.0))]) == [1, 3, 1]
        # A new list, and a batch of pushes, do not count, as in TensorFlow.
        assert session.run(length(push(hr.zeros_like(one), 2.0))) == 2
        for full in (one, longer):
            with pytest.raises(InvalidArgumentError, match="push item into a full list list size"):
                session.run(length(push(full, 2.0)))
