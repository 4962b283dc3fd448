"""A step that waits for the lock of a variable does not block other Python threads.

Modules: state/slot, threads/gil_backoff.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

import numpy as np

import headrace.graph as hr


def _goes_on_beside(work: list[Callable[[], None]]) -> bool:
    """Whether this Python thread goes on while each of `work` runs again and again on a thread."""
    over = threading.Event()

    def repeat(one: Callable[[], None]) -> None:
        while not over.is_set():
            one()

    threads = [threading.Thread(target=repeat, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    # A thread that keeps the GIL takes all of each window; a busy machine may take a few.
    found = any(_share_of_long_gaps(0.5) < 0.4 for _ in range(40))
    over.set()
    for thread in threads:
        thread.join()
    return found


def _share_of_long_gaps(seconds: float) -> float:
    """The share of time that this Python thread lost in gaps of 30 ms or more."""
    lost = 0.0
    end = time.perf_counter() + seconds
    last = time.perf_counter()
    while last < end:
        time.sleep(0.0002)
        now = time.perf_counter()
        if now - last >= 0.03:
            lost += now - last
        last = now
    return lost / seconds


def test_a_short_step_that_waits_for_a_large_update_holds_up_no_other_thread() -> None:
    # Powers of 8 million elements on one thread: the lock is held for some 0.2 s.
    v = hr.get_variable("v", initializer=hr.zeros([8_000_000]), use_resource=True)
    small = hr.is_variable_initialized(v)
    value = hr.placeholder(hr.float32, [8_000_000])
    ftrl = hr.train.FtrlOptimizer(0.1, learning_rate_power=-0.3)
    update = ftrl.apply_gradients([(value, v)])
    feed = np.ones([8_000_000], np.float32)
    with hr.Session(config=hr.ConfigProto(intra_op_parallelism_threads=1)) as session:
        session.run(hr.global_variables_initializer())
        session.run(update, {value: feed})
        for _ in range(50):  # it is known to be short, so it keeps the GIL
            session.run(small)
        assert _goes_on_beside(
            [lambda: session.run(small), lambda: session.run(update, {value: feed})]
        )


def test_planning_during_a_large_update_blocks_no_other_thread() -> None:
    # Each batch size is a plan anew, and planning looks at the shape of the variable.
    v = hr.get_variable("v", initializer=hr.zeros([8_000_000]), use_resource=True)
    x = hr.placeholder(hr.float32, [None])
    planned = hr.shape(v)[0] + hr.size(x)
    value = hr.placeholder(hr.float32, [8_000_000])
    ftrl = hr.train.FtrlOptimizer(0.1, learning_rate_power=-0.3)
    update = ftrl.apply_gradients([(value, v)])
    feed = np.ones([8_000_000], np.float32)
    sizes = itertools.count(1)
    with hr.Session(config=hr.ConfigProto(intra_op_parallelism_threads=1)) as session:
        session.run(hr.global_variables_initializer())
        session.run(update, {value: feed})

        def plan() -> None:
            n = next(sizes)
            assert session.run(planned, {x: np.zeros([n], np.float32)}) == 8_000_000 + n

        assert _goes_on_beside([plan, lambda: session.run(update, {value: feed})])


def test_updates_of_several_variables_under_one_lock_order_do_not_hang() -> None:
    variables = [hr.get_variable(f"w{i}", initializer=hr.zeros([50_000])) for i in range(3)]
    loss = hr.add_n([hr.reduce_sum(hr.square(w - 1.0)) for w in variables])
    train = hr.train.AdamOptimizer(0.1).minimize(loss, var_list=variables)
    reads = [hr.reduce_sum(w) for w in variables]
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())

        def work(fetches: object) -> None:
            for _ in range(100):
                session.run(fetches)

        threads = [threading.Thread(target=work, args=(f,)) for f in (train, train, reads, reads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(200)
        assert not any(thread.is_alive() for thread in threads)
        assert np.isfinite(session.run(loss))
