"""Calls that wait for a thread while their iterator is replaced, ends, or is left by its session.

Modules: executor/function_calls, executor/function_call, executor/call_scopes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "executor"))
from child_process import output

HERE = Path(__file__).parent
# One thread for calls of a millisecond or more, of which 16 are always under way: most of them
# have not begun when their iterator ends. Freed memory is overwritten at once.
WAITING = f"""
    import gc
    sys.path[:0] = [{str(HERE)!r}, {str(HERE.parents[1] / "packages" / "graph" / "tests")!r}]
    from pipelines import Pipe
    config = hr.ConfigProto(
        inter_op_parallelism_threads=1, use_per_session_threads=True,
        intra_op_parallelism_threads=1)
    def slow(x):
        m = hr.ones([200, 200]) * hr.cast(x, hr.float32)
        for _ in range(4):
            m = hr.matmul(m, m) * 1e-3
        return x + 0 * hr.cast(m[0, 0], hr.int64)
    def waits(x):
        return slow(x) + hr.py_func(lambda: np.int64(0), [], hr.int64)
    def make(body):
        pipe = Pipe.range(1 << 40).map(body, calls=16)
        handle, initializer = pipe.iterator()
        return initializer, pipe.get_next(handle)[0]
"""
ENDS = {
    "replaced": """
    initializer, following = make({body})
    with hr.Session(config=config) as session:
        for _ in range(10):
            session.run(initializer)
            assert session.run(following) == 0
""",
    "closed": """
    for _ in range(10):
        with hr.Graph().as_default():
            initializer, following = make({body})
            with hr.Session(config=config) as session:
                session.run(initializer)
                assert session.run(following) == 0
            del session
            gc.collect()
""",
    "reset": """
    initializer, following = make({body})
    for i in range(10):
        with hr.Session("local://calls", config=config) as session:
            session.run(initializer)
            assert session.run(following) == 0
            hr.Session.reset("local://calls")
        del session
        gc.collect()
""",
    "of_one_step": """
    total = hr.data.Dataset.range(20).map({body}, num_parallel_calls=16).take(1).reduce(
        np.int64(0), lambda a, b: a + b)
    with hr.Session(config=config) as session:
        for _ in range(10):
            assert session.run(total) == 0
""",
}


@pytest.mark.parametrize("body", ["slow", "waits"])
@pytest.mark.parametrize("end", ENDS)
def test_a_call_that_has_not_begun_keeps_what_it_needs(end: str, body: str) -> None:
    script = WAITING + ENDS[end].format(body=body) + "    print('done')\n"
    assert output(script, MALLOC_PERTURB_="165") == "done\n"
