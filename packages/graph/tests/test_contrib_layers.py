"""contrib.layers: variables, collections, shapes and names of the layers."""

from __future__ import annotations

import inspect

import pytest

import headrace.graph as hr

layers = hr.contrib.layers


def names():
    return [v.op.name for v in hr.global_variables()]


def images(*shape, dtype=hr.float32):
    return hr.placeholder(dtype, shape or [None, 8, 8, 3])


ALIASES = {
    "contrib.layers.conv1d": "contrib.layers.convolution1d",
    "contrib.layers.conv2d": "contrib.layers.convolution2d contrib.slim.conv2d",
    "contrib.layers.conv3d": "contrib.layers.convolution3d",
    "contrib.layers.conv2d_in_plane": "contrib.layers.convolution2d_in_plane",
    "contrib.layers.conv2d_transpose": "contrib.layers.convolution2d_transpose",
    "contrib.layers.conv3d_transpose": "contrib.layers.convolution3d_transpose",
    "contrib.layers.separable_conv2d": "contrib.layers.separable_convolution2d",
    "contrib.layers.xavier_initializer": "contrib.layers.xavier_initializer_conv2d",
    "contrib.layers.safe_embedding_lookup_sparse": "nn.safe_embedding_lookup_sparse",
}


@pytest.mark.parametrize("name", ALIASES)
def test_other_names_mean_the_same_object(name: str) -> None:
    from headrace.graph.api.namespace import find

    for other in ALIASES[name].split():
        assert find(other) is find(name)


def test_a_dense_layer_names_its_variables_weights_and_biases() -> None:
    x = images(None, 4)
    y = layers.fully_connected(
        x, 5, variables_collections={"weights": ["w"], "biases": ["b"]}, outputs_collections="out"
    )
    assert y.shape.as_list() == [None, 5] and y.op.type == "Relu"
    assert names() == ["fully_connected/weights", "fully_connected/biases"]
    assert hr.get_collection("w")[0].op.name == "fully_connected/weights"
    assert len(hr.model_variables()) == len(hr.trainable_variables()) == 2
    assert layers.utils.convert_collection_to_dict("out", clear_collection=True) == {
        "fully_connected": y
    }
    assert hr.get_collection("out") == [] and len(hr.get_collection("b")) == 1
    layers.fully_connected(x, 5, reuse=True, scope="fully_connected")
    layers.linear(x, 2, biases_initializer=None, scope="fc")
    assert names()[2:] == ["fc/weights"]
    with pytest.raises(ValueError, match="num_outputs type should be int"):
        layers.fully_connected(x, 2.0)


def test_a_layer_of_rank_three_maps_the_last_axis() -> None:
    assert layers.relu6(images(2, 3, 4), 5).shape.as_list() == [2, 3, 5]
    assert layers.elu(images(2, 3, 4), 5).op.type == "Elu"
    assert layers.relu(images(2, 4), 5).op.type == "Relu"
    legacy = layers.legacy_fully_connected(images(None, 3, 4), 5)
    assert legacy.shape.as_list() == [None, 3, 5] and "fully_connected_3/bias" in names()
    assert layers.legacy_relu(images(2, 4), 5).op.type == "Relu"
    assert layers.legacy_linear(images(2, 4), 5).op.type == "BiasAdd"
    with pytest.raises(ValueError, match="rank of shape must be at least 2"):
        layers.legacy_fully_connected(images(4), 5)


def test_a_normalizer_replaces_the_biases() -> None:
    layers.conv2d(images(), 4, 3, normalizer_fn=layers.batch_norm, scope="c")
    assert names() == [
        "c/weights",
        "c/BatchNorm/beta",
        "c/BatchNorm/moving_mean",
        "c/BatchNorm/moving_variance",
    ]
    assert len(hr.get_collection(hr.GraphKeys.UPDATE_OPS)) == 2


