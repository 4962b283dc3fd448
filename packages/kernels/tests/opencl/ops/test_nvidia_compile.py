"""Sources of the GPU family, compiled for NVIDIA GPUs without one."""

from __future__ import annotations

from pathlib import Path

import nvidia_compiler
import pytest

_missing = nvidia_compiler.missing_tool()
pytestmark = pytest.mark.skipif(_missing is not None, reason=str(_missing))

LOCAL_MEMORY = 48 * 1024  # that an OpenCL work-group can have there
TILES = (128, 64, 32)
LARGE = {"TILE": 128, "ALIGNED": 1}

PROGRAMS = [
    *(
        ("gemm/gemm_gpu.cl", {"TILE": tile, "ALIGNED": aligned, "TRANSPOSE_A": a, "TRANSPOSE_B": b})
        for tile in TILES
        for aligned in (1, 0)
        for a in (0, 1)
        for b in (0, 1)
    ),
    *(
        ("convolution/conv_gpu.cl", {"TILE": tile, "ALIGNED": aligned, "TO_INPUT": to_input})
        for tile in TILES
        for aligned in (1, 0)
        for to_input in (0, 1)
    ),
    *(
        ("convolution/conv_filter_gpu.cl", {"TILE": tile, "ALIGNED": aligned})
        for tile in TILES
        for aligned in (1, 0)
    ),
    *(
        ("gemm/gemm_gpu.cl", {**LARGE, "TRANSPOSE_A": a, "TRANSPOSE_B": b, "STAGES": 4, **more})
        for a in (0, 1)
        for b in (0, 1)
        for more in ({"ASYNC": 1}, {"ASYNC": 1, "TF32": 1})
    ),
    (
        "gemm/gemm_gpu.cl",
        {"TILE": 64, "ALIGNED": 1, "TRANSPOSE_A": 0, "TRANSPOSE_B": 0, "T_DOUBLE": 1},
    ),
    (
        "gemm/gemm_gpu.cl",
        {"TILE": 128, "ALIGNED": 1, "TRANSPOSE_A": 0, "TRANSPOSE_B": 0, "T_HALF": 1},
    ),
    (
        "gemm/gemm_gpu.cl",
        {"TILE": 64, "ALIGNED": 0, "TRANSPOSE_A": 1, "TRANSPOSE_B": 0, "T_HALF": 1, "PARTS": 1},
    ),
    ("convolution/conv_gpu.cl", {"TILE": 64, "ALIGNED": 1, "TO_INPUT": 1, "T_HALF": 1, "PARTS": 1}),
    ("convolution/depthwise_gpu.cl", {}),
    ("convolution/depthwise_gpu.cl", {"MULTIPLIER": 2}),
    ("pooling/pool_gpu.cl", {}),
    ("pooling/pool_gpu.cl", {"T_DOUBLE": 1}),
    ("convolution/layout_gpu.cl", {}),
    ("gather.cl", {"E": "float", "I": "long", "Index": "int"}),
    ("gemm/parts_gpu.cl", {}),
    ("gemm/parts_gpu.cl", {"LINES": 8, "T_HALF": 1, "SCALES": 1, "SHIFTS": 1, "ACTIVATION": 3}),
    ("lrn.cl", {"BETA": 3}),
    ("lrn.cl", {"BETA": 0}),
    *(
        ("scan_tiles.cl", {"GROUP": 256, "PRODUCT": 0, "EXCLUSIVE": 0, "REVERSE": 0, value: 1})
        for value in ("T_float", "T_double", "T_half")
    ),
    *(
        (file, {"WAY": way, "INDEX": "int", **group, "T_float": 1})
        for file, group in (("softmax_short.cl", {}), ("softmax_parts.cl", {"GROUP": 256}))
        for way in range(4)
    ),
    *(
        ("top_k.cl", {"I": "int", "GROUP": 256, **block, value: 1})
        for value in ("T_float", "T_double", "T_half")
        for block in ({}, {"BLOCK": 2048})
    ),
    ("in_top_k.cl", {"I": "int", "GROUP": 256}),
    ("row_order.cl", {"I": "int"}),
    ("row_order.cl", {"I": "long"}),
]


def _name(program: tuple[str, dict[str, int | str]]) -> str:
    file, defines = program
    return "-".join([Path(file).stem, *(f"{k}={v}" for k, v in defines.items())])


@pytest.mark.parametrize("program", PROGRAMS, ids=_name)
def test_programs_compile_without_spills_and_fit_into_local_memory(
    program: tuple[str, dict[str, int | str]], tmp_path: Path
) -> None:
    file, defines = program
    # Two groups of 256 items fit a multiprocessor if none takes more than 128 registers.
    limited = file == "gemm/gemm_gpu.cl" and defines["TILE"] == 128 and defines["ALIGNED"]
    compiled = nvidia_compiler.compile(file, defines, tmp_path, 128 if limited else 255)
    assert compiled.registers
    assert not any(compiled.spilled.values()), compiled.spilled
    assert max(compiled.local_memory.values()) <= LOCAL_MEMORY


@pytest.mark.parametrize(
    "file", ["gemm/gemm_gpu.cl", "convolution/conv_gpu.cl", "convolution/conv_filter_gpu.cl"]
)
def test_tiles_are_moved_in_vectors(file: str, tmp_path: Path) -> None:
    defines = {**LARGE, "TRANSPOSE_A": 0, "TRANSPOSE_B": 0, "TO_INPUT": 0}
    compiled = nvidia_compiler.compile(file, defines, tmp_path)
    assert compiled.count(r"fma\.rn\.f32") >= 8 * 8 * 8  # all of a slice, unrolled
    assert compiled.count(r"ld\.shared\.v4") == 4 * 8  # and no other loads from there
    assert compiled.count(r"ld\.shared\.f32") == 0
    assert compiled.count(r"ld\.global(\.nc)?\.v4") >= 4
    assert compiled.count(r"st\.global\.v4") == 2 * 8


def test_copies_in_the_background_and_tensor_cores_are_used(tmp_path: Path) -> None:
    defines = {**LARGE, "TRANSPOSE_A": 0, "TRANSPOSE_B": 0, "ASYNC": 1, "STAGES": 4, "TF32": 1}
    compiled = nvidia_compiler.compile("gemm/gemm_gpu.cl", defines, tmp_path)
    assert compiled.count(r"cp\.async\.cg") >= 4
    assert compiled.count(r"mma\.sync\.aligned\.m16n8k8") == 16
    assert compiled.count(r"fma\.rn\.f32") == 0
