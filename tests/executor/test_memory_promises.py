"""The heap memory that a run takes, and the ownership of fed and fetched arrays.

Modules: plan/memory_plan, plan/storage_plan, plan/schedule_writer, plan/executable, memory/buffer.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import child_process
import numpy as np
import pytest

import headrace.graph as hr

# A program of n rounds, run until it is settled, then counted: prints calls and bytes of a run. A
# run that lost its core may allocate, as it is measured again; so the least of some counts.
COUNTED = """
import ctypes, gc
counter = ctypes.CDLL(None)
counter.malloc_counter_end.restype = counter.malloc_counter_bytes.restype = ctypes.c_long

def counted(fetch, feeds, session):
    for _ in range(32):  # of which some measure the kernels of a long step
        session.run(fetch, feeds)
    gc.disable()
    found = []
    for _ in range(12):
        counter.malloc_counter_begin()
        value = session.run(fetch, feeds)
        found.append((counter.malloc_counter_end(), counter.malloc_counter_bytes()))
    gc.enable()
    return min(found)

def program(step, rounds):
    with hr.Graph().as_default():
        x = hr.placeholder(hr.float32, [64, 64])
        w = hr.get_variable("w", [64, 64], initializer=hr.ones_initializer())
        h = x
        for _ in range(rounds):
            h = step(h, w)
        with hr.Session() as session:
            session.run(hr.global_variables_initializer())
            return counted(hr.reduce_sum(h), {x: np.ones([64, 64], np.float32)}, session)
"""


STEPS = """
def assigned(h, w):
    with hr.control_dependencies([w.assign_add(h * 0.0)]):
        return h + 1.0

steps = [
    lambda h, w: hr.tanh(h) * 0.5 + w,
    lambda h, w: hr.transpose(h) - hr.reduce_mean(h, 0),
    lambda h, w: hr.concat([h, w], 0)[:64],
    lambda h, w: hr.nn.softmax(h),
    lambda h, w: hr.gather(h, hr.argsort(h[0])) if hasattr(hr, "argsort") else h[::-1],
    lambda h, w: h + hr.random_uniform([64, 64]),
    assigned,
]
"""


def test_a_second_run_takes_nothing_from_the_heap(counter: str) -> None:
    script = COUNTED + STEPS + "print([program(s, n) for s in steps for n in (1, 30)])"
    printed = child_process.output(script, LD_PRELOAD=counter)
    assert set(eval(printed)) == {(0, 0)}  # fetched scalars come from Python's own pools


def test_a_matrix_product_allocates_no_more_than_onednn_alone(counter: str) -> None:
    # dnnl_primitive_execute makes a map of its arguments, and its gemm packs into memory of its
    # own: some seven calls a product, all freed at its end. None of them is ours to avoid.
    script = """
for rounds in (1, 10):
    calls, _ = program(lambda h, w: hr.matmul(h, w), rounds)
    print(rounds, calls)
"""
    for line in child_process.output(COUNTED + script, LD_PRELOAD=counter).splitlines():
        rounds, calls = map(int, line.split())
        assert calls <= 12 * rounds


def test_a_large_fetch_is_all_that_a_run_takes_from_the_runtime() -> None:
    from headrace.runtime.memory.buffer import blocks_taken_from_system

    x = hr.placeholder(hr.float32, [300, 400])
    y = hr.tanh(hr.tanh(x) + 1.0)
    feeds = {x: np.ones([300, 400], np.float32)}
    with hr.Session() as session:
        kept = [session.run(y, feeds) for _ in range(2)]
        before = blocks_taken_from_system()
        kept += [session.run(y, feeds) for _ in range(10)]
        assert blocks_taken_from_system() - before <= 10
        before = blocks_taken_from_system()
        for _ in range(10):
            kept.pop()
            kept.append(session.run(y, feeds))  # in the memory of the one let go
        assert blocks_taken_from_system() - before <= 1


def test_a_native_loop_takes_the_same_for_few_and_for_many_iterations(counter: str) -> None:
    script = (
        COUNTED
        + """
with hr.Graph().as_default():
    n = hr.placeholder(hr.int32, [])
    start = (hr.constant(0), hr.ones([64]))
    _, last = hr.while_loop(
        lambda i, v: i < n, lambda i, v: (i + 1, hr.tanh(v) * 0.5 + v), start)
    with hr.Session() as session:
        total = hr.reduce_sum(last)
        print([counted(total, {n: count}, session)[0] for count in (2, 2000)])
