"""Cases of the random family: of one shape and type, never of one value."""

from __future__ import annotations

from cases.case import Case, T, literal, positive, real

_SHAPE = literal([40, 50])
_SEED = literal([3, 4], "int64")
_FLOATS = ("float32", "float64", "float16", "bfloat16")
CASES = [
    Case(op, (_SHAPE,), {"dtype": T, "seed": 7, "seed2": 9}, dtypes=_FLOATS, exact=False)
    for op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal")
]
CASES += [
    Case(op, (_SHAPE, _SEED), {"dtype": T}, dtypes=_FLOATS, exact=False)
    for op in ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal")
]
CASES += [
    Case("RandomUniformInt", (_SHAPE, literal(-3, T), literal(9, T)), {"seed": 7}, exact=False),
    Case(
        "StatelessRandomUniformInt",
        (_SHAPE, _SEED, literal(-3, T), literal(9, T)),
        exact=False,
    ),
    Case(
        "StatelessRandomUniformFullInt",
        (_SHAPE, _SEED),
        {"dtype": T},
        dtypes=("int32", "int64", "uint32", "uint64"),
        exact=False,
    ),
    Case(
        "ParameterizedTruncatedNormal",
        (
            literal([3, 200]),
            literal([0.0, 1, 5], T),
            literal(2.0, T),
            literal(-1.0, T),
            literal(6.0, T),
        ),
        {"seed": 7},
        exact=False,
    ),
    Case("RandomShuffle", (real(20, 3),), {"seed": 7}, exact=False),
    Case("RandomCrop", (real(9, 8, 3), literal([4, 5], "int64")), {"seed": 7}, exact=False),
    Case("RandomGamma", (literal([300]), positive(3)), {"seed": 7}, exact=False),
    Case("RandomPoisson", (literal([300]), positive(3)), {"seed": 7}, exact=False),
    Case("RandomPoissonV2", (literal([300]), positive(3)), {"seed": 7}, exact=False),
    Case("RandomGammaGrad", (positive(4, 5), positive(5)), smooth=False),
    Case("Multinomial", (real(3, 4), literal(300)), {"seed": 7}, exact=False),
    Case("StatelessMultinomial", (real(3, 4), literal(300), _SEED), exact=False),
]
