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


def _dynamic(make, **options):
    """dynamic_rnn of a batch of 2 and 4 steps; `late` leaves the sizes unknown."""

    def program(m):
        batch = X.transpose(1, 0, 2)
        shape = [None, None, 3] if options.get("late") else batch.shape
        x = m.placeholder_with_default(batch, shape)
        with m.variable_scope("net", initializer=lambda s, **_: m.constant(_waves(s))):
            outputs, state = m.nn.dynamic_rnn(
                make(m.nn.rnn_cell),
                m.transpose(x, [1, 0, 2]) if options.get("time_major") else x,
                dtype=m.float32,
                sequence_length=options.get("lengths"),
                time_major=options.get("time_major", False),
            )
        result = [*_flat(outputs), *_flat(state)]
        loss = m.add_n([m.reduce_sum(m.square(t)) for t in result])
        names = [v.name for v in m.global_variables()]
        return [*result, m.constant(names), *m.gradients(loss, [x, *m.trainable_variables()])]

    return program


def _dynamic_both_ways(m):
    cells = [m.nn.rnn_cell.GRUCell(2), m.nn.rnn_cell.BasicLSTMCell(3)]
    with m.variable_scope("net", initializer=lambda s, **_: m.constant(_waves(s))):
        result = m.nn.bidirectional_dynamic_rnn(
            *cells, m.constant(X.transpose(1, 0, 2)), sequence_length=LENGTHS, dtype=m.float32
        )
    names = [v.name for v in m.global_variables()]
    weights = m.trainable_variables()
    loss = m.add_n([m.reduce_sum(m.square(t)) for t in _flat(result)])
    return [*_flat(result), m.constant(names), *m.gradients(loss, weights)]


def _raw(m):
    cell = m.nn.rnn_cell.GRUCell(3)
    source = m.TensorArray(m.float32, size=4).unstack(m.constant(X))

    def step(time, output, state, loop_state):
        finished = time >= m.constant(LENGTHS)
        following = m.cond(
            m.reduce_all(finished), lambda: m.zeros([2, 3]), lambda: source.read(time)
        )
        if output is None:
            return finished, following, cell.zero_state(2, m.float32), None, m.constant(1.0)
        return finished, following, state, output, loop_state * 2.0

    with m.variable_scope("net", initializer=lambda s, **_: m.constant(_waves(s))):
        outputs, state, loop_state = m.nn.raw_rnn(cell, step)
    outputs = outputs.stack()
    names = [v.name for v in m.global_variables()]
    grads = m.gradients(
        m.reduce_sum(outputs * outputs) + m.reduce_sum(state), m.trainable_variables()
    )
    return [outputs, state, loop_state, m.constant(names), *grads]


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
    "dynamic": _dynamic(lambda c: c.BasicLSTMCell(3)),
    "dynamic of unknown sizes": _dynamic(lambda c: c.GRUCell(3), late=True),
    "dynamic with lengths": _dynamic(_stack, lengths=LENGTHS),
    "dynamic, time first": _dynamic(
        lambda c: c.LSTMCell(4, use_peepholes=True, num_proj=2), time_major=True, lengths=LENGTHS
    ),
    "dynamic, residual": _dynamic(lambda c: c.ResidualWrapper(c.GRUCell(3)), late=True),
    "dynamic, without dropout": _dynamic(lambda c: c.DropoutWrapper(c.GRUCell(3))),
    "dynamic, both ways": _dynamic_both_ways,
    "raw": _raw,
    "both ways": _both_ways,
    "both ways with lengths": lambda m: _both_ways(m, sequence_length=LENGTHS),
}
