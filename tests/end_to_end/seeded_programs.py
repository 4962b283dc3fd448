"""Trains small networks with only a graph-level seed, and prints their losses as JSON.

Runs on Headrace and on TensorFlow 1.15: python seeded_programs.py MODULE
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings

import numpy as np

STEPS = 5


def perceptron(m, data):
    x = m.placeholder(m.float32, [None, 12])
    keep = m.placeholder_with_default(0.8, [])
    hidden = m.nn.dropout(m.layers.dense(x, 16, m.nn.relu), keep)
    hidden = m.layers.dropout(m.layers.dense(hidden, 16, m.nn.tanh), 0.4, training=True)
    out = m.layers.dense(hidden, 3)
    loss = m.losses.sparse_softmax_cross_entropy(data.randint(0, 3, 8), out)
    return m.train.GradientDescentOptimizer(0.1).minimize(loss), loss, {x: data.rand(8, 12)}


def convolutions(m, data):
    x = m.placeholder(m.float32, [None, 8, 8, 3])
    training = m.placeholder_with_default(True, [])
    y = m.image.random_flip_left_right(x)
    y = m.layers.conv2d(y, 8, 3, padding="same", activation=m.nn.relu)
    y = m.layers.batch_normalization(y, training=training)
    y = m.layers.max_pooling2d(y, 2, 2)
    y = m.layers.dropout(m.layers.flatten(y), 0.5, training=training)
    out = m.layers.dense(y, 4)
    labels = m.one_hot(data.randint(0, 4, 6), 4)
    loss = m.losses.softmax_cross_entropy(labels, out, weights=data.rand(6).astype("f"))
    with m.control_dependencies(m.get_collection(m.GraphKeys.UPDATE_OPS)):
        train = m.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
    return train, loss, {x: data.rand(6, 8, 8, 3)}


def recurrent(m, data):
    cells = m.nn.rnn_cell
    x = m.placeholder(m.float32, [None, None, 5])
    lengths = m.placeholder(m.int32, [None])
    layers = [
        cells.DropoutWrapper(cells.LSTMCell(6), output_keep_prob=0.7, state_keep_prob=0.9)
        for _ in range(2)
    ]
    outputs, _ = m.nn.dynamic_rnn(cells.MultiRNNCell(layers), x, lengths, dtype=m.float32)
    outputs = m.nn.dropout(outputs, rate=0.2)
    mask = m.sequence_mask(lengths, m.shape(x)[1], m.float32)
    loss = m.losses.mean_squared_error(x[:, :, :1], m.layers.dense(outputs, 1), mask[:, :, None])
    feed = {x: data.rand(4, 7, 5), lengths: [7, 3, 5, 1]}
    return m.train.AdamOptimizer(0.01).minimize(loss), loss, feed


def adversarial(m, data):
    real = m.placeholder(m.float32, [None, 8, 8, 1])

    def generator(noise):
        with m.variable_scope("generator"):
            y = m.reshape(m.layers.dense(noise, 2 * 2 * 8), [-1, 2, 2, 8])
            y = m.layers.conv2d_transpose(y, 6, 3, 2, "same", activation=m.nn.leaky_relu)
            y = m.layers.batch_normalization(y, training=True)
            return m.layers.conv2d_transpose(y, 1, 3, 2, "same", activation=m.nn.tanh)

    def discriminator(images, reuse=None):
        with m.variable_scope("discriminator", reuse=reuse):
            y = m.layers.conv2d(images, 6, 3, 2, "same", activation=m.nn.leaky_relu)
            y = m.layers.dropout(y, 0.3, training=True)
            return m.layers.dense(m.layers.flatten(y), 1)

    fake = generator(m.random_normal([5, 4]))
    of_real, of_fake = discriminator(real), discriminator(fake, True)
    cross = m.nn.sigmoid_cross_entropy_with_logits
    of_d = m.reduce_mean(cross(labels=m.ones_like(of_real), logits=of_real)) + m.reduce_mean(
        cross(labels=m.zeros_like(of_fake), logits=of_fake)
    )
    of_g = m.reduce_mean(cross(labels=m.ones_like(of_fake), logits=of_fake))
    both = []
    for loss, scope in ((of_d, "discriminator"), (of_g, "generator")):
        variables = m.trainable_variables(scope)
        both.append(m.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=variables))
    return both, of_d + of_g, {real: data.rand(5, 8, 8, 1)}


def translation(m, data):
    seq, cells = m.contrib.seq2seq, m.nn.rnn_cell
    source = m.placeholder(m.int32, [None, None])
    target = m.placeholder(m.int32, [None, None])
    lengths = m.placeholder(m.int32, [None])
    table = m.get_variable("table", [9, 6])
    embedded = m.nn.embedding_lookup(table, source)
    memory, state = m.nn.bidirectional_dynamic_rnn(
        cells.GRUCell(4), cells.GRUCell(4), embedded, lengths, dtype=m.float32
    )
    attention = seq.BahdanauAttention(5, m.concat(memory, 2), lengths)
    cell = cells.DropoutWrapper(cells.GRUCell(8), 0.8)
    cell = seq.AttentionWrapper(cell, attention, attention_layer_size=7)
    batch = m.shape(source)[0]
    start = cell.zero_state(batch, m.float32).clone(cell_state=m.concat(state, 1))
    helper = seq.TrainingHelper(m.nn.embedding_lookup(table, target), lengths)
    decoder = seq.BasicDecoder(cell, helper, start, m.layers.Dense(9))
    outputs, _, _ = seq.dynamic_decode(decoder)
    mask = m.sequence_mask(lengths, m.shape(target)[1], m.float32)
    loss = seq.sequence_loss(outputs.rnn_output, target, mask)
    numbers = data.randint(0, 9, (2, 4, 6))
    feed = {source: numbers[0], target: numbers[1], lengths: [6, 2, 4, 5]}
    return m.train.GradientDescentOptimizer(0.5).minimize(loss), loss, feed


PROGRAMS = [perceptron, convolutions, recurrent, adversarial, translation]


def losses(m, program):
    with m.Graph().as_default():
        m.set_random_seed(12)
        train, loss, feed = program(m, np.random.RandomState(3))
        with m.Session() as session:
            session.run(m.global_variables_initializer())
            # One after another: an update of the discriminator races with the generator's loss.
            trains = train if isinstance(train, list) else [train]
            runs = [one for _ in range(STEPS) for one in trains]
            return [float(session.run([loss, one], feed)[0]) for one in runs]


def main(module):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    warnings.simplefilter("ignore")
    m = importlib.import_module(module)
    logging = m.logging if hasattr(m, "logging") else m.compat.v1.logging
    logging.set_verbosity(logging.ERROR)
    print(json.dumps({program.__name__: losses(m, program) for program in PROGRAMS}))


if __name__ == "__main__":
    main(sys.argv[1])
