"""Train a language model whose embedding and softmax are spread over parameter servers.

    python examples/distributed/language_model.py --launch           # 2 workers, 2 servers, here
    python examples/distributed/language_model.py --launch --sync
    python examples/distributed/language_model.py --launch --softmax full
    headrace-launch --workers 2 --ps 2 examples/distributed/language_model.py

An LSTM learns which word of Python source is next. A step reads from the servers the rows of the
embedding for its words, and the rows of the softmax for the true words and some drawn ones (sampled
softmax); the full softmax multiplies on the servers. Source: Abadi et al., OSDI 2016, sections 4.2
and 6.4, Figure 9. Ctrl-C stops it; the same command continues from there.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import between_graph
import numpy as np
import python_source
import resumable

import headrace.graph as tf

TITLE = "language_model"
LARGEST_NORM = 5.0  # of the gradients of the LSTM
HELD_OUT = 20  # one word of so many, the last ones of the text
TESTED = 20  # batches


def main(arguments: list[str] | None = None) -> int:
    parser = between_graph.parser(TITLE, __doc__, steps=2000, batch=32)
    python_source.add_source(parser, characters=8000000)
    add = parser.add_argument
    add("--words", type=resumable.whole(2), default=10000, help="of the vocabulary (10000)")
    add("--units", type=resumable.whole(1), default=128, help="of a vector and the LSTM (128)")
    add("--time", type=resumable.whole(1), default=20, help="words in a row (20)")
    add("--softmax", choices=("sampled", "full"), default="sampled")
    add("--samples", type=resumable.whole(1), default=512, help="words of a sampled softmax (512)")
    add("--rate", type=resumable.positive, default=1.0, help="of Adagrad (1)")
    options = parser.parse_args(arguments)
    if options.launch:
        return between_graph.launch(options)
    try:
        text = python_source.read_text(options)
        words, vocabulary = python_source.words_of(text, options.words)
        if len(words) // HELD_OUT <= options.time or len(vocabulary) <= options.samples:
            raise resumable.UsageError(
                f"the text has {len(words)} words, {len(vocabulary)} different ones: too few for "
                f"--time {options.time} and --samples {options.samples}"
            )
    except resumable.UsageError as error:
        print(f"{TITLE}: {error}", file=sys.stderr)
        return 2

    def build(task: between_graph.Task) -> between_graph.Model:
        return build_model(options, words, len(vocabulary), task.n_ps)

    names = ("words", "units", "time", "softmax", "samples", "rate")
    settings = {name: getattr(options, name) for name in names}
    return between_graph.run(
        options, TITLE, build, {"text": python_source.digest(text), **settings}
    )


def build_model(
    options: argparse.Namespace, words: np.ndarray, size: int, n_ps: int
) -> between_graph.Model:
    """Adds the model to the default graph, each large variable as a part on each server."""
    inputs = tf.placeholder(tf.int32, [None, options.time], name="inputs")
    targets = tf.placeholder(tf.int64, [None, options.time], name="targets")
    with tf.variable_scope("model", partitioner=tf.fixed_size_partitioner(max(1, n_ps))):
        embedding = tf.get_variable("embedding", [size, options.units])
        scale = tf.truncated_normal_initializer(stddev=options.units**-0.5)
        weights = tf.get_variable("softmax/weights", [size, options.units], initializer=scale)
        biases = tf.get_variable("softmax/biases", [size], initializer=tf.zeros_initializer())
    cell = tf.nn.rnn_cell.LSTMCell(options.units)
    rows = tf.nn.embedding_lookup(embedding, inputs, partition_strategy="div")
    outputs, _ = tf.nn.dynamic_rnn(cell, rows, dtype=tf.float32)
    outputs = tf.reshape(outputs, [-1, options.units])
    labels = tf.reshape(targets, [-1])
    full = full_softmax(weights, biases, outputs, labels)
    if options.softmax == "full":
        loss = full
    else:
        each = tf.nn.sampled_softmax_loss(
            weights=weights,
            biases=biases,
            labels=labels[:, None],
            inputs=outputs,
            num_sampled=options.samples,
            num_classes=size,
            partition_strategy="div",
        )
        loss = tf.reduce_mean(each, name="loss")
    optimizer = tf.train.AdagradOptimizer(options.rate)
    # The gradients of the parts of a full softmax are computed on their servers as well.
    gradients = optimizer.compute_gradients(
        loss, colocate_gradients_with_ops=options.softmax == "full"
    )
    end = len(words) - len(words) // HELD_OUT
    training, held_out = words[:end], words[end:]

    def feed(step: int, replica: int) -> dict[Any, Any]:
        seed = [options.seed, replica, step]
        return feed_of(windows(training, options.batch, options.time, seed))

    def feed_of(rows: np.ndarray) -> dict[Any, Any]:
        return {inputs: rows[:, :-1], targets: rows[:, 1:]}

    def report(session: Any) -> str:
        losses = [
            session.run(full, feed_of(windows(held_out, options.batch, options.time, [0, i])))
            for i in range(TESTED)
        ]
        mean = float(np.mean(losses))
        return f"{mean:.3f} nats a held-out word, perplexity {np.exp(mean):.1f}"

    return between_graph.Model(loss, optimizer, clipped(gradients, cell), feed, report)


def full_softmax(weights: Any, biases: Any, outputs: Any, labels: Any) -> Any:
    """Returns the mean cross-entropy over the whole vocabulary, [] float.

    Args:
      weights, biases: partitioned; each server multiplies with its own part.
      outputs: [n, units]; labels: [n].
    """
    logits = []
    for part, bias in zip(list(weights), list(biases)):
        with tf.colocate_with(part.op):
            logits.append(tf.matmul(outputs, part, transpose_b=True) + bias)
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=labels, logits=tf.concat(logits, 1)
    )
    return tf.reduce_mean(each)


def clipped(gradients: list[Any], cell: Any) -> list[Any]:
    """Returns the gradients, those of the LSTM scaled down to LARGEST_NORM together."""
    dense = [(g, v) for g, v in gradients if any(v is own for own in cell.trainable_variables)]
    others = [(g, v) for g, v in gradients if all(v is not own for _, own in dense)]
    values, _ = tf.clip_by_global_norm([g for g, _ in dense], LARGEST_NORM)
    return [*zip(values, [v for _, v in dense]), *others]


def windows(words: np.ndarray, n: int, time: int, seed: list[int]) -> np.ndarray:
    """Returns n stretches of time + 1 words at random places, [n, time + 1]."""
    starts = np.random.RandomState(seed).randint(0, len(words) - time, [n, 1])
    return words[starts + np.arange(time + 1)]


if __name__ == "__main__":
    sys.exit(main())
