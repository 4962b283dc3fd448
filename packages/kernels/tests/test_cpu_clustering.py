"""Clustering: nearest centers against NumPy, chosen points against those of TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import run_kernel

from headrace.formats.errors import InvalidArgumentError

_I = np.arange(12)
POINTS = np.stack([_I % 5 * 1.5, _I**2 % 7], 1).astype(np.float32)
# The points that TensorFlow 2.21 chooses, by seed and number of retries.
CHOSEN = {
    (0, 0): [9, 7, 0, 8, 5],
    (0, 2): [0, 4, 1, 2, 5],
    (0, -1): [7, 11, 2, 4, 10],
    (1, 0): [4, 10, 2, 0, 7],
    (1, 2): [3, 10, 1, 9, 5],
    (1, -1): [3, 11, 1, 9, 2],
    (-3, 0): [7, 5, 9, 4, 10],
    (-3, 2): [7, 10, 3, 9, 1],
    (-3, -1): [1, 4, 5, 2, 0],
}


def chosen(points, n, seed, retries):
    return run_kernel(
        "KmeansPlusPlusInitialization", points, np.int64(n), np.int64(seed), np.int64(retries)
    )


@pytest.mark.parametrize("k", [0, 1, 3, 9])
@pytest.mark.parametrize("shape", [(1, 5, 3), (70, 7, 4), (3, 1, 0)])
def test_the_nearest_centers_come_first(k, shape):
    random = np.random.default_rng(k)
    points = random.normal(size=(shape[0], shape[2])).astype(np.float32)
    centers = random.normal(size=shape[1:]).astype(np.float32)
    indices, distances = run_kernel("NearestNeighbors", points, centers, np.int64(k), threads=2)
    squares = np.square(points[:, None] - centers).sum(-1)
    order = np.argsort(squares, 1, kind="stable")[:, :k]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_allclose(distances, np.take_along_axis(squares, order, 1), atol=1e-5)


def test_nan_is_the_farthest():
    centers = np.array([[np.nan], [2], [1]], np.float32)
    indices, _ = run_kernel("NearestNeighbors", np.zeros([1, 1], "f"), centers, np.int64(3))
    assert indices.tolist() == [[2, 1, 0]]


@pytest.mark.parametrize("key", CHOSEN)
def test_seeds_choose_the_points_that_tensorflow_chooses(key):
    np.testing.assert_array_equal(chosen(POINTS, 5, *key), POINTS[CHOSEN[key]])


def test_equal_points_can_all_be_chosen():
    same = np.ones([6, 2], np.float32)
    np.testing.assert_array_equal(chosen(same, 6, 1, 2), same)
    odd = np.array([[0], [np.nan], [np.inf], [1]], np.float32)
    assert chosen(odd, 4, 1, 1).shape == (4, 1)


@pytest.mark.parametrize("seed", [0, 1, -3])
def test_a_chain_ends_where_that_of_tensorflow_ends(seed):
    assert run_kernel("KMC2ChainInitialization", POINTS[:, 1] + 1, np.int64(seed)) == 11


def test_what_tensorflow_rejects_is_rejected():
    with pytest.raises(InvalidArgumentError, match=r"num_to_sample <= points.rows\(\). 13 vs 12"):
        chosen(POINTS, 13, 0, 0)
    with pytest.raises(InvalidArgumentError, match="Expected num_to_sample > 0"):
        chosen(POINTS, 0, 0, 0)
    with pytest.raises(InvalidArgumentError, match="num_to_sample .*negative"):
        chosen(POINTS, -1, 0, 0)
    with pytest.raises(InvalidArgumentError, match="point_dimensions == center_dimensions: 2 vs 3"):
        run_kernel("NearestNeighbors", POINTS, np.zeros([2, 3], "f"), np.int64(1))
    with pytest.raises(InvalidArgumentError, match=r"Expected distances_tensor.size\(\) > 0"):
        run_kernel("KMC2ChainInitialization", np.zeros([0], "f"), np.int64(0))
