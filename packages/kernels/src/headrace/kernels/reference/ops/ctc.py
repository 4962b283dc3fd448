"""Connectionist temporal classification: loss, greedy and beam search decoders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.activations import log_softmax_of
from headrace.kernels.reference.precision import wide
from headrace.kernels.reference.registry import Attrs, kernel

_NEVER = -np.inf


def _label_rows(indices: np.ndarray, values: np.ndarray, batch: int) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(batch)]
    for (row, _), value in zip(indices.tolist(), values.tolist(), strict=True):
        rows[row].append(value)
    return rows


def _with_blanks(labels: list[int], blank: int) -> np.ndarray:
    padded = np.full(2 * len(labels) + 1, blank)
    padded[1::2] = labels
    return padded


def _alpha(log_p: np.ndarray, path: np.ndarray, merge: bool) -> np.ndarray:
    """Log probabilities of all beginnings, [time, place in path] (Graves 2006, equation 6)."""
    alpha = np.full((len(log_p), len(path)), _NEVER)
    alpha[0, :2] = log_p[0, path[:2]]
    blank = path[0]
    skips = np.zeros(len(path), bool)
    skips[2:] = path[2:] != blank
    if merge:
        skips[2:] &= path[2:] != path[:-2]
    for t in range(1, len(log_p)):
        before = alpha[t - 1]
        stay = before
        if not merge:  # a label that goes on would be a second one
            stay = np.where(path == blank, before, _NEVER)
        step = np.concatenate([[_NEVER], before[:-1]])
        skip = np.where(skips, np.concatenate([[_NEVER] * 2, before])[: len(path)], _NEVER)
        alpha[t] = np.logaddexp(np.logaddexp(stay, step), skip) + log_p[t, path]
    return alpha


def _loss_of_row(
    attrs: Attrs, scores: np.ndarray, labels: list[int], blank: int
) -> tuple[float, np.ndarray]:
    log_p = log_softmax_of(scores)
    if attrs["preprocess_collapse_repeated"]:
        labels = [a for i, a in enumerate(labels) if i == 0 or a != labels[i - 1]]
    merge = attrs["ctc_merge_repeated"]
    needed = len(labels)
    if merge:
        needed += sum(a == b for a, b in zip(labels, labels[1:], strict=False))
    if needed > len(scores):
        if attrs["ignore_longer_outputs_than_inputs"]:
            return 0.0, np.zeros_like(scores)
        raise InvalidArgumentError(
            None,
            None,
            f"Not enough time for target transition sequence (required: {needed}, available: "
            f"{len(scores)})",
        )
    path = _with_blanks(labels, blank)
    alpha = _alpha(log_p, path, merge)
    # what comes after each place is what comes before it, read backwards
    beta = _alpha(log_p[::-1], path[::-1], merge)[::-1, ::-1]
    through = alpha + beta - log_p[:, path]
    total = np.logaddexp.reduce(alpha[-1, -2:])
    if np.isinf(total):
        return np.inf, np.exp(log_p)
    share = np.zeros_like(scores)
    for place, label in enumerate(path):
        share[:, label] += np.exp(through[:, place] - total)
    return -total, np.exp(log_p) - share


def _loss(
    attrs: Attrs, blank: int, inputs: np.ndarray, labels: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    indices, values, lengths = labels
    loss = np.zeros(inputs.shape[1])
    gradient = np.zeros(inputs.shape)
    rows = _label_rows(indices, values, inputs.shape[1])
    for row, length in enumerate(lengths.tolist()):
        if length:
            scores = wide(inputs)[:length, row]
            loss[row], gradient[:length, row] = _loss_of_row(attrs, scores, rows[row], blank)
    return loss.astype(inputs.dtype), gradient.astype(inputs.dtype)


@kernel("CTCLoss")
def ctc_loss(attrs: Attrs, inputs: np.ndarray, *labels: np.ndarray) -> tuple[np.ndarray, ...]:
    return _loss(attrs, inputs.shape[2] - 1, inputs, labels)


@kernel("CTCLossV2")
def ctc_loss_v2(attrs: Attrs, inputs: np.ndarray, *labels: np.ndarray) -> tuple[np.ndarray, ...]:
    return _loss(attrs, 0, inputs, labels)


def _as_sparse(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    indices = [(row, place) for row, found in enumerate(rows) for place in range(len(found))]
    values = [value for found in rows for value in found]
    shape = [len(rows), max((len(found) for found in rows), default=0)]
    return (
        np.array(indices, np.int64).reshape(-1, 2),
        np.array(values, np.int64),
        np.array(shape, np.int64),
    )


@kernel("CTCGreedyDecoder")
def ctc_greedy_decoder(
    attrs: Attrs, inputs: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, ...]:
    classes = inputs.shape[2]
    blank = attrs["blank_index"] % classes
    rows: list[list[int]] = []
    scores = np.zeros((inputs.shape[1], 1))
    for row, length in enumerate(np.maximum(lengths, 0).tolist()):
        best = inputs[:length, row].argmax(axis=1)
        scores[row] = -wide(inputs)[np.arange(length), row, best].sum()
        kept, last = [], -1
        for label in best.tolist():
            if label != blank and not (attrs["merge_repeated"] and label == last):
                kept.append(label)
            last = label
        rows.append(kept)
    return (*_as_sparse(rows), scores.astype(inputs.dtype))


@kernel("CTCBeamSearchDecoder")
def ctc_beam_search_decoder(
    attrs: Attrs, inputs: np.ndarray, lengths: np.ndarray
) -> list[np.ndarray]:
    """Source: Graves, Supervised sequence labelling, 2012, section 7.5."""
    paths = attrs["top_paths"]
    for row, length in enumerate(lengths.tolist()):
        if length > len(inputs):
            raise InvalidArgumentError(
                None, None, f"sequence_length({row}) <= {len(inputs)}: it is {length}"
            )
    decoded: list[list[list[int]]] = [[] for _ in range(paths)]
    log_probability = np.zeros((inputs.shape[1], paths))
    for row, length in enumerate(np.maximum(lengths, 0).tolist()):
        log_p = log_softmax_of(wide(inputs)[:length, row])
        beams = _beams(log_p, attrs["beam_width"], inputs.shape[2] - 1)
        if len(beams) < paths:
            raise InvalidArgumentError(
                None,
                None,
                f"Less leaves in the beam search than requested: {len(beams)} vs {paths}",
            )
        for place, (labels, score) in enumerate(beams[:paths]):
            if attrs["merge_repeated"]:
                labels = tuple(a for i, a in enumerate(labels) if i == 0 or a != labels[i - 1])
            decoded[place].append(list(labels))
            log_probability[row, place] = score
    sparse = [_as_sparse(rows) for rows in decoded]
    flat = [part[which] for which in range(3) for part in sparse]
    return [*flat, log_probability.astype(inputs.dtype)]


def _beams(log_p: np.ndarray, width: int, blank: int) -> list[tuple[tuple[int, ...], float]]:
    """The likeliest label sequences, best first, with the log probability of each."""
    # sequence -> log probabilities of ending in a blank and of ending in its last label
    beams: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, _NEVER)}
    for step in log_p:
        after: dict[tuple[int, ...], list[float]] = {}
        for labels, (in_blank, in_label) in beams.items():
            total = np.logaddexp(in_blank, in_label)
            entry = after.setdefault(labels, [_NEVER, _NEVER])
            entry[0] = np.logaddexp(entry[0], total + step[blank])
            if labels:
                entry[1] = np.logaddexp(entry[1], in_label + step[labels[-1]])
            for label in range(len(step)):
                if label != blank:
                    source = in_blank if labels and labels[-1] == label else total
                    longer = after.setdefault((*labels, label), [_NEVER, _NEVER])
                    longer[1] = np.logaddexp(longer[1], source + step[label])
        ranked = sorted(after.items(), key=lambda e: -np.logaddexp(e[1][0], e[1][1]))
        beams = {labels: (b, e) for labels, (b, e) in ranked[:width]}
    return [(labels, float(np.logaddexp(ends[0], ends[1]))) for labels, ends in beams.items()]
