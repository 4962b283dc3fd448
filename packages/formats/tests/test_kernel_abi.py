"""kernel.h and device.h as ctypes structures."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest

from headrace import formats
from headrace.formats import kernel_abi

HEADERS = [Path(formats.include_dir()) / "headrace" / name for name in ("device.h", "kernel.h")]
STRUCTS = sorted(
    {name for header in HEADERS for name in re.findall(r"\bstruct (hr_\w+) \{", header.read_text())}
)

PROGRAM = """
#include <stdio.h>
#include "headrace/kernel.h"
int main(void) {
%s
  return 0;
}
"""


def test_structures_have_the_layout_that_the_c_compiler_gives_them(native, tmp_path):
    lines = []
    expected = []
    for name in STRUCTS:
        kind = kernel_abi.structure(name)
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        expected.append(f"{name} {ctypes.sizeof(kind)}")
        for field, _ in kind._fields_:
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
            expected.append(f"{name}.{field} {getattr(kind, field).offset}")
    source = tmp_path / "layout.c"
    source.write_text(PROGRAM % "\n".join(lines))
    assert native(source)() == expected


def test_constants_are_those_of_the_header():
    constants = kernel_abi.constants()
    assert constants["HR_KERNEL_ABI"] == 2
    assert (constants["HR_FLOAT"], constants["HR_REF"], constants["HR_MAX_RANK"]) == (1, 100, 8)
    assert kernel_abi.capsule_name() == b"headrace.kernel_table.v1"


def test_unknown_structs_are_rejected():
    with pytest.raises(KeyError, match="hr_nothing"):
        kernel_abi.structure("hr_nothing")


def test_tables_round_trip_through_a_capsule():
    kernels = (kernel_abi.structure("hr_kernel") * 2)()
    kernels[0].op, kernels[1].op = b"Neg", b"Abs"
    table = kernel_abi.structure("hr_kernel_table")()
    table.size = ctypes.sizeof(table)
    table.library = b"test"
    table.kernel_size = ctypes.sizeof(kernels[0])
    table.n_kernels = 2
    table.kernels = ctypes.addressof(kernels)
    capsule = kernel_abi.make_capsule(table)
    found, read = kernel_abi.read_table(capsule)
    assert (found.library, [kernel.op for kernel in read]) == (b"test", [b"Neg", b"Abs"])


def test_fields_that_an_older_library_lacks_are_zero():
    kernel = kernel_abi.structure("hr_kernel")(op=b"Neg", value_inputs=3)
    table = kernel_abi.structure("hr_kernel_table")()
    table.size = kernel_abi.structure("hr_kernel_table").fusible_op_size.offset
    table.kernel_size = kernel_abi.structure("hr_kernel").value_inputs.offset
    table.n_kernels = 1
    table.kernels = ctypes.addressof(kernel)
    table.n_fusible_ops = 5
    capsule = kernel_abi.make_capsule(table)
    found, [read] = kernel_abi.read_table(capsule)
    assert (read.op, read.value_inputs, found.n_fusible_ops) == (b"Neg", 0, 0)
