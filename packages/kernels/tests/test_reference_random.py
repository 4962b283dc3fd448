"""The reference kernels of random numbers and candidate sampling."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference import library
from headrace.kernels.reference.oracle import complete_attrs, run

SHAPE = np.array([20_000], np.int32)


def test_a_seed_gives_one_stream_and_it_goes_on() -> None:
    attrs = complete_attrs("RandomUniform", [SHAPE], {"dtype": "float32", "seed": 3})
    a, b = library().create("RandomUniform", attrs), library().create("RandomUniform", attrs)
    first = a(SHAPE)
    assert np.array_equal(first, b(SHAPE)) and not np.array_equal(first, a(SHAPE))


def test_without_seeds_two_nodes_differ() -> None:
    a, b = (run("RandomUniform", SHAPE, dtype="float32")[0] for _ in range(2))
    assert not np.array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_numbers_stay_below_one(dtype: str) -> None:
    x = run("RandomUniform", SHAPE, dtype=dtype, seed=1)[0].astype(np.float64)
    assert x.min() >= 0 and x.max() < 1
    assert x.mean() == pytest.approx(0.5, abs=0.02) and x.var() == pytest.approx(1 / 12, abs=0.01)


def test_truncated_numbers_stay_within_two_deviations() -> None:
    x = run("TruncatedNormal", SHAPE, dtype="float64", seed=1)[0]
    assert np.abs(x).max() < 2 and x.std() == pytest.approx(0.8796, abs=0.02)


def test_gamma_numbers_have_their_alpha_as_mean() -> None:
    x = run("RandomGamma", SHAPE, np.array([0.5, 3.0]), seed=1)[0]
    assert x.shape == (20_000, 2)
    assert x.mean(axis=0) == pytest.approx([0.5, 3.0], rel=0.05)


def test_multinomial_draws_by_the_softmax_of_the_logits() -> None:
    logits = np.log(np.array([[0.1, 0.2, 0.7]]))
    x = run("Multinomial", logits, np.int32(20_000), seed=1)[0]
    assert np.bincount(x.ravel()) / x.size == pytest.approx([0.1, 0.2, 0.7], abs=0.02)


def test_a_stateless_op_gives_the_same_for_the_same_seed() -> None:
    a, b, c = (
        run("StatelessRandomNormal", SHAPE, np.array([1, seed]), dtype="float32")[0]
        for seed in (2, 2, 3)
    )
    assert np.array_equal(a, b) and not np.array_equal(a, c)


def test_an_empty_range_is_rejected() -> None:
    with pytest.raises(InvalidArgumentError, match="minval < maxval"):
        run("RandomUniformInt", SHAPE, np.int32(3), np.int32(3))


def test_unique_candidates_are_unique_and_expected_at_most_once() -> None:
    sampled, of_true, of_sampled = run(
        "LogUniformCandidateSampler",
        np.array([[0], [9]]),
        num_true=1,
        num_sampled=8,
        unique=True,
        range_max=10,
        seed=1,
    )
    assert len(set(sampled.tolist())) == 8
    assert (of_sampled <= 1).all() and of_true[0, 0] > of_true[1, 0]