def test_convolutions_have_one_to_three_dimensions() -> None:
    assert layers.conv1d(images(2, 9, 3), 4, 3, stride=2).shape.as_list() == [2, 5, 4]
    y = layers.conv2d(images(2, 8, 8, 3), 4, [3, 3], padding="VALID", rate=2)
    assert y.shape.as_list() == [2, 4, 4, 4]
    assert layers.convolution(images(2, 4, 4, 4, 3), 4, 3).shape.as_list() == [2, 4, 4, 4, 4]
    y = layers.conv2d(images(2, 3, 8, 8), 4, 3, data_format="NCHW", stride=2)
    assert y.shape.as_list() == [2, 4, 4, 4]
    assert layers.conv2d_in_plane(images(2, 8, 8, 3), 3).shape.as_list() == [2, 8, 8, 3]
    for data_format in ("NHC", "NCWH"):
        with pytest.raises(ValueError, match="Invalid data_format"):
            layers.conv2d(images(), 4, 3, data_format=data_format)
    with pytest.raises(ValueError, match="Convolution expects input with rank 4, got 3"):
        layers.conv2d(images(2, 9, 3), 4, 3)
    with pytest.raises(ValueError, match="not supported for input with rank 2"):
        layers.convolution(images(2, 9), 4, 3)
    parameters = inspect.signature(layers.conv2d).parameters
    assert list(parameters)[-2:] == ["trainable", "scope"]
    assert list(inspect.signature(layers.convolution).parameters)[-1] == "conv_dims"


def test_transposed_convolutions_grow() -> None:
    y = layers.conv2d_transpose(images(2, 4, 4, 3), 5, 3, stride=2)
    assert y.shape.as_list() == [2, 8, 8, 5]
    y = layers.conv3d_transpose(images(2, 2, 2, 2, 3), 5, 3, stride=2, normalizer_fn=hr.identity)
    assert y.shape.as_list() == [2, 4, 4, 4, 5]
    assert names() == ["Conv2d_transpose/weights", "Conv2d_transpose/biases",
                       "Conv3d_transpose/weights"]  # fmt: skip
    with pytest.raises(ValueError, match="data_format has to be either NHWC or NCHW"):
        layers.conv2d_transpose(images(), 5, 3, data_format="NDHWC")


def test_separable_convolutions_have_a_depthwise_part() -> None:
    y = layers.separable_conv2d(images(2, 8, 8, 3), 6, 3, depth_multiplier=2, stride=2)
    assert y.shape.as_list() == [2, 4, 4, 6]
    y = layers.separable_conv2d(images(2, 8, 8, 3), None, 3, depth_multiplier=2, scope="d")
    assert y.shape.as_list() == [2, 8, 8, 6]
    assert names() == [
        "SeparableConv2d/depthwise_weights",
        "SeparableConv2d/pointwise_weights",
        "SeparableConv2d/biases",
        "d/depthwise_weights",
        "d/biases",
    ]


def test_pools() -> None:
    x = images(2, 8, 8, 3)
    assert layers.max_pool2d(x, 2).shape.as_list() == [2, 4, 4, 3]
    assert layers.avg_pool2d(x, [3, 3], 1, "SAME").shape.as_list() == [2, 8, 8, 3]
    x = images(2, 4, 4, 4, 3)
    assert layers.max_pool3d(x, 2).shape.as_list() == [2, 2, 2, 2, 3]
    assert layers.avg_pool3d(x, 2, outputs_collections="p").op.type == "AvgPool3D"
    assert layers.pool(images(2, 8, 3), 2, "MAX").shape.as_list() == [2, 7, 3]
    assert len(hr.get_collection("p")) == 1
    with pytest.raises(ValueError, match="Rank of inputs must be >= 3"):
        layers.pool(images(2, 8), 2, "MAX")
    with pytest.raises(ValueError, match="data_format has to be either NHWC or NCHW"):
        layers.max_pool2d(x, 2, data_format="x")


