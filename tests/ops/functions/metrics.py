"""Metrics after two batches, and what each update gave."""

from __future__ import annotations

import numpy as np

_rng = np.random.default_rng(8)
SCORES = _rng.uniform(0, 1, (4, 5)).astype(np.float32)
TRUTH = _rng.random((4, 5)) < 0.5
VALUES = _rng.normal(size=(4, 5)).astype(np.float32)
CLASSES = _rng.integers(0, 4, (4, 5))
GUESSES = np.where(TRUTH, CLASSES, 1)
WEIGHTS = _rng.uniform(0, 2, (4, 1)).astype(np.float32)
FULL = np.broadcast_to(WEIGHTS, (4, 5)).copy()
K_LABELS = _rng.integers(0, 5, (4, 2))
K_LABELS[1] = 3  # the same twice
THRESHOLDS = [0.2, 0.5, 0.75]


def _made(m, name, args, options, **more):
    inputs = [m.constant(a) if isinstance(a, np.ndarray) else a for a in args]
    options = {k: m.constant(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    return getattr(m.metrics, name)(*inputs, **options, **more)


def _metric(name, *args, **options):
    """The value after one update, what a second gives, and the names of the variables."""

    def program(m):
        keys = {"metrics_collections": ["values"], "updates_collections": ["updates"]}
        value, update = _made(m, name, args, options, **keys)
        assert m.get_collection("values") == [value]
        assert m.get_collection("updates") == [update]
        names = [v.name for v in m.get_collection(m.GraphKeys.METRIC_VARIABLES)]
        assert names == [v.name for v in m.local_variables()]
        m.add_to_collection("before", update)
        return [value, m.constant(names)]

    return program


def _updated(name, *args, **options):
    return lambda m: [_made(m, name, args, options)[1]]


_BOTH = {
    "mean": (VALUES,),
    "mean_tensor": (VALUES,),
    "accuracy": (CLASSES, GUESSES),
    "mean_absolute_error": (VALUES, SCORES),
    "mean_squared_error": (VALUES, SCORES),
    "root_mean_squared_error": (VALUES, SCORES),
    "mean_relative_error": (VALUES, SCORES, np.round(SCORES)),
    "mean_cosine_distance": (VALUES, SCORES, 1),
    "percentage_below": (VALUES, 0.3),
    "true_positives": (TRUTH, SCORES > 0.5),
    "true_negatives": (TRUTH, SCORES > 0.5),
    "false_positives": (TRUTH, SCORES > 0.5),
    "false_negatives": (TRUTH, SCORES > 0.5),
    "precision": (TRUTH, SCORES > 0.5),
    "recall": (TRUTH, SCORES > 0.5),
    "true_positives_at_thresholds": (TRUTH, SCORES, THRESHOLDS),
    "true_negatives_at_thresholds": (TRUTH, SCORES, THRESHOLDS),
    "false_positives_at_thresholds": (TRUTH, SCORES, THRESHOLDS),
    "false_negatives_at_thresholds": (TRUTH, SCORES, THRESHOLDS),
    "precision_at_thresholds": (TRUTH, SCORES, THRESHOLDS),
    "recall_at_thresholds": (TRUTH, SCORES, THRESHOLDS),
    "sensitivity_at_specificity": (TRUTH, SCORES, 0.6),
    "specificity_at_sensitivity": (TRUTH, SCORES, 0.6),
    "auc": (TRUTH, SCORES),
    "mean_iou": (CLASSES, GUESSES, 5),
    "mean_per_class_accuracy": (CLASSES, GUESSES, 5),
}
PROGRAMS = {}
for _name, _args in _BOTH.items():
    _whole = {"mean_iou", "mean_per_class_accuracy"}
    _weights = FULL if _name in _whole else WEIGHTS
    PROGRAMS[_name] = _metric(_name, *_args)
    PROGRAMS[f"{_name} weighted"] = _metric(_name, *_args, weights=_weights)
    PROGRAMS[f"{_name} updated"] = _updated(_name, *_args, weights=_weights)
for _curve in ("ROC", "PR"):
    for _method in ("trapezoidal", "careful_interpolation", "minoring", "majoring"):
        PROGRAMS[f"auc of {_curve} by {_method}"] = _updated(
            "auc", TRUTH, SCORES, curve=_curve, summation_method=_method, num_thresholds=20
        )
PROGRAMS["auc at thresholds"] = _updated("auc", TRUTH, SCORES, thresholds=[0.3, 0.1, 0.8])
PROGRAMS["confusion_matrix"] = lambda m: [
    m.confusion_matrix(CLASSES[0], GUESSES[0]),
    m.math.confusion_matrix(CLASSES[0], GUESSES[0], 6, m.float32, weights=FULL.ravel()[:5]),
]


def _at_k(name, labels, *args, sparse=False, **options):
    def program(m):
        inputs = m.constant(labels)
        if sparse:
            places = np.argwhere(labels >= 0)
            values = labels[labels >= 0]
            inputs = m.SparseTensor(places, values, labels.shape)
        more = {k: m.constant(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
        rest = [m.constant(a) if isinstance(a, np.ndarray) else a for a in args]
        value, update = getattr(m.metrics, name)(inputs, *rest, **more)
        names = sorted(v.name for v in m.local_variables())
        m.add_to_collection("before", update)
        return [value, m.constant(names)]

    return program


_SOME = np.array([[0, 2], [3, -1], [1, 4], [2, 3]])
for _name in ("precision_at_k", "recall_at_k", "average_precision_at_k"):
    PROGRAMS[_name] = _at_k(_name, K_LABELS, SCORES, 3)
    PROGRAMS[f"{_name} of one label"] = _at_k(_name, K_LABELS[:, 0], SCORES, 2)
    PROGRAMS[f"{_name} weighted"] = _at_k(_name, K_LABELS, SCORES, 2, weights=WEIGHTS[:, 0])
    PROGRAMS[f"{_name} of sparse labels"] = _at_k(_name, _SOME, SCORES, 2, sparse=True)
for _name in ("precision_at_k", "recall_at_k"):
    PROGRAMS[f"{_name} of a class"] = _at_k(_name, K_LABELS, SCORES, 3, class_id=3)
_TOP = np.argsort(-SCORES, axis=1)[:, :2]
for _name in ("precision_at_top_k", "recall_at_top_k"):
    PROGRAMS[_name] = _at_k(_name, K_LABELS, _TOP, 2)
