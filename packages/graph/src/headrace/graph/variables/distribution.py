"""Synchronisation and aggregation of replicated variables, for TF 1.x's messages."""

from __future__ import annotations

import enum


class VariableSynchronization(enum.Enum):
    """When replicas of a variable are synchronised; stored, without effect."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How updates of replicas are aggregated; stored, without effect."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
