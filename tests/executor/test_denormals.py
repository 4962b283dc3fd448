"""Kernels flush denormal numbers to zero; Python code of the same thread keeps them.

Modules: threads/denormals.
"""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import headrace.graph as hr

TINY = np.float32(1e-40)


def _python_keeps_denormals() -> bool:
    return bool(np.array([TINY], np.float32)[0] * np.float32(0.5) != 0)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_product_of_denormals_is_as_fast_as_any(threads: int) -> None:
    x = hr.placeholder(hr.float32, [512, 512])
    y = hr.reduce_sum(hr.matmul(x, x))
    normal = np.full([512, 512], 1e-3, np.float32)
    mixed = normal.copy()
    mixed[::2] = 1e-40
    mixed[:, ::3] = 3e-39
    best = {"normal": np.inf, "denormal": np.inf}
    with hr.Session(config=hr.ConfigProto(intra_op_parallelism_threads=threads)) as session:
        for _ in range(300):  # as often as it takes where others want the cores, too
            for name, at in (("normal", normal), ("denormal", mixed)):
                began = time.perf_counter()
                session.run(y, {x: at})
                took = time.perf_counter() - began
                best[name] = min(took, best[name])
            if best["denormal"] < 2 * best["normal"] < np.inf:
                break
    assert best["denormal"] < 2 * best["normal"], best


@pytest.mark.parametrize("size", [4, 400, 400_000, 4_000_000])
def test_kernels_flush_wherever_they_run_and_python_code_does_not(size: int) -> None:
    x = hr.placeholder(hr.float32, [None])
    seen: list[bool] = []

    def look(v: np.ndarray) -> np.ndarray:
        seen.append(_python_keeps_denormals())
        return v

    flushed = hr.reduce_max(x * 0.5)
    looked = hr.py_func(look, [flushed], hr.float32)
    at = np.full([size], TINY, np.float32)

    def work() -> None:
        with hr.Session(graph=x.graph) as session:
            for _ in range(3):
                assert session.run(flushed, {x: at}) == 0.0
                session.run(looked, {x: at})
                seen.append(_python_keeps_denormals())

    work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(seen) == 12 and all(seen)


def test_copies_keep_denormals() -> None:
    x = hr.placeholder(hr.float32, [3])
    with hr.Session() as session:
        found = session.run(hr.reverse(hr.identity(x), [0]), {x: np.full([3], TINY, np.float32)})
    assert (found == TINY).all()