@pytest.mark.parametrize("norm", ["layer_norm", "instance_norm", "batch_norm", "bias_add"])
def test_normalisations_keep_the_shape(norm: str) -> None:
    function = getattr(layers, norm)
    assert function(images(None, 8, 8, 4)).shape.as_list() == [None, 8, 8, 4]
    with pytest.raises(ValueError, match="rank|Dims of shape must be known"):
        function(hr.placeholder(hr.float32))


def test_group_normalisation_checks_its_axes() -> None:
    x = images(None, 8, 8, 6)
    assert layers.group_norm(x, 3).shape.as_list() == [None, 8, 8, 6]
    y = layers.group_norm(images(None, 6, 8, 8), 2, -3, (-2, -1), mean_close_to_zero=True)
    assert y.shape.as_list() == [None, 6, 8, 8]
    for arguments, says in (
        ((4,), "6 channels is not commensurate with 4 groups"),
        ((12,), "Invalid groups 12 for 6 channels"),
        ((2, 5), "Axis is out of bounds"),
        ((2, -1, (-1, -2)), "mutually exclusive"),
    ):
        with pytest.raises(ValueError, match=says):
            layers.group_norm(x, *arguments)
    with pytest.raises(ValueError, match="undefined dimensions"):
        layers.group_norm(images(None, None, 8, 6), 2)


def test_batch_normalisation_has_several_forms() -> None:
    for scope, options in {
        "layer": {},
        "fused": {"updates_collections": None, "scale": True},
        "plain": {"batch_weights": hr.ones([2]), "updates_collections": "up", "center": False},
        "debias": {"zero_debias_moving_mean": True, "fused": False},
        "renorm": {"renorm": True},
        "first": {"data_format": "NCHW", "fused": False, "updates_collections": None},
        "asked": {"is_training": hr.placeholder(hr.bool, []), "updates_collections": None},
    }.items():
        y = layers.batch_norm(images(2, 4, 4, 3), scope=scope, **options)
        assert y.shape.as_list() == [2, 4, 4, 3]
    assert layers.batch_norm(images(None, 3)).shape.as_list() == [None, 3]
    assert len(hr.get_collection("up")) == 2
    assert "debias/moving_mean/biased" in " ".join(names()) and "plain/beta" not in names()
    with pytest.raises(ValueError, match="renorm is not supported with batch_weights"):
        layers.batch_norm(images(), renorm=True, updates_collections=None)
    with pytest.raises(ValueError, match="undefined channels dimension"):
        layers.batch_norm(images(2, 4, 4, None), fused=False, updates_collections=None)


def test_layer_norm_checks_its_axes() -> None:
    with pytest.raises(ValueError, match="must be < rank"):
        layers.layer_norm(images(2, 3), begin_norm_axis=2)
    with pytest.raises(ValueError, match="not fully defined"):
        layers.layer_norm(images(2, None, 3), begin_params_axis=1)
    assert layers.layer_norm(images(2, 3, 4, dtype=hr.float16), begin_norm_axis=-1).shape[2] == 4


def test_regularizers_reject_integers_and_negative_scales() -> None:
    for make in (layers.l1_regularizer, layers.l2_regularizer, layers.l1_l2_regularizer):
        with pytest.raises(ValueError, match="scale cannot be an integer: 1"):
            make(1)
        with pytest.raises(ValueError, match="Setting a scale less than 0"):
            make(-0.5)
    v = hr.get_variable("v", [3])
    assert layers.l1_regularizer(0.0)(v) is None
    assert layers.l2_regularizer(0.5, scope="s")(v).name == "s:0"
    assert layers.l1_l2_regularizer(0.0, 0.5)(v).shape.ndims == 0
    assert layers.l1_l2_regularizer(0.5, 0.0)(v).shape.ndims == 0
    assert layers.sum_regularizer([None, None]) is None
    both = layers.sum_regularizer([layers.l1_regularizer(0.1), layers.l2_regularizer(0.1), None])
    assert both(v).op.type == "AddN"
    total = layers.apply_regularization(both, [v])
    assert hr.get_collection(hr.GraphKeys.REGULARIZATION_LOSSES) == [total]
    with pytest.raises(ValueError, match="No weights to regularize"):
        layers.apply_regularization(both)
    with pytest.raises(ValueError, match="must return a scalar Tensor instead of a Tensor with"):
        layers.apply_regularization(hr.square, [v])


