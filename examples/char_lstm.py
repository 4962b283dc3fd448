"""Train an LSTM to continue Python source, character by character, and print what it writes.

    python examples/char_lstm.py                     # learns from this Python's standard library
    python examples/char_lstm.py --text FOLDER       # or from other .py files

Ctrl-C stops it; the same command continues from there.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
import python_source
import resumable
from python_source import ALPHABET

import headrace.graph as tf

TITLE = "char_lstm"
LARGEST_NORM = 5.0  # of the gradients
TEMPERATURE = 0.7  # of the samples; below 1, likely characters become likelier


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    try:
        text = python_source.read_text(options)
        if len(text) <= options.time:
            raise resumable.UsageError(f"the text has {len(text)} characters; --time is too long")
    except resumable.UsageError as error:
        print(f"{TITLE}: {error}", file=sys.stderr)
        return 2
    return resumable.run(
        options,
        TITLE,
        lambda: build(options, python_source.codes_of(text)),
        text=python_source.digest(text),
        **{name: getattr(options, name) for name in ("time", "units", "layers", "rate")},
    )


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = resumable.parser(TITLE, __doc__, steps=3000, batch=32)
    resumable.add_device(parser)
    python_source.add_source(parser, characters=3000000)
    add = parser.add_argument
    add("--time", type=resumable.whole(1), default=50, help="characters in a row (50)")
    add("--units", type=resumable.whole(1), default=128, help="of a layer (128)")
    add("--layers", type=resumable.whole(1), default=2, help="of LSTM cells (2)")
    add("--rate", type=resumable.positive, default=3e-3, help="of Adam (0.003)")
    add("--sample", type=resumable.whole(1), default=600, help="characters to print (600)")
    return parser.parse_args(arguments)


def build(options: argparse.Namespace, codes: np.ndarray) -> resumable.Job:
    inputs = tf.placeholder(tf.int32, [None, None], name="inputs")
    targets = tf.placeholder(tf.int32, [None, None], name="targets")
    embeddings = tf.get_variable("embeddings", [len(ALPHABET), options.units])
    cells = [tf.nn.rnn_cell.LSTMCell(options.units) for _ in range(options.layers)]
    cell = tf.nn.rnn_cell.MultiRNNCell(cells)
    to_logits = tf.layers.Dense(len(ALPHABET), name="logits")
    rows = tf.nn.embedding_lookup(embeddings, inputs)
    outputs, _ = tf.nn.dynamic_rnn(cell, rows, dtype=tf.float32, scope="lstm")
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=to_logits(outputs))
    loss = tf.reduce_mean(each, name="loss")
    tf.summary.scalar("bits_per_character", loss / np.log(2))
    variables = tf.trainable_variables()
    gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), LARGEST_NORM)
    tf.summary.scalar("norm_of_gradients", norm)
    optimizer = tf.train.AdamOptimizer(options.rate)
    step = tf.train.get_global_step()
    train = optimizer.apply_gradients(list(zip(gradients, variables)), global_step=step)
    sampled = sample(cell, embeddings, to_logits, options.sample)

    def feed(step: int) -> dict[Any, Any]:
        rng = np.random.RandomState([options.seed, step])
        starts = rng.randint(0, len(codes) - options.time, [options.batch, 1])
        windows = codes[starts + np.arange(options.time + 1)]
        return {inputs: windows[:, :-1], targets: windows[:, 1:]}

    def report(session: Any) -> None:
        print("".join(ALPHABET[code] for code in session.run(sampled)))

    return resumable.Job(loss, train, feed, report)


def sample(cell: Any, embeddings: Any, to_logits: Any, length: int) -> Any:
    """A loop in the graph that draws each character and reads it as its next input.

    Args:
      cell, embeddings, to_logits: of the model; their variables exist already.
    Returns: [length] int32, places in ALPHABET, after the start of a line.
    """
    written = tf.TensorArray(tf.int32, length)

    def body(i: Any, code: Any, state: Any, written: Any) -> Any:
        output, state = cell(tf.nn.embedding_lookup(embeddings, code), state)
        logits = to_logits(output) / TEMPERATURE
        code = tf.random.categorical(logits, 1, dtype=tf.int32)[:, 0]
        return i + 1, code, state, written.write(i, code[0])

    with tf.name_scope("sample"), tf.variable_scope("lstm", reuse=True):
        start = (0, tf.fill([1], ALPHABET.index("\n")), cell.zero_state(1, tf.float32), written)
        return tf.while_loop(lambda i, *_: i < length, body, start)[-1].stack()


if __name__ == "__main__":
    sys.exit(main())
