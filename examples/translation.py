"""Translate numbers from English to German words: an encoder and a decoder with attention.

    python examples/translation.py
    python examples/translation.py --beam 4     # the samples at the end by beam search

Queue runners read the pairs from a text file and sort them into buckets of like length. The
program makes the file. Ctrl-C stops it; the same command continues from there.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import resumable
import translation_data as data
from translation_data import END, ENGLISH_WORDS, GERMAN_WORDS, GO, PAD

import headrace.graph as tf

TITLE = "translation"
BOUNDARIES = [3, 5, 7, 9]  # of the buckets, words of English
LARGEST_NORM = 5.0  # of the gradients
LONGEST = 16  # words that a translation may have
SHOWN = 6


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    settings = {name: getattr(options, name) for name in ("pairs", "units", "rate")}
    return resumable.run(options, TITLE, lambda: build(options), **settings)


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = resumable.parser(TITLE, __doc__, steps=1000, batch=64)
    resumable.add_device(parser)
    add = parser.add_argument
    most = data.LIMIT // 20
    add("--pairs", type=resumable.whole(1, most), default=20000, help="to learn from (20000)")
    add("--units", type=resumable.whole(1), default=96, help="of a layer (96)")
    add("--rate", type=resumable.positive, default=3e-3, help="of Adam (0.003)")
    add("--beam", type=resumable.whole(1, 64), default=1, help="width of the search (1: greedy)")
    return parser.parse_args(arguments)


@dataclass(frozen=True)
class Batch:
    """Sentences as places in the vocabularies, padded with PAD."""

    source: Any  # [batch, time] int64
    lengths: Any  # [batch] int32
    target: Any  # [batch, other time] int64, with END
    target_lengths: Any  # [batch] int32


def build(options: argparse.Namespace) -> resumable.Job:
    path = Path(options.logdir) / "data" / f"pairs-{options.pairs}.tsv"
    data.write(path, options.pairs)
    batch = batches(str(path), options.batch)
    loss = loss_of(batch, options.units)
    variables = tf.trainable_variables()
    gradients, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), LARGEST_NORM)
    tf.summary.scalar("norm_of_gradients", norm)
    optimizer = tf.train.AdamOptimizer(options.rate)
    step = tf.train.get_global_step()
    train = optimizer.apply_gradients(list(zip(gradients, variables)), global_step=step)

    asked = tf.placeholder(tf.int64, [None, None], name="asked")
    asked_lengths = tf.placeholder(tf.int32, [None], name="asked_lengths")
    answers = translations(asked, asked_lengths, options.units, options.beam)

    def report(session: Any) -> None:
        _, unseen = data.numbers(options.pairs)
        sentences = [data.english(int(number)) for number in unseen]
        feed = {asked: padded(sentences), asked_lengths: [len(words) for words in sentences]}
        found = [words_of(row) for row in session.run(answers, feed)]
        for english, german in list(zip(sentences, found))[:SHOWN]:
            print(f"{' '.join(english)}: {' '.join(german)}")
        right = np.mean([f == data.german(int(n)) for f, n in zip(found, unseen)])
        print(f"{right:.1%} of {len(found)} held-out numbers are translated without a mistake")

    return resumable.Job(loss, train, report=report)


def padded(sentences: list[list[str]]) -> np.ndarray:
    """Returns: [n, time], the places of English words."""
    result = np.full([len(sentences), max(map(len, sentences))], PAD)
    for row, words in zip(result, sentences):
        row[: len(words)] = [ENGLISH_WORDS.index(word) for word in words]
    return result


def words_of(row: Any) -> list[str]:
    """Returns: the German words before the end of a translation."""
    words = [GERMAN_WORDS[place] for place in row]
    return words[: words.index("<end>")] if "<end>" in words else words


def batches(path: str, size: int) -> Batch:
    """Reads pairs of sentences, and groups those of like length."""
    with tf.name_scope("input"):
        names = tf.train.string_input_producer([path])
        _, line = tf.TextLineReader().read(names)
        columns = tf.string_split([line], "\t").values
        source = places(columns[0], ENGLISH_WORDS, "english")
        target = tf.concat([places(columns[1], GERMAN_WORDS, "german"), [END]], 0)
        # Mixed before they are sorted into buckets.
        mixed = tf.RandomShuffleQueue(2000, 500, [tf.int64, tf.int64])
        runner = tf.train.QueueRunner(mixed, [mixed.enqueue([source, target])])
        tf.train.add_queue_runner(runner)
        source, target = mixed.dequeue()
        source.set_shape([None])
        target.set_shape([None])
        lengths, (source, target, target_lengths) = tf.contrib.training.bucket_by_sequence_length(
            tf.size(source),
            [source, target, tf.size(target)],
            size,
            BOUNDARIES,
            capacity=4 * size,
            dynamic_pad=True,
        )
    # Names for who feeds batches of their own.
    return Batch(
        tf.identity(source, "source"),
        tf.identity(lengths, "lengths"),
        tf.identity(target, "target"),
        tf.identity(target_lengths, "target_lengths"),
    )


def places(sentence: Any, vocabulary: list[str], name: str) -> Any:
    """Returns: [words] int64, the places of a sentence's words in a vocabulary."""
    table = tf.contrib.lookup.index_table_from_tensor(vocabulary, name=name)
    return table.lookup(tf.string_split([sentence]).values)


