"""Cases of the elementwise family."""

from __future__ import annotations

from cases.case import Case, T, distinct, flags, literal, positive, real, special

_FLOATS = ("float32", "float64", "float16", "bfloat16")
_SURE = (
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
)
_SHAPES = [(3, 5), (), (0, 4), (65,)]
_PAIRS = [((3, 5), (3, 5)), ((2, 1, 5), (3, 1)), ((), (7,)), ((4,), ()), ((0, 3), (1, 3)), ((), ())]


def _unary(ops: str, low: float, high: float, specials: bool = True) -> list[Case]:
    cases = []
    for op in ops.split():
        cases += [Case(op, (real(*shape, low=low, high=high),)) for shape in _SHAPES]
        if specials:
            cases.append(Case(op, (special(33),), dtypes=("float32", "float64"), smooth=False))
    return cases


def _binary(ops: str, spec: object = real, specials: bool = True) -> list[Case]:
    cases = []
    for op in ops.split():
        cases += [Case(op, (spec(*a), spec(*b))) for a, b in _PAIRS]  # type: ignore[operator]
        if specials:
            twice = (special(40), special(40))
            cases.append(Case(op, twice, dtypes=("float32", "float64"), smooth=False))
    return cases


_ANY = _unary("Neg Square Exp Expm1 Sin Cos Asinh Sinh Cosh Tanh Sigmoid Erfc", -2, 2)
_ANY += _unary("Erf BesselI0e BesselI1e BesselI0 BesselI1 Dawsn", -2, 2, specials=False)
_ANY += _unary("FresnelCos FresnelSin BesselJ0 BesselJ1", -2, 2, specials=False)
_POSITIVE = _unary("Sqrt Rsqrt Log Log1p", 0.25, 3)
_POSITIVE += _unary("Lgamma Digamma Spence", 0.25, 3, specials=False)
_POSITIVE += _unary(
    "BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Expint", 0.25, 3, False
)
_INNER = _unary("Tan Asin Acos Atan Atanh", -0.9, 0.9) + _unary("Erfinv", -0.9, 0.9, False)
_INNER += _unary("Ndtri", 0.05, 0.95, specials=False) + _unary("Acosh", 1.1, 3)
_STEPS = [Case(op, (real(4, 9, low=-5, high=5),)) for op in "Floor Ceil Rint Sign".split()]
_STEPS += [
    Case(
        "Round",
        (real(9),),
        dtypes=("int8", "int16", "int32", "int64", "complex64", "complex128"),
        smooth=False,
        in_tensorflow=False,
    ),
    Case("Round", (real(7, 3),), dtypes=_FLOATS),
    # Of integers too, says the catalogue; TensorFlow 2.21 makes zeros of them.
    Case("Round", (literal([0.5, 1.5, 2.5, -0.5, -1.5, 3.4999], T),), smooth=False, dtypes=_FLOATS),
    Case("Abs", (distinct(5, 7),)),
    Case("Abs", (special(20),), smooth=False),
    Case("Reciprocal", (positive(3, 5),)),
    Case("Inv", (positive(3, 5),)),
]
_TESTS = [
    Case(op, (special(4, 9),), smooth=False, dtypes=_FLOATS)
    for op in "IsNan IsInf IsFinite".split()
]
_BITS = [
    Case("LogicalNot", (flags(9),)),
    Case("Invert", (special(17),)),
    Case("PopulationCount", (special(17),)),
]
_COMPLEX = [
    Case("Complex", (real(3, 4), real(4)), {"Tout": "complex64"}, dtypes=("float32",)),
    Case("Complex", (real(3, 4), real(3, 1)), {"Tout": "complex128"}, dtypes=("float64",)),
    Case("Conj", (real(5, 3),), dtypes=("complex64", "complex128")),
]
for _op in "ComplexAbs Real Imag Angle".split():
    _COMPLEX += [
        Case(_op, (real(5, 3),), {"Tout": "float32"}, dtypes=("complex64",)),
        Case(_op, (real(5, 3),), {"Tout": "float64"}, dtypes=("complex128",)),
    ]
