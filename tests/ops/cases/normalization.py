"""Cases of the normalization family."""

from __future__ import annotations

from cases.case import Case, floats, literal, positive, real

_C = 3
_SINGLE = ("float32",)
_STATS = (positive(_C), real(_C), real(_C), positive(_C))
_NONE = (positive(_C), real(_C), literal([], "float32"), literal([], "float32"))
CASES = []
for _op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
    _flat = (1, 2, 3, 4, 5) if _op.endswith("3") else (1, 2, 3, 4)
    CASES += [
        Case(
            _op,
            (real(2, 4, 5, _C), *_NONE),
            {"epsilon": 0.001},
            dtypes=_SINGLE,
            flat_outputs=_flat,
        ),
        Case(
            _op,
            (real(2, 4, 5, _C), *_STATS),
            {"exponential_avg_factor": 0.3},
            dtypes=_SINGLE,
            flat_outputs=_flat,
        ),
        Case(
            _op,
            (real(2, 4, 5, _C), *_STATS),
            {"is_training": False},
            dtypes=_SINGLE,
            undefined=(3, 4),
            flat_outputs=_flat,
        ),
        Case(
            _op,
            (real(2, _C, 4, 5), *_STATS),
            {"is_training": False, "data_format": "NCHW"},
            dtypes=_SINGLE,
            undefined=(3, 4),
            flat_outputs=_flat,
        ),
    ]
for _op in ("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"):
    _more = (floats(0),) if _op.endswith("3") else ()
    CASES += [
        Case(
            _op,
            (real(2, 4, 5, _C), real(2, 4, 5, _C), positive(_C), real(_C), positive(_C), *_more),
            {"is_training": training, "epsilon": 0.01},
            dtypes=_SINGLE,
            # in training the second derivative counts what x does to its own mean and variance
            smooth=not training,
            flat_outputs=(3, 4),
        )
        for training in (True, False)
    ]
CASES += [
    Case("LRN", (real(2, 3, 4, 7),), {"depth_radius": 2, "bias": 1.5, "alpha": 0.5, "beta": 0.75}),
    Case("LRN", (real(1, 2, 2, 3),)),
    *[
        Case(
            "BatchNormWithGlobalNormalization",
            (real(2, 3, 4, _C), real(_C), positive(_C), real(_C), positive(_C)),
            {"variance_epsilon": 0.01, "scale_after_normalization": scaled},
            dtypes=("float32", "float16", "bfloat16"),
        )
        for scaled in (True, False)
    ],
    *[
        Case(
            "BatchNormWithGlobalNormalizationGrad",
            (real(2, 3, 4, _C), real(_C), positive(_C), positive(_C), real(2, 3, 4, _C)),
            {"variance_epsilon": 0.01, "scale_after_normalization": scaled},
            dtypes=("float32", "float16", "bfloat16"),
            smooth=False,
        )
        for scaled in (True, False)
    ],
    Case(
        "LRNGrad",
        (real(1, 2, 2, 7), real(1, 2, 2, 7), real(1, 2, 2, 7)),
        {"depth_radius": 2, "bias": 1.5, "alpha": 0.5, "beta": 0.75},
        smooth=False,
    ),
]
