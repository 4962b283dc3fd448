"""Layers with given weights, in use and in training."""

from __future__ import annotations

import numpy as np

_rng = np.random.default_rng(5)
X1 = _rng.normal(size=(2, 9, 3)).astype(np.float32)
X2 = _rng.normal(size=(2, 8, 7, 3)).astype(np.float32)
X3 = _rng.normal(size=(2, 5, 6, 4, 3)).astype(np.float32)


def _first(x):
    return np.ascontiguousarray(np.moveaxis(x, -1, 1))


def _waves(m, start=0.3):
    """An initializer that needs no random numbers."""

    def result(shape, dtype=None, partition_info=None):
        count = int(np.prod([int(n) for n in shape]))
        values = np.sin(start + 0.7 * np.arange(count)).reshape([int(n) for n in shape])
        return m.constant(values.astype(np.float32))

    return result


def _both(m, y):
    """A layer's output and the gradients of its variables."""
    kept = m.trainable_variables()
    return [y, *m.gradients(m.reduce_sum(m.square(y)), kept)] if kept else [y]


def _layer(name, x, *args, **options):
    def program(m):
        named = {k: v(m) if k.endswith("initializer") else v for k, v in options.items()}
        if "activation" in named:
            named["activation"] = getattr(m.nn, named["activation"])
        return _both(m, getattr(m.layers, name)(m.constant(x), *args, **named))

    return program


def _batch_norm(x, training=True, adjusted=False, **options):
    """The output, the averages after a step, what they then give, and the gradients."""

    def program(m):
        if adjusted:
            options["adjustment"] = lambda shape: (m.fill(shape, 1.5), m.fill(shape, -0.5))
        layer = m.layers.BatchNormalization(
            beta_initializer=_waves(m), gamma_initializer=_waves(m, 2.0), momentum=0.8, **options
        )
        flag = training if isinstance(training, bool) else m.placeholder_with_default(*training)
        trained = layer.apply(m.constant(x), training=flag)
        with m.control_dependencies(m.get_collection(m.GraphKeys.UPDATE_OPS)):
            moved = [m.identity(v.read_value()) for v in layer.non_trainable_variables]
        grads = m.gradients(m.reduce_sum(m.sin(trained)), layer.trainable_variables)
        return [trained, *moved, *grads]

    return program


_K = {"kernel_initializer": _waves, "bias_initializer": _waves}
_S = {"depthwise_initializer": _waves, "pointwise_initializer": _waves}
_CHANNELS_FIRST = {"data_format": "channels_first"}
PROGRAMS = {
    "dense": _layer("dense", X1[:, 0], 4, activation="tanh", **_K),
    "dense of rank 3": _layer("dense", X1, 4, use_bias=False, kernel_initializer=_waves),
    "flatten": _layer("flatten", X3),
    "flatten channels first": _layer("flatten", _first(X2), **_CHANNELS_FIRST),
    "dropout": _layer("dropout", X2, 0.4),
    "dropout of nothing": _layer("dropout", X2, 0.0, training=True),
    "conv1d": _layer("conv1d", X1, 4, 3, strides=2, padding="same", **_K),
    "conv1d causal": lambda m: _both(
        m,
        m.layers.Conv1D(
            2, 2, padding="causal", dilation_rate=2, kernel_initializer=_waves(m)
        ).apply(m.constant(X1)),
    ),
    "conv2d": _layer("conv2d", X2, 4, (3, 2), strides=(2, 1), activation="relu", **_K),
    "conv2d dilated": _layer("conv2d", X2, 2, 3, dilation_rate=2, padding="same", **_K),
    "conv3d": _layer("conv3d", X3, 2, (2, 3, 2), padding="same", **_K),
    "conv2d_transpose": _layer("conv2d_transpose", X2, 2, (3, 2), strides=(2, 3), **_K),
    "conv2d_transpose same": _layer("conv2d_transpose", X2, 2, 3, 2, padding="same", **_K),
    "conv3d_transpose": _layer("conv3d_transpose", X3, 2, 2, strides=(2, 1, 2), **_K),
    "separable_conv1d": _layer("separable_conv1d", X1, 2, 3, strides=2, **_S),
    "separable_conv2d": _layer("separable_conv2d", X2, 4, 3, depth_multiplier=2, **_S),
    "separable_conv2d dilated": _layer("separable_conv2d", X2, 4, 2, dilation_rate=2, **_S),
    "max_pooling1d": _layer("max_pooling1d", X1, 3, 2),
    "max_pooling2d": _layer("max_pooling2d", X2, (3, 2), 2, padding="same"),
    "max_pooling3d": _layer("max_pooling3d", X3, 2, (1, 2, 1)),
    "average_pooling1d": _layer("average_pooling1d", X1, 2, 1, padding="same"),
    "average_pooling2d": _layer("average_pooling2d", X2, 3, 3),
    "average_pooling3d": _layer("average_pooling3d", X3, (2, 2, 1), 2, padding="same"),
    "batch_normalization": _batch_norm(X2),
    "batch_normalization in parts": _batch_norm(X2, fused=False),
    "batch_normalization in use": _batch_norm(X2, training=False),
    "batch_normalization by choice": _batch_norm(X2, training=(True, [])),
    "batch_normalization by the other choice": _batch_norm(X2, training=(False, [])),
    "batch_normalization in parts by choice": _batch_norm(X1, training=(True, [])),
    "batch_normalization of parts": _batch_norm(X2, virtual_batch_size=1),
    "batch_normalization of pairs": _batch_norm(
        np.concatenate([X1, X1[::-1] * 2]), virtual_batch_size=2
    ),
    "batch_normalization of pairs in use": _batch_norm(X1, False, virtual_batch_size=2),
    "batch_normalization adjusted": _batch_norm(X2, adjusted=True),
    "batch_normalization adjusted by choice": _batch_norm(X1, (True, []), adjusted=True),
    "batch renormalization": _batch_norm(X2, renorm=True, renorm_momentum=0.7),
    "batch renormalization bounded": _batch_norm(
        X1, renorm=True, renorm_clipping={"rmin": 0.9, "rmax": 1.1, "dmax": 0.1}
    ),
    "batch renormalization by choice": _batch_norm(X1, (True, []), renorm=True),
    "batch renormalization in use": _batch_norm(X1, False, renorm=True, center=False),
    "batch_normalization of rows": _batch_norm(X2[:, 0, 0]),
    "batch_normalization of rank 3": _batch_norm(X1, axis=1),
    "batch_normalization along two axes": _batch_norm(X1, axis=[1, 2]),
}
