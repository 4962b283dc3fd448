"""Networks with batches, which tests train on two devices. Runs in child processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import headrace.graph as hr

Batches = Callable[[np.random.RandomState], dict[Any, Any]]
TIME, UNITS = 6, 16


def perceptron() -> tuple[Any, Any, Batches]:
    """Returns: loss, training operation, and what makes the feeds of a step."""
    x = hr.placeholder(hr.float32, [None, 20])
    labels = hr.placeholder(hr.int64, [None])
    hidden = hr.layers.dense(x, 32, hr.nn.relu, name="hidden")
    logits = hr.layers.dense(hidden, 5, name="logits")
    loss = _cross_entropy(labels, logits)
    train = hr.train.AdamOptimizer(0.003).minimize(loss)
    truth = np.random.RandomState(3).randn(20, 5)

    def batch(rng: np.random.RandomState) -> dict[Any, Any]:
        inputs = rng.randn(32, 20).astype(np.float32)
        return {x: inputs, labels: inputs.dot(truth).argmax(1)}

    return loss, train, batch


def convnet() -> tuple[Any, Any, Batches]:
    """Convolution, batch normalization and pooling, with moving averages; Returns as perceptron."""
    x = hr.placeholder(hr.float32, [None, 8, 8, 3])
    labels = hr.placeholder(hr.int64, [None])
    h = x
    for i, filters in enumerate((8, 16)):
        h = hr.layers.conv2d(h, filters, 3, padding="same", use_bias=False, name=f"conv{i}")
        h = hr.nn.relu(hr.layers.batch_normalization(h, training=True, name=f"norm{i}"))
        pool = hr.layers.max_pooling2d if i == 0 else hr.layers.average_pooling2d
        h = pool(h, 2, 2)
    logits = hr.layers.dense(hr.layers.flatten(h), 4, name="logits")
    loss = _cross_entropy(labels, logits)
    with hr.control_dependencies(hr.get_collection(hr.GraphKeys.UPDATE_OPS)):
        train = hr.train.MomentumOptimizer(0.02, 0.9).minimize(loss)
    patterns = np.random.RandomState(3).randn(4, 8, 8, 3)

    def batch(rng: np.random.RandomState) -> dict[Any, Any]:
        drawn = rng.randint(0, 4, 16)
        inputs = patterns[drawn] + rng.randn(16, 8, 8, 3)
        return {x: inputs.astype(np.float32), labels: drawn}

    return loss, train, batch


def static_lstm() -> tuple[Any, Any, Batches]:
    """An LSTM unrolled in the graph; Returns as perceptron."""

    def unrolled(cell: Any, rows: Any) -> Any:
        outputs, _ = hr.nn.static_rnn(cell, hr.unstack(rows, TIME, 1), dtype=hr.float32)
        return outputs[-1]

    return _lstm(unrolled)


def dynamic_lstm() -> tuple[Any, Any, Batches]:
    """An LSTM in a loop over sequences of different lengths; Returns as perceptron."""

    def looped(cell: Any, rows: Any) -> Any:
        _, state = hr.nn.dynamic_rnn(cell, rows, dtype=hr.float32)
        return state.h

    return _lstm(looped)


def sequence_lstm() -> tuple[Any, Any, Batches]:
    """An LSTM in a loop whose outputs at all times enter the loss; Returns as perceptron."""
    x = hr.placeholder(hr.float32, [None, TIME, 3])
    lengths = hr.placeholder(hr.int32, [None])
    cell = hr.nn.rnn_cell.LSTMCell(UNITS, name="lstm")
    outputs, _ = hr.nn.dynamic_rnn(cell, x, lengths, dtype=hr.float32)
    sums = hr.layers.dense(outputs, 1, name="sums")
    loss = hr.reduce_mean(hr.square(sums - hr.reduce_sum(x, 2, keepdims=True)))
    train = hr.train.AdamOptimizer(0.01).minimize(loss)

    def batch(rng: np.random.RandomState) -> dict[Any, Any]:
        return {x: rng.randn(16, TIME, 3), lengths: rng.randint(2, TIME + 1, 16)}

    return loss, train, batch


def _lstm(last_output: Callable[[Any, Any], Any]) -> tuple[Any, Any, Batches]:
    words = hr.placeholder(hr.int32, [None, TIME])
    labels = hr.placeholder(hr.int64, [None])
    embeddings = hr.get_variable("embeddings", [11, UNITS])
    cell = hr.nn.rnn_cell.LSTMCell(UNITS, name="lstm")
    output = last_output(cell, hr.nn.embedding_lookup(embeddings, words))
    loss = _cross_entropy(labels, hr.layers.dense(output, 11, name="logits"))
    variables = hr.trainable_variables()
    gradients, _ = hr.clip_by_global_norm(hr.gradients(loss, variables), 5.0)
    train = hr.train.AdamOptimizer(0.02).apply_gradients(list(zip(gradients, variables)))

    def batch(rng: np.random.RandomState) -> dict[Any, Any]:
        drawn = rng.randint(0, 11, [16, TIME])
        return {words: drawn, labels: drawn[:, -2]}

    return loss, train, batch


def _cross_entropy(labels: Any, logits: Any) -> Any:
    each = hr.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return hr.reduce_mean(each)


NETWORKS = {f.__name__: f for f in (perceptron, convnet, static_lstm, dynamic_lstm, sequence_lstm)}


def build(network: str, device: str) -> tuple[Any, Any, Batches]:
    """Adds a network to the default graph; returns as perceptron."""
    hr.set_random_seed(5)
    with hr.device(device):
        return NETWORKS[network]()


def session() -> Any:
    """Opens a session in which what has no kernel on a device goes to the CPU."""
    return hr.Session(config=hr.ConfigProto(allow_soft_placement=True))


def losses(network: str, device: str, steps: int) -> list[float]:
    """Trains a network from the same initial values on a device. Returns: the loss of each step."""
    with hr.Graph().as_default():
        loss, train, batch = build(network, device)
        rng = np.random.RandomState(7)
        with session() as opened:
            opened.run(hr.global_variables_initializer())
            return [float(opened.run([loss, train], batch(rng))[0]) for _ in range(steps)]


def save(network: str, device: str, path: str) -> tuple[list[Any], list[float]]:
    """Trains and saves. Returns: the variables, and the losses of the steps after that."""
    with hr.Graph().as_default(), session() as opened:
        loss, train, batch = build(network, device)
        opened.run(hr.global_variables_initializer())
        rng = np.random.RandomState(7)
        for _ in range(5):
            opened.run(train, batch(rng))
        hr.train.Saver().save(opened, path)
        values = opened.run(hr.global_variables())
        return values, _continued(opened, loss, train, batch)


def restore(network: str, device: str, path: str) -> tuple[list[Any], list[float]]:
    """Returns: the variables of a checkpoint of `save`, and the losses of the steps after that."""
    with hr.Graph().as_default(), session() as opened:
        loss, train, batch = build(network, device)
        hr.train.Saver().restore(opened, path)
        values = opened.run(hr.global_variables())
        return values, _continued(opened, loss, train, batch)


def _continued(opened: Any, loss: Any, train: Any, batch: Batches) -> list[float]:
    rng = np.random.RandomState(8)
    return [float(opened.run([loss, train], batch(rng))[0]) for _ in range(5)]