def loss_of(batch: Batch, units: int) -> Any:
    """Returns: [] float, the mean cross entropy of the words of the translations."""
    memory, state = encoded(batch.source, batch.lengths, units)
    with tf.variable_scope("decoder") as scope:
        embeddings = tf.get_variable("embeddings", [len(GERMAN_WORDS), units])
        before = tf.pad(batch.target[:, :-1], [[0, 0], [1, 0]], constant_values=GO)
        rows = tf.nn.embedding_lookup(embeddings, before)
        helper = tf.contrib.seq2seq.TrainingHelper(rows, batch.target_lengths)
        cell, start = attentive(memory, batch.lengths, state, units)
        decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, start, to_logits())
        output, _, _ = tf.contrib.seq2seq.dynamic_decode(decoder, scope=scope)
    weights = tf.sequence_mask(batch.target_lengths, dtype=tf.float32)
    return tf.contrib.seq2seq.sequence_loss(output.rnn_output, batch.target, weights)


def translations(source: Any, lengths: Any, units: int, beam: int) -> Any:
    """Returns: [batch, time] int32, the likeliest words that the decoder finds."""
    with tf.variable_scope(tf.get_variable_scope(), reuse=True), tf.name_scope("translations"):
        memory, state = encoded(source, lengths, units)
        starts = tf.fill([tf.shape(source)[0]], GO)
        with tf.variable_scope("decoder") as scope:
            embeddings = tf.get_variable("embeddings", [len(GERMAN_WORDS), units])
            if beam == 1:
                helper = tf.contrib.seq2seq.GreedyEmbeddingHelper(embeddings, starts, END)
                cell, start = attentive(memory, lengths, state, units)
                decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, start, to_logits())
            else:
                tiled = [tf.contrib.seq2seq.tile_batch(x, beam) for x in (memory, lengths, state)]
                cell, start = attentive(*tiled, units)
                decoder = tf.contrib.seq2seq.BeamSearchDecoder(
                    cell, embeddings, starts, END, start, beam, to_logits()
                )
            output, _, _ = tf.contrib.seq2seq.dynamic_decode(
                decoder, maximum_iterations=LONGEST, scope=scope
            )
    return output.sample_id if beam == 1 else output.predicted_ids[:, :, 0]


def encoded(source: Any, lengths: Any, units: int) -> Any:
    """Returns: the encoder's outputs [batch, time, units] and its last state [batch, units]."""
    with tf.variable_scope("encoder"):
        embeddings = tf.get_variable("embeddings", [len(ENGLISH_WORDS), units])
        rows = tf.nn.embedding_lookup(embeddings, source)
        cell = tf.nn.rnn_cell.GRUCell(units)
        return tf.nn.dynamic_rnn(cell, rows, lengths, dtype=tf.float32)


def attentive(memory: Any, lengths: Any, state: Any, units: int) -> Any:
    """Returns: a cell that attends to memory, and its state at the start of a translation."""
    attention = tf.contrib.seq2seq.LuongAttention(units, memory, lengths, scale=True)
    cell = tf.contrib.seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(units), attention, units)
    start = cell.zero_state(tf.shape(lengths)[0], tf.float32)
    return cell, start.clone(cell_state=state)


def to_logits() -> Any:
    return tf.layers.Dense(len(GERMAN_WORDS), use_bias=False, name="logits")


if __name__ == "__main__":
    sys.exit(main())
