from __future__ import annotations

from collections import OrderedDict, namedtuple

import pytest

from headrace.graph import nest

Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "structure",
    [1, [1, 2], (1, [2, (3,)]), {"b": 1, "a": [2, 3]}, Point(1, {"k": Point(2, 3)}), [], {}],
)
def test_flattening_and_packing_are_inverse(structure):
    assert nest.pack_sequence_as(structure, nest.flatten(structure)) == structure


def test_mappings_flatten_in_key_order_and_keep_their_order():
    d = OrderedDict([("b", 1), ("a", 2)])
    assert nest.flatten(d) == [2, 1]
    assert list(nest.map_structure(lambda v: v * 10, d).items()) == [("b", 10), ("a", 20)]


def test_different_structures_raise():
    nest.assert_same_structure([1, (2,)], [3, (4,)])
    with pytest.raises(ValueError, match="don't have the same nested structure"):
        nest.assert_same_structure([1, 2], [1, [2]])
    with pytest.raises(TypeError):
        nest.assert_same_structure([1, 2], (1, 2))
    nest.assert_same_structure([1, 2], (1, 2), check_types=False)
    with pytest.raises(ValueError, match="3 elements, but flat_sequence had 2"):
        nest.pack_sequence_as([1, 2, 3], [1, 2])


def test_flatten_up_to_stops_at_the_shallow_structure():
    assert nest.flatten_up_to([0, 0], [[1, 2], 3]) == [[1, 2], 3]
    with pytest.raises(TypeError):
        nest.flatten_up_to([0, [0]], [1, 2])


def test_keys_and_values_flatten_together():
    assert nest.flatten_dict_items({("a", "b"): (1, 2), "c": 3}) == {"a": 1, "b": 2, "c": 3}
    with pytest.raises(ValueError, match="not unique"):
        nest.flatten_dict_items({("a", "b"): (1, 2), "a": 3})
