"""A network of layers learns to classify stripes, is saved, restored and evaluated."""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr


@pytest.fixture(autouse=True)
def graph():
    with hr.Graph().as_default() as fresh:
        yield fresh


def _stripes(rng, count):
    """Noisy images of stripes that lie (0) or stand (1)."""
    labels = rng.integers(0, 2, count)
    phase = rng.integers(0, 4, count)
    rows = (np.arange(8)[None, :] + phase[:, None]) // 2 % 2
    lying = np.repeat(rows[:, :, None], 8, 2)
    images = np.where(labels[:, None, None] == 0, lying, lying.transpose(0, 2, 1))
    noisy = images + rng.normal(0, 0.3, images.shape)
    return noisy[..., None].astype(np.float32), labels


class _Model:
    def __init__(self, training):
        self.images = hr.placeholder("float32", [None, 8, 8, 1], name="images")
        self.labels = hr.placeholder("int64", [None], name="labels")
        y = hr.layers.conv2d(self.images, 4, 3, padding="same", use_bias=False)
        y = hr.nn.relu(hr.layers.batch_normalization(y, momentum=0.9, training=training))
        y = hr.layers.max_pooling2d(y, 2, 2)
        y = hr.layers.dense(hr.layers.flatten(y), 16, activation=hr.nn.relu)
        y = hr.layers.dropout(y, 0.2, training=training, seed=1)
        regularizer = lambda w: 1e-3 * hr.nn.l2_loss(w)  # noqa: E731
        self.logits = hr.layers.dense(y, 2, kernel_regularizer=regularizer)
        hr.losses.sparse_softmax_cross_entropy(self.labels, self.logits)
        self.loss = hr.losses.get_total_loss()

    def feeds(self, images, labels):
        return {self.images: images, self.labels: labels}


def _trained(path):
    """Trains for a while and saves; returns the losses and the moving mean."""
    hr.set_random_seed(5)
    model = _Model(training=True)
    with hr.control_dependencies(hr.get_collection(hr.GraphKeys.UPDATE_OPS)):
        train = hr.train.AdamOptimizer(0.01).minimize(model.loss)
    rng = np.random.default_rng(1)
    with hr.Session() as sess:
        sess.run(hr.global_variables_initializer())
        losses = [
            sess.run([model.loss, train], model.feeds(*_stripes(rng, 32)))[0] for _ in range(60)
        ]
        named = {v.op.name: sess.run(v) for v in hr.global_variables()}
        hr.train.Saver().save(sess, path)
    return losses, named["batch_normalization/moving_mean"]


def test_network_of_layers_trains_and_is_evaluated_from_its_checkpoint(tmp_path):
    path = str(tmp_path / "model")
    losses, moving_mean = _trained(path)
    assert np.mean(losses[-5:]) < 0.4 * np.mean(losses[:5])
    assert np.abs(moving_mean).max() > 0  # the updates have run
    with hr.Graph().as_default():
        model = _Model(training=False)
        classes = hr.argmax(model.logits, 1)
        rate, count = hr.metrics.accuracy(model.labels, classes)
        right, found = hr.metrics.recall(hr.equal(model.labels, 1), hr.equal(classes, 1))
        rng = np.random.default_rng(2)
        with hr.Session() as sess:
            sess.run(hr.local_variables_initializer())
            hr.train.Saver().restore(sess, path)
            seen = []
            for _ in range(3):
                images, labels = _stripes(rng, 64)
                got, *_ = sess.run([classes, count, found], model.feeds(images, labels))
                seen.append((got, labels))
            got, labels = (np.concatenate(part) for part in zip(*seen, strict=True))
            assert sess.run(rate) == pytest.approx((got == labels).mean())
            assert sess.run(right) == pytest.approx((got[labels == 1] == 1).mean())
            assert sess.run(rate) > 0.9


def test_checkpoint_has_tensorflows_variable_names(tmp_path):
    path = str(tmp_path / "model")
    _trained(path)
    names = {name for name, _ in hr.train.list_variables(path) if "Adam" not in name}
    assert names - {"beta1_power", "beta2_power"} == {
        "conv2d/kernel",
        "batch_normalization/gamma",
        "batch_normalization/beta",
        "batch_normalization/moving_mean",
        "batch_normalization/moving_variance",
        "dense/kernel",
        "dense/bias",
        "dense_1/kernel",
        "dense_1/bias",
    }
