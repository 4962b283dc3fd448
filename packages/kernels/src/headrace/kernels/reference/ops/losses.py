"""Losses and what is counted beside them."""

from __future__ import annotations

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.activations import log_softmax_of
from headrace.kernels.reference.precision import wide
from headrace.kernels.reference.registry import Attrs, kernel


@kernel("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(
    attrs: Attrs, features: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    logits, targets = np.broadcast_arrays(wide(features), wide(labels))
    log_p = log_softmax_of(logits)
    # 0 log 0 is 0: a class of no weight costs nothing, however unlikely
    loss = -np.where(targets == 0, 0, targets * log_p).sum(axis=-1)
    backprop = np.exp(log_p) - targets
    return loss.astype(features.dtype), backprop.astype(features.dtype)


@kernel("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(
    attrs: Attrs, features: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    classes = features.shape[1]
    wrong = labels[(labels < 0) | (labels >= classes)]
    if wrong.size:
        raise InvalidArgumentError(
            None,
            None,
            f"Received a label value of {wrong[0]} which is outside the valid range of "
            f"[0, {classes}).",
        )
    rows = np.arange(len(features))
    log_p = log_softmax_of(wide(features))
    backprop = np.exp(log_p)
    backprop[rows, labels] -= 1
    return -log_p[rows, labels].astype(features.dtype), backprop.astype(features.dtype)


@kernel("L2Loss")
def l2_loss(attrs: Attrs, t: np.ndarray) -> np.ndarray:
    return np.asarray(np.sum(wide(t) ** 2) / 2).astype(t.dtype)


@kernel("InTopK")
def in_top_k(attrs: Attrs, predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return _in_top_k(predictions, targets, attrs["k"])


@kernel("InTopKV2")
def in_top_k_v2(
    attrs: Attrs, predictions: np.ndarray, targets: np.ndarray, k: np.ndarray
) -> np.ndarray:
    return _in_top_k(predictions, targets, int(k))


def _in_top_k(predictions: np.ndarray, targets: np.ndarray, k: int) -> np.ndarray:
    """Whether fewer than k classes are better; False where any that matters is not finite."""
    classes = predictions.shape[1]
    known = (targets >= 0) & (targets < classes)
    chosen = predictions[np.arange(len(targets)), np.where(known, targets, 0)]
    better = np.sum(predictions > chosen[:, np.newaxis], axis=1)
    finite = np.isfinite(predictions).all(axis=1)
    return known & finite & (better < k)