"""
    )
    few, many = eval(child_process.output(script, LD_PRELOAD=counter))
    assert few == many


def test_the_arena_is_smaller_than_the_sum_of_intermediates() -> None:
    x = hr.placeholder(hr.float32, [64, 128])
    h = x
    for _ in range(10):
        h = hr.tanh(hr.matmul(h, hr.ones([128, 128]))) + 1.0
    with hr.Session() as session:
        session.run(h, {x: np.ones([64, 128], np.float32)})
        explanation = session.explain(h, [x])
    numbers = re.findall(r"arena (\d+) bytes for (\d+) bytes of intermediates", explanation)
    assert numbers
    for arena, intermediates in numbers:
        assert 0 < int(arena) < int(intermediates) / 4


def _kept(fetch: Callable[[], np.ndarray], disturb: Callable[[], object]) -> None:
    first = fetch()
    copy = np.array(first, copy=True)
    for _ in range(3):
        disturb()
    np.testing.assert_array_equal(first, copy)


@pytest.mark.parametrize("shape", [[], [3], [256, 256]], ids=str)
def test_a_kept_fetch_never_changes(shape: list[int]) -> None:
    x = hr.placeholder(hr.float32, shape)
    v = hr.get_variable("v", shape, initializer=hr.zeros_initializer())
    r = hr.get_variable("r", shape, initializer=hr.zeros_initializer(), use_resource=True)
    y = x * 2.0 + 1.0
    view = hr.reshape(y, [-1])
    add = hr.group(v.assign_add(hr.ones(shape)), r.assign_add(hr.ones(shape)))
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())

        def disturb() -> None:
            session.run([add, y], {x: np.random.rand(*shape)})

        for fetched in (v, r.value(), v.assign_add(hr.ones(shape))):
            _kept(lambda fetched=fetched: session.run(fetched), disturb)
        for fetched in (y, view, x, hr.identity(x), hr.reshape(x, [-1])):
            _kept(lambda fetched=fetched: session.run(fetched, {x: np.full(shape, 0.5)}), disturb)


@pytest.mark.parametrize("shape", [[], [3], [256, 256]], ids=str)
def test_a_fed_array_may_be_overwritten_after_the_run(shape: list[int]) -> None:
    x = hr.placeholder(hr.float32, shape)
    v = hr.get_variable("v", shape, initializer=hr.zeros_initializer())
    r = hr.get_variable("r", shape, initializer=hr.zeros_initializer(), use_resource=True)
    queue = hr.FIFOQueue(9, [hr.float32], shapes=[shape])
    fetches = [x, hr.identity(x), hr.reshape(x, [-1]), v.assign(x), r.assign(x), hr.stack([x])]
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        value = np.full(shape, 7.0, np.float32)
        got = session.run([*fetches, queue.enqueue(x)], {x: value})[:-1]
        value[...] = -1.0
        for one in [*got, *session.run([v, r.value(), queue.dequeue()])]:
            np.testing.assert_array_equal(one, np.full(np.shape(one), 7.0))


@pytest.mark.parametrize("shape", [[3], [256, 256]], ids=str)
def test_a_fetched_array_is_the_callers_to_write_to(shape: list[int]) -> None:
    c = hr.constant(np.full(shape, 4.0, np.float32))
    v = hr.get_variable("v", shape, initializer=hr.constant_initializer(4.0))
    r = hr.get_variable("r", shape, initializer=hr.constant_initializer(4.0), use_resource=True)
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        for fetched in (c, v, r, r.value(), v + 0.0, hr.reshape(c, [-1]), hr.reshape(r, [-1])):
            for _ in range(2):
                got = session.run(fetched)
                np.testing.assert_array_equal(got, np.full(got.shape, 4.0))
                got[...] = 99.0


@pytest.mark.parametrize("shape", [[3], [256, 256]], ids=str)
def test_two_fetches_of_one_value_share_no_memory(shape: list[int]) -> None:
    x = hr.placeholder(hr.float32, shape)
    y = x + 1.0
    with hr.Session() as session:
        for fetches in ([y, hr.reshape(y, [-1])], [y, hr.identity(y)], [x, hr.identity(x)]):
            one, other = session.run(fetches, {x: np.full(shape, 4.0)})
            kept = other.copy()
            one[...] = 99.0
            np.testing.assert_array_equal(other, kept)


def test_alternating_literal_fetches_give_their_values() -> None:
    x = hr.placeholder(hr.float32, [])
    a, b = x + 1.0, x + 2.0
    with hr.Session() as session:
        for i in range(50):
            assert session.run([a, b], {x: i}) == [i + 1, i + 2]
            assert session.run([b, a], {x: i}) == [i + 2, i + 1]
            assert session.run({"one": a, "two": b}, {x: i}) == {"one": i + 1, "two": i + 2}
            assert session.run({"one": b, "two": a}, {x: i}) == {"one": i + 2, "two": i + 1}
            assert session.run((a, [b, a]), {x: i}) == (i + 1, [i + 2, i + 1])


def test_random_ops_go_on_in_their_stream_when_the_batch_size_changes() -> None:
    hr.set_random_seed(7)
    n = hr.placeholder(hr.int32, [])
    u = hr.random_uniform([n, 4], seed=3)
    z = hr.random_normal([n], seed=4)
    sizes = (3, 3, 5, 3, 8, 5)

    def drawn(order: tuple[int, ...]) -> list[list[np.ndarray]]:
        with hr.Session() as session:
            return [session.run([u, z], {n: size}) for size in order]

    first, second = drawn(sizes), drawn(sizes)
    for one, other in zip(first, second, strict=True):
        for x, y in zip(one, other, strict=True):
            np.testing.assert_array_equal(x, y)
    seen = np.concatenate([u.ravel() for u, _ in first])
    assert len(np.unique(seen)) == seen.size, "a size that came back began its stream anew"
    # What a run draws does not hang on the sizes of the runs before: each takes its own stretch.
    assert not np.array_equal(first[0][0], first[1][0])
    assert not np.array_equal(first[1][1], first[3][1])
