"""Tables whole and in parts, bags of ids, losses over sampled classes; with their gradients."""

from __future__ import annotations

import numpy as np

_rng = np.random.default_rng(9)
TABLE = _rng.normal(size=(11, 3)).astype(np.float32)
WIDE = _rng.normal(size=(7, 2, 2)).astype(np.float32)
IDS = np.array([[0, 10, 3], [3, 7, 1]])
X = _rng.normal(size=(4, 3)).astype(np.float32)
B = _rng.normal(size=11).astype(np.float32)
LABELS = np.array([[1, 5], [0, 2], [10, 3], [4, 4]])
SAMPLED = (
    np.array([5, 9, 2, 7, 3], np.int64),
    _rng.uniform(0.1, 1, (4, 2)).astype(np.float32),
    _rng.uniform(0.1, 1, 5).astype(np.float32),
)
PLACES = np.array([[0, 0], [0, 2], [1, 1], [3, 0], [3, 1]], np.int64)
BAG = np.array([1, 3, 1, 10, 0], np.int64)
WEIGHTS = np.array([0.5, 2.0, 1.0, 0.0, 3.0], np.float32)


def _parts(m, table, count, strategy):
    if strategy == "mod":
        return [m.constant(table[i::count]) for i in range(count)]
    return [m.constant(part) for part in np.array_split(table, count)]


def _dense(m, grads):
    return [m.convert_to_tensor(g) for g in grads]


def _lookup(table, count, strategy="mod", **options):
    def program(m):
        parts = _parts(m, table, count, strategy)
        ids = IDS % len(table)
        y = m.nn.embedding_lookup(
            parts if count > 1 else parts[0], m.constant(ids), strategy, **options
        )
        return [y, *_dense(m, m.gradients(m.reduce_sum(m.sin(y)), parts))]

    return program


def _bags(combiner, weighted, safe=False, **options):
    def program(m):
        table = m.constant(TABLE)
        bag = BAG if not safe else np.where(BAG == 1, -1, BAG)
        places = PLACES if safe else np.where(PLACES == 3, 2, PLACES)
        ids = m.SparseTensor(places, bag, [4 if safe else 3, 3])
        weights = m.SparseTensor(places, WEIGHTS, [4 if safe else 3, 3]) if weighted else None
        if safe:
            y = m.nn.safe_embedding_lookup_sparse([table], ids, weights, combiner, **options)
        else:
            y = m.nn.embedding_lookup_sparse(table, ids, weights, combiner=combiner, **options)
        return [y, *_dense(m, m.gradients(m.reduce_sum(m.sin(y)), [table]))]

    return program


def _sampled(name, **options):
    def program(m):
        values = [m.constant(v) for v in (TABLE, B, X)]
        y = getattr(m.nn, name)(
            values[0], values[1], LABELS, values[2], 5, 11, 2, sampled_values=SAMPLED, **options
        )
        return [y, *_dense(m, m.gradients(m.reduce_sum(y), values))]

    return program


def _partitioned(m):
    table = m.get_variable(
        "table",
        [5, 2],
        partitioner=m.fixed_size_partitioner(2),
        initializer=lambda shape, dtype=None, partition_info=None: (
            m.ones(shape) * float(partition_info.var_offset[0] + 1)
        ),
    )
    return [m.nn.embedding_lookup(table, [4, 0, 2], "div")]


PROGRAMS = {
    "embedding_lookup": _lookup(TABLE, 1),
    "embedding_lookup of wide rows": _lookup(WIDE, 1, max_norm=1.5),
    "embedding_lookup in parts": _lookup(TABLE, 3),
    "embedding_lookup in stretches": _lookup(TABLE, 3, "div"),
    "embedding_lookup of wide rows in stretches": _lookup(WIDE, 2, "div", max_norm=1.5),
    "embedding_lookup of a partitioned variable": _partitioned,
    "nce_loss": _sampled("nce_loss"),
    "nce_loss without hits": _sampled("nce_loss", remove_accidental_hits=True),
    "sampled_softmax_loss": _sampled("sampled_softmax_loss"),
    "sampled_softmax_loss with hits": _sampled(
        "sampled_softmax_loss", remove_accidental_hits=False
    ),
    "compute_accidental_hits": lambda m: list(m.nn.compute_accidental_hits(LABELS, SAMPLED[0], 2)),
    "all_candidate_sampler": lambda m: list(m.nn.all_candidate_sampler(LABELS, 2, 11, True)),
}
for _combiner in ("mean", "sum", "sqrtn"):
    for _weighted in (False, True):
        _said = f"{_combiner}{' weighted' if _weighted else ''}"
        PROGRAMS[f"embedding_lookup_sparse by {_said}"] = _bags(_combiner, _weighted)
        PROGRAMS[f"safe_embedding_lookup_sparse by {_said}"] = _bags(_combiner, _weighted, True)
PROGRAMS["safe_embedding_lookup_sparse by default"] = _bags("mean", False, True, default_id=2)
