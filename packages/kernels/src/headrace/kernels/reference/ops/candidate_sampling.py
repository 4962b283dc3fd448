"""Classes sampled to stand for all others in a loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.random import node_generator
from headrace.kernels.reference.registry import Attrs, kernel, stateful_kernel

Compute = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def _sampler(
    attrs: Attrs, probabilities: Callable[[], np.ndarray], learn: Callable[..., None] | None = None
) -> Compute:
    """A kernel that draws `num_sampled` classes and says how often each is to be expected.

    Args:
      probabilities: of all classes, as they are now.
      learn: called with the true classes after each draw.
    """
    generator = node_generator(attrs)
    requested, unique = attrs["num_sampled"], attrs["unique"]

    def compute(true_classes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        p = probabilities()
        if unique and requested > np.count_nonzero(p):
            raise InvalidArgumentError(
                None, None, f"num_sampled {requested} is more than the {p.size} classes there are"
            )
        if true_classes.shape[1:] != (attrs["num_true"],):
            raise InvalidArgumentError(
                None, None, f"true_classes must be [*, {attrs['num_true']}]: {true_classes.shape}"
            )
        tries = requested
        sampled: list[int] = []
        if unique:  # draw until enough different ones came; the number of draws counts
            tries, seen = 0, set()
            while len(sampled) < requested:
                for one in np.asarray(generator.choice(p.size, size=requested, p=p)).tolist():
                    tries += 1
                    if one not in seen:
                        seen.add(one)
                        sampled.append(one)
                        if len(sampled) == requested:
                            break
        else:
            sampled = np.asarray(generator.choice(p.size, size=requested, p=p)).tolist()

        def expected(classes: np.ndarray) -> np.ndarray:
            inside = (classes >= 0) & (classes < p.size)
            chance = np.where(inside, p[np.where(inside, classes, 0)], 0.0)
            often = -np.expm1(tries * np.log1p(-chance)) if unique else chance * requested
            return often.astype(np.float32)

        candidates = np.array(sampled, np.int64)
        result = (candidates, expected(true_classes), expected(candidates))
        if learn is not None:
            learn(true_classes)
        return result

    return compute


@stateful_kernel("UniformCandidateSampler")
def uniform(attrs: Attrs) -> Compute:
    p = np.full(attrs["range_max"], 1 / attrs["range_max"])
    return _sampler(attrs, lambda: p)


@stateful_kernel("LogUniformCandidateSampler")
def log_uniform(attrs: Attrs) -> Compute:
    n = attrs["range_max"]
    k = np.arange(n)
    p = np.log((k + 2) / (k + 1)) / np.log(n + 1)
    return _sampler(attrs, lambda: p / p.sum())


@stateful_kernel("LearnedUnigramCandidateSampler", "ThreadUnsafeUnigramCandidateSampler")
def learned_unigram(attrs: Attrs) -> Compute:
    weights = np.ones(attrs["range_max"])

    def learn(true_classes: np.ndarray) -> None:
        np.add.at(weights, true_classes.ravel(), 1)

    return _sampler(attrs, lambda: weights / weights.sum(), learn)


@stateful_kernel("FixedUnigramCandidateSampler")
def fixed_unigram(attrs: Attrs) -> Compute:
    weights = [0.0] * attrs["num_reserved_ids"]
    if attrs["vocab_file"]:
        with open(attrs["vocab_file"], encoding="utf-8") as stream:  # the last column of a CSV
            weights += [float(line.rsplit(",", 1)[-1]) for line in stream if line.strip()]
    else:
        weights += attrs["unigrams"]
    if len(weights) != attrs["range_max"]:
        raise InvalidArgumentError(
            None, None, f"range_max is {attrs['range_max']}, there are {len(weights)} weights"
        )
    powers = np.power(np.array(weights), attrs["distortion"])
    powers[: attrs["num_reserved_ids"]] = 0
    own = np.arange(powers.size) % attrs["num_shards"] == attrs["shard"]
    p = np.where(own, powers, 0.0)
    return _sampler(attrs, lambda: p / p.sum())


@stateful_kernel("AllCandidateSampler")
def all_candidates(attrs: Attrs) -> Compute:
    n = attrs["num_sampled"]

    def compute(true_classes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        ones = np.ones(true_classes.shape, np.float32)
        return np.arange(n, dtype=np.int64), ones, np.ones(n, np.float32)

    return compute


@kernel("ComputeAccidentalHits")
def compute_accidental_hits(
    attrs: Attrs, true_classes: np.ndarray, sampled: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where a sampled class is a true one, with a weight that takes it out of the loss."""
    place = {candidate: i for i, candidate in enumerate(sampled.tolist())}
    hits = [
        (row, place[one])
        for row, classes in enumerate(true_classes.tolist())
        for one in classes
        if one in place
    ]
    rows, ids = np.array(hits, np.int64).reshape(-1, 2).T
    weights = np.full(len(hits), -np.finfo(np.float32).max, np.float32)
    return rows.astype(np.int32), ids.copy(), weights
