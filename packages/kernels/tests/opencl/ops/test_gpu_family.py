"""The sources for GPUs give the right results, on whatever device is here.

A CPU runs them slowly: the other tests of these ops run in a process where it is told to.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_device import first_device

HERE = Path(__file__).parent
TESTS = [
    ("test_ops_matmul.py", "float32 or batches or bits or half"),
    (
        "test_ops_convolution.py",
        "(float32 or float16) and NHWC and not (float16 and groups) or grouped or bits or parts"
        " or planes and float32",
    ),
    ("test_ops_pooling.py", "(float32 or float16) and NHWC or number"),
    ("test_ops_fused_products.py", "Relu6 or normalization or parts"),
    ("test_ops_local_response.py", "response"),
    ("test_ops_reduction.py", "largest or (running and float32) or cut"),
    ("test_ops_softmax.py", "not other"),
    ("test_ops_updates.py", "(slices or segments) and float32 or many"),
    ("test_ops_arrays.py", "mirror or large_transposes or one_hot"),
]


@pytest.mark.parametrize("file, chosen", TESTS, ids=[file for file, _ in TESTS])
def test_ops_by_the_sources_for_gpus(file: str, chosen: str) -> None:
    first_device()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", file, "-k", chosen],
        cwd=HERE,
        env={**os.environ, "HEADRACE_OPENCL_TEMPLATES": "gpu", "HEADRACE_OPENCL_TUNING": "off"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
