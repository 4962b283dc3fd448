"""The Adam step of `programs.adam`, in JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from programs import Program, adam_arrays


def program() -> Program:
    weights, images, labels = adam_arrays()
    values = [(jnp.array(w), jnp.zeros(w.shape[1])) for w in weights]
    zeros = jax.tree.map(jnp.zeros_like, values)
    state = [values, zeros, zeros, jnp.zeros([])]

    def loss_of(values, x, t):
        h = x
        for i, (w, b) in enumerate(values):
            h = h @ w + b
            h = jax.nn.relu(h) if i < 2 else h
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(h), t[:, None], 1))

    def step(state, x, t):
        values, m, v, n = state
        loss, grad = jax.value_and_grad(loss_of)(values, x, t)
        n = n + 1
        rate = 1e-3 * jnp.sqrt(1 - 0.999**n) / (1 - 0.9**n)
        m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, grad)
        v = jax.tree.map(lambda a, g: 0.999 * a + 0.001 * g * g, v, grad)
        values = jax.tree.map(lambda p, a, b: p - rate * a / (jnp.sqrt(b) + 1e-8), values, m, v)
        return [values, m, v, n], loss

    compiled = jax.jit(step, donate_argnums=0)
    state = jax.tree.map(jnp.array, state)  # no two leaves share what is given away

    def once() -> np.ndarray:
        nonlocal state
        state, loss = compiled(state, images, labels)
        return np.asarray(loss)

    first = once()
    for _ in range(50):
        last = once()
    assert last < first
    return Program(once)
