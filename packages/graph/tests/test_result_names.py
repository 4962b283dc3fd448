"""Results have the names of TensorFlow 1.15, because programs fetch them by name."""

from __future__ import annotations

import pytest

import headrace.graph as hr

L, N = hr.layers, hr.nn


def _x():
    return hr.placeholder("float32", [None, 8, 8, 3], name="x")


def _x1():
    return hr.placeholder("float32", [None, 8, 3], name="x")


NAMES = {
    "dense/Relu": lambda: L.dense(L.flatten(_x()), 3, activation=N.relu),
    "dense/BiasAdd": lambda: L.dense(_x(), 3),
    "flatten/Reshape": lambda: L.flatten(_x()),
    "conv1d/BiasAdd": lambda: L.conv1d(_x1(), 3, 3),
    "conv2d/Relu": lambda: L.conv2d(_x(), 3, 3, activation=N.relu),
    "conv2d/Conv2D": lambda: L.conv2d(_x(), 3, 3, use_bias=False),
    "conv2d_transpose/BiasAdd": lambda: L.conv2d_transpose(_x(), 3, 3),
    "separable_conv1d/Squeeze": lambda: L.separable_conv1d(_x1(), 3, 3),
    "separable_conv2d/BiasAdd": lambda: L.separable_conv2d(_x(), 3, 3),
    "max_pooling1d/Squeeze": lambda: L.max_pooling1d(_x1(), 2, 2),
    "max_pooling2d/MaxPool": lambda: L.max_pooling2d(_x(), 2, 2),
    "average_pooling2d/AvgPool": lambda: L.average_pooling2d(_x(), 2, 2),
    "dropout/dropout/mul_1": lambda: L.dropout(_x(), training=True),
    "dropout/Identity": lambda: L.dropout(_x()),
    "batch_normalization/FusedBatchNormV3": lambda: L.batch_normalization(_x()),
    "batch_normalization/batchnorm/add_1": lambda: L.batch_normalization(_x1()),
    "moments/Squeeze": lambda: N.moments(_x(), [0])[0],
    "l2_normalize": lambda: N.l2_normalize(_x(), 1),
    "BiasAdd": lambda: N.bias_add(_x(), hr.zeros([3])),
    "xw_plus_b": lambda: N.xw_plus_b(hr.ones([2, 3]), hr.ones([3, 4]), hr.ones([4])),
    "conv1d/Squeeze": lambda: N.conv1d(_x1(), hr.ones([2, 3, 4]), 1, "SAME"),
    "separable_conv2d": lambda: N.separable_conv2d(
        _x(), hr.ones([2, 2, 3, 1]), hr.ones([1, 1, 3, 4]), [1, 1, 1, 1], "SAME"
    ),
    "LRN": lambda: N.lrn(_x()),
    "embedding_lookup/Identity": lambda: N.embedding_lookup(hr.ones([3, 2]), [1]),
    "mean_squared_error/value": lambda: hr.losses.mean_squared_error(_x(), _x()),
    "huber_loss/value": lambda: hr.losses.huber_loss(_x(), _x()),
    "sparse_softmax_cross_entropy_loss/value": lambda: hr.losses.sparse_softmax_cross_entropy(
        hr.zeros([2], "int32"), hr.zeros([2, 3])
    ),
    "accuracy/value": lambda: hr.metrics.accuracy(_x(), _x())[0],
    "mean/update_op": lambda: hr.metrics.mean(_x())[1],
    "auc/value": lambda: hr.metrics.auc(_x() > 0, _x())[0],
    "resize/ResizeBilinear": lambda: hr.image.resize_images(_x(), [3, 3]),
    "rgb_to_grayscale": lambda: hr.image.rgb_to_grayscale(_x()),
    "per_image_standardization/Identity": lambda: hr.image.per_image_standardization(_x()),
    "convert_image": lambda: hr.image.convert_image_dtype(_x(), "uint8"),
    "Trace": lambda: hr.linalg.trace(hr.ones([2, 2])),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_named_as_in_tensorflow(name):
    assert NAMES[name]().op.name == name
