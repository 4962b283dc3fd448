"""Cases of the segment family."""

from __future__ import annotations

from cases.case import Case, distinct, literal, positive, real

_IDS = literal([0, 0, 1, 3, 3, 3])
CASES = []
for _op, _spec in [
    ("SegmentSum", real),
    ("SegmentMean", real),
    ("SegmentProd", positive),
    ("SegmentMax", distinct),
    ("SegmentMin", distinct),
]:
    CASES += [
        Case(_op, (_spec(6, 4), _IDS)),
        Case(_op, (_spec(6), literal([0, 1, 1, 1, 4, 4], "int64"))),
        Case(_op, (_spec(0, 3), literal([], "int64"))),
    ]
    if _op != "SegmentMean":
        # an empty segment's extreme is the limit of the type, too far out for differences
        CASES += [
            Case(
                _op + "V2",
                (_spec(6, 4), _IDS, literal(5)),
                smooth=_spec is not distinct,
                in_tensorflow=False,
            ),
            Case(
                _op + "V2",
                (_spec(6, 4), literal([0, 0, 1, 2, 2, 2]), literal(3)),
                in_tensorflow=False,
            ),
        ]
for _op, _spec in [("Sum", real), ("Prod", positive), ("Max", distinct), ("Min", distinct)]:
    CASES += [
        Case(
            "UnsortedSegment" + _op,
            (_spec(6, 4), literal([3, 0, -1, 3, 1, 0]), literal(5)),
            smooth=_spec is not distinct,
        ),
        Case("UnsortedSegment" + _op, (_spec(6, 4), literal([2, 0, -1, 2, 1, 0]), literal(3))),
        Case("UnsortedSegment" + _op, (_spec(2, 3), literal([[1, 0, 1], [2, 0, 0]]), literal(3))),
        Case("UnsortedSegment" + _op, (_spec(0, 3), literal([]), literal(2))),
    ]
_PICKED = literal([5, 0, 0, 3, 1])
for _kind in ("Sum", "Mean", "SqrtN"):
    CASES += [
        Case(f"SparseSegment{_kind}", (real(6, 3), _PICKED, literal([0, 0, 1, 3, 3]))),
        Case(
            f"SparseSegment{_kind}WithNumSegments",
            (real(6, 3), _PICKED, literal([0, 0, 1, 3, 3]), literal(6)),
        ),
        Case(
            f"SparseSegment{_kind}Grad",
            (real(4, 3), _PICKED, literal([0, 0, 1, 3, 3]), literal(7)),
        ),
        Case(
            f"SparseSegment{_kind}GradV2",
            (real(4, 3), _PICKED, literal([0, 0, 1, 3, 3]), literal(7)),
        ),
    ]
CASES.append(
    Case(
        "UnsortedSegmentJoin",
        (
            literal([[b"a", b"b"], [b"c", b"d"], [b"e", b"f"]], "string"),
            literal([2, 0, 2]),
            literal(3),
        ),
        {"separator": "-"},
    )
)