def test_initializers_reject_other_types() -> None:
    make = layers.variance_scaling_initializer
    assert make(uniform=True)([3, 4]).shape.as_list() == [3, 4]
    for arguments in ({"dtype": hr.int32}, {"mode": "FAN"}):
        with pytest.raises(TypeError):
            make(**arguments)
    with pytest.raises(TypeError, match="non-floating point type"):
        layers.xavier_initializer()([3, 4], hr.int32)


def test_repetitions_number_their_scopes() -> None:
    x = images(None, 4)
    layers.repeat(x, 2, layers.fully_connected, 4, scope="r")
    layers.stack(x, layers.fully_connected, [3, (2,)])
    assert [n for n in names() if n.endswith("weights")] == [
        "r/r_1/weights",
        "r/r_2/weights",
        "Stack/fully_connected_1/weights",
        "Stack/fully_connected_2/weights",
    ]
    with pytest.raises(ValueError, match="stack_args need to be a list or tuple"):
        layers.stack(x, layers.fully_connected, 3)


def test_shapes_of_layers_without_weights() -> None:
    assert layers.flatten(images()).shape.as_list() == [None, 192]
    assert layers.dropout(images(), 0.3, is_training=False).shape.as_list() == [None, 8, 8, 3]
    assert layers.one_hot_encoding(hr.constant([1, 2]), 4).shape.as_list() == [2, 4]
    assert isinstance(layers.dense_to_sparse(hr.constant([[1, 0]])), hr.SparseTensor)
    assert layers.softmax(images(None, 3, 4)).shape.as_list() == [None, 3, 4]
    assert layers.spatial_softmax(images()).shape.as_list() == [None, 6]
    assert layers.spatial_softmax(images(), 2.0, trainable=False).shape.as_list() == [None, 6]
    assert layers.images_to_sequence(images(2, 4, 5, 3)).shape.as_list() == [5, 8, 3]
    assert layers.sequence_to_images(images(5, 8, 3), 4).shape.as_list() == [2, 4, 5, 3]
    assert layers.unit_norm(images(2, 3), 1).shape.as_list() == [2, 3]
    assert layers.maxout(images(None, 6), 2).shape.as_list() == [None, 2]
    assert layers.poincare_normalize(images(2, 3)).shape.as_list() == [2, 3]
    assert layers.scale_gradient(images(2, 3), 0.5).shape.as_list() == [2, 3]
    for call, says in (
        (lambda: layers.unit_norm(images(2, 3), 2), "smaller than the input rank"),
        (lambda: layers.maxout(images(2, 6), 4), "not a multiple of num_units"),
        (lambda: layers.softmax(images(2, None)), "last dimension shape must be known"),
        (lambda: layers.spatial_softmax(images(2, 4, 4, None)), "num_channels dimension"),
        (lambda: layers.spatial_softmax(images(), data_format="x"), "data_format has to be"),
    ):
        with pytest.raises(ValueError, match=says):
            call()


