"""The programs of `models` for headrace.graph, TensorFlow 1.x graphs and tf.function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import models
import numpy as np
from programs import Program

Loss = Callable[[Any, dict[str, Any], Any, Any], list[Any]]


def gelu(tf: Any, x: Any) -> Any:
    return 0.5 * x * (1.0 + tf.tanh(0.7978846 * (x + 0.044715 * x * x * x)))


def dense_layers(tf: Any, weights: dict[str, Any], h: Any) -> Any:
    n_layers = sum(name.startswith("dense") for name in weights) // 2
    for i in range(n_layers):
        h = tf.matmul(h, weights[f"dense{i}/w"]) + weights[f"dense{i}/b"]
        h = tf.nn.relu(h) if i < n_layers - 1 else h
    return h


def classifier(row: str) -> Loss:
    """Convolutions (none for mlp), dense layers, mean cross-entropy."""

    def loss(tf: Any, weights: dict[str, Any], x: Any, labels: Any) -> list[Any]:
        h = x
        for i in range(sum(name.startswith("conv") for name in weights) // 2):
            stride = models.STRIDES.get(row, (1,) * 9)[i]
            if row == "alexnet" and i == 0:
                h = tf.pad(h, [[0, 0], [2, 2], [2, 2], [0, 0]])
            padding = "VALID" if row == "alexnet" and i == 0 else "SAME"
            h = tf.nn.conv2d(h, weights[f"conv{i}/w"], [1, stride, stride, 1], padding)
            h = tf.nn.relu(tf.nn.bias_add(h, weights[f"conv{i}/b"]))
            if i in models.POOLED[row]:
                size = models.POOL_SIZE[row]
                window = [1, size, size, 1]
                h = tf.nn.max_pool(h, window, [1, 2, 2, 1], models.POOL_PADDING[row])
        if len(h.shape) == 4:
            h = tf.reshape(h, [-1, int(np.prod(h.shape.as_list()[1:]))])
        logits = dense_layers(tf, weights, h)
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return [tf.reduce_mean(each)]

    return loss


def lstm_loss(
    tf: Any, weights: dict[str, Any], words: Any, labels: Any, state: list[Any]
) -> list[Any]:
    """Returns: the loss, then cell and output of both layers after the last word."""
    vectors = tf.nn.embedding_lookup(weights["embedding"], words)
    state, outputs = list(state), []
    for t in range(models.STEPS):
        h = vectors[:, t, :]
        for layer in range(2):
            c, m = state[2 * layer : 2 * layer + 2]
            gates = tf.matmul(tf.concat([h, m], 1), weights[f"lstm{layer}/w"])
            gates = tf.nn.bias_add(gates, weights[f"lstm{layer}/b"])
            i, f, j, o = tf.split(gates, 4, 1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(j)
            h = tf.sigmoid(o) * tf.tanh(c)
            state[2 * layer : 2 * layer + 2] = [c, h]
        outputs.append(h)
    h = tf.reshape(tf.concat(outputs, 1), [-1, models.HIDDEN])
    logits = dense_layers(tf, weights, h)
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(labels, [-1]), logits=logits
    )
    return [tf.reduce_sum(each) / models.LSTM_BATCH, *state]


def zero_state() -> list[np.ndarray]:
    return [np.zeros([models.LSTM_BATCH, models.HIDDEN], np.float32) for _ in range(4)]


def optimizer(tf: Any, rule: models.Optimizer) -> Any:
    rate = rule.learning_rate
    if rule.name == "adam":
        return tf.train.AdamOptimizer(rate)
    if rule.name == "momentum":
        return tf.train.MomentumOptimizer(rate, 0.9)
    return tf.train.GradientDescentOptimizer(rate)


def clipped(tf: Any, gradients: list[Any], rule: models.Optimizer) -> list[Any]:
    if rule.clip_norm is None:
        return gradients
    return tf.clip_by_global_norm(gradients, rule.clip_norm)[0]


def in_session(row: str, tf: Any, session: Callable[[], Any]) -> Program:
    """As a user of TensorFlow 1.x writes it: a graph, then session.run on NumPy arrays."""
    if row == "elementwise_chain":
        fetches = gelu(tf, tf.Variable(models.elements()))
    elif row == "matmul":
        a, b = (tf.Variable(m) for m in models.matrices())
        fetches = tf.matmul(a, b)
    else:
        return trained_in_session(row, tf, session)
    s = session()
    s.run(tf.global_variables_initializer())
    return Program(lambda: s.run(fetches), check=checksum(s.run(fetches)))


def trained_in_session(row: str, tf: Any, session: Callable[[], Any]) -> Program:
    model = models.TRAINED[row]()
    weights = {name: tf.Variable(value, name=name) for name, value in model.weights.items()}
    inputs = tf.placeholder(model.inputs.dtype, model.inputs.shape)
    labels = tf.placeholder(model.labels.dtype, model.labels.shape)
    initial = zero_state() if row == "lstm" else []
    state = [tf.placeholder(tf.float32, value.shape) for value in initial]
    if row == "lstm":
        results = lstm_loss(tf, weights, inputs, labels, state)
    else:
        results = classifier(row)(tf, weights, inputs, labels)
    rule = optimizer(tf, model.optimizer)
    gradients, variables = zip(*rule.compute_gradients(results[0]), strict=True)
    gradients = clipped(tf, list(gradients), model.optimizer)
    train = rule.apply_gradients(list(zip(gradients, variables, strict=True)))
    s = session()
    s.run(tf.global_variables_initializer())
    carried = initial

    def once() -> Any:
        nonlocal carried
        feed = {inputs: model.inputs, labels: model.labels}
        feed.update(zip(state, carried, strict=True))
        loss, *carried = s.run([*results, train], feed)[:-1]
        return loss

    return Program(once, check=after_steps(once))


def in_function(row: str, tf2: Any) -> Program:
    """The same by tf.function, eager variables and gradient tapes."""
    tf = tf2.compat.v1
    if row == "elementwise_chain":
        x = tf2.Variable(models.elements())
        step = tf2.function(lambda: gelu(tf, x))
    elif row == "matmul":
        a, b = (tf2.Variable(m) for m in models.matrices())
        step = tf2.function(lambda: tf.matmul(a, b))
    else:
        return trained_in_function(row, tf2)
    return Program(lambda: step().numpy(), check=checksum(step().numpy()))


def trained_in_function(row: str, tf2: Any) -> Program:
    tf = tf2.compat.v1
    model = models.TRAINED[row]()
    weights = {name: tf2.Variable(value) for name, value in model.weights.items()}
    variables = list(weights.values())
    rule = optimizer(tf, model.optimizer)

    @tf2.function
    def step(inputs: Any, labels: Any, *state: Any) -> list[Any]:
        with tf2.GradientTape() as tape:
            if row == "lstm":
                results = lstm_loss(tf, weights, inputs, labels, list(state))
            else:
                results = classifier(row)(tf, weights, inputs, labels)
        gradients = clipped(tf, tape.gradient(results[0], variables), model.optimizer)
        rule.apply_gradients(list(zip(gradients, variables, strict=True)))
        return results

    carried = [tf2.constant(value) for value in (zero_state() if row == "lstm" else [])]

    def once() -> Any:
        nonlocal carried
        loss, *carried = step(tf2.constant(model.inputs), tf2.constant(model.labels), *carried)
        return loss.numpy()

    return Program(once, check=after_steps(once))


def checksum(values: np.ndarray) -> float:
    return float(np.abs(values.astype(np.float64)).mean())


def after_steps(once: Callable[[], Any]) -> float:
    """Returns: the loss of step CHECKED_STEP."""
    for _ in range(models.CHECKED_STEP - 1):
        once()
    return float(once())
