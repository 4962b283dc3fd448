"""Image ops, patches and dilation of the cpu table against TensorFlow's recorded results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from image_cases import CASES, FRAMES, X
from kernel_harness import run_kernel

from headrace.formats.errors import InvalidArgumentError, OutOfRangeError

HERE = Path(__file__).parent
GOLDEN = np.load(HERE / "golden" / "image_ops.npz")


@pytest.mark.parametrize("key", CASES)
def test_the_result_is_that_of_tensorflow(key):
    op, inputs, attrs = CASES[key]
    got = run_kernel(op, *inputs.values(), threads=2, **attrs)
    for i, value in enumerate(got if isinstance(got, tuple) else [got]):
        want = GOLDEN[f"{key}|{i}"]
        assert value.dtype == want.dtype
        if want.dtype.kind in "iu":
            np.testing.assert_array_equal(value, want)
        else:
            scale = np.abs(want).max(initial=1)
            np.testing.assert_allclose(value, want, rtol=3e-5, atol=3e-6 * scale)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64, np.int32])
@pytest.mark.parametrize(
    "op", ["ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor", "ResizeArea"]
)
def test_every_dtype_is_resized_alike(op, dtype):
    x = np.random.default_rng(0).integers(0, 100, X).astype(dtype)
    size = np.array([8, 3], np.int32)
    got = run_kernel(op, x, size)
    want = run_kernel(op, x.astype(np.float32), size)
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("sizes", [(7, 9, 4, 5), (5, 6, 13, 17), (1, 1, 3, 4), (4, 2, 1, 1)])
@pytest.mark.parametrize("corners", ["", "align_corners", "half_pixel_centers"])
def test_pictures_of_three_channels_have_the_bits_of_the_plain_loop(dtype, sizes, corners):
    height, width, *size = sizes
    x = np.random.default_rng(1).integers(0, 256, (2, height, width, 3)).astype(dtype)
    attrs = {corners: True} if corners else {}
    got = run_kernel("ResizeBilinear", x, np.array(size, np.int32), **attrs)
    plain = run_kernel("ResizeBilinear", x.astype(np.int32), np.array(size, np.int32), **attrs)
    np.testing.assert_array_equal(got.view(np.int32), plain.view(np.int32))


def test_an_image_without_images_stays_empty():
    got = run_kernel(
        "ResizeBilinear", np.zeros((0, 4, 4, 3), np.float32), np.array([2, 2], np.int32)
    )
    assert got.shape == (0, 2, 2, 3)


def test_a_box_of_no_image_is_named():
    x, size = np.zeros(X, np.float32), np.array([2, 2], np.int32)
    with pytest.raises((OutOfRangeError, InvalidArgumentError), match="2 at 1"):
        run_kernel("CropAndResize", x, FRAMES[0], np.array([0, 2], np.int32), size)


@pytest.mark.peer
def test_the_golden_results_agree_with_tensorflow(tmp_path):
    command = [sys.executable, str(HERE / "peer_image.py"), str(tmp_path / "new.npz")]
    subprocess.run(command, check=True, cwd=HERE)
    with np.load(tmp_path / "new.npz") as new:
        for key in GOLDEN.files:
            np.testing.assert_allclose(new[key], GOLDEN[key], rtol=1e-6)
