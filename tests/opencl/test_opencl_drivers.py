"""Drivers link LLVM, and work beside a library that exports the symbols of another LLVM globally.

TensorFlow is such a library: after its import the first session crashed where PoCL is installed.
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest
from opencl_children import Run, run_child

# Symbols of LLVM that drivers bind to, as in TensorFlow's libraries.
OTHER_LLVM = """
#include <stdlib.h>
void _ZN4llvm2cl6Option11addArgumentEv(void) { abort(); }
void _ZN4llvm2cl6Option9setArgStrENS_9StringRefE(void) { abort(); }
void _ZN4llvm11LLVMContextC1Ev(void) { abort(); }
void _ZN4llvm11LLVMContextC2Ev(void) { abort(); }
"""
SQUARE = """
def square(n):
    with hr.Graph().as_default(), hr.Session() as session:
        assert any(d.device_type == "GPU" for d in session.list_devices())
        x = hr.placeholder(hr.float32, [n, n])
        with hr.device("/gpu:0"):
            y = hr.reduce_sum(hr.tanh(hr.matmul(x, x)))
        assert abs(session.run(y, {x: np.full([n, n], 9.0)}) - n * n) < 1e-4
"""


@pytest.fixture(scope="module")
def other_llvm(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a library with some of LLVM's functions, which abort."""
    folder = tmp_path_factory.mktemp("llvm")
    (folder / "llvm.c").write_text(OTHER_LLVM)
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()
    target = folder / "libother.so"
    command = [*compiler, "-shared", "-fPIC", str(folder / "llvm.c"), "-o", str(target)]
    subprocess.run(command, check=True)
    return str(target)


@pytest.mark.parametrize("other_is_first", [True, False])
def test_a_device_works_beside_another_llvm(
    run: Run, tmp_path: Path, other_llvm: str, other_is_first: bool
) -> None:
    steps = [f"import ctypes; ctypes.CDLL({other_llvm!r}, ctypes.RTLD_GLOBAL)", "square(5)"]
    script = "\n".join([SQUARE, *(steps if other_is_first else steps[::-1]), "square(70)"])
    # Nothing is cached: the driver's compiler runs, also after the other library has come.
    run_child(script, tmp_path, POCL_CACHE_DIR=str(tmp_path))


@pytest.mark.peer
@pytest.mark.parametrize("tensorflow_is_first", [True, False])
def test_a_device_works_beside_tensorflow(
    run: Run, tmp_path: Path, tensorflow_is_first: bool
) -> None:
    steps = ["import tensorflow as tf", "square(5)"]
    compiled = "tf.function(lambda x: tf.reduce_sum(tf.sin(x)), jit_compile=True)(tf.ones([7]))"
    order = steps if tensorflow_is_first else steps[::-1]
    script = "\n".join([SQUARE, *order, compiled, "square(70)", compiled])
    run_child(script, tmp_path, POCL_CACHE_DIR=str(tmp_path))
