"""A run in which one request for memory fails ends with an error or with its values, and frees
everything that it held.

Modules: state/error_boundary.
"""

from __future__ import annotations

import ast

import child_process
import pytest

# Fails each request of a run in turn, some times over, and looks at what is left behind.
EACH_FAILURE = """
import ctypes, gc
import numpy.testing
from headrace.formats import errors
from headrace.runtime.memory import buffer

AGAIN = 6
counter = ctypes.CDLL(None)
counter.malloc_counter_fail.argtypes = [ctypes.c_long]
counter.malloc_counter_live.restype = ctypes.c_long
buffer.set_cached_bytes_limit(0)  # tensors from 64 KiB on come from the C library each time

def failing(run, number, expected):
    # Whether the request came; what was raised.
    counter.malloc_counter_fail(number)
    try:
        value = run()
        came = bool(counter.malloc_counter_failed())
        counter.malloc_counter_fail(-1)
        numpy.testing.assert_equal(value, expected)
        return came, None
    except (errors.OpError, MemoryError) as error:
        counter.malloc_counter_fail(-1)
        return True, type(error).__name__

def each_failure(run):
    expected = run()
    for _ in range(6):
        run()
    gc.collect()
    gc.disable()
    number, came, raised, leaks = 0, True, set(), []
    while came:
        left = []
        for _ in range(AGAIN):
            came, error = failing(run, number, expected)
            raised.add(error)
            empty_queues()
            run()
            left.append((counter.malloc_counter_live(), buffer.blocks_taken_from_system()))
        # What is cached grows once, what is lost grows each time.
        blocks = [live for live, _ in left]
        if came and min(after - before for before, after in zip(blocks[1:], blocks[2:])) > 0:
            leaks.append((number, left))
        number += 1
    print((number - 1, sorted(raised - {None}), leaks))

def empty_queues():
    # A run that fails may leave what it has enqueued.
    for queue, size in sizes.items():
        for _ in range(session.run(size)):
            session.run(elements[queue])

x = hr.placeholder(hr.float32, [128, 128])
y = hr.placeholder(hr.float32, [None, 128])
s = hr.placeholder(hr.string, [3])
n = hr.placeholder(hr.int32, [])
v = hr.get_variable("v", [128, 128], initializer=hr.ones_initializer(), use_resource=True)
feeds = {x: np.full([128, 128], 0.5), y: np.ones([64, 128]), s: [b"a" * 100, b"b" * 300, b""], n: 5}
queues = {
    "first": hr.FIFOQueue(9, [hr.float32, hr.string], shapes=[[128, 128], [3]]),
    "random": hr.RandomShuffleQueue(9, 0, [hr.float32, hr.string], shapes=[[128, 128], [3]]),
    "least": hr.PriorityQueue(9, [hr.float32, hr.string], shapes=[[128, 128], [3]]),
}

sizes = {name: queue.size() for name, queue in queues.items()}
elements = {name: queue.dequeue() for name, queue in queues.items()}

def loop(body, *start):
    return hr.while_loop(lambda i, *_: i < n, lambda i, *a: (i + 1, *body(*a)),
                         (hr.constant(0), *start))[1]

def through(queue, *parts):
    priority = [np.int64(1)] if queue == "least" else []
    with hr.control_dependencies([queues[queue].enqueue([*priority, *parts])]):
        return queues[queue].dequeue()[len(priority):]

def batch(queue, *parts):
    priority = [np.arange(2)] if queue == "least" else []
    rows = [hr.stack([part, part]) for part in parts]
    with hr.control_dependencies([queues[queue].enqueue_many([*priority, *rows])]):
        return queues[queue].dequeue_many(2)[len(priority):]

def across():
    with hr.device("/cpu:1"):
        first = hr.tanh(x)
    with hr.device("/cpu:0"):
        second = first * 2.0
    with hr.device("/cpu:1"):
        return hr.reduce_sum(second + first)
"""

PROGRAMS = {
    "values": "[hr.tanh(x) * 0.5, x, v * 1.0, hr.reduce_sum(x)]",
    "strings": "[s, hr.identity(s), hr.string_join([s, s])]",
    "assignment": "v.assign(x)",
    "Python kernel": "hr.py_func(lambda a: a + 1, [x], hr.float32)",
    "branch": "hr.cond(n > 3, lambda: hr.tanh(x) + v, lambda: x * 2.0)",
    "devices": "across()",
    "queue": "through('first', x, s)",
    "random queue": "through('random', x, s)",
    "priority queue": "through('least', x, s)",
    "batch of a queue": "batch('first', x, s)",
    "batch of a random queue": "batch('random', x, s)",
    "batch of a priority queue": "batch('least', x, s)",
    "queue in a loop": "loop(lambda a: (hr.reshape(through('first', a, s)[0], [128, 128]),), x)",
    "loop": "loop(lambda a, b: (hr.tanh(a) + b, a), x, x * 2.0)",
    "loop of strings": "loop(lambda a: (hr.string_join([a, s]),), s)",
    "loop of shapes": "loop(lambda a: (hr.concat([a, x], 0),), y)",
    "nested loops": "loop(lambda a: (loop(lambda b: (b * 0.5 + v,), a),), x)",
}

RUN = """
config = hr.ConfigProto(device_count={{"CPU": 2}})
config.experimental.executor_type = {executor!r}
# Runs that are measured read and write protobufs, which end the process without memory.
config.experimental.placement_simulation = "none"
session = hr.Session(config=config)
session.run(hr.global_variables_initializer())
each_failure(lambda: session.run(fetch, feeds))
"""


def _each_failure(counter: str, program: str, executor: str = "") -> tuple[int, list[str]]:
    """Returns: the number of requests that failed in turn, and the types of the exceptions."""
    script = f"{EACH_FAILURE}\nfetch = {program}\n{RUN.format(executor=executor)}"
    printed = child_process.output(script, 120, LD_PRELOAD=counter)
    count, raised, leaks = ast.literal_eval(printed)
    assert leaks == []
    assert set(raised) <= {"MemoryError", "ResourceExhaustedError"}
    return count, raised


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_request_for_memory_of_a_run_may_fail(counter: str, program: str) -> None:
    count, raised = _each_failure(counter, PROGRAMS[program])
    assert count > 0
    assert raised


@pytest.mark.parametrize("program", [name for name in PROGRAMS if "loop" in name])
def test_each_request_of_a_loop_on_the_dynamic_executor_may_fail(
    counter: str, program: str
) -> None:
    count, raised = _each_failure(counter, PROGRAMS[program], "dynamic")
    assert count > 0
    assert "ResourceExhaustedError" in raised
