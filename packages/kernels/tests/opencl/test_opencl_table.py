"""The registrations of the OpenCL library agree with the op catalogue and with the CPU's."""

from __future__ import annotations

import pytest

from headrace.formats import dtypes, kernel_abi, op_catalogue
from headrace.kernels import cpu, opencl

TABLE, KERNELS = kernel_abi.read_table(opencl.capsule())
VIEW = kernel_abi.constants()["HR_KERNEL_VIEW"]
OPS = sorted({kernel.op.decode() for kernel in KERNELS})


def registrations_of(op: str) -> list:
    return [kernel for kernel in KERNELS if kernel.op.decode() == op]


def test_table_is_of_this_abi():
    assert TABLE.abi == kernel_abi.constants()["HR_KERNEL_ABI"]
    assert TABLE.library == b"opencl"


@pytest.mark.parametrize("op", OPS)
def test_registration_names_arguments_and_types_of_the_catalogue(op):
    signature = op_catalogue.signature(op)
    for kernel in registrations_of(op):
        assert kernel.device_type == b"GPU"
        assert kernel.prepare
        for part in (kernel.constraint or b"").decode().split(";"):
            attr, _, types = part.partition("=")
            if attr:
                catalogue = signature.attr(attr).allowed
                named = {int(dtypes.as_dtype(name)) for name in types.split("|")}
                assert not catalogue or named & set(catalogue)
        inputs = kernel.constant_inputs | kernel.value_inputs | kernel.reuse_inputs
        assert (inputs | kernel.host_inputs) >> len(signature.inputs) == 0
        assert kernel.host_outputs >> len(signature.outputs) == 0


@pytest.mark.parametrize("op", OPS)
def test_the_same_arguments_are_constants_as_on_the_cpu(op):
    _, compiled = kernel_abi.read_table(cpu.capsule())
    on_cpu = [kernel for kernel in compiled if kernel.op.decode() == op]
    for kernel in registrations_of(op) if on_cpu else []:
        known = {other.constant_inputs | other.value_inputs for other in on_cpu}
        assert kernel.constant_inputs | kernel.value_inputs in known


@pytest.mark.parametrize("op", OPS)
def test_view_registrations_are_those_that_the_catalogue_calls_views(op):
    for kernel in registrations_of(op):
        if op_catalogue.signature(op).view:
            assert kernel.flags & VIEW


@pytest.mark.parametrize("op", ["Shape", "ShapeN", "Size", "Rank"])
def test_shapes_are_values_in_host_memory(op):
    assert [kernel.host_outputs for kernel in registrations_of(op)] == [1]
