"""Learn vectors of identifiers and words from Python source, and print each one's neighbours.

    python examples/word2vec.py                     # learns from this Python's standard library
    python examples/word2vec.py --text FOLDER       # or from other .py files

Skip-gram: the vector of a word is to tell its neighbours in the text from words drawn at random
(noise-contrastive estimation). Ctrl-C stops it; the same command continues from there.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
import python_source
import resumable

import headrace.graph as tf

TITLE = "word2vec"
SHOWN = ("self", "int", "import", "True", "and", "write", "ValueError", "first", "os", "lock")
NEIGHBOURS = 6


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    try:
        text = python_source.read_text(options)
        words, vocabulary = python_source.words_of(text, options.words)
        if len(words) <= 2 * options.window or len(vocabulary) <= options.noise:
            raise resumable.UsageError(
                f"the text has {len(words)} words, {len(vocabulary)} different ones: too few for "
                f"--window {options.window} and --noise {options.noise}"
            )
    except resumable.UsageError as error:
        print(f"{TITLE}: {error}", file=sys.stderr)
        return 2
    return resumable.run(
        options,
        TITLE,
        lambda: build(options, words, vocabulary),
        text=python_source.digest(text),
        **{name: getattr(options, name) for name in ("words", "units", "window", "noise", "rate")},
    )


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = resumable.parser(TITLE, __doc__, steps=20000, batch=512)
    resumable.add_device(parser)
    python_source.add_source(parser, characters=8000000)
    add = parser.add_argument
    add("--words", type=resumable.whole(2), default=5000, help="of the vocabulary (5000)")
    add("--units", type=resumable.whole(1), default=64, help="of a vector (64)")
    add("--window", type=resumable.whole(1), default=2, help="words to each side (2)")
    add("--noise", type=resumable.whole(1), default=64, help="words drawn at random (64)")
    add("--rate", type=resumable.positive, default=1.0, help="of Adagrad (1)")
    return parser.parse_args(arguments)


def build(options: argparse.Namespace, words: np.ndarray, vocabulary: list[str]) -> resumable.Job:
    size, units = len(vocabulary), options.units
    centres = tf.placeholder(tf.int32, [None], name="centres")
    contexts = tf.placeholder(tf.int64, [None, 1], name="contexts")
    vectors = tf.Variable(tf.random_uniform([size, units], -0.1, 0.1), name="vectors")
    weights = tf.Variable(tf.truncated_normal([size, units], stddev=units**-0.5), name="weights")
    biases = tf.Variable(tf.zeros([size]), name="biases")
    each = tf.nn.nce_loss(
        weights=weights,
        biases=biases,
        labels=contexts,
        inputs=tf.nn.embedding_lookup(vectors, centres),
        num_sampled=options.noise,
        num_classes=size,
    )
    loss = tf.reduce_mean(each, name="loss")
    optimizer = tf.train.AdagradOptimizer(options.rate)
    train = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    unit = tf.nn.l2_normalize(vectors, 1)
    asked = tf.placeholder(tf.int32, [None], name="asked")
    cosines = tf.matmul(tf.gather(unit, asked), unit, transpose_b=True)
    # A word is its own first neighbour.
    _, nearest = tf.nn.top_k(cosines, min(NEIGHBOURS + 1, size), name="nearest")

    def feed(step: int) -> dict[Any, Any]:
        rng = np.random.RandomState([options.seed, step])
        centre, context = pairs(words, options.batch, options.window, rng)
        return {centres: centre, contexts: context[:, None]}

    def report(session: Any) -> None:
        shown = [vocabulary.index(word) for word in SHOWN if word in vocabulary]
        for row in session.run(nearest, {asked: shown or [0]}):
            print(f"{vocabulary[row[0]]:>10}: {', '.join(vocabulary[i] for i in row[1:])}")

    return resumable.Job(loss, train, feed, report)


def pairs(
    words: np.ndarray, n: int, window: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Draws n words and for each a neighbour at most `window` words away.

    Returns: the words [n] int32, their neighbours [n] int32.
    """
    at = rng.randint(window, len(words) - window, n)
    distance = rng.randint(1, window + 1, n) * rng.choice([-1, 1], n)
    return words[at], words[at + distance]


if __name__ == "__main__":
    sys.exit(main())
