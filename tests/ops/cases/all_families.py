"""Every case of every family."""

from __future__ import annotations

from cases import (
    activations,
    arrays,
    candidate_sampling,
    convolution,
    ctc,
    elementwise,
    gather,
    linalg,
    losses,
    matmul,
    normalization,
    pooling,
    random,
    recurrent,
    reduction,
    scatter,
    segment,
    slicing,
    sparse,
)

FAMILIES = (
    activations,
    arrays,
    candidate_sampling,
    convolution,
    ctc,
    elementwise,
    gather,
    linalg,
    losses,
    matmul,
    normalization,
    pooling,
    random,
    recurrent,
    reduction,
    scatter,
    segment,
    slicing,
    sparse,
)
ALL = [case for family in FAMILIES for case in family.CASES]
