"""Convolutions and products run as one kernel with bias, normalisation and activation.

Modules: plan/fuse_epilogue, plan/fused_nodes.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import headrace.graph as hr


def _convolution(x: Any, kernel: Any, bias: Any, add: str, activation: str) -> Any:
    y = hr.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME")
    if add == "bias_add":
        y = hr.nn.bias_add(y, bias)
    else:
        y = hr.add(bias, y) if add == "flipped" else hr.add(y, bias)
    return {"none": hr.identity, "relu": hr.nn.relu, "tanh": hr.tanh}[activation](y)


@pytest.mark.parametrize("activation", ["none", "relu", "tanh"])
@pytest.mark.parametrize("add", ["bias_add", "add", "flipped"])
def test_a_convolution_is_fused_with_bias_and_relu(add: str, activation: str) -> None:
    rng = np.random.RandomState(0)
    value = rng.randn(2, 6, 6, 3).astype(np.float32)
    x = hr.placeholder(hr.float32, value.shape)
    kernel = hr.Variable(rng.randn(3, 3, 3, 8).astype(np.float32))
    bias = hr.Variable(rng.randn(8).astype(np.float32))
    conv = hr.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME")
    y = _convolution(x, kernel, bias, add, activation)
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        got = session.run(y, {x: value})
        explained = session.explain(y, [x])
        assert "_FusedConv2D" in explained and " Conv2D (" not in explained
        assert "Relu (" not in explained and "Tanh (" not in explained
        plain, b = session.run([conv, bias], {x: value})
        assert " Conv2D" in session.explain([conv, bias], [x])
    want = {"none": lambda a: a, "relu": lambda a: np.maximum(a, 0), "tanh": np.tanh}
    np.testing.assert_allclose(got, want[activation](plain + b), rtol=1e-5, atol=1e-5)


def test_a_training_step_fuses_its_convolutions_and_learns_the_same() -> None:
    rng = np.random.RandomState(1)
    value = rng.randn(2, 8, 8, 3).astype(np.float32)
    x = hr.placeholder(hr.float32, value.shape)
    kernels = [hr.Variable(rng.randn(*s).astype(np.float32)) for s in ((3, 3, 3, 8), (3, 3, 8, 4))]
    bias = [hr.Variable(np.zeros(n, np.float32)) for n in (8, 4)]
    y = x
    middle = []
    for k, b in zip(kernels, bias, strict=True):
        middle.append(hr.nn.conv2d(y, k, [1, 1, 1, 1], "SAME"))
        y = hr.nn.relu(hr.nn.bias_add(middle[-1], b))
    gradients = hr.gradients(hr.reduce_mean(hr.square(y)), kernels + bias)
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        fused = session.run(gradients, {x: value})
        assert "2  _FusedConv2D" in session.explain(gradients, [x])
        apart = session.run([*gradients, *middle], {x: value})[: len(gradients)]
        assert "_FusedConv2D" not in session.explain([*gradients, *middle], [x])
    for one, other in zip(fused, apart, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.host_execution("asserts which kernels of the CPU library explain() names")
def test_a_fused_convolution_keeps_nans_and_names_the_nodes_it_is_made_of() -> None:
    x = hr.placeholder(hr.float32, [1, 4, 4, 3], name="x")
    kernel = hr.ones([1, 1, 3, 16])
    conv = hr.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME", name="conv")
    y = hr.nn.relu(hr.nn.bias_add(conv, hr.zeros([16]), name="biased"), name="active")
    value = np.full([1, 4, 4, 3], -1.0, np.float32)
    value[0, 0, 0, 0] = np.nan
    metadata = hr.RunMetadata()
    with hr.Session() as session:
        options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
        got = session.run(y, {x: value}, options, metadata)
    assert np.isnan(got[0, 0, 0]).all() and not np.isnan(got[0, 1:]).any()
    labels = {
        node.node_name: node.timeline_label
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
    }
    assert labels["conv"] == "conv = Conv2D; biased = BiasAdd; active = Relu"
    assert not {"active", "biased"} & set(labels)


def test_an_error_of_a_convolution_that_would_be_fused_names_the_convolution() -> None:
    x = hr.placeholder(hr.float32)
    kernel = hr.placeholder(hr.float32)
    conv = hr.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME", name="conv")
    y = hr.nn.relu(hr.nn.bias_add(conv, hr.ones([4])))
    with hr.Session() as session:
        with pytest.raises(hr.errors.InvalidArgumentError, match="'conv'"):
            session.run(y, {x: np.ones([1, 4, 4, 3]), kernel: np.ones([3, 3, 5, 4])})


ACTIVATIONS = {
    "Relu": hr.nn.relu,
    "Relu6": hr.nn.relu6,
    "Elu": hr.nn.elu,
    "Tanh": hr.tanh,
    "Sigmoid": hr.sigmoid,
    "LeakyRelu": lambda x: hr.nn.leaky_relu(x, alpha=0.3),
    "Softmax": hr.nn.softmax,
    "Softplus": hr.nn.softplus,
    "Neg": hr.negative,
}
FUSED = ("Relu", "Relu6", "Elu", "Tanh", "Sigmoid", "LeakyRelu")

FORMS: dict[str, dict[str, Any]] = {
    "same": {"padding": "SAME"},
    "valid": {"padding": "VALID"},
    "explicit": {"padding": [[0, 0], [2, 1], [0, 3], [0, 0]]},
    "strided": {"padding": "SAME", "strides": [1, 2, 3, 1]},
    "dilated": {"padding": "SAME", "dilations": [1, 2, 3, 1]},
}


def _normalised(
    x: Any, channels: int, form: str, data_format: str, constant: bool, training: bool = False
) -> tuple[Any, Any]:
    """A convolution of 6 channels, and its batch normalisation (all outputs)."""
    rng = np.random.RandomState(3)
    make = hr.constant if constant else hr.Variable
    kernel = make(rng.randn(3, 3, 6, channels).astype(np.float32))
    scale, offset, mean = (make(rng.randn(channels).astype(np.float32)) for _ in range(3))
    variance = make(rng.rand(channels).astype(np.float32))
    how = {"strides": [1, 1, 1, 1], "dilations": [1, 1, 1, 1], **FORMS[form]}
    if data_format == "NCHW":
        turned = {k: [v[i] for i in (0, 3, 1, 2)] for k, v in how.items() if isinstance(v, list)}
        how = {**how, **turned}
    conv = hr.nn.conv2d(x, kernel, data_format=data_format, name="conv", **how)
    given = {} if training else {"mean": mean, "variance": variance}
    return conv, hr.nn.fused_batch_norm(
        conv, scale, offset, epsilon=0.01, is_training=training, data_format=data_format,
        name="norm", **given,
    )  # fmt: skip


@pytest.mark.parametrize("activation", [None, "Relu", "Relu6", "LeakyRelu", "Tanh"])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("form", FORMS)
def test_a_convolution_is_fused_with_a_normalisation_by_known_statistics(
    form: str, data_format: str, constant: bool, activation: str | None
) -> None:
    value = np.random.RandomState(0).randn(2, 11, 12, 6).astype(np.float32)
    value = value if data_format == "NHWC" else value.transpose(0, 3, 1, 2)
    x = hr.placeholder(hr.float32, value.shape)
    conv, (normal, *_) = _normalised(x, 16, form, data_format, constant)
    y = ACTIVATIONS[activation](normal) if activation else normal
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        got = session.run(y, {x: value})
        explained = session.explain(y, [x])
        assert "1  _FusedConv2D" in explained
        assert "FusedBatchNorm" not in re.sub(r"conv = Conv2D; norm = .*", "", explained)
        assert not activation or f" {activation} (" not in explained
        apart = session.run([y, conv, normal], {x: value})[0]
        assert "_FusedConv2D" not in session.explain([y, conv, normal], [x])
        np.testing.assert_array_equal(session.run(y, {x: value}), got)
    np.testing.assert_allclose(got, apart, rtol=1e-5, atol=1e-5 * np.abs(apart).max())


@pytest.mark.parametrize("gammas", ["ordinary", "tiny", "huge", "zero", "infinite"])
@pytest.mark.host_execution("asserts which kernels of the CPU library explain() names")
def test_a_scale_in_the_filter_rounds_no_worse_than_a_scale_behind_it(gammas: str) -> None:
    rng = np.random.RandomState(5)
    kernel = rng.randn(3, 3, 8, 16).astype(np.float32)
    gamma = rng.randn(16) * {"tiny": 1e-38, "huge": 1e37}.get(gammas, 1.0)
    gamma[3] = {"zero": 0.0, "infinite": np.inf}.get(gammas, gamma[3])
    parts = [gamma, rng.randn(16), rng.randn(16), rng.rand(16) + 0.1]
    parts = [np.asarray(part, np.float32) for part in parts]
    value = rng.randn(2, 9, 9, 8).astype(np.float32)
    x = hr.placeholder(hr.float32, value.shape)
    make = (hr.constant, hr.Variable)
    results, exact = [], None
    with hr.Session() as session:
        for kind in make:
            scale, offset, mean, variance = (kind(part) for part in parts)
            conv = hr.nn.conv2d(x, kind(kernel), [1, 1, 1, 1], "SAME")
            y = hr.nn.fused_batch_norm(
                conv, scale, offset, mean, variance, epsilon=0.01, is_training=False
            )[0]
            session.run(hr.global_variables_initializer())
            results.append(session.run(y, {x: value}))
            assert "1  _FusedConv2D (cpu)" in session.explain(y, [x])
        wide = hr.nn.conv2d(hr.cast(x, hr.float64), hr.constant(kernel, hr.float64),
                            [1, 1, 1, 1], "SAME")  # fmt: skip
        exact = session.run(wide, {x: value})
    g, b, m, v = (part.astype(np.float64) for part in parts)
    with np.errstate(all="ignore"):
        factor = g / np.sqrt(v + 0.01)
        exact = exact * factor + (b - m * factor)
        errors = [np.abs(r - exact)[np.isfinite(exact)].max() for r in results]
    assert errors[0] <= 2 * errors[1] + 1e-6 * np.abs(exact[np.isfinite(exact)]).max()
    np.testing.assert_array_equal(np.isnan(results[0]), np.isnan(results[1]))


def test_a_normalisation_with_other_outputs_in_use_is_not_fused() -> None:
    value = np.random.RandomState(0).randn(2, 5, 5, 6).astype(np.float32)
    x = hr.placeholder(hr.float32, value.shape)
    conv, outputs = _normalised(x, 16, "same", "NHWC", True)
    _, trained = _normalised(x, 16, "same", "NHWC", True, training=True)
    cases = {
        "an output of statistics": [outputs[0], outputs[1]],
        "its convolution": [outputs[0], conv],
        "its convolution, by another node": [outputs[0], hr.negative(conv)],
        "statistics of the batch": [trained[0]],
    }
    with hr.Session() as session:
        alone = session.run(outputs[0], {x: value})
        assert "_FusedConv2D" in session.explain(outputs[0], [x])
        for why, fetches in cases.items():
            got = session.run(fetches, {x: value})[0]
            explained = session.explain(fetches, [x])
            assert " FusedBatchNorm" in explained and "_FusedConv2D" not in explained, why
            if fetches[0] is outputs[0]:
                np.testing.assert_allclose(got, alone, rtol=1e-5, atol=1e-4)


def test_gradients_through_a_normalisation_are_those_of_its_nodes() -> None:
    value = np.random.RandomState(0).randn(2, 5, 5, 6).astype(np.float32)
    x = hr.placeholder(hr.float32, value.shape)
    conv, (normal, *_) = _normalised(x, 16, "same", "NHWC", False)
    y = hr.nn.relu(normal)
    gradients = hr.gradients(hr.reduce_sum(hr.square(y)), [x, *hr.trainable_variables()[:3]])
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        got = session.run([y, *gradients], {x: value})
        apart = session.run([y, *gradients, conv, normal], {x: value})
    for one, other in zip(got, apart, strict=False):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * np.abs(other).max())


def test_a_filter_that_a_variable_holds_is_read_in_every_run() -> None:
    x = hr.placeholder(hr.float32, [1, 4, 4, 16])
    kernel = hr.Variable(np.ones([1, 1, 16, 32], np.float32))
    y = hr.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME")
    one = {x: np.ones([1, 4, 4, 16], np.float32)}
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        assert session.run(y, one).max() == 16
        session.run(kernel.assign(kernel * 3.0))
        assert session.run(y, one).min() == 48


def test_constant_filters_of_one_shape_are_not_taken_for_each_other() -> None:
    x = hr.placeholder(hr.float32, [None, 4, 4, 64])
    value = np.ones([3, 3, 64, 64], np.float32)
    filters = [value.copy() for _ in range(3)]
    filters[1][2, 2, 63, 63] = 5  # the same but for the last element
    ys = [hr.nn.conv2d(x, hr.constant(f), [1, 1, 1, 1], "VALID") for f in filters]
    with hr.Session() as session:
        for batch in (1, 2, 5, 1):
            same, other, again = session.run(ys, {x: np.ones([batch, 4, 4, 64], np.float32)})
            assert (same == 9 * 64).all() and (again == same).all()
            assert (other[..., :63] == 9 * 64).all() and (other[..., 63] == 9 * 64 + 4).all()


def _made_by(product: str, x: Any, rng: Any) -> Any:
    if product == "MatMul":
        return hr.matmul(x, hr.constant(rng.randn(70, 96).astype(np.float32)))
    kernel = hr.constant(rng.randn(3, 3, 7, 96).astype(np.float32))
    return hr.nn.conv2d(hr.reshape(x, [-1, 2, 5, 7]), kernel, [1, 1, 1, 1], "SAME")


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("add", [hr.nn.bias_add, hr.add, lambda y, b: hr.add(b, y)])
@pytest.mark.parametrize("product", ["MatMul", "Conv2D"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_fused_product_agrees_with_separate_nodes(
    product: str, add: Any, activation: str, threads: int
) -> None:
    rng = np.random.RandomState(0)
    value = rng.randn(64, 70).astype(np.float32)
    value[3, 5], value[9, 1], value[11, 2], value[20, 3] = np.nan, np.inf, -np.inf, 1e-41
    x = hr.placeholder(hr.float32, value.shape)
    plain = _made_by(product, x, rng)
    biased = add(plain, hr.constant(rng.randn(96).astype(np.float32)))
    y = ACTIVATIONS[activation](biased)
    config = hr.ConfigProto(intra_op_parallelism_threads=threads)
    with hr.Session(config=config) as session, np.errstate(all="ignore"):
        got = session.run(y, {x: value})
        assert f"_Fused{product}" in session.explain(y, [x])
        assert (f" {activation} (" in session.explain(y, [x])) == (activation not in FUSED)
        apart = session.run([y, plain, biased], {x: value})[0]
        assert f"_Fused{product}" not in session.explain([y, plain, biased], [x])
        again = session.run(y, {x: value})
    np.testing.assert_array_equal(got, again)
    if product == "MatMul" and activation != "Elu":
        np.testing.assert_array_equal(got, apart)
    elif product == "MatMul":  # the compiler contracts other products and sums in its two loops
        np.testing.assert_allclose(got, apart, rtol=2.5e-7)
    else:  # oneDNN begins its sums with the bias
        np.testing.assert_allclose(got, apart, rtol=1e-5, atol=1e-5)


def test_a_training_step_fuses_its_dense_layers_and_learns_the_same() -> None:
    rng = np.random.RandomState(1)
    value = rng.randn(32, 48).astype(np.float32)
    x = hr.placeholder(hr.float32, value.shape)
    sizes = ((48, 64), (64, 64), (64, 10))
    weights = [hr.Variable(rng.randn(*s).astype(np.float32) * 0.1) for s in sizes]
    bias = [hr.Variable(np.zeros(s[1], np.float32)) for s in sizes]
    y, middle = x, []
    for w, b, f in zip(weights, bias, (hr.nn.relu, hr.tanh, hr.sigmoid), strict=True):
        middle.append(hr.matmul(y, w))
        y = f(middle[-1] + b)
    gradients = hr.gradients(hr.reduce_mean(hr.square(y)), weights + bias)
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        fused = session.run(gradients, {x: value})
        assert "3  _FusedMatMul" in session.explain(gradients, [x])
        apart = session.run([*gradients, *middle], {x: value})[: len(gradients)]
        assert "_FusedMatMul" not in session.explain([*gradients, *middle], [x])
    for one, other in zip(fused, apart, strict=True):
        np.testing.assert_array_equal(one, other)
