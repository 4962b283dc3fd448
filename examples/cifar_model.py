"""The convolutional network of cifar_queues and cifar_dataset."""

from __future__ import annotations

import argparse
from typing import Any

import cifar_data
import numpy as np
import resumable

import headrace.graph as tf

DECAY = 1e-4  # of the weights
AVERAGED_OVER = 100  # steps; the predictions are those of the variables' moving averages


def add_model(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the network."""
    add = parser.add_argument
    add("--filters", type=resumable.whole(1), default=32, help="of a convolution (32)")
    add("--rate", type=resumable.positive, default=0.01, help="of gradient descent (0.01)")


def job(images: Any, labels: Any, options: argparse.Namespace) -> resumable.Job:
    """Adds the training of a network, and its predictions for pictures that it has not seen.

    Args:
      images: [batch, CROP, CROP, 3] float.
      labels: [batch] int64.
    """
    # Names for who feeds batches of their own.
    images, labels = tf.identity(images, "images"), tf.identity(labels, "labels")
    tf.summary.image("images", images, 4)
    logits = network(images, options.filters)
    tf.losses.sparse_softmax_cross_entropy(labels, logits)
    loss = tf.losses.get_total_loss(name="total_loss")
    step = tf.train.get_global_step()
    rate = tf.train.exponential_decay(options.rate, step, 500, 0.7)
    tf.summary.scalar("rate", rate)
    descent = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=step)
    average = tf.train.ExponentialMovingAverage(1 - 1 / AVERAGED_OVER, step)
    with tf.control_dependencies([descent]):
        train = average.apply(tf.trainable_variables())

    shape = [None, cifar_data.SIDE, cifar_data.SIDE, 3]
    pictures = tf.placeholder(tf.uint8, shape, name="pictures")
    whole = tf.map_fn(cifar_data.centred, pictures, tf.float32)

    def averaged(getter: Any, *args: Any, **kwargs: Any) -> Any:
        return average.average(getter(*args, **kwargs))

    with tf.variable_scope(tf.get_variable_scope(), reuse=True, custom_getter=averaged):
        predictions = tf.argmax(network(whole, options.filters), 1, name="predictions")

    def report(session: Any) -> None:
        unseen, true = cifar_data.held_out()
        found = session.run(predictions, {pictures: unseen})
        print(f"{np.mean(found == true):.1%} of {len(true)} held-out pictures are named rightly")
        for i, name in enumerate(cifar_data.CLASSES):
            print(f"{name:>10} {np.mean(found[true == i] == i):6.1%}")

    return resumable.Job(loss, train, report=report)


def network(images: Any, filters: int) -> Any:
    """Returns: logits [batch, classes], by the layers of TensorFlow's CIFAR-10 tutorial."""
    h = tf.layers.conv2d(images, filters, 5, padding="same", activation=tf.nn.relu, name="conv1")
    h = tf.layers.max_pooling2d(h, 3, 2, padding="same")
    h = tf.nn.lrn(h, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)
    h = tf.layers.conv2d(h, filters, 5, padding="same", activation=tf.nn.relu, name="conv2")
    h = tf.nn.lrn(h, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)
    h = tf.layers.max_pooling2d(h, 3, 2, padding="same")
    h = tf.layers.flatten(h)
    for units, name in ((4 * filters, "dense1"), (2 * filters, "dense2")):
        regularizer = tf.contrib.layers.l2_regularizer(DECAY)
        h = tf.layers.dense(h, units, tf.nn.relu, kernel_regularizer=regularizer, name=name)
    return tf.layers.dense(h, len(cifar_data.CLASSES), name="logits")
