"""Random numbers: right in distribution, from NumPy's generators instead of TensorFlow's.

A stateful op draws from a generator of its own, made once per node from (seed, seed2), so that
its stream continues for any requested shape; both 0 means a seed from the system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference import special_functions as special
from headrace.kernels.reference.precision import numpy_type, wide
from headrace.kernels.reference.registry import Attrs, kernel, stateful_kernel

Compute = Callable[..., np.ndarray]
_WORD = 2**64
BLOCK = 2**18  # numbers that are drawn at once: some 20 ms


def node_generator(attrs: Attrs) -> np.random.Generator:
    """The generator of a stateful node."""
    seeds = [attrs["seed"] % _WORD, attrs["seed2"] % _WORD]
    return np.random.Generator(
        np.random.Philox(np.random.SeedSequence(seeds if any(seeds) else None))
    )


def seeded_generator(seed: np.ndarray) -> np.random.Generator:
    """The generator of a stateless op, whose seed is an input of two numbers."""
    if seed.shape != (2,):
        raise InvalidArgumentError(None, None, f"seed must have shape [2], not {list(seed.shape)}")
    return np.random.Generator(
        np.random.Philox(np.random.SeedSequence([int(n) % _WORD for n in seed]))
    )


# ---- distributions; each draws in float64 and rounds ----


def _uniform(generator: np.random.Generator, size: Any, dtype: np.dtype) -> np.ndarray:
    """0 <= x < 1: as many random bits as the mantissa has, so that none rounds up to 1."""
    bits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[dtype.name]
    return (generator.integers(0, 2**bits, size) / 2.0**bits).astype(dtype)


def _normal(generator: np.random.Generator, size: Any, dtype: np.dtype) -> np.ndarray:
    return np.asarray(generator.standard_normal(size)).astype(dtype)


def _truncated(generator: np.random.Generator, size: Any, dtype: np.dtype) -> np.ndarray:
    """Normal numbers, those beyond two standard deviations drawn again."""
    x = np.asarray(generator.standard_normal(size))
    beyond = np.abs(x) >= 2
    while beyond.any():
        x[beyond] = generator.standard_normal(int(beyond.sum()))
        beyond = np.abs(x) >= 2
    return x.astype(dtype)


def _integers(
    generator: np.random.Generator, size: Any, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    if np.any(low >= high):
        raise InvalidArgumentError(None, None, f"Need minval < maxval, got {low} >= {high}")
    return generator.integers(low, high, size, dtype=low.dtype)


def _classes(
    generator: np.random.Generator, logits: np.ndarray, count: int, dtype: np.dtype
) -> np.ndarray:
    """The largest of logits plus Gumbel noise, `count` times a row."""
    noise = generator.gumbel(size=(*logits.shape, count))
    scores = np.where(np.isfinite(wide(logits)), wide(logits), -np.inf)[..., np.newaxis] + noise
    return scores.argmax(axis=1).astype(dtype)


def _size(shape: np.ndarray) -> tuple[int, ...]:
    return tuple(shape.tolist())


# ---- with a state ----


def _drawing(draw: Callable[..., np.ndarray]) -> Callable[[Attrs], Compute]:
    """A factory of kernels that draw a shape's worth of the type that the node says."""

    def factory(attrs: Attrs) -> Compute:
        generator, dtype = node_generator(attrs), numpy_type(attrs["dtype"])
        return lambda shape: draw(generator, _size(shape), dtype)

    return factory


stateful_kernel("RandomUniform")(_drawing(_uniform))
stateful_kernel("RandomStandardNormal")(_drawing(_normal))
stateful_kernel("TruncatedNormal")(_drawing(_truncated))


@stateful_kernel("RandomUniformInt")
def random_uniform_int(attrs: Attrs) -> Compute:
    generator = node_generator(attrs)
    return lambda shape, low, high: _integers(generator, _size(shape), low, high)


