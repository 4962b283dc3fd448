"""Cases of the reduction family."""

from __future__ import annotations

from cases.case import Case, T, distinct, floats, integers, literal, positive, real, special

_AXES = [
    ((3, 4, 5), [1]),
    ((3, 4, 5), [0, -1]),
    ((3, 4, 5), [0, 1, 2]),
    ((3, 4, 5), []),
    ((65,), [0]),
]
_EMPTY = [((0, 3), [0]), ((0, 3), [1]), ((), [])]


def _reduction(op: str, spec: object, attrs: dict[str, object]) -> list[Case]:
    return [
        Case(op, (spec(*shape), literal(axes)), attrs)  # type: ignore[operator]
        for shape, axes in _AXES + (_EMPTY if op != "Mean" else _EMPTY[1:])
    ]


CASES = []
for _op, _spec in [
    ("Sum", real),
    ("Mean", real),
    ("Prod", positive),
    ("EuclideanNorm", positive),
    ("Max", distinct),
    ("Min", distinct),
]:
    CASES += _reduction(_op, _spec, {}) + _reduction(_op, _spec, {"keep_dims": True})
    CASES.append(
        Case(
            _op, (special(6, 5), literal([1], "int64")), dtypes=("float32", "float64"), smooth=False
        )
    )
CASES += [Case("Mean", (real(0, 3), literal([0])), dtypes=("float32", "float64"), smooth=False)]
CASES += [Case("Sum", (real(5, 7), literal(-1)))]
for _op in ("All", "Any"):
    CASES += [
        Case(
            _op, (literal([[True, False], [True, True], [False, False]], "bool"), literal(axes)), a
        )
        for axes in ([0], [1], [], [0, 1])
        for a in ({}, {"keep_dims": True})
    ]
for _op in ("ArgMax", "ArgMin"):
    CASES += [
        Case(_op, (real(5, 6), literal(axis)), {"output_type": out}, smooth=False)
        for axis in (0, 1, -1)
        for out in ("int32", "int64")
    ]
    CASES.append(
        Case(_op, (special(7, 9), literal(1)), dtypes=("float32", "float64"), smooth=False)
    )
for _op in ("Cumsum", "Cumprod"):
    CASES += [
        Case(_op, (positive(3, 5), literal(axis)), {"exclusive": exclusive, "reverse": reverse})
        for axis in (0, -1)
        for exclusive in (False, True)
        for reverse in (False, True)
    ]
    CASES.append(Case(_op, (positive(0, 3), literal(0))))
CASES += [
    Case(
        "CumulativeLogsumexp",
        (real(3, 5), literal(1)),
        {"exclusive": e, "reverse": r},
        smooth=not e,
    )
    for e in (False, True)
    for r in (False, True)
]
_NONE = floats(0)
CASES += [
    Case("Bincount", (integers(20, high=9), literal(6), real(20)), smooth=False),
    Case("Bincount", (integers(20, high=9), literal(6), real(0)), smooth=False),
    Case("DenseBincount", (integers(4, 9, high=9), literal(6), real(4, 9)), smooth=False),
    Case("DenseBincount", (integers(4, 9, high=9), literal(6), real(0)), smooth=False),
    Case(
        "DenseBincount",
        (integers(4, 9, high=9), literal(6), real(0)),
        {"binary_output": True},
        smooth=False,
    ),
    Case(
        "HistogramFixedWidth",
        (real(30, low=-3, high=9), literal([0, 5], T), literal(5)),
        smooth=False,
    ),
    Case("TopK", (distinct(4, 9),), {"k": 3}, in_tensorflow=False),
    Case("TopKV2", (distinct(4, 9), literal(4))),
    Case("TopKV2", (real(6, 30), literal(7)), smooth=False),
    Case("TopKV2", (real(2, 3), literal(0)), smooth=False),
    Case("TopKV2", (distinct(9), literal(9)), {"sorted": True}),
    Case("NthElement", (distinct(4, 9), literal(2))),
    Case("NthElement", (distinct(4, 9), literal(2)), {"reverse": True}),
]
