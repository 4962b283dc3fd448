"""Layers: names of variables, sharing, collections, errors, custom layers."""

from __future__ import annotations

import pytest

import headrace.graph as hr


def _names(variables):
    return [v.name for v in variables]


def _image():
    return hr.placeholder("float32", [None, 8, 8, 3])


def test_unnamed_layers_are_counted_as_in_tensorflow():
    x = hr.layers.flatten(_image())
    for _ in range(2):
        hr.layers.dense(x, 4)
    with hr.variable_scope("part"):
        hr.layers.dense(x, 4)
    hr.layers.conv2d(_image(), 2, 3)
    hr.layers.separable_conv2d(_image(), 2, 3, use_bias=False)
    hr.layers.batch_normalization(_image())
    assert _names(hr.global_variables()) == [
        "dense/kernel:0",
        "dense/bias:0",
        "dense_1/kernel:0",
        "dense_1/bias:0",
        "part/dense/kernel:0",
        "part/dense/bias:0",
        "conv2d/kernel:0",
        "conv2d/bias:0",
        "separable_conv2d/depthwise_kernel:0",
        "separable_conv2d/pointwise_kernel:0",
        "batch_normalization/gamma:0",
        "batch_normalization/beta:0",
        "batch_normalization/moving_mean:0",
        "batch_normalization/moving_variance:0",
    ]
    assert len(hr.trainable_variables()) == 12


def test_operations_of_a_layer_are_in_its_scope():
    y = hr.layers.dense(hr.zeros([2, 3]), 4, activation=hr.nn.relu, name="hidden")
    assert y.name == "hidden/Relu:0"
    assert {"hidden/MatMul", "hidden/BiasAdd"} <= {o.name for o in y.graph.get_operations()}


def test_a_layer_shares_its_variables_among_its_calls():
    layer = hr.layers.Dense(4)
    first, second = layer(hr.zeros([2, 3])), layer(hr.zeros([5, 3]))
    assert _names(layer.variables) == ["dense/kernel:0", "dense/bias:0"]
    assert (first.op.name, second.op.name) == ("dense/BiasAdd", "dense/BiasAdd_1")
    assert layer.scope_name == "dense" and layer.built and layer.count_params() == 16


def test_reuse_returns_the_existing_variables():
    x = hr.zeros([2, 3])
    hr.layers.dense(x, 4, name="d")
    hr.layers.dense(x, 4, name="d", reuse=True)
    assert len(hr.global_variables()) == 2
    with pytest.raises(ValueError, match="d/kernel already exists"):
        hr.layers.dense(x, 4, name="d")
    with pytest.raises(ValueError, match="does not exist"):
        hr.layers.dense(x, 4, name="other", reuse=True)


def test_layer_variables_use_the_enclosing_scope():
    ones = hr.ones_initializer()
    regularizer = hr.nn.l2_loss
    with hr.variable_scope("s", initializer=ones, regularizer=regularizer, use_resource=True):
        layer = hr.layers.Dense(2)
        layer(hr.zeros([2, 3]))
    assert layer.kernel.op.type == "VarHandleOp"
    kept = hr.get_collection(hr.GraphKeys.REGULARIZATION_LOSSES)
    assert [loss.op.name for loss in kept] == [
        "s/dense/kernel/Regularizer/L2Loss",
        "s/dense/bias/Regularizer/L2Loss",
    ]


def test_partitions_of_a_kernel_are_weights_of_the_layer():
    with hr.variable_scope("s", partitioner=hr.fixed_size_partitioner(2)):
        layer = hr.layers.Dense(4, use_bias=False)
        assert layer(hr.zeros([2, 6])).shape.as_list() == [2, 4]
    assert _names(layer.weights) == ["s/dense/kernel/part_0:0", "s/dense/kernel/part_1:0"]


def test_regularizers_of_weights_and_activity_add_losses():
    layer = hr.layers.Dense(
        4, kernel_regularizer=hr.nn.l2_loss, activity_regularizer=lambda y: hr.reduce_sum(y)
    )
    layer(hr.zeros([2, 3]))
    names = [loss.op.name for loss in layer.losses]
    assert names[0] == "dense/kernel/Regularizer/L2Loss"
    assert names[1].startswith("dense/ActivityRegularizer/")
    assert layer.losses == hr.get_collection(hr.GraphKeys.REGULARIZATION_LOSSES)
    layer(hr.zeros([2, 3]))
    assert len(layer.losses) == 3  # one loss for the kernel


def test_batch_normalization_adds_updates_only_in_training():
    layer = hr.layers.BatchNormalization()
    layer(_image())
    assert hr.get_collection(hr.GraphKeys.UPDATE_OPS) == []
    layer(_image(), training=True)
    updates = hr.get_collection(hr.GraphKeys.UPDATE_OPS)
    assert [o.name for o in updates] == [
        "batch_normalization/AssignMovingAvg",
        "batch_normalization/AssignMovingAvg_1",
    ]
    assert layer.updates == updates
    assert _names(layer.trainable_variables) == [
        "batch_normalization/gamma:0",
        "batch_normalization/beta:0",
    ]


