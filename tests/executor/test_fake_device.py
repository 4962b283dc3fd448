"""The fake device does what device.h says, without a runtime."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_device import (
    SOURCES,
    Done,
    FakeDevice,
    build_library,
    compile_sources,
    device_kernels,
    make_devices,
)

from headrace.formats import dtypes, errors, kernel_abi

sys.path.insert(0, str(Path(__file__).parents[2] / "packages" / "kernels" / "tests"))
from kernel_harness import PreparedKernel, Variable, run_kernel
from kernel_harness.abi import REF, RESOURCE, Tensor
from kernel_harness.table import matches

_Context: Any = kernel_abi.structure("hr_ctx")
_Api: Any = kernel_abi.structure("hr_ctx_api")
_Request: Any = kernel_abi.structure("hr_request")
_BEFORE_REQUEST = 2 * ctypes.sizeof(ctypes.c_void_p)  # in a call of the harness
_Compute = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 6)
_Fail = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p)
_Write = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(Tensor)
)
_Commit = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memfd_create is Linux's")
RANDOM = np.random.default_rng(0)
SANITIZERS = {
    "none": (),
    "address": ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
    "thread": ("-fsanitize=thread",),
}


@pytest.fixture(scope="module")
def devices(tmp_path_factory: pytest.TempPathFactory) -> list[FakeDevice]:
    return make_devices(build_library(tmp_path_factory.mktemp("device")), 2, 1 << 30)


@pytest.fixture(scope="module")
def registrations(devices: list[FakeDevice]) -> list[Any]:
    return list(device_kernels(devices[0].library))


@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_memory_stream_and_launches_in_c(sanitizer: str, tmp_path: Path) -> None:
    program = tmp_path / "driver"
    flags = ("-O1", *SANITIZERS[sanitizer])
    try:
        compile_sources(program, ("fake_device_driver.c", *SOURCES), *flags)
    except subprocess.CalledProcessError:
        if sanitizer == "none":
            raise
        pytest.skip("the compiler lacks the sanitizer")
    # Under tox -e asan and tsan, the runtime of one sanitizer would be loaded beside another.
    clean = {name: text for name, text in os.environ.items() if name != "LD_PRELOAD"}
    ended = subprocess.run([str(program)], env=clean, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert "Sanitizer" not in ended.stderr


@pytest.mark.parametrize("touch", ["ctypes.string_at(at, 1)", "ctypes.memset(at + 999, 0, 1)"])
def test_a_touch_by_the_host_is_a_fault(touch: str, devices: list[FakeDevice]) -> None:
    text = (
        "import ctypes, pathlib, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from fake_device import make_devices\n"
        f"library = ctypes.CDLL({devices[0].library._name!r})\n"
        "at = make_devices(library, 1, 1 << 30)[0].call('allocate', 1000, b'test')\n"
        f"print('allocated', flush=True)\n{touch}\n"
    )
    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (-signal.SIGSEGV, "allocated\n"), ended.stderr


class OnDevice(PreparedKernel):
    """One node with its kernel of the device."""

    def __init__(self, device: FakeDevice, registrations: list[Any], op: str, *inputs: Any,
                 **attrs: Any) -> None:  # fmt: skip
        self._device = device
        self._registrations = registrations
        self._held: list[int] = []
        super().__init__(op, *inputs, **attrs)

    def _choose(self, op: str, kernel: int) -> Any:
        del kernel
        for registration in self._registrations:
            if registration.op == op.encode() and matches(registration, self.attrs):
                return registration
        raise LookupError(op)

    def prepare(self) -> None:
        super().prepare()
        for tensor in self._outputs[: self.n_outputs]:
            size = int(dtypes.as_dtype(tensor.dtype).size)
            tensor.bytes = size * int(np.prod(tensor.dims[: tensor.rank], dtype=np.int64))

    def run(self) -> Any:
        """Enqueues the kernel, then waits for its outputs."""
        request = _Request.from_address(self._call.value + _BEFORE_REQUEST)
        in_host = {
            self.first_tensor_of[i] for i in range(64) if self._registration.host_inputs >> i & 1
        }
        tensors = []
        results: list[tuple[int, Any]] = []  # address, a tensor or array like it
        for i, tensor in enumerate(self._inputs[: self.n_inputs]):
            mine = Tensor.from_buffer_copy(tensor)
            if i not in in_host and mine.dtype < REF and mine.dtype != RESOURCE:
                mine.data = self._to_device(tensor.data, tensor.bytes)
            tensors.append(mine)
        for tensor in self._outputs[: self.n_outputs]:
            mine = Tensor.from_buffer_copy(tensor)
            if mine.dtype < REF:
                mine.data = self._allocate(mine.bytes)
                results.append((mine.data, tensor))
            tensors.append(mine)
        pointers = (ctypes.c_void_p * (len(tensors) + 1))(*map(ctypes.addressof, tensors))
        workspace = self._allocate(request.workspace)
        failed: list[str] = []

        def begin_write(ctx: int, n: int, refs: int, values: Any) -> int:
            del ctx, refs
            for i in range(n):
                value = self._variables[i].value
                at = self._to_device(value.ctypes.data, value.nbytes)
                results.append((at, value))
                values[i] = Tensor(dtype=self._variables[i].dtype, rank=value.ndim, data=at)
                values[i].dims[: value.ndim] = value.shape
                values[i].bytes = value.nbytes
            return 0

        functions = (
            _Fail(lambda ctx, code, text: (failed.append(text.decode()), code)[1]),
            _Write(begin_write),
            _Commit(lambda ctx, n, refs: None),
        )
        api = _Api(size=ctypes.sizeof(_Api))
        api.fail, api.begin_write, api.commit = (
            ctypes.cast(function, ctypes.c_void_p) for function in functions
        )
        ctx = _Context(size=ctypes.sizeof(_Context), threads=1, api=ctypes.addressof(api))
        ctx.device = self._device.address
        compute = _Compute(request.compute or self._registration.compute)
        outputs = ctypes.addressof(pointers) + self.n_inputs * ctypes.sizeof(ctypes.c_void_p)
        code = compute(
            ctypes.addressof(ctx), self._state, request.plan, pointers, outputs, workspace
        )
        assert code == 0, failed
        for tensor in tensors:  # they need not live longer than the call
            ctypes.memset(ctypes.addressof(tensor), 0xEE, ctypes.sizeof(Tensor))
        try:
            found = [self._from_device(at, like) for at, like in results]
        finally:
            for at in self._held:
                self._device.call("release", at)
            self._held.clear()
        return found[0] if len(found) == 1 else found

    def _allocate(self, size: int) -> int | None:
        if not size:
            return None
        at = self._device.call("allocate", size, b"test")
        assert at
        self._held.append(at)
        return int(at)

    def _to_device(self, data: int, size: int) -> int | None:
        at = self._allocate(size)
        assert self._device.call("copy_in", at, data, size, None, None, None) == 0
        return at

    def _from_device(self, at: int, like: Any) -> np.ndarray:
        if isinstance(like, np.ndarray):
            array = np.empty_like(like)
        else:
            array = np.empty(like.dims[: like.rank], dtypes.as_dtype(like.dtype).as_numpy_dtype)
        code, text = copy_out(self._device, array, at)
        assert code == 0, text
        return array


def copy_out(device: FakeDevice, array: np.ndarray, at: int) -> tuple[int, str]:
    """Waits for a copy to the host."""
    ended = threading.Event()
    found: list[tuple[int, str]] = []

    def end(argument: int, code: int, message: bytes) -> None:
        del argument
        found.append((code, message.decode()))
        ended.set()

    done = Done(end)
    code = device.call("copy_out", array.ctypes.data, at, array.nbytes, None, done, None)
    assert code == 0
    assert ended.wait(30.0)
    return found[0]


def draw(*shape: int) -> np.ndarray:
    return RANDOM.normal(size=shape).astype(np.float32)


A, B, C = draw(7, 5), draw(7, 5), draw(5, 6)
IMAGE, FILTER = draw(2, 9, 9, 3), draw(3, 3, 3, 4)
CASES: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "add": ("AddV2", [A, B], {}),
    "broadcast": ("Mul", [A, B[0]], {}),
    "matmul": ("MatMul", [A, C], {}),
    "sum": ("Sum", [A, np.int32([1])], {}),
    "argmax": ("ArgMax", [A, np.int32(1)], {}),
    "convolution": ("Conv2D", [IMAGE, FILTER], {"strides": [1, 1, 1, 1], "padding": "SAME"}),
    "concatenation": ("ConcatV2", [[A, B], np.int32(0)], {}),
    "slice": ("Slice", [A, np.int32([1, 2]), np.int32([3, 2])], {}),
    "gather": ("GatherV2", [A, np.int32([3, 0, 3]), np.int32(0)], {}),
    "batch_matmul": ("BatchMatMulV2", [draw(3, 4, 5), draw(3, 5, 2)], {}),
    "one_hot": ("OneHot", [np.int64([1, 0]), np.int32(3), np.float32(2), np.float32(0)], {}),
    "top_k": ("TopKV2", [A, np.int32(2)], {}),
    "split": ("Split", [np.int32(0), draw(4, 3)], {"num_split": 2}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_kernel_on_the_device_gives_what_it_gives_on_the_host(
    case: str, devices: list[FakeDevice], registrations: list[Any]
) -> None:
    op, inputs, attrs = CASES[case]
    devices[1].set_latency_us(2000)
    expected = run_kernel(op, *inputs, **attrs)
    before = devices[1].counts.launches
    found = OnDevice(devices[1], registrations, op, *inputs, **attrs).run()
    assert devices[1].counts.launches == before + 1
    if isinstance(expected, np.ndarray):
        expected, found = [expected], [found]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert devices[1].memory.live == 0


def test_the_results_are_those_of_numpy(
    devices: list[FakeDevice], registrations: list[Any]
) -> None:
    def run(op: str, *inputs: Any) -> np.ndarray:
        return OnDevice(devices[0], registrations, op, *inputs).run()

    np.testing.assert_array_equal(run("AddV2", A, B), A + B)
    np.testing.assert_allclose(run("MatMul", A, C), A @ C, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(run("Sum", A, np.int32([0])), A.sum(0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["", "Resource"])
def test_updates_of_variables_run_on_the_device(
    kind: str, devices: list[FakeDevice], registrations: list[Any]
) -> None:
    momentum = [np.float32(0.5), B, np.float32(0.9)]
    inputs = [Variable(A), Variable(B), *momentum]
    var, accum = OnDevice(devices[0], registrations, f"{kind}ApplyMomentum", *inputs).run()
    np.testing.assert_allclose(accum, B * np.float32(1.9), rtol=1e-6)
    np.testing.assert_allclose(var, A - accum * np.float32(0.5), rtol=1e-5)
    scattered = OnDevice(devices[0], registrations, f"{kind}ScatterAdd", Variable(A),
                         np.int32([2, 2]), B[:2]).run()  # fmt: skip
    expected = A.copy()
    np.add.at(expected, [2, 2], B[:2])
    np.testing.assert_allclose(scattered, expected, rtol=1e-6)
    op = "AssignSubVariableOp" if kind else "AssignSub"
    np.testing.assert_array_equal(
        OnDevice(devices[0], registrations, op, Variable(A), B).run(), A - B
    )


def test_an_error_of_a_kernel_comes_with_the_next_copy(
    devices: list[FakeDevice], registrations: list[Any]
) -> None:
    with pytest.raises(AssertionError, match=r"GatherV2 'node': indices\[1\] = 9 is not in"):
        OnDevice(devices[0], registrations, "GatherV2", A, np.int32([0, 9]), np.int32(0)).run()
    ended = threading.Event()
    codes: list[int] = []
    done = Done(lambda argument, code, message: (codes.append(code), ended.set())[1])
    devices[0].call("notify", done, None)
    assert ended.wait(30.0)
    assert codes == [int(errors.INVALID_ARGUMENT)]


def test_what_the_device_has_kernels_for(registrations: list[Any]) -> None:
    by_op = {registration.op.decode(): registration for registration in registrations}
    assert len(registrations) > 450
    assert {"AddV2", "Conv2D", "_FusedElementwise", "RandomUniform", "Identity"} < by_op.keys()
    assert not {"Where", "HashTable", "AsString", "Assert", "CountUpTo"} & by_op.keys()
    assert all(registration.device_type == b"GPU" for registration in registrations)
    assert by_op["ConcatV2"].host_inputs == 2
    assert by_op["Slice"].host_inputs == 6
    assert by_op["Shape"].host_outputs == 1
    assert b"string" not in by_op["ConcatV2"].constraint


def test_int32_may_be_left_to_the_host(devices: list[FakeDevice]) -> None:
    by_op = {r.op.decode(): r.constraint for r in device_kernels(devices[0].library, int32=False)}
    assert b"|int32" not in by_op["AddV2"]
    assert b"int32" in by_op["ConcatV2"]


def test_the_table_is_added_to_a_process_once(tmp_path: Path) -> None:
    text = (
        f"import pathlib, sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from fake_device import fake_devices\n"
        "from headrace.runtime.kernels import kernel_table\n"
        f"made = fake_devices(pathlib.Path({str(tmp_path)!r}), count=3)\n"
        "assert fake_devices(None) is made and len(made) == 3\n"
        "assert kernel_table.device_types() == {'CPU', 'GPU'}\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)