def test_encoders_share_embeddings() -> None:
    ids = hr.placeholder(hr.int32, [None, 5])
    assert layers.embed_sequence(ids, 10, 4, scope="e").shape.as_list() == [None, 5, 4]
    shared = layers.embed_sequence(ids, unique=True, scope="e", reuse=True)
    assert shared.shape.as_list() == [None, 5, 4]
    assert layers.bow_encoder(ids, 10, 4).shape.as_list()[1:] == [4]
    assert layers.bow_encoder(ids, 10, 4, sparse_lookup=False).shape.as_list() == [None, 4]
    assert names() == ["e/embeddings", "bow_encoder/embeddings", "bow_encoder_1/embeddings"]
    table = hr.zeros([10, 4])
    assert layers.embedding_lookup_unique(table, ids).shape.as_list() == [None, 5, 4]
    with pytest.raises(ValueError, match="Must specify vocab size and embedding dimension"):
        layers.embed_sequence(ids)
    with pytest.raises(ValueError, match="Must specify vocab size and embedding dimension"):
        layers.bow_encoder(ids, 0, 4)
    with pytest.raises(TypeError, match="expected to be dense"):
        layers.bow_encoder(hr.SparseTensor([[0, 0]], [1], [1, 1]), 10, 4, sparse_lookup=False)


def test_utilities_of_shapes_and_collections() -> None:
    utils = layers.utils
    shape = hr.TensorShape([2, None, 3])
    assert utils.last_dimension(shape) == utils.channel_dimension(shape, "NHWC") == 3
    assert utils.first_dimension(shape) == 2
    for call in (
        lambda: utils.channel_dimension(shape, "channels_first"),
        lambda: utils.last_dimension(hr.TensorShape(None)),
        lambda: utils.last_dimension(shape, min_rank=4),
    ):
        with pytest.raises(ValueError):
            call()
    assert utils.two_element_tuple(3) == (3, 3) and utils.two_element_tuple([1, 2]) == (1, 2)
    assert utils.n_positive_integers(3, 2) == (2, 2, 2)
    for wrong in (0, [1, 2]):
        with pytest.raises(ValueError):
            utils.n_positive_integers(3, wrong)
    with pytest.raises(ValueError, match="Must be a list with 2 elements"):
        utils.two_element_tuple([1])
    x = hr.constant(1, name="x")
    assert utils.get_tensor_aliases(x) == ["x"]
    utils.append_tensor_alias(x, "scope/")
    utils.collect_named_outputs("c", "other", x)
    assert utils.gather_tensors_aliases([x]) == ["scope", "other"]
    assert utils.convert_collection_to_dict("c") == {"scope": x, "other": x}
    assert utils.get_variable_collections({"a": ["b"]}, "a") == ["b"]
    assert utils.get_variable_collections(["b"], "a") == ["b"]


def test_summaries_of_collections() -> None:
    x = layers.fully_connected(images(None, 4), 3)
    hr.add_to_collection(hr.GraphKeys.ACTIVATIONS, x)
    tags = [layers.summarize_activations(), layers.summarize_variables()]
    assert [len(found) for found in tags] == [1, 2]
    assert layers.summarize_activation(x).op.name == "fully_connected/Relu/activation_1"
    assert layers.summarize_tensor(hr.constant(1.0, name="loss")).op.type == "ScalarSummary"
    assert layers.summarize_tensor(hr.constant("a")) is None
    relu = hr.nn.relu6(hr.placeholder(hr.float32, [2]), name="r")
    before = len(hr.get_default_graph().get_operations())
    layers.summarize_activation(relu)
    added = hr.get_default_graph().get_operations()[before:]
    compared = {n.type: n.inputs[0] for n in added if n.inputs}
    assert compared["Less"] is compared["Greater"] is relu.op.inputs[0]
    hr.get_variable("frozen", [2], trainable=False)
    assert len(layers.summarize_variables()) == 3
    assert len(layers.summarize_variables("fully_connected/w")) == 1
    hr.add_to_collections([hr.GraphKeys.WEIGHTS, hr.GraphKeys.BIASES], hr.constant([1.0], name="w"))
    assert len(layers.summarize_weights()) == len(layers.summarize_biases("w")) == 1
    assert layers.summarize_collection("none") == [] == layers.summarize_tensors([])


