"""Collections of variables, and partitioners."""

from __future__ import annotations

import pytest

import headrace.graph as hr


def test_collections_list_their_variables():
    a = hr.Variable(1.0)
    b = hr.Variable(2.0, trainable=False, collections=[hr.GraphKeys.MODEL_VARIABLES])
    assert hr.all_variables() == hr.global_variables() == [a]
    assert hr.model_variables() == [b]
    assert hr.initializers.variables([a, b]).type == "NoOp"
    assert hr.tables_initializer().type == "NoOp"
    assert hr.assert_variables_initialized([a]).type == "NoOp"


def test_scope_object_creates_variables_with_its_prefix():
    with hr.variable_scope("a") as scope:
        assert isinstance(scope, hr.VariableScope)
    with hr.variable_scope(scope, reuse=hr.AUTO_REUSE):
        assert hr.get_variable("w", [1]).name == "a/w:0"


def test_partitioner_respects_the_minimum_slice_size():
    partitioner = hr.min_max_variable_partitioner(max_partitions=4, min_slice_size=16)
    assert partitioner(shape=hr.TensorShape([8, 2]), dtype=hr.float32) == [4, 1]
    assert partitioner(shape=hr.TensorShape([2, 2]), dtype=hr.float32) == [1, 1]


def test_partitioned_variables_are_created():
    parts = hr.create_partitioned_variables([5, 2], [2, 1], hr.zeros_initializer(), name="p")
    assert [p.shape.as_list() for p in parts] == [[3, 2], [2, 2]]
    with pytest.raises(ValueError, match="same length"):
        hr.create_partitioned_variables([5, 2], [2], hr.zeros_initializer())


@pytest.mark.parametrize(
    ("name", "scale", "mode", "distribution"),
    [
        ("he_uniform", 2.0, "fan_in", "uniform"),
        ("lecun_normal", 1.0, "fan_in", "truncated_normal"),
        ("lecun_uniform", 1.0, "fan_in", "uniform"),
        ("glorot_uniform", 1.0, "fan_avg", "uniform"),
    ],
)
def test_named_initializers_scale_the_variance(name, scale, mode, distribution):
    from headrace.graph.api.namespace import find

    result = find(f"initializers.{name}")()
    assert (result.scale, result.mode, result.distribution) == (scale, mode, distribution)
    assert result([3, 4], hr.float32).shape.as_list() == [3, 4]


def test_normal_initializers_keep_their_arguments():
    result = hr.random_normal_initializer(1.0, 2.0, seed=3)
    assert result.get_config() == {"mean": 1.0, "stddev": 2.0, "seed": 3, "dtype": "float32"}
    assert hr.glorot_uniform_initializer(seed=1).get_config()["seed"] == 1
