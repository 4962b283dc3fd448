"""contrib.crf: likelihoods and best tags are those of all sequences of tags, counted out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import headrace.graph as hr

crf = hr.contrib.crf
_RANDOM = np.random.default_rng(4)
INPUTS = _RANDOM.standard_normal((3, 4, 3)).astype(np.float32)
TRANSITIONS = _RANDOM.standard_normal((3, 3)).astype(np.float32)
LENGTHS = [4, 2, 1]
TAGS = np.array([[0, 2, 1, 1], [1, 1, 0, 0], [2, 0, 0, 0]], np.int32)


def score(row, tags):
    unary = sum(INPUTS[row, t, tag] for t, tag in enumerate(tags))
    return unary + sum(TRANSITIONS[a, b] for a, b in zip(tags, tags[1:]))


def ran(*fetches):
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        return session.run(fetches)


@pytest.mark.parametrize("known", [True, False])
def test_likelihoods_and_best_tags(known) -> None:
    with hr.Graph().as_default():
        x = hr.constant(INPUTS) if known else hr.placeholder_with_default(INPUTS, [None, None, 3])
        likelihood, transitions = crf.crf_log_likelihood(x, TAGS, LENGTHS, TRANSITIONS)
        (gradient,) = hr.gradients(likelihood, [x])
        found = ran(likelihood, crf.crf_log_norm(x, LENGTHS, TRANSITIONS), gradient,
                    *crf.crf_decode(x, transitions, LENGTHS),
                    crf.crf_unary_score(TAGS, LENGTHS, x),
                    crf.crf_binary_score(TAGS, LENGTHS, TRANSITIONS),
                    crf.crf_sequence_score(x, TAGS, LENGTHS, TRANSITIONS))  # fmt: skip
    for row, length in enumerate(LENGTHS):
        every = {tags: score(row, tags) for tags in itertools.product(range(3), repeat=length)}
        norm = np.log(sum(np.exp(s) for s in every.values()))
        given = score(row, TAGS[row, :length])
        np.testing.assert_allclose(found[0][row], given - norm, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found[1][row], norm, rtol=1e-4)
        best = max(every, key=lambda tags: every[tags])
        assert found[3][row].tolist() == [*best, *[0] * (4 - length)]
        np.testing.assert_allclose(found[4][row], every[best], rtol=1e-4)
        np.testing.assert_allclose(found[5][row] + found[6][row], given, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found[7][row], given, rtol=1e-4, atol=1e-5)
        tags, total = crf.viterbi_decode(INPUTS[row, :length], TRANSITIONS)
        assert tuple(tags) == best
        np.testing.assert_allclose(total, every[best], rtol=1e-4)
        # the gradient is the given tags minus the probabilities
        probability = np.zeros((4, 3))
        for each, s in every.items():
            for t, tag in enumerate(each):
                probability[t, tag] += np.exp(s - norm)
        one = np.eye(3)[TAGS[row]] * (np.arange(4) < length)[:, None]
        np.testing.assert_allclose(found[2][row], one - probability, rtol=1e-3, atol=1e-4)


def test_sequences_of_one_step_or_none() -> None:
    with hr.Graph().as_default():
        x = hr.constant(INPUTS[:, :1])
        likelihood, transitions = crf.crf_log_likelihood(x, TAGS[:, :1], [1, 1, 0])
        tags, best = crf.crf_decode(x, transitions, [1, 1, 0])
        found = ran(likelihood, tags, best, crf.crf_log_norm(x, [1, 1, 0], transitions))
    assert found[1].tolist() == [[INPUTS[0, 0].argmax()], [INPUTS[1, 0].argmax()], [0]]
    np.testing.assert_allclose(found[2], INPUTS[:, 0].max(1), rtol=1e-5)
    assert found[3][2] == 0 and found[0][2] == 0
    assert transitions.op.name == "transitions"
