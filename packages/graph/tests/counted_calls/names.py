"""Names that the calls use, by subject; m is the module."""

import numpy as np


def networks(m):
    """Names that the calls use: F makes a placeholder whose first dimension alone is unknown."""
    return {
        "F": lambda *shape: m.placeholder(m.float32, (None, *shape[1:])),
        "G": lambda *shape: m.placeholder(m.float32, shape),
        "cell": m.nn.rnn_cell,
    }


def inputs(m):
    """Names that the calls use: P is a sparse tensor, op the linear operators."""
    return {
        "P": lambda *shape: m.sparse_placeholder(m.float32, shape or None),
        "S": lambda: m.SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3]),
        "G": lambda *shape: m.placeholder(m.float32, shape),
        "U": lambda *shape: m.placeholder(m.uint8, shape),
        "sq": lambda: m.constant(np.eye(3, dtype=np.float32) * 2),
        "L": m.linalg,
        "x": {
            "a": m.FixedLenFeature([], m.float32),
            "b": m.VarLenFeature(m.int64),
        },
    }


def training(m):
    """Names that the calls use: minimize(optimizer) trains a small network."""

    def minimize(optimizer, **rest):
        x = m.placeholder(m.float32, [None, 4])
        loss = m.reduce_mean(m.square(m.layers.dense(x, 3)))
        return optimizer.minimize(loss, **rest)

    def sparse(optimizer):
        table = m.get_variable("table", [5, 3])
        return optimizer.minimize(m.reduce_sum(m.nn.embedding_lookup(table, [0, 1, 1])))

    def resource(optimizer):
        table = m.get_variable("table", [5, 3], use_resource=True)
        value = m.get_variable("value", [3], use_resource=True)
        return optimizer.minimize(m.reduce_sum(m.gather(table, [0, 1]) * value))

    def decode(helper, attention=None, layer=None, **rest):
        seq = m.contrib.seq2seq
        cell, batch = m.nn.rnn_cell.LSTMCell(4), m.placeholder_with_default(2, [])
        if attention:
            memory = m.placeholder(m.float32, [None, None, 4])
            cell = seq.AttentionWrapper(cell, attention(4, memory), attention_layer_size=3)
        decoder = seq.BasicDecoder(
            cell, helper, cell.zero_state(batch, m.float32), layer and layer()
        )
        return seq.dynamic_decode(decoder, **rest)

    def dense5():
        module = m.layers if hasattr(m.layers, "Dense") else m.compat.v1.layers
        return module.Dense(5)

    def beam(layer, length=None, attention=None):
        seq = m.contrib.seq2seq
        cell = m.nn.rnn_cell.LSTMCell(4)
        state = cell.zero_state(6, m.float32)
        if attention:
            memory = seq.tile_batch(m.placeholder(m.float32, [2, None, 4]), 3)
            cell = seq.AttentionWrapper(cell, attention(4, memory), attention_layer_size=3)
            state = cell.zero_state(6, m.float32)
        table = m.get_variable("t", [5, 4])
        decoder = seq.BeamSearchDecoder(cell, table, [1, 1], 2, state, 3, output_layer=layer())
        return seq.dynamic_decode(decoder, maximum_iterations=length)

    return {
        "minimize": minimize,
        "sparse": sparse,
        "resource": resource,
        "decode": decode,
        "dense5": dense5,
        "beam": beam,
        "T": m.train,
        "M": m.metrics,
        "C": m.contrib,
        "q": m.contrib.seq2seq,
        "cell": m.nn.rnn_cell,
        "F": lambda *shape: m.placeholder(m.float32, (None, *shape[1:])),
        "G": lambda *shape: m.placeholder(m.float32, shape),
        "D": m.data.Dataset,
        "one": lambda d: m.data.make_one_shot_iterator(d).get_next(),
    }
