"""Losses: weights of each shape, each reduction, smoothed labels; values and gradients."""

from __future__ import annotations

import numpy as np

_rng = np.random.default_rng(6)
X = _rng.normal(size=(4, 5)).astype(np.float32)
P = _rng.uniform(0.05, 0.95, (4, 5)).astype(np.float32)
Y = (_rng.random((4, 5)) < 0.5).astype(np.float32)
ONE_HOT = np.eye(5, dtype=np.float32)[[0, 3, 2, 2]]
CLASSES = np.array([0, 3, 2, 2])
ROW = np.array([1.0, 0.0, 2.0, 0.5], np.float32)
WEIGHTS = {
    "one": 1.0,
    "number": 2.5,
    "zero": 0.0,
    "rows": ROW[:, None],
    "columns": np.array([[1.0, 0.0, 0.5, 0.0, 3.0]], np.float32),
    "all": Y * 2,
}


def _loss(name, labels, scores, weights=1.0, **options):
    def program(m):
        x = m.constant(scores)
        loss = getattr(m.losses, name)(labels, x, weights=weights, **options)
        grads = m.gradients(m.reduce_sum(loss), [x])
        kept = m.losses.get_losses()
        assert len(kept) == 1 and kept[0] is loss
        return [loss, *grads]

    return program


def _kept(m):
    def regularizer(v):
        return m.reduce_sum(m.square(v))

    with m.variable_scope("s", regularizer=regularizer):
        m.get_variable("v", [3], initializer=m.constant_initializer(2.0))
    with m.name_scope("a"):
        m.losses.mean_squared_error(Y, X)
    m.losses.hinge_loss(Y, X)
    m.losses.add_loss(m.constant(5.0))
    return [
        m.losses.get_total_loss(),
        m.losses.get_total_loss(add_regularization_losses=False),
        m.losses.get_total_loss(False, scope="a"),
        m.losses.get_regularization_loss(),
        m.losses.get_regularization_loss(scope="none"),
        m.constant([len(m.losses.get_losses()), len(m.losses.get_regularization_losses())]),
    ]


def _unknown_weights(m):
    weights = m.placeholder_with_default(WEIGHTS["rows"], None)
    rows = m.placeholder_with_default(ROW, [None])
    return [
        m.losses.mean_squared_error(Y, X, weights),
        m.losses.sparse_softmax_cross_entropy(CLASSES, X, rows),
    ]


def _classes_of_any_rank(m):
    x = m.constant(X.reshape(2, 2, 5))
    whole = m.constant(ONE_HOT.reshape(2, 2, 5))
    unknown = m.placeholder_with_default(X, None)
    losses = [
        m.nn.softmax_cross_entropy_with_logits(labels=whole, logits=x),
        m.nn.softmax_cross_entropy_with_logits(labels=ONE_HOT, logits=x),
        m.nn.softmax_cross_entropy_with_logits(labels=ONE_HOT.astype(np.int32), logits=unknown),
        m.nn.softmax_cross_entropy_with_logits_v2(labels=whole, logits=x, axis=1),
        m.nn.softmax_cross_entropy_with_logits_v2(labels=m.transpose(whole, [2, 0, 1]),
                                                  logits=m.transpose(x, [2, 0, 1]), axis=0),
    ]  # fmt: skip
    return [*losses, *m.gradients(m.add_n([m.reduce_sum(y) for y in losses]), [x, unknown])]


PROGRAMS = {
    "classes of any rank": _classes_of_any_rank,
    "kept": _kept,
    "weights known only when run": _unknown_weights,
    "cosine_distance": _loss("cosine_distance", Y, X, axis=1, weights=ROW[:, None]),
    "huber_loss": _loss("huber_loss", Y, X, delta=0.7),
    "log_loss": _loss("log_loss", Y, P, epsilon=0.01),
    "sigmoid_cross_entropy": _loss("sigmoid_cross_entropy", Y, X, label_smoothing=0.2),
    "softmax_cross_entropy": _loss("softmax_cross_entropy", ONE_HOT, X, ROW),
    "softmax_cross_entropy smoothed": _loss(
        "softmax_cross_entropy", ONE_HOT, X, label_smoothing=0.2
    ),
    "sparse_softmax_cross_entropy": _loss("sparse_softmax_cross_entropy", CLASSES, X, ROW),
    "sparse_softmax_cross_entropy of columns": _loss(
        "sparse_softmax_cross_entropy", CLASSES[:, None], X, ROW[:, None]
    ),
    "in double": _loss("mean_squared_error", Y.astype(np.float64), X.astype(np.float64)),
}
for _name, _weight in WEIGHTS.items():
    for _loss_name in ("absolute_difference", "mean_squared_error", "hinge_loss"):
        PROGRAMS[f"{_loss_name} by {_name}"] = _loss(_loss_name, Y, X, _weight)
for _name in ("one", "number", "zero", "rows"):
    PROGRAMS[f"mean_pairwise_squared_error by {_name}"] = _loss(
        "mean_pairwise_squared_error", Y, X, WEIGHTS[_name]
    )
for _reduction in (
    "none",
    "weighted_sum",
    "weighted_mean",
    "weighted_sum_over_batch_size",
    "weighted_sum_by_nonzero_weights",
):
    PROGRAMS[f"reduced to {_reduction}"] = _loss(
        "mean_squared_error", Y, X, WEIGHTS["rows"], reduction=_reduction
    )
