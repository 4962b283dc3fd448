"""Cases of the candidate_sampling family."""

from __future__ import annotations

from cases.case import Case, integers, literal

_TRUE = integers(4, 2, high=20, dtype="int64")
_ATTRS = {"num_true": 2, "num_sampled": 6, "unique": True, "range_max": 20, "seed": 5}
CASES = [
    Case(op, (_TRUE,), {**_ATTRS, "unique": unique}, exact=False)
    for op in (
        "UniformCandidateSampler",
        "LogUniformCandidateSampler",
        "LearnedUnigramCandidateSampler",
        "ThreadUnsafeUnigramCandidateSampler",
    )
    for unique in (True, False)
]
CASES += [
    Case(
        "FixedUnigramCandidateSampler",
        (integers(4, 2, high=4, dtype="int64"),),
        {**_ATTRS, "range_max": 4, "num_sampled": 3, "unigrams": [1.0, 2.0, 3.0, 4.0]},
        exact=False,
    ),
    Case("AllCandidateSampler", (_TRUE,), {"num_true": 2, "num_sampled": 20, "unique": True}),
    Case(
        "ComputeAccidentalHits",
        (literal([[1, 2], [0, 4], [3, 3]], "int64"), literal([4, 0, 3], "int64")),
        {"num_true": 2},
    ),
]
