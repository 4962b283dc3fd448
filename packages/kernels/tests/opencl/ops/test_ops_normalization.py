"""Batch normalisation on OpenCL devices, against that of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import assert_as_cpu
from kernel_harness import Device
from kernel_harness.samples import sample
from ml_dtypes import bfloat16

SHAPES = [(2, 3, 4, 5), (8, 16, 16, 64), (1, 1, 1, 3), (2, 7, 1, 3), (1, 40, 40, 8)]


def channels(shape: tuple, data_format: str, count: int) -> list[np.ndarray]:
    n = shape[1] if data_format == "NCHW" else shape[-1]
    return [sample((n,), "float32", seed=i, low=0.5, high=2) for i in range(count)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("factor", [1.0, 0.3])
def test_training(device: Device, shape: tuple, data_format: str, factor: float) -> None:
    x = sample(shape, "float32", seed=9, low=3, high=5)
    assert_as_cpu(device, "FusedBatchNormV3", x, *channels(shape, data_format, 4), scale=50,
                  exponential_avg_factor=factor, data_format=data_format)  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_inference(device: Device, shape: tuple, data_format: str) -> None:
    x = sample(shape, "float32", seed=9)
    assert_as_cpu(device, "FusedBatchNorm", x, *channels(shape, data_format, 4), scale=4,
                  is_training=False, data_format=data_format)  # fmt: skip


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("version", ["", "V2", "V3"])
def test_gradients(
    device: Device, version: str, shape: tuple, data_format: str, training: bool
) -> None:
    dy, x = sample(shape, "float32", seed=8, low=-1, high=1), sample(shape, "float32", seed=9)
    more: list[Any] = channels(shape, data_format, 3) + [np.zeros(0, "f4")] * (version == "V3")
    axes = (0, 2, 3) if data_format == "NCHW" else (0, 1, 2)
    more[1:3] = x.mean(axes), x.var(axes)
    if np.prod([shape[axis] for axis in axes]) == 1:
        return  # a variance of nothing but epsilon
    assert_as_cpu(device, f"FusedBatchNormGrad{version}", dy, x, *more, scale=100,
                  is_training=training, data_format=data_format)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", bfloat16])
def test_images_of_other_dtypes(device: Device, dtype: str) -> None:
    x = sample((2, 4, 4, 8), dtype, seed=1)
    vectors = channels(x.shape, "NHWC", 4)
    assert_as_cpu(device, "FusedBatchNormV2", x, *vectors, scale=2)
    assert_as_cpu(device, "FusedBatchNormV3", x, *vectors, scale=2, is_training=False)
