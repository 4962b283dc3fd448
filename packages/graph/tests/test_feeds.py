"""Conversion of fed values to arrays."""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.graph.client import feeds


def test_fed_value_is_converted_to_the_dtype_of_its_tensor():
    x = hr.placeholder(hr.float32, [2])
    array = feeds.as_feed(x, [1, 2])
    assert array.dtype == np.float32 and array.tolist() == [1, 2]
    with pytest.raises(ValueError, match="shape"):
        feeds.as_feed(x, [1, 2, 3])


def test_feed_of_a_sparse_tensor_feeds_its_three_tensors():
    sparse = hr.sparse_placeholder(hr.float32)
    graph = hr.get_default_graph()
    pairs = feeds.resolve(graph, {sparse: hr.SparseTensorValue([[0]], [1.0], [2])})
    assert [tensor for tensor, _ in pairs] == feeds.flat_feeds([sparse])


def test_names_are_feed_keys_and_other_keys_raise():
    x = hr.placeholder(hr.float32, name="x")
    assert feeds.feed_tensor(hr.get_default_graph(), "x:0") is x
    with pytest.raises(TypeError):
        feeds.resolve(hr.get_default_graph(), {3: 1.0})
