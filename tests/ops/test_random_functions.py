"""Functions that draw: what holds of every draw, and how often values come."""

from __future__ import annotations

import time

import numpy as np
import pytest

import headrace.graph as hr
from headrace.graph.api.namespace import find

LABELS = np.int64([[1, 2], [3, 4]])


@pytest.fixture(autouse=True)
def graph():
    with hr.Graph().as_default() as fresh:
        hr.set_random_seed(7)
        yield fresh


def run(*fetches):
    with hr.Session() as session:
        session.run([hr.global_variables_initializer(), hr.local_variables_initializer()])
        return session.run(list(fetches))


def test_categorical_draws_with_the_given_probabilities():
    (drawn,) = run(hr.random.categorical([[0.0, np.log(3.0)]], 4000))
    assert drawn.shape == (1, 4000) and abs(drawn.mean() - 0.75) < 0.05


def test_a_truncated_normal_stays_within_two_deviations():
    (drawn,) = run(hr.truncated_normal([4000], 1.0, 2.0))
    assert np.abs(drawn - 1.0).max() <= 4.0 and abs(drawn.mean() - 1.0) < 0.2


def test_a_poisson_has_its_rate_for_mean_and_variance():
    (drawn,) = run(hr.random_poisson(3.0, [4000]))
    assert abs(drawn.mean() - 3.0) < 0.2 and abs(drawn.var() - 3.0) < 0.4


def test_a_shuffle_keeps_the_rows():
    (drawn,) = run(hr.random_shuffle(np.arange(20)))
    assert sorted(drawn) == list(range(20)) and list(drawn) != list(range(20))


@pytest.mark.parametrize(
    "name",
    ["uniform_candidate_sampler", "log_uniform_candidate_sampler",
     "learned_unigram_candidate_sampler"],
)  # fmt: skip
def test_a_sampler_draws_different_classes(name):
    classes, of_true, of_sampled = run(*find(f"nn.{name}")(LABELS, 2, 5, True, 10))
    assert len(set(classes)) == 5 and set(classes) <= set(range(10))
    assert of_true.shape == (2, 2) and of_sampled.shape == (5,) and (of_true > 0).all()


def test_a_fixed_unigram_draws_only_what_has_weight():
    sampler = hr.nn.fixed_unigram_candidate_sampler
    classes, *_ = run(*sampler(LABELS, 2, 20, False, 5, unigrams=[0.0, 1.0, 0.0, 1.0, 0.0]))
    assert set(classes) == {1, 3}


@pytest.mark.parametrize("loss", [hr.nn.nce_loss, hr.nn.sampled_softmax_loss])
def test_a_sampled_loss_falls_as_the_logits_of_the_labels_rise(loss):
    weights, inputs = hr.eye(6, 4), hr.eye(2, 4)
    labels = np.int64([[0], [1]])
    sampled = (hr.constant([4, 5], hr.int64), hr.ones([2, 1]), hr.ones([2]))
    biases = hr.zeros([6])
    low, high = (
        loss(weights, biases, labels, scale * inputs, 2, 6, sampled_values=sampled)
        for scale in (1.0, 3.0)
    )
    before, after = run(low, high)
    assert before.shape == (2,) and (after < before).all()


def test_dropped_elements_are_zero_and_the_others_grow():
    (kept,) = run(hr.nn.dropout(hr.ones([4000]), rate=0.25))
    assert set(np.round(kept, 4)) == {0.0, np.float32(1.3333)} and abs(kept.mean() - 1) < 0.06


def test_a_jpeg_of_a_grey_image_stays_grey():
    grey = np.full((8, 8, 3), 128, np.uint8)
    (result,) = run(hr.image.adjust_jpeg_quality(grey, 50))
    assert np.abs(result.astype(int) - 128).max() <= 2


def test_a_timestamp_is_now():
    before = time.time()
    (now,) = run(hr.timestamp())
    assert before - 1 <= now <= time.time() + 1


def test_norms_of_several_tensors_are_clipped_together():
    clipped, norm = hr.clip_by_global_norm([hr.constant([3.0]), hr.constant([4.0])], 1.0)
    (a, b, before) = run(*clipped, norm)
    np.testing.assert_allclose([a[0], b[0], before], [0.6, 0.8, 5.0], rtol=1e-6)


def test_second_derivatives_of_cubes():
    x = hr.constant([1.0, 2.0])
    (found,) = run(*hr.hessians(hr.reduce_sum(x**3), x))
    np.testing.assert_allclose(found, [[6.0, 0.0], [0.0, 12.0]])
