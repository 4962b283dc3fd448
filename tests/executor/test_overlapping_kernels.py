"""Independent heavy kernels of one step run at the same time if the session has the threads.

Modules: executor/branch_overlap, threads/thread_policy, threads/cost_model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import DeadlineExceededError, InvalidArgumentError

BESIDE = "independent heavy kernels run at the same time"

# A machine under load may run one kernel after the other for a while.
PATIENCE = 60.0  # seconds

# Two calls of each, on matrices of some tens of milliseconds: longer than a busy system lets a
# thread wait for a core.
KERNELS: dict[str, tuple[int, Callable[[hr.Tensor], hr.Tensor]]] = {
    "Svd": (400, lambda x: hr.raw_ops.Svd(input=x)[0]),
    "SelfAdjointEigV2": (500, lambda x: hr.raw_ops.SelfAdjointEigV2(input=x)[0]),
    "MatrixInverse": (1000, lambda x: hr.matrix_inverse(x)),
    "Qr": (700, lambda x: hr.raw_ops.Qr(input=x)[1]),
    "Cholesky": (1600, lambda x: hr.raw_ops.Cholesky(input=x)),
    "MatrixSolve": (1000, lambda x: hr.matrix_solve(x, x + 1.0)),
    "MatMul": (1200, lambda x: hr.matmul(x, x)),
}


def _session(inter: int = 2, intra: int = 1) -> hr.Session:
    config = hr.ConfigProto(inter_op_parallelism_threads=inter, intra_op_parallelism_threads=intra)
    return hr.Session(config=config)


def _matrix(n: int) -> np.ndarray:
    a = np.random.default_rng(0).normal(size=[n, n])
    return (a @ a.T / n + np.eye(n)).astype(np.float32)


def _explained(session: hr.Session, fetches: object, feeds: list[hr.Tensor]) -> str:
    return session.explain(fetches, feeds)


def _tries() -> Iterator[int]:
    """Counts tries until the time is up."""
    deadline, n = time.monotonic() + PATIENCE, 0
    while time.monotonic() < deadline:
        yield n
        n += 1


def _run_until_beside(
    session: hr.Session, fetches: object, feed: dict[hr.Tensor, np.ndarray]
) -> None:
    for _ in _tries():
        for _ in range(8):
            session.run(fetches, feed)
        if BESIDE in _explained(session, fetches, list(feed)):
            return
    raise AssertionError(f"never planned to run at the same time: {fetches}")


def _intervals(session: hr.Session, fetches: object, feed: dict, op: str) -> list[tuple]:
    options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
    metadata = hr.RunMetadata()
    session.run(fetches, feed, options, metadata)
    return [
        (node.all_start_micros, node.all_start_micros + node.all_end_rel_micros, node.thread_id)
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
        if f" = {op}" in node.timeline_label
    ]


@pytest.mark.parametrize("op", KERNELS)
@pytest.mark.host_execution("asserts how kernels of the host share its threads")
def test_two_independent_heavy_kernels_run_at_once(op: str) -> None:
    n, call = KERNELS[op]
    x = hr.placeholder(hr.float32, [n, n])
    fetches = [call(x + 1.0), call(x + 2.0)]
    feed = {x: _matrix(n)}
    with _session(inter=1) as alone, _session() as session:
        expected = alone.run(fetches, feed)
        _run_until_beside(session, fetches, feed)
        for _ in _tries():
            first, second = sorted(_intervals(session, fetches, feed, op))
            if second[0] < first[1] and first[2] != second[2]:
                break
        else:
            raise AssertionError(f"never at once: {first}, {second}")
        for got, reference in zip(session.run(fetches, feed), expected, strict=True):
            np.testing.assert_array_equal(got, reference)
        for _ in range(20):
            alone.run(fetches, feed)
        assert BESIDE not in _explained(alone, fetches, [x])


def test_kernels_that_need_one_another_and_small_ones_stay_one_segment() -> None:
    x = hr.placeholder(hr.float32, [None, None])
    chain = hr.matrix_inverse(hr.matrix_inverse(x + 1.0) + 1.0)
    pair = [hr.matrix_inverse(x + 1.0), hr.matrix_inverse(x + 2.0)]
    with _session() as session:
        for _ in range(40):
            session.run(chain, {x: _matrix(400)})
            session.run(pair, {x: _matrix(20)})
        assert BESIDE not in _explained(session, chain, [x])
        assert BESIDE not in _explained(session, pair, [x])


def test_steps_that_overlap_keep_the_order_of_reads_and_writes() -> None:
    x = hr.placeholder(hr.float32, [400, 400])
    v = hr.get_variable("v", initializer=1.0, use_resource=True)
    read = v.read_value()
    each = [hr.reduce_sum(hr.matrix_inverse(x + read + float(k))) for k in range(2)]
    with hr.control_dependencies(each):
        update = v.assign_add(1.0)
    fetches = [*each, read, update.op]
    feed = {x: _matrix(400)}
    found = []
    for inter in (1, 2):
        with _session(inter) as session:
            session.run(v.initializer)
            for _ in range(120):
                session.run(fetches, feed)
            session.run(v.assign(5.0).op)
            found.append([session.run(fetches, feed)[:3] for _ in range(3)])
    np.testing.assert_array_equal(found[0], found[1])
    assert [row[2] for row in found[1]] == [5.0, 6.0, 7.0]


@pytest.mark.host_execution("asserts how kernels of the host share its threads")
def test_other_shapes_errors_and_timeouts_of_a_step_that_overlaps() -> None:
    x = hr.placeholder(hr.float32, [None, None])
    pair = [hr.raw_ops.Cholesky(input=x), hr.raw_ops.Cholesky(input=x * 2.0, name="second")]
    feed = {x: _matrix(800)}
    with _session() as session:
        _run_until_beside(session, pair, feed)
        small = session.run(pair, {x: np.eye(3) * 4.0})
        np.testing.assert_array_equal(small[0], np.eye(3) * 2.0)
        with pytest.raises(InvalidArgumentError, match="Cholesky decomposition was not successful"):
            session.run(pair, {x: -_matrix(800)})
        with pytest.raises(DeadlineExceededError):
            for _ in _tries():
                session.run(pair, feed, hr.RunOptions(timeout_in_ms=1))
        np.testing.assert_allclose(
            session.run(pair, feed)[0] @ session.run(pair, feed)[0].T, feed[x], atol=1e-3
        )


@pytest.mark.host_execution("asserts how kernels of the host share its threads")
def test_only_decompositions_overlap_in_a_session_with_several_intra_op_threads() -> None:
    # Products use the team; on one thread they might round otherwise, in some processes only.
    x = hr.placeholder(hr.float32, [600, 600])
    products = [hr.matmul(x + 1.0, x), hr.matmul(x + 2.0, x)]
    matrix = _matrix(600)
    with _session(intra=2) as session:
        for _ in range(40):
            session.run(products, {x: matrix})
        assert BESIDE not in _explained(session, products, [x])
    y = hr.placeholder(hr.float32, [250, 250])
    svds = [hr.raw_ops.Svd(input=y + float(k))[0] for k in range(2)]
    with _session(intra=2) as session:
        _run_until_beside(session, svds, {y: _matrix(250)})
