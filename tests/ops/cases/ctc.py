"""Cases of the ctc family."""

from __future__ import annotations

from cases.case import Case, literal, real

# two rows: labels [0, 1, 1] and [2]
_LABELS = (
    literal([[0, 0], [0, 1], [0, 2], [1, 0]], "int64"),
    literal([0, 1, 1, 2]),
    literal([6, 4]),
)
_LABELS_V2 = (_LABELS[0], literal([1, 2, 2, 3]), _LABELS[2])
_SINGLE = ("float32",)  # in double too TensorFlow counts with single logarithms
CASES = [
    Case("CTCLoss", (real(6, 2, 4), *_LABELS), dtypes=_SINGLE, flat_outputs=(1,)),
    Case(
        "CTCLoss",
        (real(6, 2, 4), *_LABELS),
        {"preprocess_collapse_repeated": True},
        dtypes=_SINGLE,
        flat_outputs=(1,),
    ),
    Case(
        "CTCLoss",
        (real(6, 2, 4), *_LABELS),
        {"ctc_merge_repeated": False},
        dtypes=_SINGLE,
        flat_outputs=(1,),
    ),
    Case(
        "CTCLoss",
        (real(6, 2, 4), _LABELS[0], _LABELS[1], literal([2, 4])),
        {"ignore_longer_outputs_than_inputs": True},
        dtypes=_SINGLE,
        flat_outputs=(1,),
    ),
    # our number of it; TensorFlow has this one for other devices alone
    Case(
        "CTCLossV2",
        (real(6, 2, 4), *_LABELS_V2),
        dtypes=("float32",),
        flat_outputs=(1,),
        in_tensorflow=False,
    ),
    Case("CTCGreedyDecoder", (real(9, 2, 4), literal([9, 6])), dtypes=_SINGLE),
    Case(
        "CTCGreedyDecoder",
        (real(9, 2, 3), literal([9, 6])),
        {"merge_repeated": True},
        dtypes=_SINGLE,
    ),
    Case(
        "CTCBeamSearchDecoder",
        (real(5, 2, 4), literal([5, 4])),
        {"beam_width": 100, "top_paths": 2, "merge_repeated": False},
        dtypes=_SINGLE,
    ),
]
CASES += [
    Case(
        "CTCLoss",
        (real(6, 2, 4), *_LABELS),
        dtypes=("float64",),
        flat_outputs=(1,),
        in_tensorflow=False,
    ),
    Case(
        "CTCGreedyDecoder",
        (real(9, 2, 4), literal([9, 6])),
        dtypes=("float64",),
        in_tensorflow=False,
    ),
]
