"""Labels without times: losses, their gradients, decoders."""

from __future__ import annotations

import numpy as np

X = np.random.default_rng(12).normal(size=(6, 2, 4)).astype(np.float32)
PLACES = np.array([[0, 0], [0, 1], [0, 2], [1, 0]], np.int64)
LABELS = np.array([0, 1, 1, 2], np.int32)
LENGTHS = np.array([6, 4], np.int32)


def _loss(x=X, lengths=LENGTHS, **options):
    def program(m):
        labels = m.SparseTensor(m.constant(PLACES), m.constant(LABELS), [2, 3])
        scores = m.constant(x)
        loss = m.nn.ctc_loss(labels, scores, m.constant(lengths), **options)
        return [loss, *m.gradients(m.reduce_sum(m.square(loss)), [scores])]

    return program


def _decoded(name, **options):
    def program(m):
        found, score = getattr(m.nn, name)(m.constant(X), m.constant(LENGTHS), **options)
        return [t for s in found for t in (s.indices, s.values, s.dense_shape)] + [score]

    return program


PROGRAMS = {
    "ctc_loss": _loss(),
    "ctc_loss without merging": _loss(ctc_merge_repeated=False),
    "ctc_loss collapsed": _loss(preprocess_collapse_repeated=True),
    "ctc_loss too short": _loss(
        lengths=np.array([2, 4], np.int32), ignore_longer_outputs_than_inputs=True
    ),
    "ctc_loss by batch": _loss(np.ascontiguousarray(X.transpose(1, 0, 2)), time_major=False),
    "ctc_greedy_decoder": _decoded("ctc_greedy_decoder"),
    "ctc_greedy_decoder repeating": _decoded("ctc_greedy_decoder", merge_repeated=False),
    "ctc_beam_search_decoder": _decoded("ctc_beam_search_decoder", top_paths=2),
    "ctc_beam_search_decoder_v2": _decoded("ctc_beam_search_decoder_v2", beam_width=9),
}
