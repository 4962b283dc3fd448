"""How many threads the kernels of parallel calls and of simultaneous steps have."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

import headrace.graph as hr
from headrace.runtime.threads import pools

D = hr.data.Dataset


def sums(x: Any) -> Any:
    """Sums of many values, of a number that depends on data: several segments."""
    values = hr.cos(hr.cast(hr.range(300_000), hr.float32))
    kept = hr.boolean_mask(values, values > -0.9)
    return hr.reduce_sum(kept * hr.cast(x + 1, hr.float32))


def results(threads: int) -> list[float]:
    calls = max(os.cpu_count() or 1, 2)
    with hr.Graph().as_default():
        dataset = D.range(8).map(sums, num_parallel_calls=calls)
        following = dataset.make_one_shot_iterator().get_next()
        config = hr.ConfigProto(intra_op_parallelism_threads=threads)
        with hr.Session(config=config) as session:
            return [float(session.run(following)) for _ in range(8)]


def test_calls_that_fill_the_cores_have_one_thread_each() -> None:
    # A team would add in another order, whenever the pool happens to be free.
    expected = results(1)
    for _ in range(3):
        assert results(4) == expected


def test_steps_at_once_leave_no_unit_counted() -> None:
    def nested(x: Any) -> Any:
        with hr.Graph().as_default(), hr.Session() as session:
            values = hr.constant(np.ones([300, 300], np.float32))
            total = hr.reduce_sum(
                hr.cond(values[0, 0] > 0, lambda: values @ values, lambda: values)
            )
            return np.float32(session.run(total) + x)

    with hr.Graph().as_default(), hr.Session() as session:
        x = hr.placeholder(hr.float32, [400, 400])
        product = hr.cond(x[0, 0] > 0, lambda: x @ x, lambda: x)
        (called,) = hr.py_func(nested, [hr.reduce_sum(product)], [hr.float32])
        found: list[float] = []

        def steps() -> None:
            for _ in range(5):
                found.append(session.run(called, {x: np.ones([400, 400], np.float32)}))

        runners = [threading.Thread(target=steps) for _ in range(4)]
        for runner in runners:
            runner.start()
        for runner in runners:
            runner.join()
    assert found == [np.float32(400**3 + 300**3)] * 20
    assert pools.count_heavy_units() == 0
