"""Every case of every family."""

from __future__ import annotations

from cases import (
    activations,
    arrays,
    convolution,
    elementwise,
    gather,
    losses,
    matmul,
    normalization,
    pooling,
    recurrent,
    reduction,
    scatter,
    segment,
    slicing,
)

FAMILIES = (
    activations,
    arrays,
    convolution,
    elementwise,
    gather,
    losses,
    matmul,
    normalization,
    pooling,
    recurrent,
    reduction,
    scatter,
    segment,
    slicing,
)
ALL = [case for family in FAMILIES for case in family.CASES]
