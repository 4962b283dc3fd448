"""Calls any kernel of the compiled table alone: no graph, no runtime.

    from kernel_harness import run_kernel, Variable

    run_kernel("AddV2", a, b)                          # arrays in, array out
    run_kernel("ConcatV2", [a, b], axis, threads=2)    # a list argument is a list
    run_kernel("Split", axis, x, num_split=2)          # -> [part, part]
    run_kernel("TopKV2", x, k)                         # several outputs: -> (values, indices)

Arguments follow the op catalogue: arrays by position, attributes by name. Type attributes and
lengths of lists are taken from the inputs, other missing attributes from their defaults. Strings
are object arrays (or lists) of bytes. The harness calls prepare for the shapes, with the values of
the kernel's constant inputs only; allocates the outputs, filled with rubbish; computes. An error is
raised as headrace.formats.errors.OpError, with the kernel's code and text.

Options: `threads`; `in_place=i` gives output 0 the memory of a copy of input i, and fails where
the kernel does not allow it; `kernel=j` takes the jth matching kernel instead of the best;
`device` is one of Library(capsule).devices(), whose kernel then runs on memory there.

A Variable is an input of a reference type or a resource: its `.value` is what the kernel left.
A PreparedKernel keeps state and plan over several `compute` calls (random kernels, timing).
`has_kernel(op, **types)` says whether the table has a kernel; `registrations()` lists all of it.

The driver is C (driver.c), compiled once per content into a cache folder.
"""

from __future__ import annotations

import ctypes
from typing import Any

from headrace.formats import errors, op_catalogue
from kernel_harness.abi import (
    REF,
    RESOURCE,
    VIEW,
    Attr,
    KernelRegistration,
    Node,
    Tensor,
    driver,
)
from kernel_harness.nodes import Keeper, arg_types, infer_attrs, make_attr, split_inputs
from kernel_harness.table import Device, matches, registrations_of
from kernel_harness.tensors import Variable, as_array, is_plain, to_array, to_tensor


