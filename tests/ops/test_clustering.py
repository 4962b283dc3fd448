"""The functions of ops/clustering and their static shapes."""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.graph.contrib.factorization import initial_centers
from headrace.graph.ops.clustering import (
    kmc2_chain_initialization,
    kmeans_plus_plus_initialization,
    nearest_neighbors,
)


def test_shapes_are_known_as_far_as_the_inputs_are():
    points, centers = hr.placeholder(hr.float32, [None, 3]), hr.placeholder(hr.float32, [4, 3])
    k = hr.placeholder(hr.int64, [])
    for count, width in ((2, 2), (9, 4), (k, None)):
        numbers, distances = nearest_neighbors(points, centers, count)
        assert numbers.shape.as_list() == distances.shape.as_list() == [None, width]
    assert kmeans_plus_plus_initialization(points, 5, 0, 0).shape.as_list() == [5, 3]
    assert kmeans_plus_plus_initialization(points, k, 0, 0).shape.as_list() == [None, 3]
    assert kmc2_chain_initialization(hr.zeros([3]), 0).shape.as_list() == []
    with pytest.raises(ValueError, match="point_dimensions == center_dimensions: 3 vs 2"):
        nearest_neighbors(points, hr.zeros([4, 2]), 1)


def test_the_number_of_neighbours_may_differ_between_runs():
    k = hr.placeholder(hr.int64, [])
    numbers, _ = nearest_neighbors(np.zeros([1, 1], "f"), [[2.0], [1.0], [3.0]], k)
    with hr.Session() as session:
        assert [session.run(numbers, {k: n}).tolist() for n in (1, 2, 7)] == [
            [[1]],
            [[1, 0]],
            [[1, 0, 2]],
        ]


def test_centers_that_exist_are_kept():
    centers = hr.Variable(np.ones([1, 2], "f"), validate_shape=False, use_resource=False)
    done = hr.Variable(False, use_resource=False)
    chosen = initial_centers.InitialCenters(
        [hr.zeros([3, 2])],
        hr.constant(2),
        initial_centers.KMC2_INIT,
        cosine=False,
        seed=0,
        retries=0,
        chain_length=2,
        centers=centers,
        moved=centers,
        initialized=done,
    ).op()
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        session.run(chosen)
        assert session.run([centers, done])[0].tolist() == [[1, 1], [0, 0]]
        assert session.run(done)
        session.run(chosen)  # changes nothing more
        assert len(session.run(centers)) == 2
