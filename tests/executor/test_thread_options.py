"""Options about threads are honoured, bounded, rejected or logged, never ignored.

Modules: session/placement_log, state/session_options, state/run_options, threads/pools,
threads/intra_op_pool, threads/thread_count, threads/openmp.
"""

from __future__ import annotations

import logging
import os
import textwrap
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import child_process
import numpy as np
import pytest
from concurrently import wait_until_idle

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


def test_extreme_intra_op_thread_counts_are_bounded_with_a_warning() -> None:
    for expected in (1000, 1_000_000):
        printed = child_process.output(
            f"""
            import logging, resource
            logging.basicConfig(stream=sys.stdout, format="%(message)s")
            resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
            x = hr.random_uniform([900, 900])
            config = hr.ConfigProto(intra_op_parallelism_threads={expected})
            with hr.Session(config=config) as session:
                print(session.run(hr.reduce_sum(hr.matmul(x, x))) > 0)
            """
        )
        warning, result = printed.splitlines()
        assert warning.startswith(f"intra_op_parallelism_threads is {expected}; more do not help")
        assert result == "True"


def test_intra_op_threads_are_no_more_than_the_system_can_start() -> None:
    printed = child_process.output(
        """
        import logging, resource
        logging.basicConfig(stream=sys.stdout, format="%(message)s")
        x = hr.random_uniform([900, 900])
        y = hr.reduce_sum(hr.matmul(x, x))
        with hr.Session(config=hr.ConfigProto(intra_op_parallelism_threads=1)) as session:
            session.run(y)
        pages = int(open("/proc/self/statm").read().split()[0])
        room = pages * 4096 + 100 * 2**20   # some stacks of 8 MiB
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        with hr.Session(config=hr.ConfigProto(intra_op_parallelism_threads=16)) as session:
            print(session.run(y) > 0)
        """,
        OPENBLAS_NUM_THREADS="1",
    )
    warning, result = printed.splitlines()
    assert "the system gives no more threads" in warning
    assert result == "True"


@pytest.mark.parametrize(
    "config, text",
    [
        (hr.ConfigProto(intra_op_parallelism_threads=-1), "intra_op_parallelism_threads is -1"),
        (hr.ConfigProto(operation_timeout_in_ms=-1), "operation_timeout_in_ms is -1"),
        (hr.ConfigProto(device_count={"CPU": -1}), r"device_count\['CPU'\] is -1"),
        (hr.ConfigProto(device_count={"GPU": -2}), r"device_count\['GPU'\] is -2"),
        (hr.ConfigProto(device_count={"CPU": 10**6}), "at most 64 devices"),
    ],
)
def test_values_that_no_session_can_have_are_rejected(config: hr.ConfigProto, text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=text):
        hr.Session(config=config).run(hr.constant(1))


def test_an_option_without_support_is_warned_about_once(caplog: pytest.LogCaptureFixture) -> None:
    config = hr.ConfigProto(allow_soft_placement=True)
    config.gpu_options.allow_growth = True
    config.graph_options.build_cost_model = 3
    config.graph_options.optimizer_options.do_constant_folding = True
    config.graph_options.optimizer_options.opt_level = hr.OptimizerOptions.L0
    config.graph_options.optimizer_options.global_jit_level = hr.OptimizerOptions.ON_1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with caplog.at_level(logging.WARNING, "headrace.runtime"):
        for _ in range(2):
            with hr.Session(config=config) as session:
                session.run(hr.constant(1))
    assert sorted(record.getMessage() for record in caplog.records) == [
        f"ConfigProto.graph_options.{name} is not supported and has no effect"
        for name in (
            "optimizer_options.global_jit_level",
            "optimizer_options.opt_level",
            "rewrite_options",
        )
    ]


