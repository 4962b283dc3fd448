"""Elementwise kernels of OpenCL devices, against those of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from compare import assert_as_cpu
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_harness import Device, run_kernel
from kernel_harness.samples import sample
from ml_dtypes import bfloat16

FLOATS = ["float32", "float64", "float16", bfloat16]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1e30, -1e30]

UNARY = """Neg Abs Relu Square Sign Sqrt Rsqrt Exp Expm1 Log Log1p Tanh Sigmoid Reciprocal Inv Relu6
Elu Selu Softsign Softplus Erf Erfc Floor Ceil Rint Round Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh
Acosh Atanh Lgamma""".split()
BINARY = """Add AddV2 Sub Mul Maximum Minimum SquaredDifference RealDiv Div FloorDiv TruncateDiv
DivNoNan MulNoNan Pow Atan2 FloorMod Mod TruncateMod Xdivy Xlogy Xlog1py""".split()
COMPARISONS = ["Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual"]
GRADIENTS = """ReluGrad Relu6Grad EluGrad SeluGrad SoftplusGrad SoftsignGrad SigmoidGrad TanhGrad
SqrtGrad RsqrtGrad ReciprocalGrad InvGrad""".split()

shapes = st.lists(st.integers(0, 5), max_size=4)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", UNARY)
def test_unary_ops_equal_the_cpus(device: Device, op: str, dtype: str) -> None:
    assert_as_cpu(device, op, sample((3, 37), dtype, seed=1))


# Large arguments of trigonometric and other functions have no common answer.
@pytest.mark.parametrize("op", [op for op in UNARY if op not in ("Sin", "Cos", "Tan", "Lgamma")])
def test_unary_ops_of_special_numbers_equal_the_cpus(device: Device, op: str) -> None:
    assert_as_cpu(device, op, np.array(SPECIAL, np.float32))


@pytest.mark.parametrize("op", ["IsNan", "IsInf", "IsFinite"])
def test_predicates_of_special_numbers(device: Device, op: str) -> None:
    assert_as_cpu(device, op, np.array(SPECIAL, np.float32))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", BINARY)
def test_binary_ops_equal_the_cpus(device: Device, op: str, dtype: str) -> None:
    a, b = sample((4, 1, 33), dtype, seed=1), sample((5, 33), dtype, seed=2)
    if op == "FloorDiv" or op.endswith("Mod") or op == "TruncateDiv":
        a, b = (
            a + np.asarray(0.25, a.dtype),
            np.round(b.astype("f4")).astype(b.dtype) + b.dtype.type(0.5),
        )
    assert_as_cpu(device, op, a, b)


@pytest.mark.parametrize("op", ["Maximum", "Minimum", "Mul", "RealDiv", "DivNoNan", *COMPARISONS])
def test_binary_ops_of_special_numbers_equal_the_cpus(device: Device, op: str) -> None:
    special = np.array(SPECIAL, np.float32)
    assert_as_cpu(device, op, special[:, None], special)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Maximum", "Minimum", *COMPARISONS])
def test_binary_ops_of_int64_equal_the_cpus(device: Device, op: str) -> None:
    a = sample((40,), "int64", low=-(2**62), high=2**62)
    assert_as_cpu(device, op, a, np.roll(a, 1))
    assert_as_cpu(device, op, a, a[0])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", GRADIENTS)
def test_gradients_equal_the_cpus(device: Device, op: str, dtype: str) -> None:
    assert_as_cpu(device, op, sample((70,), dtype, seed=1), sample((70,), dtype, seed=2))


@pytest.mark.parametrize("op", ["LeakyRelu", "LeakyReluGrad"])
def test_leaky_relu_takes_its_attribute(device: Device, op: str) -> None:
    x = [sample((70,), "float32", seed=i) for i in range(1 + op.endswith("Grad"))]
    assert_as_cpu(device, op, *x, alpha=0.3)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), shape=shapes, op=st.sampled_from(["Sub", "Less"]))
def test_any_shapes_that_broadcast_do(
    device: Device, data: st.DataObject, shape: list, op: str
) -> None:
    def part() -> np.ndarray:
        kept = [1 if data.draw(st.booleans()) else n for n in shape]
        return sample(kept[data.draw(st.integers(0, len(kept))) :], "float32", seed=len(kept))

    a, b = part(), part()
    assert_as_cpu(device, op, a, b)


@pytest.mark.parametrize("shape", [(1 << 18,), (1000, 1001), (3, 70000), (70000, 3)])
def test_large_tensors_are_shared_among_items(device: Device, shape: tuple) -> None:
    a = sample(shape, "float32", seed=1)
    assert_as_cpu(device, "AddV2", a, a)
    assert_as_cpu(device, "Mul", a, sample(shape[-1:], "float32", seed=2))
    assert_as_cpu(device, "Sub", sample((shape[0],) + (1,) * (len(shape) - 1), "float32"), a)


@pytest.mark.parametrize("op", ["AddV2", "Mul"])
def test_results_may_lie_over_an_operand(device: Device, op: str) -> None:
    a, b = sample((9, 40), "float32", seed=1), sample((40,), "float32", seed=2)
    actual = run_kernel(op, a, b, device=device, in_place=0)
    np.testing.assert_array_equal(actual, run_kernel(op, a, b))


@pytest.mark.parametrize("op", ["LogicalAnd", "LogicalOr"])
def test_logical_ops(device: Device, op: str) -> None:
    a, b = sample((5, 1), bool, seed=1), sample((37,), bool, seed=2)
    assert_as_cpu(device, op, a, b)
    assert_as_cpu(device, "LogicalNot", a)


def test_shapes_that_do_not_broadcast_are_unequal_where_the_op_is_told_so(device: Device) -> None:
    a, b = np.zeros(3, np.float32), np.zeros(4, np.float32)
    for op in ("Equal", "NotEqual"):
        assert_as_cpu(device, op, a, b, incompatible_shape_error=False)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "float16"])
def test_select(device: Device, dtype: str) -> None:
    t, e = sample((4, 50), dtype, seed=1), sample((4, 50), dtype, seed=2)
    for condition in (sample((4, 50), bool), sample((4,), bool), np.array(True)):
        assert_as_cpu(device, "Select", condition, t, e)
    assert_as_cpu(device, "SelectV2", sample((4, 1), bool), t, e[0])


def test_clip_by_value(device: Device) -> None:
    x = np.array([-3, -1, 0, 1, 3, np.nan, np.inf], np.float32)
    assert_as_cpu(device, "ClipByValue", x, np.float32(-2), np.float32(2))
    assert_as_cpu(device, "ClipByValue", x, x - 1, np.float32(2))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 32, 33, 63, 64, 200])
@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_of_many(device: Device, n: int, dtype: str) -> None:
    assert_as_cpu(device, "AddN", [sample((41,), dtype, seed=i) for i in range(n)])


CAST = [*FLOATS, "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


@pytest.mark.parametrize("to", CAST)
@pytest.mark.parametrize("origin", CAST)
def test_casts(device: Device, origin: str, to: str) -> None:
    assert_as_cpu(device, "Cast", sample((67,), origin, low=-100, high=100), DstT=to)


@pytest.mark.parametrize("origin, to", [("float64", "float32"), ("float64", "float16"),
                                        ("float32", "float16"), ("float32", bfloat16)])  # fmt: skip
def test_casts_toward_zero(device: Device, origin: str, to: str) -> None:
    x = sample((400,), origin, low=-70000, high=70000) * 10.0 ** -np.arange(400).astype(origin) / 40
    assert_as_cpu(device, "Cast", x.astype(origin), DstT=to, Truncate=True)


@pytest.mark.parametrize("data_format, shape", [("NHWC", (2, 3, 3, 8)), ("NCHW", (2, 8, 3, 3)),
                                                ("NHWC", (5, 8)), ("NCHW", (2, 8, 4))])  # fmt: skip
def test_bias_add(device: Device, data_format: str, shape: tuple) -> None:
    x, bias = sample(shape, "float32", seed=1), sample((8,), "float32", seed=2)
    assert_as_cpu(device, "BiasAdd", x, bias, data_format=data_format)
    assert_as_cpu(device, "BiasAddGrad", x, data_format=data_format)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "bool"])
def test_tensors_of_one_value(device: Device, dtype: str) -> None:
    x = sample((5, 7), dtype, seed=1)
    assert_as_cpu(device, "ZerosLike", x)
    assert_as_cpu(device, "OnesLike", x)
    assert_as_cpu(device, "Fill", np.array([3, 4], np.int32), x[0, 0])
    assert_as_cpu(device, "BroadcastTo", x[:, :1], np.array([2, 5, 7], np.int32))


FUSED = [
    (["Mul t0 i0 i1", "Add t1 t0 i2", "Relu o t1"], ["f", "r", "s"]),
    (["Sigmoid t0 i0", "Mul t1 t0 i0", "Sub o t1 i1"], ["f", "f"]),
    (["Less t0 i0 i1", "Select o t0 i0 i1"], ["f", "f"]),
    (["Sub t0 i0 i1", "Square t1 t0", "Mul o t1 c0.5"], ["f", "s"]),
    (["Cast t0 i0 double", "Exp t1 t0", "Cast o t1 float"], ["f"]),
    (["AddN t0 i0 i1 i2", "Tanh o t0"], ["f", "f", "r"]),
    (["ReluGrad t0 i0 i1", "Add o t0 i2"], ["f", "f", "c"]),
]


def operands(kinds: list[str], dtype: object = "float32") -> list[np.ndarray]:
    shapes = {"f": (6, 50), "r": (50,), "s": (), "c": (6, 1)}
    return [sample(shapes[kind], dtype, seed=i) for i, kind in enumerate(kinds)]


@pytest.mark.parametrize("program, kinds", FUSED)
def test_fused_programs(device: Device, program: list[str], kinds: list[str]) -> None:
    program = [line.replace(" o ", " t9 ") for line in program]
    assert_as_cpu(device, "_FusedElementwise", operands(kinds), program=program, T="float32")


@pytest.mark.parametrize("reduction", ["Sum", "Mean", "Max", "Min"])
@pytest.mark.parametrize("reduced", [1, 2])
@pytest.mark.parametrize("program, kinds", FUSED)
def test_fused_reductions(
    device: Device, program: list[str], kinds: list[str], reduced: int, reduction: str
) -> None:
    program = [line.replace(" o ", " t9 ") for line in program] + [f"{reduction} o t9"]
    assert_as_cpu(device, "_FusedReduction", operands(kinds), program=program, reduced=reduced,
                  T="float32", scale=10)  # fmt: skip
