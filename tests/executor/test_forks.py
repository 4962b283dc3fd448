"""A forked child opens a session of its own, whatever the parent's threads were doing."""

from __future__ import annotations

import os

import child_process
import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

PROGRAM = """
    import warnings
    warnings.simplefilter("ignore", DeprecationWarning)
    x = hr.placeholder(hr.float32, [700, 700])
    at = np.ones([700, 700], np.float32)
    constant = hr.constant(at)
    y = hr.reduce_sum(hr.matmul(x, x)) + hr.reduce_sum(hr.tanh(hr.matmul(constant, constant)))
    def child(work):
        pid = os.fork()
        if pid == 0:
            signal.alarm(30)
            work()
            os._exit(0)
        return os.waitpid(pid, 0)[1]
"""


def test_a_child_runs_parallel_kernels_after_the_parent_folded_some_on_the_forking_thread() -> None:
    printed = child_process.output(
        PROGRAM
        + """
    def run():
        with hr.Session(config=hr.ConfigProto(intra_op_parallelism_threads=2)) as session:
            assert session.run(y, {x: at}) == 343490000.0
    run()
    print(child(run))
        """
    )
    assert printed == "0\n"


def test_children_are_forked_while_other_threads_plan_and_run() -> None:
    printed = child_process.output(
        PROGRAM
        + """
    n = hr.placeholder(hr.float32, [None, 64])
    w = hr.constant(np.ones([64, 64], np.float32))
    z = hr.reduce_sum(hr.tanh(hr.matmul(hr.tanh(hr.matmul(n, w)), w)))
    over = False
    def busy(seed):
        size = seed
        with hr.Session() as session:
            while not over:
                size = size % 900 + 3
                session.run(z, {n: np.ones([size, 64], np.float32)})
                if size < 9:
                    session.run(y, {x: at})
    def run():
        with hr.Session() as session:
            session.run(z, {n: np.ones([33, 64], np.float32)})
            assert session.run(y, {x: at}) == 343490000.0
    run()
    threads = [threading.Thread(target=busy, args=[i]) for i in range(4)]
    for thread in threads:
        thread.start()
    failed = 0
    for _ in range(40):
        failed += child(run) != 0
    over = True
    for thread in threads:
        thread.join()
    print(failed)
        """,
        180,
    )
    assert printed == "0\n"


def test_a_child_forked_inside_a_python_kernel_works() -> None:
    printed = child_process.output(
        PROGRAM
        + """
    def run():
        with hr.Session() as own:
            assert own.run(y, {x: at}) == 343490000.0
    nested = hr.py_func(lambda a: np.float32(child(run)), [hr.reduce_sum(hr.matmul(x, x))],
                        hr.float32)
    with hr.Session() as session:
        print([float(session.run(nested, {x: at})) for _ in range(3)])
        """
    )
    assert printed == "[0.0, 0.0, 0.0]\n"


def test_timeouts_hold_in_a_child_forked_while_the_watch_over_runs_waits() -> None:
    printed = child_process.output(
        PROGRAM
        + """
    loop = hr.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, [hr.constant(0)])
    fed = hr.placeholder(hr.float32)
    quick = fed + 1.0
    def run():
        with hr.Session() as session:
            for _ in range(40):
                try:
                    session.run(loop, options=hr.RunOptions(timeout_in_ms=5))
                except hr.errors.DeadlineExceededError:
                    pass
                assert session.run(quick, {fed: 1.0}) == 2.0
    run()
    print([child(run) for _ in range(4)])
        """,
        180,
    )
    assert printed == "[0, 0, 0, 0]\n"
