"""Calls any kernel of the compiled table alone: no graph, no runtime.

    from kernel_harness import run_kernel, Variable

    run_kernel("AddV2", a, b)                          # arrays in, array out
    run_kernel("ConcatV2", [a, b], axis, threads=2)    # a list argument is a list
    run_kernel("Split", axis, x, num_split=2)          # -> [part, part]
    run_kernel("TopKV2", x, k)                         # several outputs: -> (values, indices)

Arguments follow the op catalogue: arrays by position, attributes by name. Type attributes and
lengths of lists are taken from the inputs, other missing attributes from their defaults. Strings
are object arrays (or lists) of bytes. The harness asks prepare for the shapes, with the values of
the row's constant inputs only; allocates the outputs, filled with rubbish; computes. An error comes
as headrace.formats.errors.OpError of the kernel's code and text.

Options: `threads`; `in_place=i` gives output 0 the memory of a copy of input i, and fails where
the row does not allow it; `kernel=j` takes the jth matching row instead of the best; `layouts`,
with which a test that knows private layouts may pass hr_tensor fields.

A Variable is an input of a reference type or a resource: its `.value` is what the kernel left.
A PreparedKernel keeps state and plan over several `compute` calls (random kernels, timing).
`has_kernel(op, **types)` says whether the table claims an op; `rows()` lists it all.

The driver is C (driver.c), compiled once per content into a cache folder.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headrace import formats
from headrace.formats import dtypes, errors, op_catalogue
from headrace.formats.op_signature import Vector

MAX_RANK = 8
STRING, RESOURCE, REF = 7, 20, 100
VIEW, DATA_SHAPE = 1, 2

# ---- the structs of kernel.h -----------------------------------------------------------------


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_int64),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.c_int64 * MAX_RANK),
        ("layout", ctypes.c_int64),
        ("owner", ctypes.c_void_p),
    ]


class String(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t), ("owner", ctypes.c_void_p)]


class KernelRow(ctypes.Structure):
    _fields_ = [
        ("op", ctypes.c_char_p),
        ("device_type", ctypes.c_char_p),
        ("constraint", ctypes.c_char_p),
        ("priority", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
        ("constant_inputs", ctypes.c_uint64),
        ("reuse_inputs", ctypes.c_uint64),
        ("create", ctypes.c_void_p),
        ("prepare", ctypes.c_void_p),
        ("compute", ctypes.c_void_p),
        ("compute_async", ctypes.c_void_p),
        ("destroy", ctypes.c_void_p),
        ("value_inputs", ctypes.c_uint64),
        ("shape_inputs", ctypes.c_void_p),
    ]


class Table(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("abi", ctypes.c_uint32),
        ("library", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("kernel_size", ctypes.c_uint32),
        ("n_kernels", ctypes.c_int32),
        ("kernels", ctypes.POINTER(KernelRow)),
    ]


class Attr(ctypes.Structure):
    _fields_ = [
        ("key", ctypes.c_char_p),
        ("kind", ctypes.c_int32),
        ("integer", ctypes.c_int64),
        ("real", ctypes.c_float),
        ("text", String),
        ("tensor", ctypes.POINTER(Tensor)),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.c_void_p),
        ("n", ctypes.c_size_t),
        ("list", ctypes.c_void_p),
        ("ranks", ctypes.c_void_p),
        ("dims_list", ctypes.c_void_p),
    ]


class Node(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("api", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("op", ctypes.c_char_p),
        ("device", ctypes.c_char_p),
        ("n_inputs", ctypes.c_int32),
        ("n_outputs", ctypes.c_int32),
        ("input_dtypes", ctypes.c_void_p),
        ("output_dtypes", ctypes.c_void_p),
        ("n_attrs", ctypes.c_int32),
        ("attrs", ctypes.c_void_p),
        ("input_ranges", ctypes.c_void_p),
        ("output_ranges", ctypes.c_void_p),
        ("message", ctypes.c_char * 1024),
    ]


def _compile_driver() -> ctypes.CDLL:
    source = Path(__file__).with_name("driver.c")
    include = Path(formats.__path__[0]) / "include"
    digest = hashlib.sha256(source.read_bytes())
    digest.update((include / "headrace" / "kernel.h").read_bytes())
    name = f"headrace_kernel_harness_{os.getuid()}_{digest.hexdigest()[:16]}.so"
    target = Path(tempfile.gettempdir()) / name
    if not target.exists():
        compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()
        partial = target.with_suffix(f".{os.getpid()}")
        command = [*compiler, "-shared", "-fPIC", "-O1", f"-I{include}", str(source)]
        subprocess.run([*command, "-o", str(partial)], check=True)
        partial.replace(target)
    driver = ctypes.CDLL(str(target))
    driver.driver_new_slot.restype = ctypes.c_void_p
    driver.driver_new_slot.argtypes = [ctypes.POINTER(Tensor)]
    driver.driver_end_slot.argtypes = [ctypes.c_void_p]
    driver.driver_slot_value.argtypes = [ctypes.c_void_p, ctypes.POINTER(Tensor)]
    driver.driver_release.argtypes = [ctypes.c_void_p]
    driver.driver_retain.argtypes = [ctypes.c_void_p]
    driver.driver_destroy.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    driver.driver_depends_on_data.argtypes = [ctypes.c_void_p]
    driver.driver_end_call.argtypes = [ctypes.c_void_p]
    driver.driver_node_size.restype = ctypes.c_size_t
    driver.driver_live_buffers.restype = ctypes.c_int64
    driver.driver_overrun_buffers.restype = ctypes.c_int64
    driver.driver_set_string.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    if driver.driver_node_size() != ctypes.sizeof(Node):
        raise RuntimeError("harness.py and driver.c disagree about struct node")
    return driver


_driver = _compile_driver()


def _load_table(capsule: Any = None) -> Table:
    if capsule is None:
        from headrace.kernels.cpu import capsule as cpu

        capsule = cpu()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(capsule, b"headrace.kernel_table.v1"), ctypes.POINTER(Table)).contents
    if table.kernel_size != ctypes.sizeof(KernelRow):
        raise RuntimeError(f"rows of {table.kernel_size} bytes, {ctypes.sizeof(KernelRow)} here")
    return table


_table: Table | None = None
_by_op: dict[str, list[KernelRow]] = {}


def _rows_of(op: str) -> list[KernelRow]:
    global _table
    if _table is None:
        _table = _load_table()
        for i in range(_table.n_kernels):
            row = _table.kernels[i]
            _by_op.setdefault(row.op.decode(), []).append(row)
    return _by_op.get(op, [])


def rows() -> list[tuple[str, dict[str, set[int]]]]:
    """Every row of the table: op, and the allowed dtype numbers of each constrained attribute."""
    _rows_of("")
    return [(op, _constraint(row)) for op, found in _by_op.items() for row in found]


def _constraint(row: KernelRow) -> dict[str, set[int]]:
    text = (row.constraint or b"").decode()
    clauses = (clause.split("=") for clause in text.split(";") if clause)
    return {k: {int(dtypes.as_dtype(name)) for name in v.split("|")} for k, v in clauses}


def has_kernel(op: str, **types: Any) -> bool:
    """Whether some row claims the op, with these type attributes."""
    wanted = {key: int(dtypes.as_dtype(value)) for key, value in types.items()}
    return any(
        all(wanted.get(key, 0) in allowed for key, allowed in _constraint(row).items() if wanted)
        for row in _rows_of(op)
    )


def live_buffers() -> int:
    """How many counted buffers exist: leaks show as a growing number."""
    return int(_driver.driver_live_buffers())


# ---- arrays to tensors and back --------------------------------------------------------------


def _dtype_number(array: np.ndarray) -> int:
    if array.dtype == object or array.dtype.kind in "SU":
        return STRING
    return int(dtypes.as_dtype(array.dtype))


def _as_array(value: Any) -> np.ndarray:
    if isinstance(value, (bytes, str)):
        value = np.array(value.encode() if isinstance(value, str) else value, dtype=object)
    array = np.asarray(value)
    if array.dtype.kind in "SU":
        array = array.astype(object)
    return array if array.flags.c_contiguous else np.array(array, order="C")


def _to_tensor(array: np.ndarray) -> Tensor:
    """A tensor with memory of its own."""
    tensor = Tensor(dtype=_dtype_number(array), rank=array.ndim)
    for i, size in enumerate(array.shape):
        tensor.dims[i] = size
    _driver.driver_allocate(ctypes.byref(tensor))
    if tensor.dtype == STRING:
        for i, text in enumerate(array.ravel()):
            text = text.encode() if isinstance(text, str) else text
            at = tensor.data + i * ctypes.sizeof(String)
            _driver.driver_set_string(at, text, len(text))
    elif tensor.bytes:
        ctypes.memmove(tensor.data, array.ctypes.data, tensor.bytes)
    return tensor


def _to_array(tensor: Tensor) -> np.ndarray:
    shape = tuple(tensor.dims[i] for i in range(tensor.rank))
    count = int(np.prod(shape, dtype=np.int64))
    if tensor.dtype == STRING:
        strings = ctypes.cast(tensor.data, ctypes.POINTER(String))
        flat = np.empty(count, dtype=object)
        for i in range(count):
            flat[i] = ctypes.string_at(strings[i].data, strings[i].size) if strings[i].size else b""
        return flat.reshape(shape)
    numpy_type = np.dtype(dtypes.as_dtype(tensor.dtype).as_numpy_dtype)
    array = np.empty(shape, dtype=numpy_type)
    if array.nbytes:
        ctypes.memmove(array.ctypes.data, tensor.data, array.nbytes)
    return array


class Variable:
    """A variable that a kernel reads and writes, of either kind.

    Args:
      value: what it holds; None if it is uninitialised.
      dtype: needed where value is None.
    """

    def __init__(self, value: Any, dtype: Any = None) -> None:
        array = None if value is None else _as_array(value)
        self.dtype = int(dtypes.as_dtype(dtype)) if array is None else _dtype_number(array)
        tensor = None if array is None else _to_tensor(array)
        self._slot = _driver.driver_new_slot(None if tensor is None else ctypes.byref(tensor))
        if tensor is not None:
            _driver.driver_release(tensor.owner)
        self._handle = ctypes.c_void_p(self._slot)

    @property
    def value(self) -> np.ndarray | None:
        """A copy of what it holds now."""
        tensor = Tensor()
        held = _driver.driver_slot_value(self._slot, ctypes.byref(tensor))
        return _to_array(tensor) if held else None

    def _tensor(self, is_ref: bool) -> Tensor:
        # A reference edge has the variable's own shape; a handle is a scalar.
        tensor = Tensor()
        if is_ref and self.value is not None:
            _driver.driver_slot_value(self._slot, ctypes.byref(tensor))
            tensor.owner = None
        tensor.dtype = REF + self.dtype if is_ref else RESOURCE
        tensor.bytes = ctypes.sizeof(self._handle)
        tensor.data = ctypes.addressof(self._handle)
        return tensor

    def __del__(self) -> None:
        _driver.driver_end_slot(self._slot)


# ---- nodes -----------------------------------------------------------------------------------


def _split_inputs(signature: Any, inputs: Sequence[Any]) -> list[tuple[Any, list[Any]]]:
    if len(inputs) != len(signature.inputs):
        names = ", ".join(arg.name for arg in signature.inputs)
        raise TypeError(f"{signature.name} takes ({names}), {len(inputs)} given")
    return [
        (arg, list(value) if arg.is_list else [value])
        for arg, value in zip(signature.inputs, inputs, strict=True)
    ]


def _plain(value: Any, kind: str) -> Any:
    if kind == "type":
        return int(dtypes.as_dtype(value))
    if kind == "list(type)":
        return [int(dtypes.as_dtype(item)) for item in value]
    return value


def _infer_attrs(signature: Any, arguments: Any, given: dict[str, Any]) -> dict[str, Any]:
    attrs = {a.name: a.default for a in signature.attrs if a.default is not op_catalogue.NO_DEFAULT}
    explicit = {a.name: _plain(given[a.name], a.kind) for a in signature.attrs if a.name in given}
    unknown = set(given) - {a.name for a in signature.attrs}
    if unknown:
        raise TypeError(f"{signature.name} has no attribute {sorted(unknown)}")
    attrs.update(explicit)
    for arg, values in arguments:
        types = [v.dtype if isinstance(v, Variable) else _dtype_number(v) for v in values]
        if arg.number_attr:
            attrs[arg.number_attr] = len(values)
        if arg.type_list_attr:
            attrs[arg.type_list_attr] = types
        elif arg.type_attr and types and arg.type_attr not in explicit:
            attrs[arg.type_attr] = types[0]
    missing = [a.name for a in signature.attrs if a.name not in attrs]
    if missing:
        raise TypeError(f"{signature.name} needs {missing}")
    return attrs


def _arg_types(arg: Any, attrs: dict[str, Any]) -> list[int]:
    if arg.type_list_attr:
        return list(attrs[arg.type_list_attr])
    dtype = arg.dtype or attrs[arg.type_attr]
    dtype += REF if arg.is_ref else 0
    return [dtype] * (attrs[arg.number_attr] if arg.number_attr else 1)


class _Keeper(list):
    """Keeps ctypes memory alive; hands out addresses."""

    def array(self, ctype: Any, values: Sequence[Any]) -> int:
        memory = (ctype * max(1, len(values)))(*values)
        self.append(memory)
        return ctypes.addressof(memory)

    def text(self, value: Any) -> String:
        raw = value.encode() if isinstance(value, str) else bytes(value)
        memory = ctypes.create_string_buffer(raw, len(raw) + 1)
        self.append(memory)
        return String(ctypes.addressof(memory), len(raw), None)

    def tensor(self, value: Any) -> Any:
        tensor = _to_tensor(_as_array(value))
        self.append(tensor)
        return ctypes.pointer(tensor)


_SCALAR_KINDS = {"int": "i", "float": "f", "bool": "b", "type": "t", "string": "s",
                 "tensor": "T", "shape": "h", "func": "s"}  # fmt: skip
_LIST_KINDS = {"list(int)": "I", "list(bool)": "I", "list(float)": "F", "list(type)": "Y",
               "list(string)": "S", "list(shape)": "H"}  # fmt: skip


def _dims(shape: Any) -> tuple[int, list[int]]:
    if shape is None:
        return -1, []
    return len(shape), [-1 if size is None else int(size) for size in shape]


def _make_attr(name: str, kind: str, value: Any, keep: _Keeper) -> Attr:
    attr = Attr(key=name.encode())
    if kind in _SCALAR_KINDS:
        attr.kind = ord(_SCALAR_KINDS[kind])
        if kind in ("int", "bool", "type"):
            attr.integer = int(value)
        elif kind == "float":
            attr.real = float(value)
        elif kind in ("string", "func"):
            attr.text = keep.text(value)
        elif kind == "tensor":
            if isinstance(value, Vector):  # a default that the catalogue's line spells out
                value = np.array(value.values, dtypes.as_dtype(value.dtype).as_numpy_dtype)
            attr.tensor = keep.tensor(value)
        else:
            attr.rank, dims = _dims(value)
            attr.dims = keep.array(ctypes.c_int64, dims)
        return attr
    attr.kind = ord(_LIST_KINDS[kind])
    attr.n = len(value)
    if kind == "list(string)":
        attr.list = keep.array(String, [keep.text(item) for item in value])
    elif kind == "list(shape)":
        pairs = [_dims(item) for item in value]
        attr.ranks = keep.array(ctypes.c_int32, [rank for rank, _ in pairs])
        each = [keep.array(ctypes.c_int64, dims) for _, dims in pairs]
        attr.dims_list = keep.array(ctypes.c_void_p, each)
    else:
        ctype = {"F": ctypes.c_float, "Y": ctypes.c_int32}.get(chr(attr.kind), ctypes.c_int64)
        attr.list = keep.array(ctype, list(value))
    return attr


def _matches(row: KernelRow, attrs: dict[str, Any]) -> bool:
    for key, allowed in _constraint(row).items():
        value = attrs[key]
        if not all(v in allowed for v in (value if isinstance(value, list) else [value])):
            return False
    return True


class PreparedKernel:
    """One node with its kernel: state made, plan made, ready to compute."""

    def __init__(self, op: str, *inputs: Any, threads: int = 1, kernel: int = 0, **given: Any):
        self._keep = keep = _Keeper()
        self._state = ctypes.c_void_p()
        self._call = ctypes.c_void_p()
        self._row: KernelRow | None = None
        self._created = False
        self.threads = threads
        self.signature = signature = op_catalogue.signature(op)
        arguments = [
            (arg, [v if isinstance(v, Variable) else _as_array(v) for v in values])
            for arg, values in _split_inputs(signature, inputs)
        ]
        self.attrs = attrs = _infer_attrs(signature, arguments, given)
        self.row = self._choose_row(op, kernel)
        self._row = self.row

        ranges: list[int] = []
        known: list[int] = []
        tensors: list[Tensor] = []
        input_types: list[int] = []
        self._variables = [v for _, vs in arguments for v in vs if isinstance(v, Variable)]
        for i, (arg, values) in enumerate(arguments):
            ranges += [len(tensors), len(values)]
            for value in values:
                if isinstance(value, Variable):
                    tensors.append(value._tensor(arg.is_ref))
                else:
                    tensors.append(_to_tensor(value))
                known.append((self.row.constant_inputs | self.row.value_inputs) >> i & 1)
                input_types.append(tensors[-1].dtype)
        self.first_tensor_of = ranges[::2]
        self._inputs = (Tensor * max(1, len(tensors)))(*tensors)
        self.n_inputs = len(tensors)
        output_types: list[int] = []
        output_ranges: list[int] = []
        for arg in signature.outputs:
            types = _arg_types(arg, attrs)
            output_ranges += [len(output_types), len(types)]
            output_types += types
        self.n_outputs = len(output_types)
        self._output_ranges = output_ranges
        self._outputs = (Tensor * max(1, self.n_outputs))()

        kinds = {a.name: a.kind for a in signature.attrs}
        each = [_make_attr(n, kinds[n], v, keep) for n, v in attrs.items() if v is not None
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
        row = ctypes.byref(self.row)
        self._check(_driver.driver_create(ctypes.byref(node), row, ctypes.byref(self._state)))
        self._created = True
        self._known = (ctypes.c_int32 * max(1, len(known)))(*known)
        self.prepare()

    def _choose_row(self, op: str, kernel: int) -> KernelRow:
        matching = [row for row in _rows_of(op) if _matches(row, self.attrs)]
        matching.sort(key=lambda row: -row.priority)
        if len(matching) <= kernel:
            types = {k: v for k, v in self.attrs.items() if isinstance(v, int)}
            raise LookupError(f"no kernel {kernel} of {op} for {types}")
        return matching[kernel]

    def prepare(self) -> None:
        """Makes the plan (anew)."""
        if self._call:
            _driver.driver_end_call(self._call)
            self._call = ctypes.c_void_p()
        self._check(
            _driver.driver_prepare(
                ctypes.byref(self._node),
                ctypes.byref(self.row),
                self._state,
                self._inputs,
                self._known,
                self._outputs,
                self.threads,
                ctypes.byref(self._call),
            )
        )
        self.depends_on_data = bool(_driver.driver_depends_on_data(self._call))
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
            if self.row.flags & VIEW and i == 0:
                _driver.driver_retain(inputs[0].owner)
                output.data, output.owner = inputs[0].data, inputs[0].owner
                output.bytes = inputs[0].bytes
            elif i == 0 and in_place is not None:
                self._share(inputs, output, in_place)
            elif not self.depends_on_data and output.dtype < REF:
                _driver.driver_allocate(ctypes.byref(output))
            outputs[i] = output
        message = ctypes.create_string_buffer(4096)
        code = 0
        if not self.row.flags & VIEW:
            code = _driver.driver_compute(
                self._call, inputs, self.n_inputs, outputs, self.n_outputs, self.threads,
                ctypes.c_int64(repeats), message, ctypes.c_size_t(4096),
            )  # fmt: skip
        results = []
        for output in outputs[: self.n_outputs]:
            readable = output.dtype < RESOURCE or RESOURCE + 1 < output.dtype < REF
            whole = not code and output.layout == 0
            results.append(_to_array(output) if readable and whole else None)
            if output.dtype < REF:
                _driver.driver_release(output.owner)
        if _driver.driver_overrun_buffers():
            raise AssertionError(f"{self.signature.name} wrote behind the end of an output")
        self._check(code, message.value)
        return self._arrange(results)

    def _share(self, inputs: Any, output: Tensor, argument: int) -> None:
        if not self.row.reuse_inputs >> argument & 1:
            raise LookupError(f"{self.signature.name} may not write over argument {argument}")
        at = self.first_tensor_of[argument]
        copy = _to_tensor(_to_array(inputs[at]))
        if list(copy.dims[: copy.rank]) != list(output.dims[: output.rank]):
            raise ValueError("in_place needs an input of the output's shape")
        inputs[at] = copy
        output.data, output.owner, output.bytes = copy.data, copy.owner, copy.bytes

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
            _driver.driver_end_call(self._call)
        if self._row is not None and self._created:
            _driver.driver_destroy(ctypes.byref(self._row), self._state)
        for tensor in getattr(self, "_inputs", [])[: getattr(self, "n_inputs", 0)]:
            if tensor.dtype < REF and tensor.dtype != RESOURCE:
                _driver.driver_release(tensor.owner)
        for kept in self._keep:
            if isinstance(kept, Tensor):  # the value of an attribute
                _driver.driver_release(kept.owner)


def run_kernel(
    op: str,
    *inputs: Any,
    threads: int = 1,
    in_place: int | None = None,
    kernel: int = 0,
    **attrs: Any,
) -> Any:
    """Calls the kernel of one op once; see the module's text.

    Returns: one array; a list for an output that is a list; a tuple for several outputs.
    Raises: errors.OpError from create, prepare or compute; LookupError where the table has no
      row for these types.
    """
    prepared = PreparedKernel(op, *inputs, threads=threads, kernel=kernel, **attrs)
    return prepared.compute(in_place=in_place)
