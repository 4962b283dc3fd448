"""The convolutional network of the digits, as a graph."""

from __future__ import annotations

from dataclasses import dataclass

import headrace.graph as hr

HIDDEN = 128
LEARNING_RATE = 2e-3  # of Adam, at the first step


@dataclass(frozen=True)
class Network:
    """The tensors of the network that are fed and fetched."""

    images: hr.Tensor  # [None, side, side, 1] float
    labels: hr.Tensor  # [None] int64
    kept: hr.Tensor  # [None, HIDDEN] float, ones unless fed: factors of dropout
    probabilities: hr.Tensor  # [None, 10] float
    predictions: hr.Tensor  # [None] int64
    loss: hr.Tensor  # [] float


@dataclass(frozen=True)
class Model(Network):
    """The network, and what trains it in one process."""

    rate: hr.Tensor  # [] float
    step: hr.Variable  # [] int64, the number of steps done
    train: hr.Operation


def build_model(side: int) -> Model:
    """Adds the network for images of side x side, and its training, to the default graph."""
    rate = hr.placeholder_with_default(hr.constant(LEARNING_RATE), [], name="rate")
    network = build_network(side)
    step = hr.Variable(hr.zeros([], hr.int64), trainable=False, name="global_step")
    train = hr.train.AdamOptimizer(rate).minimize(network.loss, global_step=step)
    return Model(**vars(network), rate=rate, step=step, train=train)


def build_network(side: int) -> Network:
    """Adds the network for images of side x side to the default graph.

    Args:
      side: 8 or 28; divisible by 4.
    """
    images = hr.placeholder(hr.float32, [None, side, side, 1], name="images")
    labels = hr.placeholder(hr.int64, [None], name="labels")
    # Fed, because the state of a random op is in no checkpoint, and a resumed training must compute
    # what an uninterrupted one does.
    kept = hr.placeholder_with_default(hr.ones([1, HIDDEN]), [None, HIDDEN], name="kept")
    h = _convolution(images, 1, 32, "conv1")
    h = _convolution(h, 32, 64, "conv2")
    flat = (side // 4) ** 2 * 64
    h = hr.reshape(h, [-1, flat])
    h = hr.nn.relu(_dense(h, flat, HIDDEN, "dense")) * kept
    logits = _dense(h, HIDDEN, 10, "logits")
    each = hr.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = hr.reduce_mean(each, name="loss")
    return Network(
        images=images,
        labels=labels,
        kept=kept,
        probabilities=hr.nn.softmax(logits, name="probabilities"),
        predictions=hr.argmax(logits, 1, name="predictions"),
        loss=loss,
    )


def _convolution(x: hr.Tensor, inputs: int, outputs: int, name: str) -> hr.Tensor:
    with hr.variable_scope(name):
        w = _weights([3, 3, inputs, outputs], 9 * inputs)
        b = hr.Variable(hr.zeros([outputs]), name="bias")
        h = hr.nn.relu(hr.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME") + b)
        window = [1, 2, 2, 1]
        return hr.nn.max_pool(h, ksize=window, strides=window, padding="SAME")


def _dense(x: hr.Tensor, inputs: int, outputs: int, name: str) -> hr.Tensor:
    with hr.variable_scope(name):
        w = _weights([inputs, outputs], inputs)
        return hr.matmul(x, w) + hr.Variable(hr.zeros([outputs]), name="bias")


def _weights(shape: list[int], inputs: int) -> hr.Variable:
    """Source: He et al. 2015, equation 10, for layers before a ReLU."""
    return hr.Variable(hr.truncated_normal(shape, stddev=(2 / inputs) ** 0.5), name="weights")
