"""An update of a variable is complete or not made at all, whenever its step is ended.

Modules: kernels/slot_arithmetic.
"""

from __future__ import annotations

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import DeadlineExceededError

N = 8_000_000
# A busy machine may let an update end before the clock of its timeout gets a processor.
ROUNDS, MOST_ROUNDS = 4, 40
OPTIMIZERS = {
    "GradientDescent": lambda: hr.train.GradientDescentOptimizer(0.5),
    "Momentum": lambda: hr.train.MomentumOptimizer(0.5, 0.9),
    "Adam": lambda: hr.train.AdamOptimizer(0.1),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_timeout_within_an_update_leaves_no_half_of_it(name: str, threads: int) -> None:
    config = hr.ConfigProto(intra_op_parallelism_threads=threads)
    with hr.Graph().as_default(), hr.Session(config=config) as session:
        variable = hr.Variable(np.zeros(N, np.float32))
        gradient = hr.Variable(np.ones(N, np.float32), trainable=False)
        step = OPTIMIZERS[name]().apply_gradients([(gradient.read_value(), variable)])
        large = [v for v in hr.global_variables() if v.shape.num_elements() == N]
        ends = [(hr.reduce_min(v), hr.reduce_max(v)) for v in large]
        session.run(hr.global_variables_initializer())
        session.run(step)
        timeouts = rounds = 0
        while rounds < ROUNDS or (not timeouts and rounds < MOST_ROUNDS):
            rounds += 1
            for timeout_in_ms in (1, 2, 3, 4, 5, 6):
                try:
                    session.run(step, options=hr.RunOptions(timeout_in_ms=timeout_in_ms))
                except DeadlineExceededError:
                    timeouts += 1
                for least, most in session.run(ends):
                    assert least == most
        assert timeouts