def _blocks(n_rows: int, n_columns: int) -> Iterator[tuple[slice, slice]]:
    """Parts of a matrix in its order, so small that a cancelled step does not wait for NumPy."""
    width = min(n_columns, BLOCK)
    height = max(1, BLOCK // max(1, width)) if width == n_columns else 1
    for row in range(0, n_rows, height):
        for column in range(0, n_columns, max(1, width)):
            yield slice(row, row + height), slice(column, column + width)


@stateful_kernel("ParameterizedTruncatedNormal")
def parameterized_truncated_normal(attrs: Attrs) -> Compute:
    generator, dtype = node_generator(attrs), numpy_type(attrs["dtype"])

    def compute(
        shape: np.ndarray,
        means: np.ndarray,
        deviations: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
    ) -> np.ndarray:
        size = _size(shape)
        parameters = [wide(v).ravel() for v in (means, deviations, low, high)]
        n_rows = size[0] if max(v.size for v in parameters) > 1 else 1
        result = np.empty(size, dtype)
        rows = result.reshape(n_rows, result.size // max(1, n_rows))
        for at, to in _blocks(*rows.shape):
            mean, deviation, least, most = (
                (v[at] if v.size > 1 else v)[:, None] for v in parameters
            )
            begin, end = (
                special.erfc(-(bound - mean) / deviation / np.sqrt(2)) / 2
                for bound in (least, most)
            )
            u = begin + generator.random(rows[at, to].shape) * (end - begin)
            rows[at, to] = np.clip(mean + deviation * special.ndtri(u), least, most)
        return result

    return compute


@stateful_kernel("RandomShuffle")
def random_shuffle(attrs: Attrs) -> Compute:
    generator = node_generator(attrs)
    return lambda value: value[generator.permutation(len(value))] if value.ndim else value.copy()


@stateful_kernel("RandomCrop")
def random_crop(attrs: Attrs) -> Compute:
    generator = node_generator(attrs)

    def compute(image: np.ndarray, size: np.ndarray) -> np.ndarray:
        height, width = size.tolist()
        spare = (image.shape[0] - height, image.shape[1] - width)
        if min(spare) < 0:
            raise InvalidArgumentError(
                None, None, f"size {[height, width]} does not fit into {list(image.shape)}"
            )
        top, left = (int(generator.integers(0, n + 1)) for n in spare)
        return image[top : top + height, left : left + width].copy()

    return compute


@stateful_kernel("RandomGamma")
def random_gamma(attrs: Attrs) -> Compute:
    generator, dtype = node_generator(attrs), numpy_type(attrs["T"])
    return lambda shape, alpha: generator.gamma(
        wide(alpha), size=_size(shape) + alpha.shape
    ).astype(dtype)


@stateful_kernel("RandomPoisson")
def random_poisson(attrs: Attrs) -> Compute:
    generator, dtype = node_generator(attrs), numpy_type(attrs["dtype"])
    return lambda shape, rate: generator.poisson(wide(rate), _size(shape) + rate.shape).astype(
        dtype
    )


@stateful_kernel("RandomPoissonV2")
def random_poisson_v2(attrs: Attrs) -> Compute:
    return random_poisson(attrs)


@stateful_kernel("Multinomial")
def multinomial(attrs: Attrs) -> Compute:
    generator, dtype = node_generator(attrs), numpy_type(attrs["output_dtype"])
    return lambda logits, count: _classes(generator, logits, int(count), dtype)


@kernel("RandomGammaGrad")
def random_gamma_grad(attrs: Attrs, alpha: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """How a sample moves with alpha while its cumulative probability stays."""
    a, x = wide(alpha), wide(sample)
    density = np.exp((a - 1) * np.log(x) - x - special.lgamma(a))
    return (-special.igamma_grad_a(a, x) / density).astype(alpha.dtype)


# ---- without a state: the seed is an input ----


@kernel("StatelessRandomUniform")
def stateless_random_uniform(attrs: Attrs, shape: np.ndarray, seed: np.ndarray) -> np.ndarray:
    return _uniform(seeded_generator(seed), _size(shape), numpy_type(attrs["dtype"]))


@kernel("StatelessRandomNormal")
def stateless_random_normal(attrs: Attrs, shape: np.ndarray, seed: np.ndarray) -> np.ndarray:
    return _normal(seeded_generator(seed), _size(shape), numpy_type(attrs["dtype"]))


@kernel("StatelessTruncatedNormal")
def stateless_truncated_normal(attrs: Attrs, shape: np.ndarray, seed: np.ndarray) -> np.ndarray:
    return _truncated(seeded_generator(seed), _size(shape), numpy_type(attrs["dtype"]))


@kernel("StatelessRandomUniformInt")
def stateless_random_uniform_int(
    attrs: Attrs, shape: np.ndarray, seed: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    return _integers(seeded_generator(seed), _size(shape), low, high)


@kernel("StatelessRandomUniformFullInt")
def stateless_random_uniform_full_int(
    attrs: Attrs, shape: np.ndarray, seed: np.ndarray
) -> np.ndarray:
    dtype = numpy_type(attrs["dtype"])
    ends = np.iinfo(dtype)
    generator = seeded_generator(seed)
    return generator.integers(ends.min, ends.max, _size(shape), dtype=dtype, endpoint=True)


@kernel("StatelessMultinomial")
def stateless_multinomial(
    attrs: Attrs, logits: np.ndarray, count: np.ndarray, seed: np.ndarray
) -> np.ndarray:
    dtype = numpy_type(attrs["output_dtype"])
    return _classes(seeded_generator(seed), logits, int(count), dtype)