def test_a_loss_is_optimized() -> None:
    v = hr.get_variable("v", [2], initializer=hr.ones_initializer())
    loss = hr.reduce_sum(hr.square(v))
    step = hr.train.create_global_step()
    optimize = layers.optimize_loss
    for optimizer in ("SGD", hr.train.AdamOptimizer, hr.train.MomentumOptimizer(0.1, 0.9),
                      lambda rate: hr.train.FtrlOptimizer(rate)):  # fmt: skip
        result = optimize(
            loss,
            step,
            0.1,
            optimizer,
            gradient_noise_scale=0.1,
            gradient_multipliers={v: 2.0, "v:0": 2.0},
            clip_gradients=layers.adaptive_clipping_fn(static_max_norm=1.0, report_summary=True),
            learning_rate_decay_fn=lambda rate, step: hr.train.exponential_decay(
                rate, step, 1, 0.5
            ),
            summaries=layers.OPTIMIZER_SUMMARIES,
        )
        assert result.shape.ndims == 0
    assert set(layers.OPTIMIZER_CLS_NAMES) == {"Adagrad", "Adam", "Ftrl", "Momentum", "RMSProp",
                                               "SGD"}  # fmt: skip
    for arguments, says in (
        ((0.1, "none"), "Optimizer name should be one of"),
        ((None, "SGD"), "Learning rate is None"),
        ((None, hr.train.AdamOptimizer), "Learning rate is None"),
        ((1, "SGD"), "Learning rate should be 0d Tensor or float"),
        ((-0.1, "SGD"), "Invalid learning_rate"),
        ((0.1, 3), "Unrecognized optimizer"),
        ((0.1, lambda rate: rate), "function should return subclass of Optimizer"),
    ):
        with pytest.raises(ValueError, match=says):
            optimize(loss, step, *arguments)
    with pytest.raises(ValueError, match="Unknown type"):
        optimize(loss, step, 0.1, "SGD", clip_gradients="x")
    with pytest.raises(ValueError, match="Summaries should be one of"):
        optimize(loss, step, 0.1, "SGD", summaries=["x"])


def test_gradients_are_clipped_multiplied_and_summarised() -> None:
    training = hr.contrib.training
    v, w = hr.get_variable("v", [2]), hr.get_variable("w", [4, 2])
    rows = hr.gather(w, [0])
    pairs = list(zip(hr.gradients(hr.reduce_sum(v) + hr.reduce_sum(rows), [v, w]), [v, w]))
    clipped = training.clip_gradient_norms([*pairs, (None, v)], 1.0)
    assert isinstance(clipped[1][0], hr.IndexedSlices) and clipped[2] == (None, v)
    assert len(training.clip_gradient_norms_fn(1.0)(pairs)) == 2
    multiplied = training.multiply_gradients(pairs, {"v": 2.0, w: 3.0})
    assert multiplied[0][0].op.type == "Mul"
    for arguments, says in (
        ((tuple(pairs), {"v": 1.0}), "`grads_and_vars` must be a list"),
        ((pairs, {}), "`gradient_multipliers` is empty"),
        ((pairs, [1]), "must be a dict"),
        (([(None, v)], {"v": 1.0}), "Requested multiple of `None` gradient"),
    ):
        with pytest.raises(ValueError, match=says):
            training.multiply_gradients(*arguments)
    assert len(training.add_gradients_summaries([*pairs, (None, v)])) == 4
    train_op = training.create_train_op(
        hr.reduce_sum(v), hr.train.GradientDescentOptimizer(0.1), summarize_gradients=True
    )
    assert hr.get_collection(hr.GraphKeys.TRAIN_OP)[-1] is train_op
    with pytest.raises(ValueError, match="no variables to train"):
        training.create_train_op(
            hr.reduce_sum(v), hr.train.GradientDescentOptimizer(0.1), variables_to_train=[]
        )
    with pytest.raises(ValueError, match="logdir cannot be None when save_summaries_steps"):
        training.train(train_op, None)


def test_modes_are_named() -> None:
    modes = hr.contrib.learn.ModeKeys
    assert (modes.TRAIN, modes.EVAL, modes.INFER) == ("train", "eval", "infer")
    modes.validate(modes.TRAIN)
    with pytest.raises(ValueError, match="Invalid mode x"):
        modes.validate("x")


