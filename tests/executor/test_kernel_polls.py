"""A long kernel ends soon after its step was cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import CancelledError, DeadlineExceededError, OpError
from headrace.graph.builder.op_builder import op

rng = np.random.default_rng(0)

# Inputs are fed: what constants alone decide is computed while planning.
Case = tuple[Callable[..., hr.Tensor], list[np.ndarray]]


def _corners(n: int) -> np.ndarray:
    low = rng.random((n, 2))
    return np.concatenate([low, low + 1e-4], axis=1).astype(np.float32)


def _sequence(n: int) -> list[np.ndarray]:
    cells = np.stack([np.zeros(n, np.int64), np.arange(n)], axis=1)
    return [cells, rng.integers(0, 9, n), np.array([1, n])]


LONG: dict[str, Case] = {
    "a batch of decompositions": (
        lambda x: op("Svd", x)[0],
        [rng.standard_normal((3000, 128, 128)).astype(np.float32)],
    ),
    "a batch of inverses": (
        lambda x: op("MatrixInverse", x),
        [np.tile(np.eye(200), (1500, 1, 1))],
    ),
    "a sum of products of integers": (
        lambda x: op("Einsum", [x, x], equation="ij,jk->ik"),
        [np.ones((2500, 2500), np.int32)],
    ),
    "a convolution of integers": (
        lambda x, f: op("Conv2D", x, f, strides=[1, 1, 1, 1], padding="SAME"),
        [np.ones((32, 64, 64, 64), np.int32), np.ones((5, 5, 64, 64), np.int32)],
    ),
    "suppression of overlapping boxes": (
        lambda b, s: op("NonMaxSuppressionV3", b, s, 60_000, np.float32(0.5), np.float32(-1)),
        [_corners(60_000), rng.random(60_000).astype(np.float32)],
    ),
    "special functions": (
        lambda a: op("Igamma", a, a),
        [np.full(2_000_000, 9e5)],
    ),
    "truncated normals": (
        lambda n: op("ParameterizedTruncatedNormal", n, *np.float32([0, 1, 1, 2])),
        [np.array([60_000_000], np.int32)],
    ),
    "an edit distance": (
        lambda *sequences: op("EditDistance", *sequences),
        [*_sequence(30_000), *_sequence(30_000)],
    ),
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.host_execution("interrupts a kernel of the host; a device's kernel runs to its end")
def test_a_long_kernel_ends_at_its_next_poll(name: str) -> None:
    build, fed = LONG[name]
    with hr.Graph().as_default():
        places = [hr.placeholder(x.dtype, x.shape) for x in fed]
        fetch, feeds = build(*places), dict(zip(places, fed, strict=True))
        session = hr.Session()
        ended: list[BaseException | None] = []

        def run() -> None:
            try:
                session.run(fetch, feeds, options=hr.RunOptions(timeout_in_ms=300))
                ended.append(None)
            except OpError as error:
                ended.append(error)

        thread = threading.Thread(target=run)
        used = time.process_time()
        thread.start()
        thread.join(200)
        used = time.process_time() - used
        session.close()
    assert isinstance(ended[0], (DeadlineExceededError, CancelledError)), ended
    assert used < 10  # CPU time of two threads, so that a busy machine makes no difference


LARGE: dict[str, Callable[[hr.Tensor], hr.Tensor]] = {
    "singular vectors": lambda x: op("Svd", x)[1],
    "eigenvectors": lambda x: op("SelfAdjointEigV2", x)[1],
    "an orthogonal factor": lambda x: op("Qr", x)[0],
    "an inverse": lambda x: op("MatrixInverse", x),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.host_execution("interrupts a kernel of the host; a device's kernel runs to its end")
def test_the_decomposition_of_one_large_matrix_ends_in_the_middle(name: str) -> None:
    matrix = rng.standard_normal((1200, 1200))
    with hr.Graph().as_default():
        fed = hr.placeholder(matrix.dtype, matrix.shape)
        fetch = LARGE[name](fed)
        with hr.Session() as session:
            session.run(fetch, {fed: matrix})
            shares = []
            for _ in range(20):  # a busy machine may hold one of them up
                whole, error = _timed(session, fetch, {fed: matrix}, None)
                assert error is None
                took, error = _timed(session, fetch, {fed: matrix}, max(1, int(200 * whole)))
                if isinstance(error, DeadlineExceededError):
                    shares.append(took / whole)
                if shares and shares[-1] < 0.6:
                    return
    raise AssertionError(f"given a fifth of the time, it ended after these shares of it: {shares}")


@pytest.mark.parametrize("sides", [(0, 2**33), (2**33, 0)])
def test_a_matrix_without_elements_has_no_singular_values_at_once(sides: tuple[int, int]) -> None:
    values = op("Svd", hr.placeholder(hr.float32), compute_uv=False)[0]
    with hr.Session() as session:
        feeds = {values.op.inputs[0]: np.zeros(sides, np.float32)}
        found = session.run(values, feeds, options=hr.RunOptions(timeout_in_ms=3000))
    assert found.shape == (0,)


def _timed(
    session: hr.Session, fetch: hr.Tensor, feeds: dict[hr.Tensor, np.ndarray], timeout: int | None
) -> tuple[float, BaseException | None]:
    options = None if timeout is None else hr.RunOptions(timeout_in_ms=timeout)
    started, error = time.monotonic(), None
    try:
        session.run(fetch, feeds, options=options)
    except OpError as raised:
        error = raised
    return time.monotonic() - started, error
