"""Random numbers of the cpu table: TensorFlow's streams, moments, ranges and seeds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from kernel_harness import PreparedKernel, run_kernel

from headrace.formats.errors import InvalidArgumentError

FLOATS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
FILLS = ["RandomUniform", "RandomStandardNormal", "TruncatedNormal"]
# What TensorFlow 2.21 gave for seed=5, seed2=7 (made by peer_random.py).
GOLDEN = np.load(Path(__file__).parent / "golden" / "random_streams.npz")
SHAPE = np.array([7, 13], np.int32)


def draw(op, dtype, shape=SHAPE, runs=2, threads=1, **attrs):
    kernel = PreparedKernel(op, shape, dtype=dtype, threads=threads, **attrs)
    return [kernel.compute() for _ in range(runs)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", FILLS)
def test_two_runs_of_a_seeded_op_give_tensorflows_numbers(op, dtype):
    name = np.dtype(dtype).name
    tolerance = {"float32": 3e-6, "float64": 1e-12}.get(name, 0.01)
    for i, got in enumerate(draw(op, dtype, seed=5, seed2=7)):
        want = GOLDEN[f"{op}|{name}|{i}"]
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", FILLS)
def test_stateless_ops_give_tensorflows_numbers(op, dtype):
    name = np.dtype(dtype).name
    tolerance = {"float32": 3e-6, "float64": 1e-12}.get(name, 0.01)
    op = "Stateless" + op.replace("Standard", "")
    want = GOLDEN[f"{op}|{name}|0"]
    got = run_kernel(op, SHAPE, np.array([5, -7], np.int64), dtype=dtype)
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integers_are_tensorflows(dtype):
    low, high = np.array(-3, dtype), np.array(100, dtype)
    name = np.dtype(dtype).name
    kernel = PreparedKernel("RandomUniformInt", SHAPE, low, high, seed=5, seed2=7)
    for i in range(2):
        np.testing.assert_array_equal(kernel.compute(), GOLDEN[f"RandomUniformInt|{name}|{i}"])
    seed = np.array([5, -7], np.int64)
    got = run_kernel("StatelessRandomUniformInt", SHAPE, seed, low, high)
    np.testing.assert_array_equal(got, GOLDEN[f"StatelessRandomUniformInt|{name}|0"])


def test_shuffles_and_draws_are_tensorflows():
    x, rows = np.arange(101, dtype=np.int32), np.arange(33, dtype=np.int32).reshape(11, 3)
    logits = np.log([[1.0, 2, 3, 4]]).astype(np.float32)
    shuffle = PreparedKernel("RandomShuffle", x, seed=5, seed2=7)
    by_row = PreparedKernel("RandomShuffle", rows, seed=5, seed2=7)
    multinomial = PreparedKernel("Multinomial", logits, np.array(50, np.int32), seed=5, seed2=7)
    for i in range(2):
        np.testing.assert_array_equal(shuffle.compute(), GOLDEN[f"RandomShuffle|1|{i}"])
        np.testing.assert_array_equal(by_row.compute(), GOLDEN[f"RandomShuffle|2|{i}"])
        np.testing.assert_array_equal(multinomial.compute(), GOLDEN[f"Multinomial|1|{i}"])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("op", "mean", "deviation", "low", "high"),
    [("RandomUniform", 0.5, 12**-0.5, 0, 1), ("RandomStandardNormal", 0, 1, -7, 7),
     ("TruncatedNormal", 0, 0.8796, -2, 2)],
)  # fmt: skip
def test_moments_and_ranges(op, mean, deviation, low, high, dtype):
    shape = np.array([301, 1003], np.int64)
    one, two = (draw(op, dtype, shape, 1, threads, seed=1)[0] for threads in (1, 2))
    np.testing.assert_array_equal(one, two)
    assert abs(one.mean() - mean) < 0.005
    assert abs(one.std() - deviation) < 0.005
    assert one.min() >= low
    assert one.max() < high
    assert abs(np.corrcoef(one[:, :-1].ravel(), one[:, 1:].ravel())[0, 1]) < 0.01


def test_the_stream_goes_on_and_without_seeds_differs():
    a, b = draw("RandomUniform", np.float32, seed=3)
    assert (a != b).mean() > 0.9
    (c,), (d,) = (
        draw("RandomUniform", np.float32, runs=1),
        draw("RandomUniform", np.float32, runs=1),
    )
    assert (c != d).mean() > 0.9


def test_empty_outputs_and_all_integers():
    assert draw("RandomUniform", np.float32, np.array([0, 3], np.int32), 1)[0].shape == (0, 3)
    for dtype in (np.int32, np.int64, np.uint32, np.uint64):
        seed = np.array([1, 2], np.int64)
        got = run_kernel(
            "StatelessRandomUniformFullInt", np.array([1000], np.int32), seed, dtype=dtype
        )
        assert len(np.unique(got)) == 1000
        assert abs((got.astype(np.float64) / 2.0 ** (8 * got.itemsize)).std() - 12**-0.5) < 0.02


def test_an_empty_range_is_named():
    with pytest.raises(InvalidArgumentError, match="5 and 5"):
        five = np.array(5, np.int32)
        run_kernel("RandomUniformInt", SHAPE, five, five)


@pytest.mark.peer
def test_the_golden_streams_agree_with_tensorflow(tmp_path):
    script = Path(__file__).parent / "peer_random.py"
    subprocess.run([sys.executable, str(script), str(tmp_path / "new.npz")], check=True)
    with np.load(tmp_path / "new.npz") as new:
        for key in GOLDEN.files:
            np.testing.assert_array_equal(new[key], GOLDEN[key])
