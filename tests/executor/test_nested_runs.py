"""Nested runs: a Python kernel that calls `run` needs no additional thread."""

from __future__ import annotations

import child_process

NESTED = """
    big = hr.placeholder(hr.float32, [600, 600])
    at = np.ones([600, 600], np.float32)
    puts = []
    def heavy():
        queue = hr.FIFOQueue(100, [hr.float32], shapes=[[600, 600]])
        puts.append(queue.enqueue(big))
        v = queue.dequeue()
        for _ in range(4):
            v = hr.tanh(hr.matmul(v, v) * 0.01)
        return hr.reduce_sum(v)
    inner = heavy()
"""


def _finish(script: str) -> str:
    return child_process.output(
        NESTED
        + script
        + """
    threads = [threading.Thread(target=work, daemon=True) for _ in range(3 * os.cpu_count())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(200)
    print("hung" if any(t.is_alive() for t in threads) else "done", flush=True)
    os._exit(0)
        """
    )


def test_more_threads_than_cores_run_python_kernels_that_run_long_steps() -> None:
    printed = _finish(
        """
    session = hr.Session()
    outer = hr.py_func(lambda a: session.run(inner), [heavy()], hr.float32)
    for _ in range(40):
        session.run(puts, {big: at})
    session.run(inner), session.run(outer)   # both are known to be long
    def work():
        for _ in range(2):
            session.run(outer)
    """
    )
    assert printed == "done\n"


def test_a_python_kernel_may_wait_for_runs_of_other_threads() -> None:
    printed = _finish(
        """
    session = hr.Session()
    def elsewhere(a):
        found = []
        other = threading.Thread(target=lambda: found.append(session.run(inner)))
        other.start()
        other.join()
        return found[0]
    outer = hr.py_func(elsewhere, [heavy()], hr.float32)
    for _ in range(40):
        session.run(puts, {big: at})
    session.run(inner), session.run(outer)
    def work():
        for _ in range(2):
            session.run(outer)
    """
    )
    assert printed == "done\n"


def test_a_pool_of_one_thread_serves_runs_three_deep() -> None:
    printed = _finish(
        """
    session = hr.Session(config=hr.ConfigProto(inter_op_parallelism_threads=1,
                                               use_per_session_threads=True))
    middle = hr.py_func(lambda a: session.run(inner), [heavy()], hr.float32)
    outer = hr.py_func(lambda a: session.run(middle), [heavy()], hr.float32)
    for _ in range(40):
        session.run(puts, {big: at})
    session.run(inner), session.run(middle), session.run(outer)
    def work():
        session.run(outer)
    """
    )
    assert printed == "done\n"
