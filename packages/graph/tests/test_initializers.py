from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.graph import initializers
from headrace.graph.framework.constant_value import constant_value


def test_constants_fill_their_shape():
    assert constant_value(hr.zeros_initializer()([2, 2])).tolist() == [[0, 0], [0, 0]]
    assert constant_value(hr.ones_initializer(hr.int32)([2])).dtype == np.int32
    assert constant_value(hr.constant_initializer([1, 2])([3])).tolist() == [1, 2, 2]
    assert constant_value(initializers.identity(2.0)([2, 3])).tolist() == [[2, 0, 0], [0, 2, 0]]
    with pytest.raises(TypeError):
        hr.constant_initializer([1, 2], verify_shape=True)([3])
    with pytest.raises(TypeError, match="Invalid type for initial value"):
        hr.constant_initializer(object())


def test_large_constant_initializers_use_fill():
    assert hr.zeros_initializer()([100, 100]).op.type == "Fill"


@pytest.mark.parametrize(
    ("shape", "expected"),
    [([], (1, 1)), ([3], (3, 3)), ([3, 4], (3, 4)), ([5, 5, 3, 8], (75, 200))],
)
def test_fans_count_inputs_and_outputs(shape, expected):
    assert initializers.fans(shape) == expected


@pytest.mark.parametrize("wrong", [{"scale": 0}, {"mode": "fan"}, {"distribution": "flat"}])
def test_variance_scaling_rejects_invalid_arguments(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        hr.variance_scaling_initializer(**wrong)


def test_initializers_round_trip_through_their_configurations():
    result = [
        hr.zeros_initializer(hr.int32), hr.constant_initializer(3), hr.glorot_normal_initializer(7),
        hr.random_uniform_initializer(1, 2, 3), hr.truncated_normal_initializer(1.0, 2.0, 3),
        hr.variance_scaling_initializer(2.0, "fan_out", "uniform", 5), hr.orthogonal_initializer(2),
        initializers.he_normal(3), hr.uniform_unit_scaling_initializer(2.0),
    ]  # fmt: skip
    for initializer in result:
        again = type(initializer).from_config(initializer.get_config())
        assert again.get_config() == initializer.get_config()


def test_random_initializers_have_the_nodes_and_seeds_of_tensorflow(graph):
    hr.set_random_seed(3)
    hr.get_variable("v", [4, 2])
    hr.get_variable("w", [4, 2], initializer=hr.truncated_normal_initializer(stddev=0.5, seed=9))
    names = [o.name for o in graph.get_operations() if "Initializer" in o.name]
    assert set(names) == {
        "v/Initializer/random_uniform/shape", "v/Initializer/random_uniform/min",
        "v/Initializer/random_uniform/max", "v/Initializer/random_uniform/RandomUniform",
        "v/Initializer/random_uniform/sub", "v/Initializer/random_uniform/mul",
        "v/Initializer/random_uniform",
        "w/Initializer/truncated_normal/shape", "w/Initializer/truncated_normal/mean",
        "w/Initializer/truncated_normal/stddev",
        "w/Initializer/truncated_normal/TruncatedNormal", "w/Initializer/truncated_normal/mul",
        "w/Initializer/truncated_normal",
    }  # fmt: skip
    result = graph.get_operation_by_name("w/Initializer/truncated_normal/TruncatedNormal")
    assert (result.get_attr("seed"), result.get_attr("seed2")) == (3, 9)
    bound = graph.get_operation_by_name("v/Initializer/random_uniform/max")
    assert float(bound._attrs.values["value"]) == pytest.approx(1.0)  # sqrt(6 / (4 + 2))


KERAS = ("RandomNormal", "RandomUniform", "TruncatedNormal", "Orthogonal", "VarianceScaling")


@pytest.mark.parametrize("name", KERAS)
def test_keras_initializers_are_made_again_of_what_they_say(name):
    made = getattr(hr.keras.initializers, name)(seed=4)
    saved = hr.keras.initializers.serialize(made)
    assert saved["class_name"] == name
    again = hr.keras.initializers.get(saved)
    assert type(again) is type(made)
    assert again.get_config() == made.get_config()


def test_keras_initializers_have_the_defaults_of_keras():
    keras = hr.keras.initializers
    assert keras.RandomNormal().get_config()["stddev"] == 0.05
    assert keras.uniform().get_config()["maxval"] == 0.05
    assert keras.glorot_normal is hr.initializers.glorot_normal
    assert isinstance(keras.get("he_normal"), keras.VarianceScaling)
    assert keras.get(None) is None
    assert keras.get(keras.Zeros).get_config() == {"dtype": "float32"}
    with pytest.raises(ValueError, match="Unknown initializer: best"):
        keras.get("best")
    with pytest.raises(ValueError, match="Could not interpret initializer identifier: 3"):
        keras.get(3)


# As TensorFlow 1.15 has them.
KERAS_NAMES = """
keras.initializers.Constant keras.initializers.Identity keras.initializers.Initializer
keras.initializers.Ones keras.initializers.Orthogonal keras.initializers.RandomNormal
keras.initializers.RandomUniform keras.initializers.TruncatedNormal
keras.initializers.VarianceScaling keras.initializers.Zeros keras.initializers.constant
keras.initializers.deserialize keras.initializers.get keras.initializers.glorot_normal
keras.initializers.glorot_uniform keras.initializers.he_normal keras.initializers.he_uniform
keras.initializers.identity keras.initializers.lecun_normal keras.initializers.lecun_uniform
keras.initializers.normal keras.initializers.ones keras.initializers.orthogonal
keras.initializers.random_normal keras.initializers.random_uniform keras.initializers.serialize
keras.initializers.truncated_normal keras.initializers.uniform keras.initializers.zeros
""".split()


def test_keras_has_the_initializers_of_tensorflow():
    assert [f"keras.initializers.{name}" for name in dir(hr.keras.initializers)] == KERAS_NAMES
    functions = {"deserialize", "get", "serialize"}
    for name in set(dir(hr.keras.initializers)) - functions - {"Initializer"}:
        made = hr.keras.initializers.get(name)
        again = hr.keras.initializers.deserialize(hr.keras.initializers.serialize(made))
        assert again.get_config() == made.get_config()
