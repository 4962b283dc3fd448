"""A network with a graph-level seed starts with TensorFlow 1.15's variables and has its losses."""

from __future__ import annotations

import numpy as np

import headrace.graph as hr

# Sums of the initial variables, and the losses of five steps, of TensorFlow 1.15.5.
SUMS = [
    1.0292474031448364, 0.0, 4.0, 0.0, 2.153343677520752, 0.0, 1.1566962003707886,
    0.3322839140892029, 0.0, 3.4372661113739014, 0.0, -0.594430685043335, 0.0,
    0.32386070489883423, 0.0, -2.5282087326049805, 8.0, -0.21409308910369873, 0.0,
    3.2169346809387207, -0.25038599967956543, 0.0, -1.8186798095703125,
]  # fmt: skip
LOSSES = [
    1.1319994926452637, 1.0053191184997559, 1.0357530117034912, 1.0083156824111938,
    0.9439418315887451,
]  # fmt: skip


def _network(x):
    h = hr.layers.conv2d(x, 4, 3, padding="same", activation=hr.nn.relu)
    h = hr.layers.batch_normalization(h, training=True)
    h = hr.layers.dropout(h, 0.3, training=True)
    h = hr.layers.conv2d_transpose(h, 3, 3, 2)
    h = hr.layers.separable_conv2d(h, 4, 3)
    h = hr.layers.flatten(hr.layers.max_pooling2d(h, 2, 2))
    h = hr.nn.dropout(hr.layers.dense(h, 6, hr.nn.tanh), 0.8)
    steps = hr.unstack(hr.layers.dense(hr.reshape(h, [-1, 3, 2]), 3), 3, 1)
    first = hr.nn.rnn_cell.DropoutWrapper(hr.nn.rnn_cell.LSTMCell(4), output_keep_prob=0.7)
    cell = hr.nn.rnn_cell.MultiRNNCell([first, hr.nn.rnn_cell.GRUCell(4)])
    state = cell.zero_state(2, hr.float32)
    outputs, _ = hr.nn.static_rnn(cell, steps, initial_state=state)
    table = hr.get_variable("emb", [5, 4])
    joined = outputs[-1] + hr.nn.embedding_lookup(table, [1, 2]) + hr.random_normal([2, 4])
    w = hr.Variable(hr.truncated_normal([4, 3], stddev=0.1))
    logits = hr.matmul(joined, w) + hr.Variable(hr.zeros([3]))
    losses = hr.nn.softmax_cross_entropy_with_logits(labels=hr.one_hot([0, 1], 3), logits=logits)
    loss = hr.reduce_mean(losses)
    hr.get_variable("after", [3, 3])
    return loss


def test_a_seeded_network_starts_and_learns_as_on_tensorflow():
    with hr.Graph().as_default(), hr.Session() as sess:
        hr.set_random_seed(7)
        x = hr.placeholder(hr.float32, [None, 8, 8, 3])
        hr.placeholder(hr.bool, [])
        loss = _network(x)
        train = hr.train.AdamOptimizer(0.01).minimize(loss)
        sess.run(hr.global_variables_initializer())
        sums = [v.sum() for v in sess.run(hr.trainable_variables())]
        np.testing.assert_allclose(sums, SUMS, rtol=1e-5, atol=1e-5)
        feeds = {x: np.linspace(-1, 1, 2 * 192).reshape(2, 8, 8, 3)}
        losses = [sess.run([loss, train], feeds)[0] for _ in range(5)]
        np.testing.assert_allclose(losses, LOSSES, rtol=1e-4)
