"""Recurrent cells and networks written out: variables' names, values and gradients."""

from __future__ import annotations

import numpy as np

_rng = np.random.default_rng(13)
X = _rng.normal(size=(4, 2, 3)).astype(np.float32)
LENGTHS = np.array([2, 4], np.int32)


def _waves(shape, dtype=None, partition_info=None):
    count = int(np.prod([int(n) for n in shape]))
    return np.sin(0.4 + 0.9 * np.arange(count)).reshape([int(n) for n in shape]).astype(np.float32)


def _flat(value):
    if isinstance(value, (list, tuple)):
        return [t for part in value for t in _flat(part)]
    return [value]


def _network(make, **options):
    def program(m):
        steps = [m.constant(x) for x in X]
        lengths = options.get("sequence_length")
        with m.variable_scope("net", initializer=lambda s, **_: m.constant(_waves(s))):
            outputs, state = m.nn.static_rnn(
                make(m.nn.rnn_cell), steps, dtype=m.float32, sequence_length=lengths
            )
        result = [*outputs, *_flat(state)]
        loss = m.add_n([m.reduce_sum(m.square(t)) for t in result])
        names = [v.name for v in m.global_variables()]
        grads = m.gradients(loss, [*steps, *m.trainable_variables()])
        return [*result, m.constant(names), *grads]

    return program


def _both_ways(m, **options):
    steps = [m.constant(x) for x in X]
    cells = [m.nn.rnn_cell.GRUCell(2), m.nn.rnn_cell.BasicLSTMCell(3)]
    with m.variable_scope("net", initializer=lambda s, **_: m.constant(_waves(s))):
        outputs, *states = m.nn.static_bidirectional_rnn(*cells, steps, dtype=m.float32, **options)
    return [*outputs, *_flat(states), m.constant([v.name for v in m.global_variables()])]


def _stack(c, **options):
    return c.MultiRNNCell([c.BasicLSTMCell(3, **options), c.GRUCell(2)])


PROGRAMS = {
    "basic": _network(lambda c: c.BasicRNNCell(3)),
    "basic named": _network(lambda c: c.BasicRNNCell(3, name="mine")),
    "gru": _network(lambda c: c.GRUCell(3)),
    "basic lstm": _network(lambda c: c.BasicLSTMCell(3, forget_bias=0.5)),
    "basic lstm joined": _network(lambda c: c.BasicLSTMCell(3, state_is_tuple=False)),
    "lstm": _network(lambda c: c.LSTMCell(3)),
    "lstm with all": _network(
        lambda c: c.LSTMCell(4, use_peepholes=True, cell_clip=0.4, num_proj=2, proj_clip=0.3)
    ),
    "lstm in parts": _network(lambda c: c.LSTMCell(4, num_unit_shards=2)),
    "stacked": _network(_stack),
    "residual": _network(lambda c: c.ResidualWrapper(c.GRUCell(3))),
    "without dropout": _network(lambda c: c.DropoutWrapper(c.GRUCell(3))),
    "on a device": _network(lambda c: c.DeviceWrapper(c.GRUCell(3), "/cpu:0")),
    "with lengths": _network(_stack, sequence_length=LENGTHS),
    "both ways": _both_ways,
    "both ways with lengths": lambda m: _both_ways(m, sequence_length=LENGTHS),
}
