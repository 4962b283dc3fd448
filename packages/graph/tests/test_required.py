"""Errors of missing arguments name the argument."""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.graph.builder.required import required


def test_required_returns_values_and_names_missing_arguments():
    assert required(0, "axis") == 0
    with pytest.raises(TypeError, match="missing required argument: 'axis'"):
        required(None, "axis")


def test_convolution_without_strides_raises():
    x = np.zeros([1, 4, 4, 1], np.float32)
    with pytest.raises(TypeError, match="'strides'"):
        hr.nn.conv2d_backprop_filter(x, [2, 2, 1, 1], x, padding="SAME")
