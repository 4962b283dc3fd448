"""A step over linked tasks in which one request for memory fails ends with an error or with its
values, soon, and leaves nothing behind.

Of headrace.distributed: native/endpoint, native/step.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import child_process
import pytest

HERE = Path(__file__).parent
EXECUTOR = HERE.parent / "executor"

# Fails each request of a step in turn, some times over, and looks at what is left behind.
EACH_FAILURE = (
    f"""
import ctypes, gc, itertools
sys.path.insert(0, {str(HERE)!r})
from linked_tasks import DEVICES, TASKS, LinkedTasks
from headrace.formats import errors
from headrace.runtime.memory import buffer
"""
    + """
AGAIN = 6
LIMIT_MS = 30_000
counter = ctypes.CDLL(None)
counter.malloc_counter_fail.argtypes = [ctypes.c_long]
counter.malloc_counter_live.restype = ctypes.c_long
buffer.set_cached_bytes_limit(0)  # tensors from 64 KiB on come from the C library each time

x = hr.placeholder(hr.float32, [None], name="x")
s = hr.placeholder(hr.string, [3], name="s")
with hr.device(DEVICES[2]):
    a = hr.tanh(x)
    joined = hr.string_join([s, s])
with hr.device(DEVICES[4]):
    b = a * 2.0
    again = hr.identity(joined)
with hr.device(DEVICES[0]):
    total = hr.reduce_sum(b + a)
with hr.device(DEVICES[2]):
    def body(i, c):
        with hr.device(DEVICES[4]):
            return i + 1, c + 1.0
    looped = hr.while_loop(lambda i, c: i < 3, body, [0, 0.0])[1]
tasks = LinkedTasks(hr.get_default_graph().as_graph_def(), PLANE)
step = tasks.step(["x:0", "s:0"], [total.name, again.name, looped.name, b.name])
values = [np.full(SIZE, 0.5, np.float32), np.array([b"a" * 100, b"b" * 300, b""], object)]

def run():
    return [np.asarray(v).tolist() for v in step.run(values, LIMIT_MS)[0]]

def relink():
    # A link may have ended for lack of memory.
    deadline = time.monotonic() + 60
    while True:
        for one, other in itertools.combinations(TASKS, 2):
            if not (tasks.endpoints[one].has_link(tasks.endpoints[other].incarnation)
                    and tasks.endpoints[other].has_link(tasks.endpoints[one].incarnation)):
                tasks.link(one, other)
        try:
            assert run() == expected
            break
        except errors.UnavailableError:
            assert time.monotonic() < deadline, "the links do not come back"
            time.sleep(0.01)
    for endpoint in tasks.endpoints.values():
        while endpoint.next_event(0.0):
            pass
    while any(e.n_steps or len(e.links()) > len(TASKS) for e in tasks.endpoints.values()) or (
            threading.active_count() > threads):
        assert time.monotonic() < deadline, "a step or a link does not end"
        time.sleep(0.001)
    gc.collect()

def failing(number):
    # Whether the request came; what was raised.
    counter.malloc_counter_fail(number)
    try:
        value = run()
        came = bool(counter.malloc_counter_failed())
        counter.malloc_counter_fail(-1)
        assert value == expected
        return came, None
    except (errors.OpError, MemoryError) as error:
        counter.malloc_counter_fail(-1)
        return True, type(error).__name__

expected = run()
for _ in range(20):
    run()
threads = threading.active_count()
gc.collect()
gc.freeze()
gc.disable()
number, came, raised, leaks, idle = 0, True, set(), [], 0
while idle < 3:  # a thread may use more memory in one run than in another
    left = []
    for _ in range(AGAIN):
        came, error = failing(number)
        raised.add(error)
        relink()
        # A task remembers a failed step for a minute, in one block.
        ended = sum(e.step_counts()["ended"] for e in tasks.endpoints.values())
        left.append(counter.malloc_counter_live() - ended)
    # What is cached grows once, what is lost grows each time.
    if came and min(b - a for a, b in zip(left[1:], left[2:])) > 0:
        leaks.append((number, left))
    number += 1
    idle = 0 if came else idle + 1
tasks.close()
print((number, sorted(raised - {None}), leaks))
"""
)


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of malloc_counter.c, compiled."""
    if sys.platform != "linux":
        pytest.skip("loading before the C library is Linux's")
    built = tmp_path_factory.mktemp("counter") / "malloc_counter.so"
    source = EXECUTOR / "malloc_counter.c"
    command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", built, source]
    subprocess.run(command, check=True)
    return str(built)


@pytest.mark.parametrize("size", [10, 20_000])
@pytest.mark.parametrize("plane", ["local", "shm", "uds", "tcp"])
def test_each_request_for_memory_of_a_step_may_fail(counter: str, plane: str, size: int) -> None:
    script = f"PLANE, SIZE = {plane!r}, {size}\n{EACH_FAILURE}"
    count, raised, leaks = ast.literal_eval(child_process.output(script, LD_PRELOAD=counter))
    assert leaks == []
    assert count > 20
    assert "DeadlineExceededError" not in raised
    assert set(raised) <= {"MemoryError", "ResourceExhaustedError", "UnavailableError"}
