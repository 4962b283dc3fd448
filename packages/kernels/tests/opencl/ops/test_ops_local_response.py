"""Local response normalization on OpenCL devices, against the CPU's."""

from __future__ import annotations

import numpy as np
import pytest
from compare import assert_as_cpu
from kernel_harness import Device, run_kernel
from kernel_harness.samples import sample
from ml_dtypes import bfloat16

SHAPES = [(1, 1, 1, 1), (2, 3, 5, 7), (2, 5, 4, 64), (1, 2, 3, 130), (0, 2, 2, 4), (2, 2, 2, 0)]
RULES = {
    "default": {},
    "alexnet": {"depth_radius": 2, "bias": 2.0, "alpha": 1e-4, "beta": 0.75},
    "wide": {"depth_radius": 200, "bias": 1.5, "alpha": 0.1, "beta": 1.0},
    "alone": {"depth_radius": 0, "bias": 1.0, "alpha": 0.5, "beta": 0.3},
}


def assert_lrn_as_cpu(device: Device, shape: tuple, dtype: str, rule: str) -> None:
    attrs = RULES[rule]
    x, dy = (sample(shape, dtype, seed=seed) for seed in (1, 2))
    assert_as_cpu(device, "LRN", x, scale=4, **attrs)
    assert_as_cpu(device, "LRNGrad", dy, x, run_kernel("LRN", x, **attrs), scale=4, **attrs)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rule", RULES)
def test_local_response(device: Device, shape: tuple, rule: str) -> None:
    assert_lrn_as_cpu(device, shape, "float32", rule)


@pytest.mark.parametrize("dtype", ["float16", bfloat16])
@pytest.mark.parametrize("rule", ["default", "alexnet"])
def test_local_response_of_other_dtypes(device: Device, dtype: str, rule: str) -> None:
    assert_lrn_as_cpu(device, (2, 3, 4, 33), dtype, rule)


def test_norms_of_zero_and_less_are_as_on_the_cpu(device: Device) -> None:
    x = np.array([[[[0, 1, -2, 0]]]], np.float32)
    for beta in (0.5, 0.75, 1.0):
        for bias in (0.0, -1.5):
            assert_as_cpu(device, "LRN", x, depth_radius=0, bias=bias, alpha=1.0, beta=beta)
