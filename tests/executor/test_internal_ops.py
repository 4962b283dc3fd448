"""Graphs that contain ops which only passes make: rejected, or checked like any other op."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats import op_catalogue
from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)
from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.run_pb2 import RunOptions
from headrace.formats.services import SESSIONS, find_service
from headrace.formats.tensor_codec import make_tensor_proto

FLOAT, DOUBLE, STRING = 1, 2, 7
INTERNAL = [name for name in op_catalogue.names() if op_catalogue.signature(name).internal]
EDGE = {
    "tensor_name": b"edge", "send_device": b"/cpu:0", "recv_device": b"/cpu:0",
    "send_device_incarnation": 1, "client_terminated": False,
}  # fmt: skip


class Nodes:
    """A GraphDef under construction; types are ints under the names T, dtype, tensor_type."""

    def __init__(self) -> None:
        self.graph = GraphDef()

    def add(self, op: str, name: str, *inputs: str, **attrs: Any) -> Nodes:
        node = self.graph.node.add(name=name, op=op, input=inputs)
        for key, value in attrs.items():
            attr = node.attr[key]
            if key in ("T", "dtype", "tensor_type"):
                attr.type = value
            elif key == "TArgs":
                attr.list.type.extend(value)
            elif isinstance(value, list):
                attr.list.SetInParent()
                (attr.list.i if value and isinstance(value[0], int) else attr.list.s).extend(value)
            elif isinstance(value, bytes):
                attr.s = value
            elif isinstance(value, bool):
                attr.b = value
            else:
                attr.i = value
        return self

    def const(self, name: str, value: Any) -> Nodes:
        value = np.asarray(value)
        self.add("Const", name, dtype=int(as_dtype(value.dtype)))
        self.graph.node[-1].attr["value"].tensor.CopyFrom(make_tensor_proto(value))
        return self

    def function(self, name: str, inputs: list[int], outputs: list[int]) -> Nodes:
        signature = self.graph.library.function.add().signature
        signature.name = name
        for i, dtype in enumerate(inputs):
            signature.input_arg.add(name=f"i{i}", type=dtype)
        for i, dtype in enumerate(outputs):
            signature.output_arg.add(name=f"o{i}", type=dtype)
        return self

    def run(
        self, *fetches: str, targets: tuple[str, ...] = (), timeout_in_ms: int = 120_000
    ) -> list[np.ndarray]:
        session = find_service(SESSIONS, "local")("", b"")
        try:
            session.extend(self.graph.SerializeToString())
            step = session.prepare([], list(fetches), list(targets))
            values, _ = step.run([], RunOptions(timeout_in_ms=timeout_in_ms).SerializeToString())
            return [np.array(value) for value in values]
        finally:
            session.close()


# ---- ops that only passes make ------------------------------------------------------------------


def test_the_ops_that_only_passes_make_are_marked() -> None:
    assert INTERNAL == [
        "_FusedElementwise",
        "_FusedReduction",
        "_MaxPoolGradWithWindowIndex",
        "_MaxPoolWithWindowIndex",
    ]


@pytest.mark.parametrize("op", INTERNAL)
def test_a_graph_cannot_name_an_op_that_only_passes_make(op: str) -> None:
    nodes = Nodes().const("x", np.ones([1, 8, 8, 3], np.float32)).add(op, "it", "x", T=FLOAT)
    with pytest.raises(InvalidArgumentError, match=f"{op} 'it': only the executor's own passes"):
        nodes.run("it:0")
    with hr.Graph().as_default(), pytest.raises(InvalidArgumentError, match=f"{op} 'it': only"):
        hr.import_graph_def(nodes.graph)


# ---- functions named like ops -------------------------------------------------------------------

_NAMES = "MatMul Switch Enter Exit _Send _Recv _FusedConv2D ReadVariableOp Assign Const NoOp Sum"


@pytest.mark.parametrize("op", _NAMES.split())
@pytest.mark.parametrize(("inputs", "outputs"), [([], [FLOAT]), ([FLOAT], []), ([], [STRING])])
def test_a_function_cannot_take_the_name_of_an_op(
    op: str, inputs: list[int], outputs: list[int]
) -> None:
    nodes = Nodes().function(op, inputs, outputs)
    if op != "Const":
        nodes.const("x", np.ones(1000, np.float32))
    nodes.add(op, "it", *["x"] * len(inputs), T=FLOAT, dtype=FLOAT)
    want = f"Cannot add function '{op}' because an op with the same name already exists"
    with pytest.raises(InvalidArgumentError, match=want):
        nodes.run(*["it:0"] * len(outputs), targets=("it",))


@pytest.mark.parametrize("outputs", [[FLOAT], [STRING]])
def test_a_function_named_like_a_kernel_of_the_runtime_is_not_that_kernel(
    outputs: list[int],
) -> None:
    nodes = Nodes().function("_ReadSlot", [], outputs).add("_ReadSlot", "it")
    with pytest.raises(InvalidArgumentError, match="'_ReadSlot'.*: Return value 'o0' is missing"):
        nodes.run(*["it:0"] * len(outputs), targets=("it",))


@pytest.mark.parametrize("kind", ["string", "tensor"])
def test_an_invalid_default_of_a_function_is_an_op_error(kind: str) -> None:
    nodes = Nodes().function("Twice", [], [FLOAT])
    attr = nodes.graph.library.function[0].signature.attr.add(name="x", type=kind)
    if kind == "string":
        attr.default_value.s = b"\xff\xfe"
    else:
        attr.default_value.tensor.dtype = 99
    with pytest.raises(InvalidArgumentError, match="Function 'Twice': its signature is malformed"):
        nodes.add("Twice", "it").run("it:0")


# ---- products with an epilogue ------------------------------------------------------------------

ONE = np.ones(2, np.float32)
BIAS = "Fused .* with BiasAdd must have one extra argument: bias"
NORMALISATION = "must have four extra arguments: scale, offset, mean, variance"


def _fused(op: str, args: list[np.ndarray], fused_ops: list[bytes], **changed: Any) -> np.ndarray:
    dtype = changed.pop("T", np.float32)
    attrs: dict[str, Any] = {
        "T": int(as_dtype(dtype)), "num_args": len(args), "fused_ops": fused_ops,
    }  # fmt: skip
    x, f = np.ones([2, 3], dtype), np.ones([3, 2], dtype)
    if op == "_FusedConv2D":
        x, f = np.ones([1, 4, 4, 2], dtype), np.ones([3, 3, 2, 2], dtype)
        attrs |= {
            "TArgs": [int(as_dtype(arg.dtype)) for arg in args], "strides": [1] * 4,
            "padding": b"VALID",
        }  # fmt: skip
    nodes = Nodes().const("x", changed.pop("x", x)).const("f", changed.pop("f", f))
    names = [f"a{i}" for i in range(len(args))]
    for name, arg in zip(names, args, strict=True):
        nodes.const(name, arg)
    return nodes.add(op, "it", "x", "f", *names, **attrs | changed).run("it:0")[0]


@pytest.mark.parametrize("op", ["_FusedConv2D", "_FusedMatMul"])
def test_a_graph_may_name_a_product_with_a_bias_and_an_activation(op: str) -> None:
    inner = 18 if op == "_FusedConv2D" else 3
    assert (_fused(op, [-20 * ONE], [b"BiasAdd"]) == inner - 20).all()
    assert (_fused(op, [-20 * ONE], [b"BiasAdd", b"Relu"]) == 0).all()
    leaky = _fused(op, [-20 * ONE], [b"BiasAdd", b"LeakyRelu"])
    np.testing.assert_allclose(leaky, 0.2 * (inner - 20), rtol=1e-6)


@pytest.mark.parametrize("op", ["_FusedConv2D", "_FusedMatMul"])
@pytest.mark.parametrize(
    ("args", "fused_ops", "error", "match"),
    [
        ([ONE], [], InvalidArgumentError, "must have at least one fused op"),
        ([ONE], [b"Relu"], UnimplementedError, r"Fusion is not implemented: \[Relu\]"),
        ([ONE], [b"Relu", b"BiasAdd"], UnimplementedError, r"\[Relu,BiasAdd\]"),
        ([ONE], [b"BiasAdd", b"BiasAdd"], UnimplementedError, r"\[BiasAdd,BiasAdd\]"),
        ([ONE], [b"BiasAdd", b"FusedBatchNorm"], UnimplementedError, r"\[BiasAdd,FusedBatchNorm"),
        ([ONE] * 4, [b"FusedBatchNorm", b"BiasAdd"], UnimplementedError, "FusedBatchNorm,BiasAdd"),
        ([ONE], [b"BiasAdd", b"%s%n\xff"], UnimplementedError, "Fusion is not implemented"),
        ([ONE], [b"BiasAdd"] * 10_000, UnimplementedError, "Fusion is not implemented"),
        ([ONE], [b"FusedBatchNorm"], InvalidArgumentError, NORMALISATION),
        ([ONE] * 2, [b"BiasAdd"], InvalidArgumentError, BIAS),
        ([ONE] * 4, [b"BiasAdd"], InvalidArgumentError, BIAS),
        ([ONE[None]], [b"BiasAdd"], InvalidArgumentError, "must be 1-dimensional"),
        ([ONE[:1]], [b"BiasAdd"], InvalidArgumentError, "have 2 values: it is \\[1\\]"),
        ([ONE[0]], [b"BiasAdd"], InvalidArgumentError, "must be 1-dimensional"),
    ],
)
def test_what_is_fused_must_be_known_and_have_its_arguments(
    op: str, args: list[np.ndarray], fused_ops: list[bytes], error: Any, match: str
) -> None:
    with pytest.raises(error, match=f"{op} 'it'.*{match}"):
        _fused(op, args, fused_ops)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("arg", [bool, np.uint8, np.int32, object])
@pytest.mark.parametrize("ops", [[b"BiasAdd", b"Relu"], [b"FusedBatchNorm"]])
def test_arguments_of_another_dtype_are_not_read(dtype: Any, arg: Any, ops: list[bytes]) -> None:
    value = np.array([b"a", b"b"], object) if arg is object else np.ones(2, arg)
    with pytest.raises(InvalidArgumentError, match="_FusedConv2D 'it': argument 0 is "):
        _fused("_FusedConv2D", [value] * (4 if len(ops) == 1 else 1), ops, T=dtype)


@pytest.mark.parametrize(
    ("changed", "error", "match"),
    [
        ({"num_args": 4}, InvalidArgumentError, "equal to 2 \\+ num_args \\+ num_host_args"),
        ({"num_args": 0}, InvalidArgumentError, "equal to 2 \\+ num_args \\+ num_host_args"),
        ({"filter_format": b"OIHW"}, UnimplementedError, "filter_format HWIO"),
        ({"data_format": b"NCHW_VECT_C"}, UnimplementedError, "must be NHWC or NCHW"),
        (
            {"x": np.ones([1, 4, 4, 4, 2], "f"), "f": np.ones([3, 3, 3, 2, 2], "f"),
             "strides": [1] * 5, "dilations": [1] * 5},
            InvalidArgumentError, "Shape must be rank 4",
        ),
    ],
)  # fmt: skip
def test_attributes_of_a_fused_convolution_are_checked(
    changed: dict[str, Any], error: Any, match: str
) -> None:
    with pytest.raises(error, match=match):
        _fused("_FusedConv2D", [ONE], [b"BiasAdd"], **changed)


@pytest.mark.parametrize("op", ["Conv2D", "_FusedConv2D", "DepthwiseConv2dNative"])
@pytest.mark.parametrize("padding", [2**31, 2**62, 2**63 - 1])
def test_paddings_whose_sum_would_overflow_are_rejected(op: str, padding: int) -> None:
    is_fused = op == "_FusedConv2D"
    fused = {"TArgs": [FLOAT], "num_args": 1, "fused_ops": [b"BiasAdd"]} if is_fused else {}
    nodes = Nodes().const("x", np.ones([1, 4, 4, 2], "f")).const("a", ONE)
    nodes.const("f", np.ones([1, 1, 2, 2], "f"))
    paddings = [0, 0, padding, padding, 0, 0, 0, 0]
    window = {"strides": [1] * 4, "padding": b"EXPLICIT", "explicit_paddings": paddings}
    nodes.add(op, "it", "x", "f", *["a"] * is_fused, T=FLOAT, **window, **fused)
    with pytest.raises(InvalidArgumentError, match="explicit_paddings must fit in 32 bits"):
        nodes.run("it:0")


# ---- Send and Recv ------------------------------------------------------------------------------


def test_a_graph_may_name_send_and_recv() -> None:
    nodes = Nodes().const("x", np.arange(3, dtype=np.float32))
    nodes.add("_Send", "send", "x", T=FLOAT, **EDGE)
    nodes.add("_Recv", "recv", tensor_type=FLOAT, **EDGE)
    assert nodes.run("recv:0", targets=("send",))[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("dtype", "name"), [(DOUBLE, "double"), (STRING, "string"), (20, "resource"), (21, "variant")]
)
def test_recv_takes_no_value_of_another_dtype(dtype: int, name: str) -> None:
    nodes = Nodes().const("x", np.full(300, 7, np.float32))
    nodes.add("_Send", "send", "x", T=FLOAT, **EDGE)
    nodes.add("_Recv", "recv", tensor_type=dtype, **EDGE)
    nodes.add("Identity", "it", "recv", T=dtype)
    want = f"_Recv 'recv': Output 0 of type float does not match declared output type {name}"
    with pytest.raises(InvalidArgumentError, match=want):
        nodes.run(targets=("send", "it"))


def test_each_of_two_recvs_of_one_name_gets_a_value_or_ends_with_the_run() -> None:
    nodes = Nodes().const("x", np.float32(1)).const("y", np.float32(2))
    nodes.add("_Send", "send", "x", T=FLOAT, **EDGE)
    nodes.add("_Recv", "one", tensor_type=FLOAT, **EDGE)
    nodes.add("_Recv", "two", tensor_type=FLOAT, **EDGE)
    with pytest.raises(DeadlineExceededError):
        nodes.run("one:0", "two:0", targets=("send",), timeout_in_ms=300)
    nodes.add("_Send", "again", "y", T=FLOAT, **EDGE)
    got = nodes.run("one:0", "two:0", targets=("send", "again"))
    assert sorted(value.item() for value in got) == [1, 2]


@pytest.mark.parametrize("op", ["_Arg", "_Retval", "_SwitchN", "_VarHandlesOp", "_ReadVariablesOp"])
@pytest.mark.host_execution("asserts that the CPUs are the only devices")
def test_ops_that_no_pass_of_ours_makes_have_no_kernel(op: str) -> None:
    nodes = Nodes().const("x", ONE)
    attrs: dict[str, Any] = {
        "_Arg": {"T": FLOAT, "index": 0},
        "_Retval": {"T": FLOAT, "index": 0},
        "_SwitchN": {"T": FLOAT, "num_outs": 2},
    }.get(op, {})
    if op in ("_VarHandlesOp", "_ReadVariablesOp"):
        with pytest.raises((InvalidArgumentError, NotFoundError), match=op):
            nodes.add(op, "it", N=3).run(targets=("it",))
        return
    inputs = {"_Retval": ["x"], "_SwitchN": ["x", "i"]}.get(op, [])
    nodes.const("i", np.int32(7)).add(op, "it", *inputs, **attrs)
    with pytest.raises(InvalidArgumentError, match=f"{op} 'it': no CPU kernel"):
        nodes.run(targets=("it",))