def test_batch_normalization_is_fused_if_possible():
    def kinds(x, **options):
        with hr.Graph().as_default() as graph:
            hr.layers.batch_normalization(x(), **options)
            return {o.type for o in graph.get_operations()}

    assert "FusedBatchNormV3" in kinds(_image)
    assert "FusedBatchNormV3" not in kinds(_image, fused=False)
    assert "FusedBatchNormV3" not in kinds(lambda: hr.zeros([2, 3]))
    with pytest.raises(ValueError, match="fused=True"):
        kinds(lambda: hr.zeros([2, 3]), fused=True)


def test_half_inputs_have_float32_statistics():
    layer = hr.layers.BatchNormalization()
    assert layer(hr.zeros([2, 3], "float16")).dtype == hr.float16
    assert {v.dtype.base_dtype for v in layer.variables} == {hr.float32}


def test_batch_renormalization_updates_its_averages():
    layer = hr.layers.BatchNormalization(renorm=True)
    layer(_image(), training=True)
    assert _names(layer.non_trainable_variables) == [
        f"batch_normalization/{name}:0"
        for name in "moving_mean moving_variance moving_stddev renorm_mean renorm_stddev".split()
    ]
    with pytest.raises(ValueError, match="fused=True"):
        hr.layers.BatchNormalization(renorm=True, fused=True)
    with pytest.raises(ValueError, match="invalid keys"):
        hr.layers.BatchNormalization(renorm=True, renorm_clipping={"smax": 1.0})


def test_virtual_batches_use_variables_of_full_rank():
    layer = hr.layers.BatchNormalization(virtual_batch_size=3)
    assert layer(_image(), training=True).shape.as_list() == [None, 8, 8, 3]
    assert layer.gamma.shape.as_list() == [1, 1, 1, 1, 3]
    with pytest.raises(ValueError, match="virtual_batch_size"):
        hr.layers.BatchNormalization(virtual_batch_size=3, fused=True)


@pytest.mark.parametrize("unknown", [None, 8])
def test_transposed_convolution_infers_partial_shapes(unknown):
    x = hr.placeholder("float32", [None, unknown, 6, 3])
    y = hr.layers.conv2d_transpose(x, 5, 3, 2)
    assert y.shape.as_list() == [None, unknown and 17, 13, 5]


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: hr.layers.Conv2D(4, (3, 2), strides=2), [None, 3, 4, 4]),
        (lambda: hr.layers.Conv2D(4, 3, padding="same", dilation_rate=2), [None, 8, 8, 4]),
        (lambda: hr.layers.MaxPooling2D(3, 2, padding="same"), [None, 4, 4, 3]),
        (lambda: hr.layers.Flatten(), [None, 192]),
        (lambda: hr.layers.Dropout(), [None, 8, 8, 3]),
        (lambda: hr.layers.Dense(7), [None, 8, 8, 7]),
        (lambda: hr.layers.Conv2DTranspose(2, 3, 2), [None, 17, 17, 2]),
        (lambda: hr.layers.SeparableConv2D(5, 3), [None, 6, 6, 5]),
        (lambda: hr.layers.BatchNormalization(), [None, 8, 8, 3]),
    ],
)
def test_compute_output_shape_equals_the_output_shape(make, shape):
    layer, x = make(), _image()
    assert layer.apply(x).shape.as_list() == shape
    assert layer.compute_output_shape(x.shape).as_list() == shape


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: hr.layers.dense(hr.zeros([3]), 2), "expected min_ndim=2, found ndim=1"),
        (lambda: hr.layers.conv2d(hr.zeros([3, 3]), 2, 2), "expected ndim=4, found ndim=2"),
        (
            lambda: hr.layers.dense(hr.placeholder("float32", [2, None]), 2),
            "last dimension of the inputs to `Dense` should be defined",
        ),
        (lambda: hr.layers.conv2d(_image(), 2, 3, padding="both"), "padding"),
        (lambda: hr.layers.conv2d(_image(), 2, (3, 3, 3)), "kernel_size"),
        (lambda: hr.layers.conv2d(_image(), 2, 3, data_format="NHWC"), "data_format"),
        (lambda: hr.layers.max_pooling2d(_image(), 2, None), "strides"),
        (lambda: hr.layers.Dense(2).scope_name, "has not been used yet"),
    ],
)
def test_invalid_inputs_raise(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_custom_layer_is_built_at_its_first_call():
    class Scale(hr.layers.Layer):
        def build(self, input_shape):
            assert isinstance(input_shape, hr.TensorShape)
            self.factor = self.add_weight("factor", [input_shape[-1].value], initializer="ones")
            self.kept = self.add_variable("kept", [], trainable=False)

        def call(self, inputs, more=1.0):
            return inputs * self.factor * more

    layer = Scale()
    assert layer(hr.zeros([2, 3]), more=2.0).shape.as_list() == [2, 3]
    assert _names(layer.trainable_variables) == ["scale/factor:0"]
    assert _names(layer.variables) == ["scale/factor:0", "scale/kept:0"]
    with hr.name_scope("elsewhere"):
        assert layer(hr.zeros([4, 3])).op.name.startswith("scale/")
    frozen = Scale(trainable=False, name="frozen")
    frozen(hr.zeros([2, 3]))
    assert frozen.trainable_variables == [] and len(frozen.non_trainable_variables) == 2


def test_layer_rejects_unknown_keywords():
    with pytest.raises(TypeError, match="not understood: unitz"):
        hr.layers.Dense(3, unitz=4)
