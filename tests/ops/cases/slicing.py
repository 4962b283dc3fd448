"""Cases of the slicing family."""

from __future__ import annotations

from cases.case import Case, literal, real

CASES = [
    Case("Slice", (real(5, 6), literal([1, 2]), literal([3, -1]))),
    Case("Slice", (real(5, 6), literal([0, 0], "int64"), literal([5, 0], "int64"))),
    Case("Slice", (real(), literal([]), literal([]))),
    Case("Slice", (real(3, 4, 5), literal([2, 0, 4]), literal([1, 4, 1]))),
]
_STRIDED = [
    ((7,), [1], [6], [2], {}),
    ((7,), [-1], [-8], [-1], {}),
    ((7,), [5], [2], [1], {}),
    ((5, 6), [1, 0], [4, 5], [1, 2], {}),
    ((5, 6), [0, 0], [0, 0], [1, -1], {"begin_mask": 3, "end_mask": 3}),
    ((5, 6, 4), [2, 1], [3, 4], [1, 1], {"shrink_axis_mask": 1}),
    ((5, 6, 4), [0, -2], [0, 0], [1, 1], {"ellipsis_mask": 1, "shrink_axis_mask": 2}),
    ((5, 6, 4), [0, 1, 0], [0, 3, 0], [1, 1, 1], {"ellipsis_mask": 1, "new_axis_mask": 4}),
    ((5, 6), [0, 1, 2], [0, 4, 9], [1, 1, 2], {"new_axis_mask": 1}),
    ((5, 6), [1, 0, 2], [4, 0, 5], [1, 1, 1], {"ellipsis_mask": 2}),
    ((3, 4, 5, 2), [1, 0, 1], [2, 0, 2], [1, 1, 1], {"ellipsis_mask": 2, "shrink_axis_mask": 5}),
    ((5,), [100], [-100], [-2], {}),
    ((0, 3), [0, 1], [5, 3], [1, 1], {}),
    ((4, 5), [], [], [], {}),
]
CASES += [
    Case("StridedSlice", (real(*shape), literal(b), literal(e), literal(s)), masks)
    for shape, b, e, s, masks in _STRIDED
]
CASES += [
    Case(
        "StridedSliceGrad",
        (literal([5, 6]), literal([1, 0]), literal([4, 5]), literal([1, 2]), real(3, 3)),
    ),
    Case(
        "StridedSliceGrad",
        (literal([5, 6]), literal([-1, 1]), literal([0, 3]), literal([-2, 1]), real(2, 2)),
    ),
    Case(
        "StridedSliceGrad",
        (literal([5, 6]), literal([2, 0]), literal([3, 0]), literal([1, 1]), real(6)),
        {"shrink_axis_mask": 1, "end_mask": 2},
    ),
    Case(
        "TensorStridedSliceUpdate",
        (real(5, 6), literal([1, 0]), literal([4, 5]), literal([1, 2]), real(3, 3)),
    ),
    Case(
        "TensorStridedSliceUpdate",
        (real(5, 6), literal([1]), literal([0]), literal([1]), real(6)),
        {"shrink_axis_mask": 1},
    ),
]
