"""Recurrent networks in a loop: dynamic_rnn of a basic LSTM, forward and training."""

from __future__ import annotations

from typing import Any

import numpy as np
from programs import Program

UNITS, STEPS, BATCH = 200, 20, 20


class BasicLSTM:
    """tf.nn.rnn_cell.BasicLSTMCell, which TensorFlow 2.21 has only with another package."""

    state_size = (UNITS, UNITS)
    output_size = UNITS

    def __init__(self, tf: Any) -> None:
        rng = np.random.RandomState(1)
        self._tf = tf
        kernel = rng.uniform(-0.05, 0.05, [2 * UNITS, 4 * UNITS]).astype(np.float32)
        self.kernel = tf.Variable(kernel)
        self.bias = tf.Variable(np.zeros(4 * UNITS, np.float32))

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        return tuple(self._tf.zeros([batch_size, UNITS], dtype) for _ in range(2))

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        tf = self._tf
        c, h = state
        gates = tf.nn.bias_add(tf.matmul(tf.concat([inputs, h], 1), self.kernel), self.bias)
        i, j, f, o = tf.split(gates, 4, 1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return h, (c, h)


def inputs() -> np.ndarray:
    return np.random.RandomState(2).randn(BATCH, STEPS, UNITS).astype(np.float32)


def rnn(tf: Any, session: Any) -> Program:
    x = tf.placeholder(tf.float32, [BATCH, STEPS, UNITS])
    outputs, _ = tf.nn.dynamic_rnn(BasicLSTM(tf), x, dtype=tf.float32)
    last = tf.reduce_sum(outputs)
    s = session()
    s.run(tf.global_variables_initializer())
    feed = {x: inputs()}
    return Program(lambda: s.run(last, feed), check=float(s.run(last, feed)))


def rnn_train(tf: Any, session: Any) -> Program:
    x = tf.placeholder(tf.float32, [BATCH, STEPS, UNITS])
    outputs, _ = tf.nn.dynamic_rnn(BasicLSTM(tf), x, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(outputs - x))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    s = session()
    s.run(tf.global_variables_initializer())
    feed = {x: inputs()}

    def once() -> float:
        return float(s.run([loss, train], feed)[0])

    for _ in range(3):
        once()
    return Program(once, check=once())
