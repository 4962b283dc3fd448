"""Metrics: the value after one batch, by hand. A metric gives (value, update); this is update's."""

from __future__ import annotations

import numpy as np

from values.value_case import call

_LABELS = [True, True, False, False]
_SAID = [True, False, True, False]
_SCORES = [0.9, 0.2, 0.6, 0.1]
_LIMITS = [0.5]
_TOP = [[0.1, 0.7, 0.2], [0.8, 0.15, 0.05]]
_CLASSES = np.int64([[1], [1]])
_A, _B = [1.0, 2.0, 4.0], [1.0, 4.0, 1.0]

CASES = [
    call("metrics.true_positives", _LABELS, _SAID, gives=1.0),
    call("metrics.true_negatives", _LABELS, _SAID, gives=1.0),
    call("metrics.false_positives", _LABELS, _SAID, gives=1.0),
    call("metrics.false_negatives", _LABELS, _SAID, [2.0, 3.0, 1.0, 1.0], gives=3.0),
    call("metrics.true_positives_at_thresholds", _LABELS, _SCORES, _LIMITS, gives=[1.0]),
    call("metrics.true_negatives_at_thresholds", _LABELS, _SCORES, _LIMITS, gives=[1.0]),
    call("metrics.false_positives_at_thresholds", _LABELS, _SCORES, _LIMITS, gives=[1.0]),
    call("metrics.false_negatives_at_thresholds", _LABELS, _SCORES, _LIMITS, gives=[1.0]),
    call("metrics.precision_at_thresholds", _LABELS, _SCORES, [0.15, 0.5], gives=[2 / 3, 0.5]),
    call("metrics.recall_at_thresholds", _LABELS, _SCORES, [0.15, 0.5], gives=[1.0, 0.5]),
    call("metrics.specificity_at_sensitivity", _LABELS, [0.9, 0.8, 0.3, 0.1], 0.5, gives=1.0),
    call("metrics.mean_tensor", _A, gives=_A),
    call("metrics.mean_absolute_error", _A, _B, gives=5 / 3),
    call("metrics.mean_squared_error", _A, _B, gives=13 / 3),
    call("metrics.root_mean_squared_error", _A, _B, gives=np.sqrt(13 / 3)),
    call("metrics.mean_relative_error", _A, _B, _A, gives=(0 + 1 + 0.75) / 3),
    call("metrics.mean_cosine_distance", [[1.0, 0.0]], [[0.0, 1.0]], 1, gives=1.0),
    call("metrics.percentage_below", _A, 3.0, gives=2 / 3),
    call("metrics.precision_at_k", _CLASSES, _TOP, 1, gives=0.5),
    call("metrics.recall_at_k", _CLASSES, _TOP, 2, gives=1.0),
    call("metrics.average_precision_at_k", _CLASSES, _TOP, 2, gives=(1 + 0.5) / 2),
    call("metrics.precision_at_top_k", _CLASSES, np.int64([[1], [0]]), 1, gives=0.5),
    call("metrics.recall_at_top_k", _CLASSES, np.int64([[1, 2], [0, 1]]), 2, gives=1.0),
]
