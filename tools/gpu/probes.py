"""What a driver takes: inline PTX, PTX as a binary, how much local memory; and the copy ceiling."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from gpu.raw_opencl import OpenCLError, RawDevice

SHUFFLE = r"""
kernel void probe(global int* out) {
  int x = get_local_id(0), y;
  asm("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(y) : "r"(x));
  out[get_global_id(0)] = y;
}
"""
ASYNC_COPY = r"""
kernel __attribute__((reqd_work_group_size(32, 1, 1))) void probe(global int* out) {
  local int scratch[128] __attribute__((aligned(16)));
  const int at = 4 * get_local_id(0);
  for (int i = 0; i < 4; ++i) out[at + i] = at + i;
  barrier(CLK_GLOBAL_MEM_FENCE);
  const uint to = (uint)(size_t)(local char*)(scratch + at);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(out + at) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < 4; ++i) out[at + i] = scratch[at + i] ^ 1;
}
"""
TENSOR_CORE = r"""
kernel void probe(global int* out) {
  float d0, d1, d2, d3;
  uint one = as_uint(1.0f);
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, "
               "{%4,%4}, {%5,%5,%5,%5};"
               : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3) : "r"(one), "f"(0.0f));
  out[get_global_id(0)] = d0 == 8 && d3 == 8 ? (int)get_local_id(0) ^ 1 : -1;
}
"""
LOCAL = r"""
kernel void probe(global int* out) {{
  local int scratch[{n}];
  scratch[get_local_id(0)] = 1;
  out[0] = scratch[0];
}}
"""
COPY = r"""
kernel void copy(global const float4* from, global float4* to) {
  to[get_global_id(0)] = from[get_global_id(0)];
}
"""
PLAIN = "kernel void probe(global int* out) { out[get_global_id(0)] = get_local_id(0) ^ 1; }"


def all_probes(device: RawDevice) -> dict[str, str]:
    """What each probe found, as text."""
    return {
        "inline PTX: shuffle": _attempt(lambda: _swaps(device, device.build(SHUFFLE))),
        "inline PTX: cp.async": _attempt(lambda: _swaps(device, device.build(ASYNC_COPY), 128)),
        "inline PTX: mma tf32": _attempt(lambda: _swaps(device, device.build(TENSOR_CORE))),
        "-cl-nv-maxrregcount": _attempt(
            lambda: _swaps(device, device.build(PLAIN, "-cl-nv-maxrregcount=128"))
        ),
        "PTX as binary, sm_80": _attempt(lambda: _from_ptx(device, "7.5", "sm_80")),
        "PTX as binary, sm_90a": _attempt(lambda: _from_ptx(device, "8.0", "sm_90a")),
        "local memory of a group": _largest_local(device),
    }


def copy_bandwidth(device: RawDevice, size: int) -> float:
    """Bytes read and written in a second by the fastest of some copies."""
    program = device.build(COPY)
    one, other = device.buffer(size), device.buffer(size)
    times = [device.run(program, "copy", size // 16, 256, one, other) for _ in range(10)]
    return 2 * size / min(times)


def _attempt(probe: Callable[[], None]) -> str:
    try:
        probe()
    except OpenCLError as error:
        return f"no: {str(error).splitlines()[0][:90]}"
    except AssertionError:
        return "builds, and gives a wrong result"
    return "yes"


def _swaps(device: RawDevice, program: Any, count: int = 32) -> None:
    """Runs a probe on 32 items, which leaves each number with its last bit flipped."""
    out = device.buffer(4 * count)
    device.run(program, "probe", 32, 32, out)
    np.testing.assert_array_equal(device.read(out, count, "i4"), np.arange(count) ^ 1)


def _largest_local(device: RawDevice) -> str:
    for size in (228, 164, 100, 64, 48, 32):
        try:
            program = device.build(LOCAL.format(n=size * 256))
            device.run(program, "probe", 32, 32, device.buffer(4096))
        except OpenCLError:
            continue
        return f"{size} KiB"
    return "less than 32 KiB"


def _from_ptx(device: RawDevice, version: str, target: str) -> None:
    """Gives the driver PTX text that clang made, under another header, as a program's binary."""
    if not shutil.which("clang-15"):
        raise OpenCLError("not tried: clang-15 is not here")
    with tempfile.TemporaryDirectory() as name:
        source, ptx = Path(name) / "probe.cl", Path(name) / "probe.ptx"
        source.write_text(PLAIN)
        command = ["clang-15", "-target", "nvptx64-nvidia-nvcl", "-x", "cl", "-cl-std=CL1.2", "-O2"]
        command += ["-Xclang", "-finclude-default-header", "-Xclang", "-mlink-builtin-bitcode"]
        command += ["-Xclang", "/usr/lib/clc/nvptx64--nvidiacl.bc", "-S", "-o", str(ptx)]
        done = subprocess.run([*command, str(source)], capture_output=True, text=True)
        if done.returncode:
            raise OpenCLError(f"not tried: {done.stderr.splitlines()[0]}")
        lines = ptx.read_text().splitlines()
    lines = [line for line in lines if not line.startswith((".version", ".target"))]
    header = [f".version {version}", f".target {target}, texmode_independent"]
    _swaps(device, device.build_binary("\n".join([*header, *lines, ""]).encode()))
