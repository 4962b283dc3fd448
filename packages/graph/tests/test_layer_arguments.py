"""Arguments of layers: windows, input specs, smart_cond, functional forms."""

from __future__ import annotations

import pytest

import headrace.graph as hr
from headrace.graph.api.namespace import find
from headrace.graph.layers import functional, input_spec, renormalization, smart_cond, windows


def test_one_number_is_expanded_to_all_dimensions():
    assert windows.each(3, 2, "strides") == (3, 3)
    assert windows.each([1, 2], 2, "strides") == (1, 2)
    with pytest.raises(ValueError, match="`strides` argument must be a tuple of 2 integers"):
        windows.each([1, 2, 3], 2, "strides")


@pytest.mark.parametrize(
    ("length", "padding", "stride", "expected"),
    [(8, "valid", 1, 6), (8, "same", 1, 8), (8, "same", 2, 4), (None, "same", 2, None)],
)
def test_conv_length_counts_windows(length, padding, stride, expected):
    assert windows.conv_length(length, 3, padding, stride) == expected


def test_smart_cond_builds_one_branch_for_a_known_predicate():
    assert smart_cond.smart_cond(True, lambda: "yes", lambda: 1 / 0) == "yes"
    assert smart_cond.known(hr.constant(False)) is False
    assert smart_cond.known(hr.placeholder(hr.bool, [])) is None


def test_input_spec_rejects_other_ranks_and_sizes():
    spec = hr.layers.InputSpec(ndim=2, axes={-1: 3})
    input_spec.check_inputs(spec, [hr.placeholder(hr.float32, [None, 3])], "dense")
    for shape in ([3], [None, 4]):
        with pytest.raises(ValueError, match="dense"):
            input_spec.check_inputs(spec, [hr.placeholder(hr.float32, shape)], "dense")


def test_functional_layer_creates_and_applies_a_layer():
    dense = functional.functional("dense", hr.layers.Dense, "says")
    assert dense(hr.zeros([2, 3]), 4).shape.as_list() == [2, 4]
    assert dense.__doc__.startswith("says; see Dense.")


@pytest.mark.parametrize(
    ("name", "rank", "kernel"),
    [("layers.conv1d", 1, [2, 3, 4]), ("layers.conv3d", 3, [2, 2, 2, 3, 4]),
     ("layers.conv3d_transpose", 3, [2, 2, 2, 4, 3])],
)  # fmt: skip
def test_a_convolution_has_a_kernel_of_its_rank(name, rank, kernel):
    inputs = hr.zeros([1, *[5] * rank, 3])
    result = find(name)(inputs, 4, 2, name="layer")
    (found, _) = hr.trainable_variables()
    assert found.shape.as_list() == kernel
    assert result.shape.as_list()[-1] == 4


@pytest.mark.parametrize("layer", [hr.layers.Conv3DTranspose, hr.layers.SeparableConv1D])
def test_convolution_layers_compute_their_output_shape(layer):
    result = layer(4, 2)
    rank = 3 if layer is hr.layers.Conv3DTranspose else 1
    inputs = hr.zeros([1, *[5] * rank, 3])
    assert result.apply(inputs).shape == result.compute_output_shape(inputs.shape)


@pytest.mark.parametrize(
    ("name", "rank"),
    [("layers.MaxPooling1D", 1), ("layers.MaxPooling3D", 3), ("layers.AveragePooling1D", 1),
     ("layers.AveragePooling2D", 2), ("layers.AveragePooling3D", 3)],
)  # fmt: skip
def test_pooling_halves_each_dimension(name, rank):
    layer = getattr(hr.layers, name.partition(".")[2])(2, 2)
    result = layer.apply(hr.zeros([1, *[6] * rank, 3]))
    assert result.shape.as_list() == [1, *[3] * rank, 3]


def test_renormalization_creates_its_averages():
    layer = hr.layers.BatchNormalization(renorm=True)
    layer.apply(hr.zeros([4, 3]), training=True)
    assert any("renorm" in v.name for v in layer.variables)
    with pytest.raises(ValueError):
        renormalization.Renormalization({"unknown": 1.0}, 0.9, 1e-3)
