"""Optimizers, averages and schedules: names of their variables, and what a step makes of them."""

from __future__ import annotations

import numpy as np


def _model(m):
    with m.variable_scope("a"):
        w = m.get_variable("w", initializer=np.float32([1.0, -2.0, 0.05]))
    b = m.Variable([[1.0, 2.0], [3.0, 4.0]], name="b")
    picked = m.gather(b, [1, 1])
    return m.reduce_sum(m.square(w - 0.5)) + m.reduce_sum(picked * picked)


def _variables(m, done):
    """All names, and the values after an operation."""
    variables = m.global_variables()
    with m.control_dependencies([done]):
        values = [v.read_value() for v in variables]
    return [m.constant([v.op.name for v in variables]), *values]


def _optimizer(make):
    def program(m):
        loss = _model(m)
        step = m.train.get_or_create_global_step()
        with m.variable_scope("z"):
            return _variables(m, make(m, step).minimize(loss, global_step=step))

    return program


_OPTIMIZERS = {
    "gradient descent": lambda m, s: m.train.GradientDescentOptimizer(0.1),
    "momentum": lambda m, s: m.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda m, s: m.train.AdagradOptimizer(0.1),
    "adadelta": lambda m, s: m.train.AdadeltaOptimizer(0.5),
    "adam": lambda m, s: m.train.AdamOptimizer(0.1),
    "rmsprop": lambda m, s: m.train.RMSPropOptimizer(0.1, centered=True, momentum=0.5),
    "ftrl": lambda m, s: m.train.FtrlOptimizer(0.1, l1_regularization_strength=0.1),
    "proximal gradient descent": lambda m, s: m.train.ProximalGradientDescentOptimizer(0.1, 0.2),
    "proximal adagrad": lambda m, s: m.train.ProximalAdagradOptimizer(0.1, 0.1, 0.2),
    "adagrad dual averaging": lambda m, s: m.train.AdagradDAOptimizer(0.1, s, 0.1, 0.2),
}


def averages(m, **options):
    loss = _model(m)
    step = m.train.create_global_step()
    mean = m.train.ExponentialMovingAverage(0.9, num_updates=step, **options)
    values = [*m.trainable_variables(), loss]
    with m.variable_scope("z"):
        done = mean.apply(values)
    with m.control_dependencies([done]):
        read = [mean.average(v).read_value() for v in values]
    return [
        m.constant(sorted(v.op.name for v in m.global_variables())),
        m.constant([mean.average_name(v) for v in values]),
        m.constant(sorted(mean.variables_to_restore())),
        *read,
    ]


def schedules(m):
    result = []
    for n in (0, 4, 10, 25, 40):
        step = m.constant(n)
        result += [
            m.train.cosine_decay_restarts(0.1, step, 10),
            m.train.cosine_decay_restarts(0.1, step, 7, t_mul=1.5, m_mul=0.9, alpha=0.1),
            m.train.linear_cosine_decay(0.1, step, 30, num_periods=2.0),
            m.train.cosine_decay(0.1, step, 30, alpha=0.1),
            m.train.polynomial_decay(0.1, step, 12, power=2.0, cycle=True),
            m.train.piecewise_constant_decay(step, [5, 20], [0.1, 0.2, 0.3]),
            m.train.exponential_decay(0.1, step, 10, 0.5, staircase=True),
            m.train.natural_exp_decay(0.1, step, 10, 0.5),
            m.train.inverse_time_decay(0.1, step, 10, 0.5),
        ]
    return result


PROGRAMS = {
    **{f"optimizer, {name}": _optimizer(make) for name, make in _OPTIMIZERS.items()},
    "averages": averages,
    "averages without bias": lambda m: averages(m, zero_debias=True),
    "schedules": schedules,
}
