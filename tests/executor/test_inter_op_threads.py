"""Heavy branches run at the same time on inter-op threads, as one step.

Modules: executor/executor_segments, executor/placement, threads/inter_op_pool.
"""

from __future__ import annotations

import os
import threading

import child_process
import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError

SIZE = 400


def _heavy(x: hr.Tensor, rounds: int = 6) -> hr.Tensor:
    for _ in range(rounds):
        x = hr.tanh(hr.matmul(x, x)) * 0.1
    return x


def _branches(count: int) -> tuple[hr.Operation, list[hr.Tensor], hr.Tensor]:
    """Branches of some 5 ms, each after a dequeue."""
    x = hr.placeholder(hr.float32, [SIZE, SIZE])
    puts, results = [], []
    for _ in range(count):
        queue = hr.FIFOQueue(10, [hr.float32], shapes=[[SIZE, SIZE]])
        puts.append(queue.enqueue(x))
        results.append(hr.reduce_sum(_heavy(queue.dequeue())))
    return hr.group(*puts), results, x


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core helps nobody")
@pytest.mark.host_execution("asserts how kernels of the host share its threads")
def test_heavy_branches_overlap_with_the_same_results() -> None:
    put, results, x = _branches(4)
    at = np.random.default_rng(0).normal(size=[SIZE, SIZE]).astype(np.float32)
    metadata = hr.RunMetadata()
    with hr.Session() as session:
        session.run(put, {x: at})
        alone = [session.run(result) for result in results]
        for _ in range(200):  # the first specialises; a busy machine may run one after the other
            session.run(put, {x: at})
            options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
            assert session.run(results, options=options, run_metadata=metadata) == alone
            if _products_overlap(metadata):
                return
    raise AssertionError("no two products ran at the same time")


def _products_overlap(metadata: hr.RunMetadata) -> bool:
    products = [
        (node.all_start_nanos, node.all_start_nanos + node.all_end_rel_nanos)
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
        if node.timeline_label.endswith("= MatMul")
    ]
    assert len(products) == 24
    products.sort()
    return any(later[0] < earlier[1] for earlier, later in zip(products, products[1:]))


def test_an_error_in_one_branch_ends_the_others() -> None:
    put, results, x = _branches(3)
    checked = hr.check_numerics(results[0], "bad branch")
    at = np.full([SIZE, SIZE], np.nan, np.float32)
    with hr.Session() as session:
        for _ in range(5):
            session.run(put, {x: at})
            with pytest.raises(InvalidArgumentError, match="bad branch"):
                session.run([checked, *results[1:]])


def test_eight_threads_run_in_two_sessions_at_once() -> None:
    put, results, x = _branches(2)
    at = np.random.default_rng(1).normal(size=[SIZE, SIZE]).astype(np.float32)
    total = hr.add_n(results)
    loop = hr.while_loop(lambda i, _: i < 40, lambda i, v: (i + 1, _heavy(v, 1)), (0, x))[1]
    checksum = hr.reduce_sum(loop)
    wrong: list[object] = []
    with hr.Session() as one, hr.Session() as other:
        one.run(put, {x: at})
        expected = one.run(total), one.run(checksum, {x: at})

        def work(session: hr.Session) -> None:
            for _ in range(3):
                session.run(put, {x: at})
                got = session.run(total), session.run(checksum, {x: at})
                if got != expected:
                    wrong.append(got)

        threads = [threading.Thread(target=work, args=(s,)) for s in [one, other] * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(200)
            assert not thread.is_alive()
    assert not wrong


BUSY = {
    "helpers": """
        queues = [hr.FIFOQueue(2, [hr.float32], shapes=[[500, 500]]) for _ in range(3)]
        session.run([q.enqueue(x) for q in queues], {x: at})
        fetch = [q.dequeue() for q in queues]
        for _ in range(300):
            fetch = [hr.tanh(hr.matmul(v, v)) for v in fetch]
    """,
    "the lane": """
        fetch = x
        for _ in range(1000):
            fetch = hr.tanh(hr.matmul(fetch, fetch))
    """,
    "a native loop": """
        fetch = hr.while_loop(lambda i: i < 2_000_000_000, lambda i: i + 1, [0])
    """,
    "a queue": """
        fetch = hr.FIFOQueue(2, [hr.float32]).dequeue()
    """,
}


@pytest.mark.parametrize("work", BUSY.values(), ids=BUSY)
@pytest.mark.parametrize("target", ["", "local://shared"])
def test_a_process_ends_well_while_a_step_runs(work: str, target: str) -> None:
    for _ in range(3):
        printed = child_process.output(
            f"""
        x = hr.placeholder(hr.float32, [500, 500])
        at = np.ones([500, 500], np.float32)
        session = hr.Session({target!r})
        {work}
        def run():
            try:
                session.run(fetch, {{x: at}})
            except Exception:
                pass  # to print it would be to race with the interpreter's end
        threading.Thread(target=run, daemon=True).start()
        time.sleep(0.2)
        print("over")
        """
        )
        assert printed == "over\n"