class PreparedKernel:
    """One node with its kernel: state made, plan made, ready to compute."""

    def __init__(self, op: str, *inputs: Any, threads: int = 1, kernel: int = 0,
                 device: Device | None = None, **given: Any):  # fmt: skip
        self.device = device
        self._address = device and device.address
        self._keep = keep = Keeper()
        self._state = ctypes.c_void_p()
        self._call = ctypes.c_void_p()
        self._registration: KernelRegistration | None = None
        self._created = False
        self.threads = threads
        self.signature = signature = op_catalogue.signature(op)
        arguments = [
            (arg, [v if isinstance(v, Variable) else as_array(v) for v in values])
            for arg, values in split_inputs(signature, inputs)
        ]
        self.attrs = attrs = infer_attrs(signature, arguments, given)
        self.registration = self._choose(op, kernel)
        self._registration = self.registration

        ranges: list[int] = []
        known: list[int] = []
        tensors: list[Tensor] = []
        input_types: list[int] = []
        read_in_prepare = self.registration.constant_inputs | self.registration.value_inputs
        on_host = read_in_prepare | self.registration.host_inputs
        self._variables = [v for _, vs in arguments for v in vs if isinstance(v, Variable)]
        for i, (arg, values) in enumerate(arguments):
            ranges += [len(tensors), len(values)]
            for value in values:
                if isinstance(value, Variable):
                    tensors.append(value._tensor(arg.is_ref))
                else:
                    there = None if on_host >> i & 1 or not is_plain(value) else self._address
                    tensors.append(to_tensor(value, there))
                known.append(read_in_prepare >> i & 1)
                input_types.append(tensors[-1].dtype)
        self.first_tensor_of = ranges[::2]
        self._inputs = (Tensor * max(1, len(tensors)))(*tensors)
        self.n_inputs = len(tensors)
        output_types: list[int] = []
        output_ranges: list[int] = []
        for arg in signature.outputs:
            types = arg_types(arg, attrs)
            output_ranges += [len(output_types), len(types)]
            output_types += types
        self.n_outputs = len(output_types)
        self._output_ranges = output_ranges
        self._outputs = (Tensor * max(1, self.n_outputs))()

        kinds = {a.name: a.kind for a in signature.attrs}
        each = [make_attr(n, kinds[n], v, keep) for n, v in attrs.items() if v is not None
                or kinds[n] == "shape"]  # fmt: skip
        node = Node(
            name=b"node",
            op=op.encode(),
            device=b"/job:localhost/replica:0/task:0/device:CPU:0",
            n_inputs=self.n_inputs,
            n_outputs=self.n_outputs,
            input_dtypes=keep.array(ctypes.c_int32, input_types),
            output_dtypes=keep.array(ctypes.c_int32, output_types),
            n_attrs=len(each),
            attrs=keep.array(Attr, each),
            input_ranges=keep.array(ctypes.c_int32, ranges),
            output_ranges=keep.array(ctypes.c_int32, output_ranges),
        )
        self._node = node
        self._check(
            driver.driver_create(
                ctypes.byref(node), ctypes.byref(self.registration), ctypes.byref(self._state)
            )
        )
        self._created = True
        self._known = (ctypes.c_int32 * max(1, len(known)))(*known)
        self.prepare()

    def _choose(self, op: str, kernel: int) -> KernelRegistration:
        matching = [r for r in registrations_of(op, self.device) if matches(r, self.attrs)]
        matching.sort(key=lambda r: -r.priority)
        if len(matching) <= kernel:
            types = {k: v for k, v in self.attrs.items() if isinstance(v, int)}
            raise LookupError(f"no kernel {kernel} of {op} for {types}")
        return matching[kernel]

    def prepare(self) -> None:
        """Makes the plan (anew)."""
        if self._call:
            driver.driver_end_call(self._call)
            self._call = ctypes.c_void_p()
        self._check(
            driver.driver_prepare(
                ctypes.byref(self._node),
                ctypes.byref(self.registration),
                self._state,
                self._inputs,
                self._known,
                self._outputs,
                self.threads,
                ctypes.c_void_p(self._address),
                ctypes.byref(self._call),
            )
        )
        self.depends_on_data = bool(driver.driver_depends_on_data(self._call))
        if self.depends_on_data:
            return
        for output in self._outputs[: self.n_outputs]:
            if output.rank < 0:
                raise RuntimeError(f"prepare of {self.signature.name} left out an output's shape")

    def _check(self, code: int, message: bytes | None = None) -> None:
        if code:
            text = self._node.message if message is None else message
            raise errors.from_code(code, text.decode(errors="replace"))

    def output_shapes(self) -> list[tuple[int, ...]]:
        """What prepare said."""
        return [tuple(t.dims[: t.rank]) for t in self._outputs[: self.n_outputs]]

    def compute(self, repeats: int = 1, in_place: int | None = None) -> Any:
        """Runs the kernel once (or `repeats` times over, for timing) on fresh outputs."""
        outputs = (Tensor * max(1, self.n_outputs))(*self._outputs)
        inputs = (Tensor * max(1, self.n_inputs))(*self._inputs)
        for i, output in enumerate(outputs[: self.n_outputs]):
            output.owner = None
            if self.registration.flags & VIEW and i == 0:
                driver.driver_retain(inputs[0].owner)
                output.data, output.owner = inputs[0].data, inputs[0].owner
                output.bytes = inputs[0].bytes
            elif i == 0 and in_place is not None:
                self._share(inputs, output, in_place)
            elif not self.depends_on_data and output.dtype < REF:
                host = self.registration.host_outputs >> self._argument_of_output(i) & 1
                driver.driver_allocate_on(None if host else self._address, ctypes.byref(output))
            outputs[i] = output
        message = ctypes.create_string_buffer(4096)
        code = 0
        if not self.registration.flags & VIEW:
            code = driver.driver_compute(
                self._call, inputs, self.n_inputs, outputs, self.n_outputs, self.threads,
                ctypes.c_void_p(self._address), ctypes.c_int64(repeats), message,
                ctypes.c_size_t(4096),
            )  # fmt: skip
        results = []
        for output in outputs[: self.n_outputs]:
            readable = output.dtype < RESOURCE or RESOURCE + 1 < output.dtype < REF
            whole = not code and output.layout == 0
            results.append(to_array(output) if readable and whole else None)
            if output.dtype < REF:
                driver.driver_release(output.owner)
        if driver.driver_overrun_buffers():
            raise AssertionError(f"{self.signature.name} wrote behind the end of an output")
        self._check(code, message.value)
        return self._arrange(results)

    def _share(self, inputs: Any, output: Tensor, argument: int) -> None:
        if not self.registration.reuse_inputs >> argument & 1:
            raise LookupError(f"{self.signature.name} may not write over argument {argument}")
        at = self.first_tensor_of[argument]
        copy = to_tensor(to_array(inputs[at]), self._address)
        if list(copy.dims[: copy.rank]) != list(output.dims[: output.rank]):
            raise ValueError("in_place needs an input of the output's shape")
        inputs[at] = copy
        output.data, output.owner, output.bytes = copy.data, copy.owner, copy.bytes

    def _argument_of_output(self, i: int) -> int:
        firsts, counts = self._output_ranges[::2], self._output_ranges[1::2]
        return next(a for a, (f, n) in enumerate(zip(firsts, counts, strict=True)) if i < f + n)

    def _arrange(self, results: list[Any]) -> Any:
        outputs = self.signature.outputs
        grouped = []
        for i, arg in enumerate(outputs):
            first, count = self._output_ranges[2 * i : 2 * i + 2]
            part = results[first : first + count]
            grouped.append(part if arg.is_list else part[0])
        return grouped[0] if len(grouped) == 1 else tuple(grouped)

    def __del__(self) -> None:
        if self._call:
            driver.driver_end_call(self._call)
        if self._registration is not None and self._created:
            driver.driver_destroy(ctypes.byref(self._registration), self._state)
        for tensor in getattr(self, "_inputs", [])[: getattr(self, "n_inputs", 0)]:
            if tensor.dtype < REF and tensor.dtype != RESOURCE:
                driver.driver_release(tensor.owner)
        for kept in self._keep:
            if isinstance(kept, Tensor):  # the value of an attribute
                driver.driver_release(kept.owner)


def run_kernel(
    op: str,
    *inputs: Any,
    threads: int = 1,
    in_place: int | None = None,
    kernel: int = 0,
    device: Device | None = None,
    **attrs: Any,
) -> Any:
    """Calls the kernel of one op once; see the module's text.

    Returns: one array; a list for an output that is a list; a tuple for several outputs.
    Raises: errors.OpError from create, prepare or compute; LookupError where the table has no
      registration for these types.
    """
    prepared = PreparedKernel(op, *inputs, threads=threads, kernel=kernel, device=device, **attrs)
    return prepared.compute(in_place=in_place)