@pytest.mark.host_execution("asserts that the CPUs are the only devices")
def test_log_device_placement_prints_where_each_node_runs(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with hr.Session(config=hr.ConfigProto(log_device_placement=True)) as session:
        session.run(hr.add(hr.placeholder_with_default(1, [], name="a"), 2, name="sum"))
    assert "sum: (AddV2): /job:localhost/replica:0/task:0/device:CPU:0\n" in capfd.readouterr().err


def test_an_option_of_a_run_without_support_is_warned_about_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    options = hr.RunOptions(report_tensor_allocations_upon_oom=True)
    options.experimental.collective_graph_key = 4
    with caplog.at_level(logging.WARNING, "headrace.runtime"), hr.Session() as session:
        for _ in range(2):
            session.run(hr.constant(1), options=options)
    assert sorted(record.getMessage() for record in caplog.records) == [
        "RunOptions.experimental.collective_graph_key is not supported and has no effect",
        "RunOptions.report_tensor_allocations_upon_oom is not supported and has no effect",
    ]


def _heavy(queue: hr.FIFOQueue) -> hr.Tensor:
    v = queue.dequeue()
    for _ in range(6):
        v = hr.tanh(hr.matmul(v, v)) * 0.1
    return hr.reduce_sum(v)


def _most_at_once(config: hr.ConfigProto, runs: int) -> Iterator[int]:
    """For each run, the number of four heavy branches that computed at the same time."""
    with hr.Graph().as_default():
        x = hr.placeholder(hr.float32, [400, 400])
        queues = [hr.FIFOQueue(10, [hr.float32], shapes=[[400, 400]]) for _ in range(4)]
        put = hr.group(*[q.enqueue(x) for q in queues])
        results = [_heavy(q) for q in queues]
        at = np.ones([400, 400], np.float32)
        metadata = hr.RunMetadata()
        with hr.Session(config=config) as session:
            for _ in range(runs):
                session.run(put, {x: at})
                options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
                session.run(results, options=options, run_metadata=metadata)
                yield _most_products_at_once(metadata)


def _most_products_at_once(metadata: hr.RunMetadata) -> int:
    edges = []
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            if node.timeline_label.endswith("= MatMul"):
                edges.append((node.all_start_nanos, 1))
                edges.append((node.all_start_nanos + node.all_end_rel_nanos, -1))
    most = now = 0
    for _, change in sorted(edges):
        now += change
        most = max(most, now)
    return most


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core overlaps nothing")
@pytest.mark.host_execution("asserts how kernels of the host share its threads")
def test_inter_op_threads_bound_how_many_heavy_branches_overlap() -> None:
    found = 0
    for found in _most_at_once(hr.ConfigProto(inter_op_parallelism_threads=2), 200):
        if found != 1:  # on a busy machine, one thread may compute all branches of some runs
            break
    assert found == 2
    for threads in (-1, 1):
        config = hr.ConfigProto(inter_op_parallelism_threads=threads)
        assert list(_most_at_once(config, 3)) == [1, 1, 1]


def _settled() -> int:
    """The number of threads once those of closed sessions have ended."""
    wait_until_idle()
    return _threads()


# In a process of its own: elsewhere, threads of sessions of other tests may end meanwhile.
POOLS = """
from headrace.formats.errors import InvalidArgumentError
def settled():
    wait_until_idle()
    return len(os.listdir("/proc/self/task"))
def threads_of(config, options=None):
    # The number of threads that a session with that config adds for a long run on one core.
    config.intra_op_parallelism_threads = 1
    with hr.Graph().as_default():
        x = hr.random_uniform([600, 600])
        for _ in range(6):
            x = hr.matmul(x, x)
        y = hr.reduce_sum(x)
        before = settled()
        with hr.Session(config=config) as session:
            for _ in range(3):
                session.run(y, options=options)
            return settled() - before
"""


def _with_pools(script: str) -> str:
    return child_process.output(POOLS + textwrap.dedent(script))


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
def test_sessions_share_the_pool_of_the_process_unless_they_ask_for_their_own() -> None:
    printed = _with_pools(
        """
        threads_of(hr.ConfigProto())
        before = settled()
        # A pool starts its threads one by one, when all that it has are busy.
        for _ in range(4):
            threads_of(hr.ConfigProto())
            threads_of(hr.ConfigProto(inter_op_parallelism_threads=-1))
        print(settled() - before < os.cpu_count())
        before = settled()
        print(threads_of(hr.ConfigProto(use_per_session_threads=True)) > 0)
        print(settled() <= before)  # pools end with their sessions
        """
    )
    assert printed == "True\n" * 3


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
def test_a_run_chooses_one_of_the_pools_of_its_session() -> None:
    printed = _with_pools(
        """
        threads_of(hr.ConfigProto())  # starts the thread of the intra-op pool, too
        named = hr.ConfigProto()
        named.session_inter_op_thread_pool.add(num_threads=1, global_name="named")
        named.session_inter_op_thread_pool.add(num_threads=1)
        print(threads_of(named, hr.RunOptions(inter_op_thread_pool=1)))
        print(threads_of(named, hr.RunOptions(inter_op_thread_pool=-1)))
        try:
            threads_of(named, hr.RunOptions(inter_op_thread_pool=2))
        except InvalidArgumentError as error:
            print(error.message)
        """
    )
    assert printed.startswith("1\n0\n")
    assert "inter_op_thread_pool is 2" in printed


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads in /proc")
def test_long_runs_of_many_threads_share_few_threads_and_all_get_their_turn() -> None:
    x = hr.random_uniform([400, 400])
    for _ in range(20):
        x = hr.matmul(x, x) * 1e-3
    y = hr.reduce_sum(x)
    most, total = 0, 0
    turns = [0] * 16
    with hr.Session(config=hr.ConfigProto(intra_op_parallelism_threads=1)) as session:
        for _ in range(3):
            session.run(y)
        before = _settled()

        def work(number: int) -> None:
            nonlocal most, total
            while total < 6 * len(turns):
                session.run(y)
                turns[number] += 1
                total += 1
                most = max(most, _threads())

        with ThreadPoolExecutor(16) as pool:
            list(pool.map(work, range(16)))
    assert most <= before + 16 + (os.cpu_count() or 1)
    assert min(turns) * 3 >= max(turns), turns


def test_threads_of_a_session_end_with_it_also_while_others_run() -> None:
    y = hr.reduce_sum(hr.matmul(hr.random_uniform([500, 500]), hr.random_uniform([500, 500])))
    config = hr.ConfigProto(inter_op_parallelism_threads=2, use_per_session_threads=True)
    wrong: list[float] = []

    def work() -> None:
        for _ in range(10):
            with hr.Session(graph=y.graph, config=config) as session:
                if not session.run(y) > 0:
                    wrong.append(1.0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(200)
        assert not thread.is_alive()
    assert not wrong


def test_decompositions_of_a_session_with_one_thread_run_on_one() -> None:
    # OpenBLAS has a count for the process; its threads spin, beside others for seconds.
    printed = child_process.output(
        """
        import ctypes
        files = {line.split()[-1] for line in open("/proc/self/maps") if "openblas" in line}
        library = ctypes.CDLL(files.pop())
        name = "scipy_openblas_%s_num_threads64_"
        count = getattr(library, name % "get")
        getattr(library, name % "set")(2)
        x = hr.placeholder(hr.float64, [600, 600])
        values = hr.svd(x, compute_uv=False)
        matrix = np.random.RandomState(0).randn(600, 600)
        for threads in (1, 2):
            seen = set()
            with hr.Session(config=hr.ConfigProto(intra_op_parallelism_threads=threads)) as session:
                for _ in range(100 if threads == 1 else 2):
                    thread = threading.Thread(target=session.run, args=(values, {x: matrix}))
                    thread.start()
                    while thread.is_alive():
                        seen.add(count())
                        time.sleep(0.001)
                    if 1 in seen:
                        break
            print(1 in seen, count())
        """
    )
    assert printed == "True 2\nFalse 2\n"