_NUMBERS = (
    "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "bool complex64 complex128"
).split()
_CASTS = [
    Case(
        "Cast",
        (real(3, 7, low=0, high=50),),
        {"DstT": target},
        dtypes=tuple(_NUMBERS),
        smooth=target == "float64",
    )
    for target in _NUMBERS
]
_CASTS += [
    Case("Cast", (special(30),), {"DstT": "bool"}, dtypes=_FLOATS, smooth=False),
    Case("Cast", (special(30),), {"DstT": "float16"}, dtypes=("float32",), smooth=False),
    Case(
        "Cast",
        (real(40, low=-3, high=3),),
        {"DstT": "bfloat16", "Truncate": True},
        dtypes=("float32",),
        smooth=False,
    ),
    Case("Bitcast", (real(4, 2),), {"type": "float64"}, dtypes=("float32",), smooth=False),
    Case("Bitcast", (real(4, 2),), {"type": "int32"}, dtypes=("float32",), smooth=False),
    Case("Bitcast", (real(4, 2),), {"type": "uint8"}, dtypes=("float32", "int16"), smooth=False),
    Case(
        "Bucketize",
        (real(6, 7, low=-4, high=4),),
        {"boundaries": [-1.5, 0.0, 2.0]},
        smooth=False,
    ),
]
_ARITHMETIC = _binary("AddV2 Add Sub Mul SquaredDifference")
_ARITHMETIC += _binary("MulNoNan DivNoNan RealDiv", positive)
_ARITHMETIC += [
    Case(op, (distinct(*a), distinct(*b, shift=0.0625)))
    for op in ("Maximum", "Minimum")
    for a, b in _PAIRS
]
_ARITHMETIC += [
    Case(op, (special(40), special(40)), dtypes=("float32", "float64"), smooth=False)
    for op in ("Maximum", "Minimum")
]
_ARITHMETIC += _binary("Xdivy Xlogy Xlog1py", positive)
_ARITHMETIC += _binary("Pow", positive, specials=False)
_ARITHMETIC += _binary("Atan2", positive)
_ARITHMETIC += [
    # (a quotient that bfloat16 rounds up to a whole number is a matter of taste)
    Case(op, (real(4, 9, low=-9, high=9), positive(9)), dtypes=_SURE)
    for op in "FloorDiv FloorMod TruncateDiv TruncateMod Div Mod".split()
]
_ARITHMETIC += [
    Case(
        op,
        (literal([-7, -7, 7, 7, -6, 6], T), literal([2, -2, -2, 2, 3, -3], T)),
        dtypes=(*_FLOATS, "int8", "int16", "int32", "int64"),
        smooth=False,
    )
    for op in "FloorDiv FloorMod TruncateDiv TruncateMod Div Mod".split()
]
_ARITHMETIC.append(Case("Div", (real(4, 9), positive(9)), dtypes=("complex64", "complex128")))
_ARITHMETIC += [
    Case(op, (literal([], "int32"), literal(0, "int32"))) for op in ("FloorMod", "FloorDiv")
]
_ARITHMETIC += [
    Case("NextAfter", (real(5, 4), real(4))),
    Case(
        "Pow",
        (literal([2, 3, -2, 0, 1], T), literal([3, 0, 3, 0, 9], T)),
        dtypes=("int32", "int64"),
    ),
]
_COMPARISONS = [
    Case(op, (real(*a), real(*b)), smooth=False)
    for op in "Equal NotEqual Less LessEqual Greater GreaterEqual".split()
    for a, b in _PAIRS
]
_COMPARISONS += [
    Case(op, (special(60), special(60)), dtypes=_FLOATS, smooth=False)
    for op in "Equal NotEqual Less LessEqual Greater GreaterEqual".split()
]
_COMPARISONS += [
    Case(
        op,
        (real(3), real(4)),
        {"incompatible_shape_error": False},
        dtypes=("float32",),
        smooth=False,
    )
    for op in ("Equal", "NotEqual")
]
_COMPARISONS += [
    Case("ApproximateEqual", (real(9), real(9)), {"tolerance": 1.0}, smooth=False),
    Case("LogicalAnd", (flags(3, 1), flags(4))),
    Case("LogicalOr", (flags(3, 1), flags(4))),
]
_BITS += [Case(op, (special(3, 8), special(8))) for op in "BitwiseAnd BitwiseOr BitwiseXor".split()]
_BITS += [Case(op, (special(3, 8), real(8, low=0, high=12))) for op in ("LeftShift", "RightShift")]
_SPECIAL = [
    Case("Igamma", (positive(4, 5), positive(5))),
    Case("Igammac", (positive(4, 5), positive(5))),
    Case("IgammaGradA", (positive(4, 5), positive(5)), smooth=False),
    Case("Zeta", (real(4, 5, low=1.5, high=4), positive(5))),
    Case("Polygamma", (literal([0, 1, 2, 3], T), positive(5, 4))),
    Case("Betainc", (positive(4), positive(4), real(4, low=0.1, high=0.9))),
]
_CHOICES = [
    Case("Select", (flags(4, 3), real(4, 3), real(4, 3))),
    Case("Select", (flags(4), real(4, 3), real(4, 3))),
    Case("Select", (flags(), real(4, 3), real(4, 3))),
    Case("SelectV2", (flags(4, 1), real(3), real(2, 1, 3))),
    Case("SelectV2", (flags(), real(), real(5))),
    Case("ClipByValue", (distinct(5, 5), literal(-1.0, T), literal(2.0, T)), dtypes=_FLOATS),
    Case("ClipByValue", (distinct(5, 5), literal(3, T), literal(9, T)), smooth=False),
    Case("AddN", ([real(3, 4), real(3, 4), real(3, 4)],)),
    Case("AddN", ([real()],)),
    Case(
        "AccumulateNV2",
        ([real(3, 4), real(3, 4)],),
        {"shape": (3, 4)},
        in_tensorflow=False,
    ),
    Case("Cross", (real(4, 3), real(4, 3))),
]
_GRADIENTS = [
    Case(op, (real(5, 3, low=0.2, high=0.9), real(5, 3)))
    for op in "InvGrad ReciprocalGrad SqrtGrad RsqrtGrad TanhGrad SigmoidGrad".split()
]
CASES = (
    _ANY
    + _POSITIVE
    + _INNER
    + _STEPS
    + _TESTS
    + _BITS
    + _COMPLEX
    + _CASTS
    + _ARITHMETIC
    + _COMPARISONS
    + _SPECIAL
    + _CHOICES
    + _GRADIENTS
)
