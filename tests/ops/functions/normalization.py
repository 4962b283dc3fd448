"""Biases, moments, batch normalisation, norms."""

from __future__ import annotations

import numpy as np

_rng = np.random.default_rng(3)
X = _rng.normal(size=(4, 5, 6, 3)).astype(np.float32)
C = _rng.normal(size=3).astype(np.float32)
V = _rng.uniform(0.5, 2, size=3).astype(np.float32)
W = _rng.uniform(0.5, 2, size=(4, 5, 6, 1)).astype(np.float32)
Z = (X + 1j * X[::-1]).astype(np.complex64)


def _first(x):
    return np.moveaxis(x, -1, 1)


def _both(m, y, *xs):
    """A function's value and its gradients."""
    return [y, *m.gradients(m.reduce_sum(m.square(y)), list(xs))]


def fused(m, **options):
    x, scale, offset = m.constant(X), m.constant(V), m.constant(C)
    y, mean, variance = m.nn.fused_batch_norm(x, scale, offset, **options)
    first = m.gradients(m.reduce_sum(m.sin(y)), [x, scale, offset])
    second = m.gradients(m.add_n([m.reduce_sum(m.sin(g)) for g in first]), [x, scale])
    if options.get("is_training", True):
        return [y, mean, variance, *first, *second]
    return [y, *first, *second]


def plain(m):
    args = [m.constant(v) for v in (X, C, V, C[::-1].copy(), V)]
    return _both(m, m.nn.batch_normalization(*args, 0.01), *args)


def sums(m, **options):
    return list(m.nn.sufficient_statistics(m.constant(X), [0, 2], **options)[:3])


PROGRAMS = {
    "bias_add": lambda m: _both(m, m.nn.bias_add(m.constant(X), m.constant(C))),
    "bias_add NCHW": lambda m: [m.nn.bias_add(_first(X), C, data_format="NCHW")],
    "xw_plus_b": lambda m: [m.nn.xw_plus_b(X[0, 0], X[0, 0, :3], C)],
    "relu_layer": lambda m: [m.nn.relu_layer(X[0, 0], X[0, 0, :3], C)],
    "moments": lambda m: list(m.nn.moments(m.constant(X), [0, 1])),
    "moments kept": lambda m: list(m.nn.moments(m.constant(X), [1, 2], keepdims=True)),
    "moments of halves": lambda m: list(m.nn.moments(m.constant(X, m.float16), [0])),
    "sufficient_statistics": sums,
    "sufficient_statistics shifted": lambda m: sums(m, shift=m.constant(2.0), keep_dims=True),
    "normalize_moments": lambda m: list(m.nn.normalize_moments(7.0, C, V + 3, 0.5)),
    "normalize_moments unshifted": lambda m: list(m.nn.normalize_moments(7.0, C, V + 3, None)),
    "weighted_moments": lambda m: list(m.nn.weighted_moments(m.constant(X), [0, 1, 2], W)),
    "weighted_moments kept": lambda m: list(m.nn.weighted_moments(X, [1], W, keep_dims=True)),
    "batch_normalization": plain,
    "batch_normalization bare": lambda m: [
        m.nn.batch_normalization(X, C, V, None, None, 0.01),
        m.nn.batch_normalization(m.constant(X), C, V, None, V, 0.01),
    ],
    "batch_norm_with_global_normalization": lambda m: [
        m.nn.batch_norm_with_global_normalization(X, C, V, C, V, 0.1, scaled)
        for scaled in (True, False)
    ],
    "fused_batch_norm": fused,
    "fused_batch_norm in use": lambda m: fused(m, mean=C, variance=V, is_training=False),
    "l2_normalize": lambda m: [
        m.nn.l2_normalize(X, 1),
        m.math.l2_normalize(X),
        m.linalg.l2_normalize(m.constant(Z), [0, 2], epsilon=0.5),
    ],
    "lrn": lambda m: _both(m, m.nn.lrn(m.constant(X), 1, 0.5, 0.25, 0.75)),
    "extract_image_patches": lambda m: [
        m.image.extract_image_patches(X, [1, 2, 3, 1], [1, 2, 1, 1], [1, 1, 2, 1], "SAME")
    ],
}
