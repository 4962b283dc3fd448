"""TensorArrays and TensorLists: large tensors are not copied, runs on threads share nothing."""

from __future__ import annotations

import resource
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import headrace.graph as hr

R = hr.raw_ops


def written(kind: str, value: Any, times: int) -> Any:
    """Writes one tensor many times; returns the number of items."""
    if kind == "array":
        array = hr.TensorArray(hr.float32, size=times)
        for i in range(times):
            array = array.write(i, value)
        return array.size()
    handle = R.EmptyTensorList(element_shape=[-1], max_num_elements=-1, element_dtype=hr.float32)
    for _ in range(times):
        handle = R.TensorListPushBack(input_handle=handle, tensor=value)
    return R.TensorListLength(input_handle=handle)


@pytest.mark.parametrize("kind", ["array", "list"])
def test_writing_a_large_tensor_copies_nothing(kind: str) -> None:
    number = hr.placeholder(hr.float32, [])
    done = written(kind, hr.fill([1_000_000], number), 500)
    with hr.Session() as session:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert session.run(done, {number: 1.0}) == 500
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200_000  # KiB; 500 copies would take 2 GB


def test_runs_on_threads_do_not_share_arrays() -> None:
    x = hr.placeholder(hr.float64, [3])

    def step(i: Any, array: Any) -> Any:
        return i + 1, array.write(i, x * hr.cast(i, hr.float64) + hr.sin(x))

    start = hr.TensorArray(hr.float64, size=4)
    y = hr.while_loop(lambda i, _: i < 4, step, [hr.constant(0), start])[1].stack()
    (grad,) = hr.gradients(y * y, x)
    values = np.array([0.1, -0.2, 0.3])
    with hr.Session() as session:
        expected = [session.run([y, grad], {x: values + k}) for k in range(4)]

        def work(k: int) -> None:
            for _ in range(30):
                for got, right in zip(
                    session.run([y, grad], {x: values + k}), expected[k], strict=True
                ):
                    np.testing.assert_array_equal(got, right)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
