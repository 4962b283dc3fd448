"""contrib.seq2seq: decoders, attention and beam search compute what NumPy does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import headrace.graph as hr

seq2seq, legacy = hr.contrib.seq2seq, hr.contrib.legacy_seq2seq
BATCH, TIME, DEPTH, SYMBOLS = 3, 5, 4, 6
_RANDOM = np.random.default_rng(2)
INPUTS = _RANDOM.standard_normal((BATCH, TIME, DEPTH)).astype(np.float32)
MEMORY = _RANDOM.standard_normal((BATCH, 7, 5)).astype(np.float32)
TABLE = _RANDOM.standard_normal((SYMBOLS, DEPTH)).astype(np.float32)
LENGTHS = [5, 3, 1]


@pytest.fixture(autouse=True)
def graph():
    with hr.Graph().as_default() as fresh:
        yield fresh


def ran(*fetches):
    with hr.Session() as session:
        session.run(hr.global_variables_initializer())
        return session.run(fetches)


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


class Markov(hr.nn.rnn_cell.RNNCell):
    """The output depends only on the input: inputs @ table. The state counts the steps."""

    def __init__(self, table):
        super().__init__()
        self._table = np.asarray(table, np.float32)

    state_size = 1
    output_size = property(lambda self: self._table.shape[1])

    def call(self, inputs, state):
        return hr.matmul(inputs, self._table), state + 1.0


def test_training_decodes_what_dynamic_rnn_does() -> None:
    cell = hr.nn.rnn_cell.GRUCell(SYMBOLS)
    helper = seq2seq.TrainingHelper(hr.constant(INPUTS), LENGTHS)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(BATCH, hr.float32))
    output, state, lengths = seq2seq.dynamic_decode(decoder, impute_finished=True)
    with hr.variable_scope("decoder", reuse=True):
        expected, last = hr.nn.dynamic_rnn(cell, INPUTS, LENGTHS, dtype=hr.float32, scope="")
    found = ran(output, state, lengths, expected, last)
    same(found[0].rnn_output, found[3])
    same(found[1], found[4])
    assert found[2].tolist() == LENGTHS
    ids = found[3].argmax(-1) * (np.arange(TIME) < np.array(LENGTHS)[:, None])
    assert (found[0].sample_id == ids).all()
    assert decoder.batch_size is helper.batch_size and helper.sequence_length.shape == [BATCH]
    assert helper.inputs.shape.as_list() == [BATCH, TIME, DEPTH]


def test_gradients_pass_through_a_decoder() -> None:
    x = hr.constant(INPUTS)
    decoder = seq2seq.BasicDecoder(
        Markov(TABLE.T), seq2seq.TrainingHelper(x, LENGTHS), hr.zeros([BATCH, 1])
    )
    output, _, _ = seq2seq.dynamic_decode(decoder, impute_finished=True, output_time_major=True)
    (gradient,) = hr.gradients(hr.reduce_sum(output.rnn_output), [x])
    inside = (np.arange(TIME) < np.array(LENGTHS)[:, None])[..., np.newaxis]
    values, found = ran(output.rnn_output, gradient)
    assert values.shape == (TIME, BATCH, SYMBOLS)
    same(found, inside * TABLE.sum(0))


def test_greedy_decoding_follows_the_largest_output() -> None:
    logits = _RANDOM.standard_normal((SYMBOLS, SYMBOLS)).astype(np.float32)
    helper = seq2seq.GreedyEmbeddingHelper(np.eye(SYMBOLS, dtype=np.float32), [0, 1, 2], 5)
    decoder = seq2seq.BasicDecoder(Markov(logits), helper, hr.zeros([3, 1]))
    output, state, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=8)
    found = ran(output.sample_id, state, lengths)
    for row, start in enumerate([0, 1, 2]):
        expected, last = [], start
        for _ in range(found[0].shape[1]):
            last = int(logits[last].argmax())
            expected.append(last)
        assert found[0][row].tolist() == expected
        stop = expected.index(5) + 1 if 5 in expected else 8
        assert found[2][row] == stop
    assert found[1].max() <= 8


def brute_force(logits, start, end, steps):
    """Returns the best sequences of a Markov chain, with their log probabilities."""
    log = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    found = {}
    for ids in itertools.product(range(len(logits)), repeat=steps):
        total, last = 0.0, start
        for at, each in enumerate(ids):
            total += log[last, each]
            last = each
            if each == end:
                found[ids[: at + 1] + (end,) * (steps - at - 1)] = total
                break
        else:
            found[ids] = total
    return sorted(found.items(), key=lambda pair: -pair[1])


def test_a_wide_beam_finds_the_best_sequences() -> None:
    logits = 2.0 * _RANDOM.standard_normal((4, 4)).astype(np.float32)
    width, end, steps = 64, 3, 4
    decoder = seq2seq.BeamSearchDecoder(
        Markov(logits), np.eye(4, dtype=np.float32), [0, 1], end, hr.zeros([2 * width, 1]), width
    )
    output, state, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
    found = ran(output.predicted_ids, state.log_probs, output.beam_search_decoder_output.scores,
                state.lengths)  # fmt: skip
    assert isinstance(output, seq2seq.FinalBeamSearchDecoderOutput)
    assert isinstance(output.beam_search_decoder_output, seq2seq.BeamSearchDecoderOutput)
    assert isinstance(state, seq2seq.BeamSearchDecoderState)
    for row, start in enumerate([0, 1]):
        best = brute_force(logits, start, end, steps)[:20]
        same(found[1][row, :20], [score for _, score in best])
        for beam, (ids, score) in enumerate(best[:5]):
            assert tuple(found[0][row, :, beam]) == ids
            same(found[2][row, -1, beam], score)
            counted = ids.index(end) + 1 if end in ids else steps
            assert found[3][row, beam] == counted


def test_long_sequences_are_preferred_with_a_length_penalty() -> None:
    logits = _RANDOM.standard_normal((4, 4)).astype(np.float32)

    def mean_length(weight):
        decoder = seq2seq.BeamSearchDecoder(
            Markov(logits), np.eye(4, dtype=np.float32), [0], 3, hr.zeros([8, 1]), 8,
            length_penalty_weight=weight,
        )  # fmt: skip
        _, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=6)
        return ran(state.lengths)[0].mean()

    assert mean_length(0.0) <= mean_length(1.0) <= mean_length(2.0)


def test_paths_of_beams_are_followed_back() -> None:
    ids = np.array([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]], [[0, 0, 0]]], np.int32)
    parents = np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]], [[0, 0, 0]]], np.int32)
    end = 10
    found = ran(
        seq2seq.gather_tree(ids, parents, [3], end),
        seq2seq.gather_tree(ids, parents, [3], 6),
        seq2seq.gather_tree_from_array(ids.astype(np.float32), parents, [[3, 3, 3]]),
    )
    expected = [[[2, 2, 2]], [[6, 5, 6]], [[7, 8, 9]], [[end] * 3]]
    assert found[0].tolist() == expected
    assert found[1].tolist() == [[[2, 2, 2]], [[6, 5, 6]], [[6, 8, 6]], [[6, 6, 6]]]
    assert found[2].tolist() == [*expected[:3], [[0, 0, 0]]]


def test_a_beam_without_a_parent_is_rejected_with_its_place() -> None:
    ids = np.array([[[0, 0, 0]], [[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]], np.int32)
    parents = np.array([[[0, 0, 0]], [[0, -1, 1]], [[2, 1, 2]], [[-1, -1, -1]]], np.int32)
    words = r"parent id -1 at \(batch, time, beam\) == \(0, 0, 1\)"
    with pytest.raises(hr.errors.InvalidArgumentError, match=words):
        ran(seq2seq.gather_tree(ids, parents, [3], 10))
    with pytest.raises(ValueError, match="must match parent_ids.shape"):
        seq2seq.gather_tree(ids, parents[1:], [3], 10)
    with pytest.raises(ValueError, match=r"max_sequence_lengths.shape\[0\] must match"):
        seq2seq.gather_tree(ids, parents, [3, 3], 10)


def attention_cell(mechanism, **options):
    return seq2seq.AttentionWrapper(hr.nn.rnn_cell.LSTMCell(SYMBOLS), mechanism, **options)


def test_luong_attention_weighs_the_memory_by_products() -> None:
    start = hr.constant_initializer(np.eye(5, dtype=np.float32))
    with hr.variable_scope("a", initializer=start):
        mechanism = seq2seq.LuongAttention(5, hr.constant(MEMORY), [7, 2, 4])
        alignments, _ = mechanism(hr.constant(MEMORY[:, 0]), None)
    score = np.einsum("btd,bd->bt", MEMORY, MEMORY[:, 0])
    score[np.arange(7) >= np.array([7, 2, 4])[:, None]] = -np.inf
    e = np.exp(score - score.max(1, keepdims=True))
    same(ran(alignments)[0], e / e.sum(1, keepdims=True))


def test_bahdanau_attention_weighs_the_memory_by_sums() -> None:
    for normalize in (False, True):
        with hr.variable_scope(f"a{int(normalize)}", initializer=hr.ones_initializer()):
            mechanism = seq2seq.BahdanauAttention(4, hr.constant(MEMORY), normalize=normalize)
            alignments, _ = mechanism(hr.constant(MEMORY[:, 0]), None)
        keys, query = MEMORY.sum(-1), MEMORY[:, 0].sum(-1, keepdims=True)
        factor = 4.0 * np.sqrt(0.25) / 2.0 if normalize else 4.0
        score = factor * np.tanh(keys + query)
        e = np.exp(score)
        same(ran(alignments)[0], e / e.sum(1, keepdims=True))


@pytest.mark.parametrize("mode", ["parallel", "recursive", "hard"])
def test_monotonic_attention_moves_forward(mode) -> None:
    stop = np.array([[0.3, 0.8, 0.1, 0.5], [0.9, 0.0, 0.2, 0.7]], np.float32)
    before = np.array([[0.1, 0.6, 0.3, 0.0], [0.0, 1.0, 0.0, 0.0]], np.float32)
    if mode == "hard":
        stop, before = np.round(stop), np.eye(4, dtype=np.float32)[[1, 2]]
    expected = np.zeros_like(stop)
    for row in range(2):
        for j in range(4):
            for k in range(j + 1):
                passed = np.prod(1 - stop[row, k:j])
                expected[row, j] += stop[row, j] * before[row, k] * passed
    same(ran(seq2seq.monotonic_attention(stop, before, mode))[0], expected)


def test_a_cumulative_product_is_exact_for_moderate_elements() -> None:
    x = np.array([[0.5, 0.25, 1.0, 0.1]], np.float32)
    same(ran(seq2seq.safe_cumprod(x, axis=1))[0], np.cumprod(x, 1))
    assert ran(seq2seq.hardmax([[1.0, 3.0, 2.0]]))[0].tolist() == [[0, 1, 0]]


def test_a_cell_with_attention_keeps_its_alignments() -> None:
    mechanisms = [
        seq2seq.BahdanauAttention(4, hr.constant(MEMORY), [7, 2, 4]),
        seq2seq.LuongMonotonicAttention(SYMBOLS, hr.constant(MEMORY)),
    ]
    cell = attention_cell(mechanisms, attention_layer_size=[3, 2], alignment_history=True)
    assert cell.output_size == 5
    helper = seq2seq.TrainingHelper(hr.constant(INPUTS), LENGTHS)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(BATCH, hr.float32),
                                   hr.layers.Dense(SYMBOLS, name="out"))  # fmt: skip
    output, state, lengths = seq2seq.dynamic_decode(decoder)
    assert isinstance(state, seq2seq.AttentionWrapperState)
    assert isinstance(output, seq2seq.BasicDecoderOutput)
    targets = hr.zeros([BATCH, TIME], hr.int32)
    mask = hr.sequence_mask(LENGTHS, TIME, dtype=hr.float32)
    loss = seq2seq.sequence_loss(output.rnn_output, targets, mask)
    gradients = hr.gradients(loss, hr.trainable_variables())
    assert all(g is not None for g in gradients)
    first, second = (history.stack() for history in state.alignment_history)
    found = ran(first, second, state.attention, state.time, loss, gradients)
    assert found[0].shape == found[1].shape == (TIME, BATCH, 7)
    same(found[0].sum(-1), np.ones((TIME, BATCH)))
    assert (found[0][:, 1, 2:] == 0).all() and found[2].shape == (BATCH, 5) and found[3] == TIME
    assert np.isfinite(found[4]) and all(np.isfinite(g).all() for g in found[5])
    names = {v.op.name for v in hr.trainable_variables()}
    assert "decoder/attention_wrapper/bahdanau_attention/attention_v" in names
    assert "decoder/attention_wrapper/attention_layer_1/kernel" in names
    assert "memory_layer/kernel" in names


def test_a_beam_search_attends_to_the_memory_of_its_example() -> None:
    width = 3
    memory, lengths = seq2seq.tile_batch((hr.constant(MEMORY), hr.constant([7, 2, 4])), width)
    cell = attention_cell(
        seq2seq.BahdanauMonotonicAttention(4, memory, lengths, score_bias_init=1.0),
        alignment_history=True,
        output_attention=False,
    )
    encoded = hr.nn.rnn_cell.LSTMStateTuple(*[hr.zeros([BATCH, SYMBOLS])] * 2)
    first = cell.zero_state(BATCH * width, hr.float32).clone(
        cell_state=seq2seq.tile_batch(encoded, width)
    )
    decoder = seq2seq.BeamSearchDecoder(
        cell, TABLE, hr.fill([BATCH], 1), 2, first, width, hr.layers.Dense(SYMBOLS),
        coverage_penalty_weight=0.3, length_penalty_weight=0.5,
    )  # fmt: skip
    output, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=4)
    ids, history, lengths = ran(
        output.predicted_ids, state.cell_state.alignment_history, state.lengths
    )
    assert ids.shape[0] == BATCH and ids.shape[2] == width
    assert history.shape == (ids.shape[1], BATCH * width, 7)
    assert (history.reshape(-1, BATCH, width, 7)[:, 1, :, 2:] == 0).all()
    assert lengths.max() <= 4


def test_helpers_sample() -> None:
    cell = hr.nn.rnn_cell.GRUCell(SYMBOLS)
    zero = hr.zeros([BATCH, SYMBOLS])
    helpers = [
        seq2seq.SampleEmbeddingHelper(TABLE, [1] * BATCH, 2, softmax_temperature=0.5, seed=1),
        seq2seq.ScheduledEmbeddingTrainingHelper(
            hr.constant(INPUTS), LENGTHS, TABLE, 0.5, seed=1, scheduling_seed=2
        ),
        seq2seq.InferenceHelper(
            lambda outputs: outputs[:, :DEPTH], [DEPTH], hr.float32, hr.constant(INPUTS[:, 0]),
            lambda samples: samples[:, 0] > 100.0,
        ),
        seq2seq.CustomHelper(
            lambda: (hr.fill([BATCH], False), hr.constant(INPUTS[:, 0])),
            lambda time, outputs, state: hr.argmax(outputs, -1, output_type=hr.int32),
            lambda time, outputs, state, sample_ids: (
                hr.fill([BATCH], time >= 2), outputs[:, :DEPTH], state
            ),
        ),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="batch_size accessed before initialize"):
        helpers[3].batch_size  # noqa: B018
    found = []
    for helper in helpers:
        assert isinstance(helper, seq2seq.Helper)
        decoder = seq2seq.BasicDecoder(cell, helper, zero)
        assert isinstance(decoder, seq2seq.Decoder)
        output, _, lengths = seq2seq.dynamic_decode(
            decoder, maximum_iterations=6, scope=hr.get_variable_scope()
        )
        found.append((output.sample_id, lengths))
        hr.get_variable_scope().reuse_variables()
    sampled, scheduled, inferred, custom = ran(*found)
    assert ((0 <= sampled[0]) & (sampled[0] < SYMBOLS)).all()
    assert scheduled[1].tolist() == LENGTHS and (scheduled[0] == -1).any()
    assert (scheduled[0] >= 0).any()
    assert inferred[0].shape == (BATCH, 6, DEPTH)
    assert custom[1].tolist() == [3, 3, 3]


def test_outputs_are_fed_back_in_scheduled_training() -> None:
    table = np.full((SYMBOLS, SYMBOLS), 0.5, np.float32)
    for probability in (0.0, 1.0):
        helper = seq2seq.ScheduledOutputTrainingHelper(
            hr.ones([BATCH, TIME, SYMBOLS]), [TIME] * BATCH, probability
        )
        decoder = seq2seq.BasicDecoder(Markov(table), helper, hr.zeros([BATCH, 1]))
        output, _, _ = seq2seq.dynamic_decode(decoder)
        values, chosen = ran(output.rnn_output, output.sample_id)
        growth = 3.0 ** np.arange(1, TIME + 1) if probability else np.full(TIME, 3.0)
        same(values[0, :, 0], growth)
        assert (chosen == probability).all()


def cross_entropy(logits, targets):
    log = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return -np.take_along_axis(log, targets[..., np.newaxis], -1)[..., 0]


def test_losses_of_sequences() -> None:
    logits = _RANDOM.standard_normal((2, 3, 4)).astype(np.float32)
    targets = np.array([[1, 2, 3], [0, 0, 1]])
    weights = np.array([[1, 1, 0], [2, 0, 0]], np.float32)
    each = cross_entropy(logits, targets) * weights
    loss = seq2seq.sequence_loss
    both = {"average_across_timesteps": False, "average_across_batch": False}
    steps = [list(t) for t in (logits.transpose(1, 0, 2), targets.T, weights.T)]
    found = ran(
        loss(logits, targets, weights),
        loss(logits, targets, weights, average_across_batch=False),
        loss(logits, targets, weights, average_across_timesteps=False),
        loss(logits, targets, weights, **both),
        loss(logits, targets, weights, **both, sum_over_timesteps=True, sum_over_batch=True),
        loss(logits, targets, weights, **both, sum_over_batch=True),
        legacy.sequence_loss_by_example(*steps),
        hr.contrib.legacy_seq2seq.sequence_loss(*steps, average_across_timesteps=False),
        loss(logits, targets, weights, softmax_loss_function=lambda labels, logits: logits[:, 0]),
    )
    same(found[0], each.sum() / 4)
    same(found[1], each.sum(1) / weights.sum(1))
    columns = weights.sum(0)
    same(found[2], np.divide(each.sum(0), columns, out=np.zeros(3), where=columns > 0))
    same(found[3], each)
    same(found[4], each.sum() / 3)
    counts = (weights > 0).sum(0)
    same(found[5], np.divide(each.sum(0), counts, out=np.zeros(3), where=counts > 0))
    same(found[6], each.sum(1) / weights.sum(1))
    same(found[7], each.sum() / 2)
    same(found[8], (logits[..., 0] * weights).sum() / 4)


def test_legacy_decoders_take_lists() -> None:
    inputs = [hr.constant(INPUTS[:, t]) for t in range(TIME)]
    cell = hr.nn.rnn_cell.GRUCell(4)
    ids = [hr.constant([1, 2, 3])] * 3
    projection = (hr.constant(_RANDOM.standard_normal((4, SYMBOLS)).astype(np.float32)),
                  hr.zeros([SYMBOLS]))  # fmt: skip
    results = [
        legacy.rnn_decoder(inputs, hr.zeros([BATCH, 4]), cell, lambda last, step: last),
        legacy.basic_rnn_seq2seq(inputs, inputs[:2], hr.nn.rnn_cell.GRUCell(4)),
        legacy.tied_rnn_seq2seq(inputs, inputs[:2], hr.nn.rnn_cell.GRUCell(4)),
        legacy.embedding_rnn_decoder(ids, hr.zeros([BATCH, 4]), hr.nn.rnn_cell.GRUCell(4),
                                     SYMBOLS, 5, projection, feed_previous=True),
    ]  # fmt: skip
    found = ran(*results)
    assert [len(outputs) for outputs, _ in found] == [TIME, 2, 2, 3]
    for outputs, state in found:
        same(outputs[-1], state)
    targets = [hr.constant([1, 2, 3])] * 4
    weights = [hr.ones([BATCH])] * 4

    def model(encoded, decoded):
        return legacy.basic_rnn_seq2seq(encoded, decoded, hr.nn.rnn_cell.GRUCell(4))

    with hr.variable_scope("buckets"):
        outputs, losses = legacy.model_with_buckets(
            inputs, inputs, targets, weights, [(2, 2), (4, 4)], model, per_example_loss=True
        )
    assert [len(o) for o in outputs] == [2, 4] and ran(*losses)[0].shape == (BATCH,)
    with pytest.raises(ValueError, match="Length of targets"):
        legacy.model_with_buckets(inputs, inputs, targets[:1], weights, [(4, 4)], model)
    with pytest.raises(ValueError, match="Lengths of logits, weights, and targets"):
        legacy.sequence_loss_by_example(inputs, targets, weights)


def test_wrong_arguments_are_rejected() -> None:
    cell = hr.nn.rnn_cell.GRUCell(4)
    helper = seq2seq.TrainingHelper(hr.constant(INPUTS), LENGTHS)
    mechanism = seq2seq.LuongAttention(4, hr.constant(MEMORY))
    assert isinstance(mechanism, seq2seq.AttentionMechanism)
    zero = hr.zeros([BATCH, 4])
    for error, says, call in (
        (TypeError, "Expected decoder to be type Decoder", lambda: seq2seq.dynamic_decode(cell)),
        (TypeError, "helper must be a Helper", lambda: seq2seq.BasicDecoder(cell, None, zero)),
        (TypeError, "is not an RNNCell", lambda: seq2seq.BasicDecoder(None, helper, zero)),
        (TypeError, "output_layer must be a Layer",
         lambda: seq2seq.BasicDecoder(cell, helper, zero, lambda x: x)),
        (ValueError, "sequence_length to be a vector",
         lambda: seq2seq.TrainingHelper(hr.constant(INPUTS), 3)),
        (ValueError, "start_tokens must be a vector",
         lambda: seq2seq.GreedyEmbeddingHelper(TABLE, 1, 2)),
        (ValueError, "end_token must be a scalar",
         lambda: seq2seq.GreedyEmbeddingHelper(TABLE, [1], [2])),
        (ValueError, "maximum_iterations must be a scalar",
         lambda: seq2seq.dynamic_decode(seq2seq.BasicDecoder(cell, helper, zero),
                                        maximum_iterations=[1])),
        (TypeError, "instances of AttentionMechanism", lambda: attention_cell([None])),
        (ValueError, "exactly one value per attention_mechanism",
         lambda: attention_cell([mechanism], attention_layer_size=[1, 2])),
        (ValueError, "Incompatible or unknown inner dimensions", lambda: mechanism(zero[:, :3], 0)),
        (ValueError, "Logits must be a", lambda: seq2seq.sequence_loss(zero, zero, zero)),
        (ValueError, "cannot be set to True at same time",
         lambda: seq2seq.sequence_loss(INPUTS, INPUTS[..., 0], INPUTS[..., 0],
                                       sum_over_batch=True)),
        (ValueError, "must be 0.0 if no cell is attentional",
         lambda: seq2seq.BeamSearchDecoder(cell, TABLE, [1], 2, hr.zeros([2, 4]), 2,
                                           coverage_penalty_weight=1.0).initialize()),
        (ValueError, "forgot to create a zero_state",
         lambda: seq2seq.BeamSearchDecoder(cell, TABLE, [1], 2, hr.zeros([3, 4]), 2)),
        (ValueError, "statically known rank", lambda: seq2seq.tile_batch(hr.constant(1), 2)),
        (ValueError, "mode must be", lambda: seq2seq.monotonic_attention(zero, zero, "x")),
        (ValueError, "scalar or a vector",
         lambda: seq2seq.ScheduledOutputTrainingHelper(hr.constant(INPUTS), LENGTHS, [[1.0]])),
    ):  # fmt: skip
        with pytest.raises(error, match=says):
            call()


def test_a_state_for_another_batch_fails_the_run() -> None:
    cell = attention_cell(seq2seq.LuongAttention(SYMBOLS, hr.constant(MEMORY)))
    size = hr.placeholder_with_default(2, [])
    state = cell.zero_state(size, hr.float32)
    with pytest.raises(hr.errors.InvalidArgumentError, match="Non-matching batch sizes"):
        ran(state.cell_state)


def test_scores_of_beams_are_penalised() -> None:
    from headrace.graph.contrib.seq2seq.beam_scores import (
        beam_scores,
        length_increase,
        masked_scores,
    )

    log = hr.log([[[0.25, 0.75], [0.5, 0.5]]])
    done = hr.constant([[False, True]])
    attention = hr.constant([[[0.5, 2.0], [0.25, 0.0]]])
    found = ran(
        masked_scores(log, 1, done),
        length_increase(done, 1, 2),
        beam_scores(log, hr.constant([[[1, 1], [7, 7]]], hr.int64), 1.0, 0.0, done, None),
        beam_scores(log, hr.zeros([1, 2, 2]), 0.0, 0.5, done, attention),
    )
    assert found[0][0, 1, 1] == 0 and found[0][0, 1, 0] < -1e30
    same(found[0][0, 0], np.log([0.25, 0.75]))
    assert found[1].tolist() == [[[1, 0], [0, 0]]]
    same(found[2], np.log([[[0.25, 0.75], [0.25, 0.25]]]) / [[[1], [4]]])
    same(found[3], np.log([[[0.25, 0.75], [0.5 * 0.5, 0.5 * 0.5]]]))
