"""contrib.factorization.KMeans finds clusters, by every initialization, metric and kind of step.

Its modules: contrib/factorization/initial_centers, ops/clustering, shape_rules/clustering.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import headrace.graph as hr
from headrace.graph.contrib import factorization
from headrace.graph.contrib.factorization import KMeans

INITIAL = (factorization.RANDOM_INIT, factorization.KMEANS_PLUS_PLUS_INIT, "kmc2")
METRICS = (factorization.SQUARED_EUCLIDEAN_DISTANCE, factorization.COSINE_DISTANCE)
STEPS = ((False, 1), (True, 1), (True, 3))


@pytest.fixture
def points():
    """Four groups around corners that are far from each other, shuffled."""
    random = np.random.default_rng(3)
    corners = 9 * np.eye(4)
    groups = np.concatenate([corner + random.normal(size=(30, 4)) for corner in corners])
    return random.permutation(groups).astype(np.float32)


def trained(model, feeds, steps):
    """Runs a model. Returns: distances to all centers, numbers and distances of the nearest."""
    all_scores, numbers, scores, initialized, init_op, training_op = model.training_graph()
    with hr.Session() as session:
        session.run(hr.global_variables_initializer(), feeds)
        for _ in range(20):
            if session.run(initialized):
                break
            session.run(init_op, feeds)
        assert session.run(initialized)
        for _ in range(steps):
            session.run(training_op, feeds)
        return session.run([all_scores, numbers, scores], feeds)


@pytest.mark.parametrize(
    ("initial", "metric", "step"), list(itertools.product(INITIAL, METRICS, STEPS))
)
def test_each_point_belongs_to_its_nearest_center(points, initial, metric, step):
    mini_batch, per_iteration = step
    hr.set_random_seed(1)
    x = hr.placeholder(hr.float32, [None, 4])
    model = KMeans(
        x,
        4,
        initial_clusters=initial,
        distance_metric=metric,
        use_mini_batch=mini_batch,
        mini_batch_steps_per_iteration=per_iteration,
        random_seed=2,
        kmc2_chain_length=20,
    )
    (distances,), (numbers,), (scores,) = trained(model, {x: points}, 4)
    assert distances.shape == (120, 4)
    np.testing.assert_allclose(scores, distances.min(1), atol=1e-4)
    np.testing.assert_allclose(distances[np.arange(120), numbers], scores, atol=1e-4)


@pytest.mark.parametrize("step", STEPS)
def test_good_initial_centers_find_the_groups(points, step):
    x = hr.placeholder(hr.float32, [None, 4])
    centers = 5 * np.eye(4, dtype=np.float32)
    model = KMeans(x, 4, centers, use_mini_batch=step[0], mini_batch_steps_per_iteration=step[1])
    _, (numbers,), _ = trained(model, {x: points}, 7)
    np.testing.assert_array_equal(numbers, points.argmax(1))
    assert np.bincount(numbers).tolist() == [30] * 4


def test_full_steps_give_the_means_of_the_groups(points):
    x = hr.placeholder(hr.float32, [None, 4])
    model = KMeans(x, 4, 5 * np.eye(4, dtype=np.float32))
    (distances,), _, _ = trained(model, {x: points}, 3)
    group = points.argmax(1)
    means = np.stack([points[group == i].mean(0) for i in range(4)])
    expected = np.square(points[:, None] - means).sum(-1)
    np.testing.assert_allclose(distances, expected, rtol=1e-3, atol=1e-3)


def test_a_mini_batch_step_is_the_mean_of_all_that_a_center_has_had(points):
    x = hr.placeholder(hr.float32, [None, 4])
    start = 5 * np.eye(4, dtype=np.float32)
    (distances,), _, _ = trained(KMeans(x, 4, start, use_mini_batch=True), {x: points}, 1)
    group = points.argmax(1)
    means = np.stack([(start[i] + points[group == i].sum(0)) / 31 for i in range(4)])
    expected = np.square(points[:, None] - means).sum(-1)
    np.testing.assert_allclose(distances, expected, rtol=1e-3, atol=1e-3)


def test_two_inputs_and_a_function_that_chooses(points):
    corners = 5 * np.eye(4, dtype=np.float32)
    x, y = hr.constant(points[:50]), hr.constant(points[50:])
    model = KMeans([x, y], 4, lambda inputs, n: hr.gather(corners, hr.range(n)))
    distances, numbers, _ = trained(model, {}, 3)
    assert [len(part) for part in distances] == [50, 70]
    np.testing.assert_array_equal(np.concatenate(numbers), points.argmax(1))


def test_unknown_names_are_rejected():
    x = hr.zeros([3, 2])
    with pytest.raises(ValueError, match="Unsupported initialization algorithm 'best'"):
        KMeans(x, 2, initial_clusters="best")
    with pytest.raises(ValueError, match="Unsupported distance metric 'far'"):
        KMeans(x, 2, distance_metric="far")
