"""Values for tensors become arrays of the tensors' types."""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.graph.client import feeds


def test_a_value_takes_the_type_of_its_tensor():
    x = hr.placeholder(hr.float32, [2])
    array = feeds.as_feed(x, [1, 2])
    assert array.dtype == np.float32 and array.tolist() == [1, 2]
    with pytest.raises(ValueError, match="shape"):
        feeds.as_feed(x, [1, 2, 3])


def test_a_sparse_tensor_is_fed_in_three_parts():
    sparse = hr.sparse_placeholder(hr.float32)
    graph = hr.get_default_graph()
    pairs = feeds.resolve(graph, {sparse: hr.SparseTensorValue([[0]], [1.0], [2])})
    assert [tensor for tensor, _ in pairs] == feeds.flat_feeds([sparse])


def test_a_name_stands_for_its_tensor_and_other_keys_are_refused():
    x = hr.placeholder(hr.float32, name="x")
    assert feeds.feed_tensor(hr.get_default_graph(), "x:0") is x
    with pytest.raises(TypeError):
        feeds.resolve(hr.get_default_graph(), {3: 1.0})
