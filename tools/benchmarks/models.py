"""The programs with real arithmetic, one description for all systems: weights, batch, optimizer.

Each system has a module that builds them as its users do (`models_graph`, `models_torch`,
`models_jax`). The loss of an early step is compared between the systems, so that all of them do
the same work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

N_ELEMENTS = 4 * 1024 * 1024
SIDE = 1024
VOCABULARY, HIDDEN, STEPS, LSTM_BATCH, CLIP_NORM = 10_000, 200, 20, 20, 5.0
CHECKED_STEP = 3


@dataclass(frozen=True)
class Optimizer:
    """`name` is sgd, momentum or adam, with the usual other constants."""

    name: str
    learning_rate: float
    clip_norm: float | None = None


@dataclass(frozen=True)
class Model:
    """Weights by name in order of use, images as NHWC, kernels as HWIO, dense ones as [in, out]."""

    weights: dict[str, np.ndarray]
    inputs: np.ndarray
    labels: np.ndarray
    optimizer: Optimizer


def dense(rng: np.random.RandomState, weights: dict[str, np.ndarray], *sizes: int) -> None:
    for i, (n_in, n_out) in enumerate(zip(sizes, sizes[1:], strict=False)):
        scale = np.sqrt(2.0 / n_in)
        weights[f"dense{i}/w"] = rng.randn(n_in, n_out).astype(np.float32) * np.float32(scale)
        weights[f"dense{i}/b"] = np.zeros(n_out, np.float32)


def convolutions(
    rng: np.random.RandomState, weights: dict[str, np.ndarray], *shapes: tuple[int, ...]
) -> None:
    for i, shape in enumerate(shapes):
        scale = np.sqrt(2.0 / np.prod(shape[:3]))
        weights[f"conv{i}/w"] = rng.randn(*shape).astype(np.float32) * np.float32(scale)
        weights[f"conv{i}/b"] = np.zeros(shape[3], np.float32)


def images(
    rng: np.random.RandomState, batch: int, side: int, channels: int, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    pixels = rng.rand(batch, side, side, channels).astype(np.float32)
    return pixels, rng.randint(0, classes, batch).astype(np.int64)


def mlp() -> Model:
    """784-256-256-10, batch 100, Adam."""
    rng = np.random.RandomState(0)
    weights: dict[str, np.ndarray] = {}
    dense(rng, weights, 784, 256, 256, 10)
    x = rng.rand(100, 784).astype(np.float32)
    return Model(weights, x, rng.randint(0, 10, 100).astype(np.int64), Optimizer("adam", 1e-3))


def mnist() -> Model:
    """The convnet of TensorFlow's MNIST tutorial without dropout, batch 64, Adam."""
    rng = np.random.RandomState(0)
    weights: dict[str, np.ndarray] = {}
    convolutions(rng, weights, (5, 5, 1, 32), (5, 5, 32, 64))
    dense(rng, weights, 7 * 7 * 64, 1024, 10)
    return Model(weights, *images(rng, 64, 28, 1, 10), Optimizer("adam", 1e-4))


def cifar() -> Model:
    """The convnet of TensorFlow's CIFAR-10 tutorial without its LRN, batch 128, SGD."""
    rng = np.random.RandomState(0)
    weights: dict[str, np.ndarray] = {}
    convolutions(rng, weights, (5, 5, 3, 64), (5, 5, 64, 64))
    dense(rng, weights, 6 * 6 * 64, 384, 192, 10)
    return Model(weights, *images(rng, 128, 24, 3, 10), Optimizer("sgd", 0.01))


def alexnet() -> Model:
    """The one-column AlexNet (Krizhevsky 2014) without dropout, batch 16, momentum."""
    rng = np.random.RandomState(0)
    weights: dict[str, np.ndarray] = {}
    kernels = (11, 11, 3, 64), (5, 5, 64, 192), (3, 3, 192, 384), (3, 3, 384, 256), (3, 3, 256, 256)
    convolutions(rng, weights, *kernels)
    dense(rng, weights, 6 * 6 * 256, 4096, 4096, 1000)
    return Model(weights, *images(rng, 16, 224, 3, 1000), Optimizer("momentum", 1e-3))


def lstm() -> Model:
    """The small model of the PTB tutorial: 2 layers of 200, 20 steps, batch 20, clipped SGD.

    Kernels are [in + hidden, 4 * hidden], gates in the order input, forget, new value, output.
    """
    rng = np.random.RandomState(0)

    def uniform(*shape: int) -> np.ndarray:
        return rng.uniform(-0.1, 0.1, shape).astype(np.float32)

    weights = {"embedding": uniform(VOCABULARY, HIDDEN)}
    for layer in range(2):
        weights[f"lstm{layer}/w"] = uniform(2 * HIDDEN, 4 * HIDDEN)
        weights[f"lstm{layer}/b"] = np.zeros(4 * HIDDEN, np.float32)
    weights["dense0/w"] = uniform(HIDDEN, VOCABULARY)
    weights["dense0/b"] = np.zeros(VOCABULARY, np.float32)
    words = rng.randint(0, VOCABULARY, (LSTM_BATCH, STEPS + 1))
    return Model(
        weights,
        words[:, :-1].astype(np.int64),
        words[:, 1:].astype(np.int64),
        Optimizer("sgd", 1.0, CLIP_NORM),
    )


def elements() -> np.ndarray:
    return np.random.RandomState(0).randn(N_ELEMENTS).astype(np.float32)


def matrices() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(0)
    return tuple(rng.randn(SIDE, SIDE).astype(np.float32) for _ in range(2))


# Layers between which pooling by 3x3 with stride 2 (2x2 for MNIST) stands, and the padding of it.
POOLED = {"mnist": (0, 1), "cifar": (0, 1), "alexnet": (0, 1, 4)}
POOL_SIZE = {"mnist": 2, "cifar": 3, "alexnet": 3}
POOL_PADDING = {"mnist": "SAME", "cifar": "SAME", "alexnet": "VALID"}
STRIDES = {"alexnet": (4, 1, 1, 1, 1)}

TRAINED: dict[str, Callable[[], Model]] = {
    "mlp": mlp,
    "mnist": mnist,
    "cifar": cifar,
    "lstm": lstm,
    "alexnet": alexnet,
}
ROWS = ("elementwise_chain", "matmul", *TRAINED)