SCOPED = """contrib.layers.avg_pool2d contrib.layers.avg_pool3d contrib.layers.batch_norm
    contrib.layers.bias_add contrib.layers.conv2d contrib.layers.convolution
    contrib.layers.dropout contrib.layers.flatten contrib.layers.fully_connected
    contrib.layers.layer_norm contrib.layers.max_pool2d contrib.layers.max_pool3d
    contrib.layers.pool contrib.layers.softmax contrib.layers.separable_conv2d""".split()
PLAIN = """contrib.layers.repeat contrib.layers.stack contrib.layers.elu contrib.layers.relu
    contrib.layers.relu6 contrib.layers.linear
    contrib.layers.variance_scaling_initializer""".split()


def test_layers_take_an_arg_scope_where_tensorflows_do() -> None:
    from headrace.graph.api.namespace import find

    has = hr.contrib.framework.has_arg_scope
    assert [name for name in SCOPED if not has(find(name))] == []
    assert [name for name in PLAIN if has(find(name))] == []


def test_a_getter_renames_variables_and_makes_them_model_variables() -> None:
    from headrace.graph.contrib.layers.layer_variables import (
        add_to_collections,
        check_layout,
        finish_layer,
        model_variable_getter,
    )
    from headrace.graph.contrib.layers.norm_parameters import channel_parameter

    getter = model_variable_getter({"kernel": "weights"})
    with hr.variable_scope("s", custom_getter=getter, partitioner=hr.fixed_size_partitioner(2)):
        kernel = hr.get_variable("kernel", [4])
        average = channel_parameter("mean", [4], "float32", None, None, ["m"], False, True)
    assert [part.op.name for part in kernel] == ["s/weights/part_0", "s/weights/part_1"]
    assert average.op.name == "s/mean" and len(hr.model_variables()) == 3
    add_to_collections(kernel, ["k"], "weights")
    add_to_collections(kernel, {"weights": ["k"]}, "weights")
    assert len(hr.get_collection("k")) == 2 and hr.get_collection("m") == [average]
    assert check_layout("NCHW", "NCHW") == "channels_first"
    assert check_layout(None, None) == "channels_last"
    y = finish_layer(hr.constant(-2.0), hr.add, {"y": 1.0}, hr.abs, "out", "name")
    assert y.op.type == "Abs" and hr.get_collection("out") == [y]


def test_strides_and_rates_exclude_each_other() -> None:
    for call in (
        lambda: layers.conv2d(images(), 2, 3, stride=2, rate=2),
        lambda: layers.separable_conv2d(images(), 2, 3, 1, stride=2, rate=2),
        lambda: hr.layers.conv2d(images(), 2, 3, strides=2, dilation_rate=2),
        lambda: hr.layers.conv1d(images(2, 9, 3), 2, 3, strides=2, dilation_rate=3),
    ):
        with pytest.raises(ValueError, match="not supported in conjunction"):
            call()


@pytest.mark.parametrize("weights", [None, [1.0, 1.0]])
def test_moments_have_no_regularisation_losses(weights) -> None:
    regularizers = {"beta": layers.l2_regularizer(1.0)}
    layers.batch_norm(
        images(2, 3, 4), param_regularizers=regularizers, batch_weights=weights,
        updates_collections=hr.GraphKeys.UPDATE_OPS if weights is None else None,
    )  # fmt: skip
    assert len(hr.losses.get_regularization_losses()) == (1 if weights is None else 0)


def test_only_trainable_variables_are_trained() -> None:
    frozen = hr.get_variable("frozen", [], trainable=False)
    with pytest.raises(ValueError, match="not trainable: frozen:0"):
        hr.contrib.training.create_train_op(
            frozen * 2.0, hr.train.GradientDescentOptimizer(1.0), variables_to_train=[frozen]
        )
