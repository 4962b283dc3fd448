"""Broadcasting of weights for losses and metrics."""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.graph.losses import weight_broadcasting


@pytest.mark.parametrize("shape", [[], [2, 3], [1, 3], [2, 1]])
def test_a_scalar_and_sizes_of_one_broadcast(shape):
    assert weight_broadcasting.assert_broadcastable(hr.ones(shape), hr.zeros([2, 3])) is None


@pytest.mark.parametrize("shape", [[3], [2, 2], [2, 3, 1]])
def test_incompatible_weights_raise(shape):
    with pytest.raises(ValueError, match="weights can not be broadcast"):
        weight_broadcasting.assert_broadcastable(hr.ones(shape), hr.zeros([2, 3]))


def test_a_last_dimension_of_one_is_squeezed():
    labels, predictions, weights = weight_broadcasting.squeeze_to_match(
        hr.zeros([4, 1]), hr.zeros([4]), hr.ones([4, 1])
    )
    assert labels.shape == predictions.shape == weights.shape == [4]
