"""Single ops of a size at which a device works at its full speed, and chains of small ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from models_graph import checksum
from programs import Program

SIDE, N_ELEMENTS, CHAIN = 1024, 16 * 1024 * 1024, 50


def _repeated(tf: Any, session: Any, y: Any) -> Program:
    """Computes y, which is not copied to the host, from variables."""
    s = session()
    s.run(tf.global_variables_initializer())
    return Program(lambda: s.run(y.op), check=checksum(s.run(tf.reduce_mean(tf.abs(y)))))


def device_matmul(tf: Any, session: Any) -> Program:
    rng = np.random.RandomState(0)
    a, b = (tf.Variable(rng.randn(SIDE, SIDE).astype(np.float32)) for _ in range(2))
    return _repeated(tf, session, tf.matmul(a, b))


def device_convolution(tf: Any, session: Any) -> Program:
    rng = np.random.RandomState(0)
    x = tf.Variable(rng.randn(4, 28, 28, 64).astype(np.float32))
    w = tf.Variable(rng.randn(3, 3, 64, 64).astype(np.float32))
    return _repeated(tf, session, tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"))


def device_reduce(tf: Any, session: Any) -> Program:
    x = tf.Variable(np.random.RandomState(0).rand(N_ELEMENTS).astype(np.float32))
    return _repeated(tf, session, tf.reduce_sum(x))


def device_add(tf: Any, session: Any) -> Program:
    rng = np.random.RandomState(0)
    a, b = (tf.Variable(rng.rand(N_ELEMENTS).astype(np.float32)) for _ in range(2))
    return _repeated(tf, session, tf.add(a, b))


def device_adds(tf: Any, session: Any) -> Program:
    """Additions of 1 KiB each, which a system may compute in one pass."""
    x = tf.placeholder(tf.float32, [256])
    y = x
    for _ in range(CHAIN):
        y = tf.add(y, x)
    s = session()
    value = np.arange(256, dtype=np.float32)
    np.testing.assert_array_equal(s.run(y, {x: value}), value * (CHAIN + 1))
    return Program(lambda: s.run(y, {x: value}), parts=CHAIN)


def device_products(tf: Any, session: Any) -> Program:
    """Products of matrices of 1 KiB, each of which is a launch."""
    x = tf.placeholder(tf.float32, [16, 16])
    w = tf.Variable(np.roll(np.eye(16, dtype=np.float32), 1, axis=0))
    y = x
    for _ in range(CHAIN):
        y = tf.matmul(y, w)
    s = session()
    s.run(tf.global_variables_initializer())
    value = np.arange(256, dtype=np.float32).reshape(16, 16)
    assert sorted(s.run(y, {x: value}).ravel()) == list(range(256))
    return Program(lambda: s.run(y, {x: value}), parts=CHAIN)
