"""The programs of `models` in JAX: one jitted function of a step, its state donated."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import models
import numpy as np
from jax import lax
from models_graph import after_steps, checksum
from programs import Program


def program(row: str) -> Program:
    if row == "elementwise_chain":
        arguments = [jnp.array(models.elements())]
        compiled = jax.jit(gelu)
    elif row == "matmul":
        arguments = [jnp.array(m) for m in models.matrices()]
        compiled = jax.jit(jnp.matmul)
    else:
        return trained(row)
    check = checksum(np.asarray(compiled(*arguments)))
    return Program(lambda: np.asarray(compiled(*arguments)), check=check)


def gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + jnp.tanh(0.7978846 * (x + 0.044715 * x * x * x)))


def dense_layers(weights: dict[str, Any], h: Any) -> Any:
    n_layers = sum(name.startswith("dense") for name in weights) // 2
    for i in range(n_layers):
        h = h @ weights[f"dense{i}/w"] + weights[f"dense{i}/b"]
        h = jax.nn.relu(h) if i < n_layers - 1 else h
    return h


def cross_entropy(logits: Any, labels: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)


def classifier_loss(row: str, weights: dict[str, Any], x: Any, labels: Any) -> Any:
    h = x
    for i in range(sum(name.startswith("conv") for name in weights) // 2):
        stride = models.STRIDES.get(row, (1,) * 9)[i]
        padding: Any = [(2, 2), (2, 2)] if stride > 1 else "SAME"
        numbers = ("NHWC", "HWIO", "NHWC")
        h = lax.conv_general_dilated(
            h, weights[f"conv{i}/w"], (stride, stride), padding, dimension_numbers=numbers
        )
        h = jax.nn.relu(h + weights[f"conv{i}/b"])
        if i in models.POOLED[row]:
            size = models.POOL_SIZE[row]
            window = (1, size, size, 1)
            h = lax.reduce_window(
                h, -jnp.inf, lax.max, window, (1, 2, 2, 1), models.POOL_PADDING[row]
            )
    h = h.reshape(h.shape[0], -1)
    return cross_entropy(dense_layers(weights, h), labels).mean()


def lstm_loss(weights: dict[str, Any], words: Any, labels: Any, state: Any) -> Any:
    vectors = weights["embedding"][words]

    def one_step(state: Any, h: Any) -> Any:
        after = []
        for layer, (c, m) in enumerate(state):
            gates = jnp.concatenate([h, m], 1) @ weights[f"lstm{layer}/w"]
            i, f, j, o = jnp.split(gates + weights[f"lstm{layer}/b"], 4, 1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(j)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            after.append((c, h))
        return after, h

    state, outputs = lax.scan(one_step, state, vectors.transpose(1, 0, 2))
    h = outputs.transpose(1, 0, 2).reshape(-1, models.HIDDEN)
    each = cross_entropy(dense_layers(weights, h), labels.reshape(-1))
    return each.sum() / models.LSTM_BATCH, state


def updated(rule: models.Optimizer, weights: Any, slots: Any, gradients: Any) -> Any:
    """Returns: the weights and the optimizer's slots after one step."""
    rate = rule.learning_rate
    if rule.clip_norm is not None:
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
        scale = rule.clip_norm / jnp.maximum(norm, rule.clip_norm)
        gradients = jax.tree.map(lambda g: g * scale, gradients)
    if rule.name == "sgd":
        return jax.tree.map(lambda w, g: w - rate * g, weights, gradients), slots
    if rule.name == "momentum":
        slots = jax.tree.map(lambda a, g: 0.9 * a + g, slots, gradients)
        return jax.tree.map(lambda w, a: w - rate * a, weights, slots), slots
    m, v, n = slots
    n = n + 1
    rate = rate * jnp.sqrt(1 - 0.999**n) / (1 - 0.9**n)
    m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, gradients)
    v = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, v, gradients)
    weights = jax.tree.map(lambda w, a, b: w - rate * a / (jnp.sqrt(b) + 1e-8), weights, m, v)
    return weights, (m, v, n)


def trained(row: str) -> Program:
    model = models.TRAINED[row]()
    rule = model.optimizer
    weights = {name: jnp.array(value) for name, value in model.weights.items()}
    slots: Any = jax.tree.map(jnp.zeros_like, weights) if rule.name != "sgd" else ()
    if rule.name == "adam":
        slots = (slots, jax.tree.map(jnp.zeros_like, weights), jnp.zeros([]))
    recurrent: Any = ()
    if row == "lstm":
        shape = (models.LSTM_BATCH, models.HIDDEN)
        recurrent = [(jnp.zeros(shape), jnp.zeros(shape)) for _ in range(2)]

    def loss_of(weights: Any, recurrent: Any, x: Any, t: Any) -> Any:
        if row == "lstm":
            return lstm_loss(weights, x, t, recurrent)
        return classifier_loss(row, weights, x, t), recurrent

    def step(weights: Any, slots: Any, recurrent: Any, x: Any, t: Any) -> Any:
        differentiated = jax.value_and_grad(loss_of, has_aux=True)
        (loss, recurrent), gradients = differentiated(weights, recurrent, x, t)
        return *updated(rule, weights, slots, gradients), recurrent, loss

    compiled = jax.jit(step, donate_argnums=(0, 1))

    def once() -> np.ndarray:
        nonlocal weights, slots, recurrent
        weights, slots, recurrent, loss = compiled(
            weights, slots, recurrent, model.inputs, model.labels
        )
        return np.asarray(loss)

    return Program(once, check=after_steps(once))
