"""Training steps over a parameter server and a worker have the bits of those of one device.

Modules: executor/executor_segments, executor/asynchronous_nodes, passes/order_writes,
passes/graph_ir, state/context.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from worker_steps import DEVICES, Tasks

import headrace.graph as hr

SERVER, WORKER = DEVICES[0], DEVICES[2]
STEPS = 6

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "gradient descent": lambda: hr.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: hr.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: hr.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: hr.train.AdamOptimizer(0.01),
    "adagrad": lambda: hr.train.AdagradOptimizer(0.1),
    "rmsprop": lambda: hr.train.RMSPropOptimizer(0.01, momentum=0.5),
    "ftrl": lambda: hr.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001),
}


class Training:
    """A network whose variables are on the server, and whose work is the worker's.

    Args:
      resource: whether its variables are resources.
      clips: whether gradients are clipped by their global norm.
    """

    def __init__(self, optimizer: str, resource: bool, clips: bool) -> None:
        with hr.Graph().as_default() as self.graph:
            self.x = hr.placeholder(hr.float32, [16, 8], name="x")
            with hr.device(SERVER):
                kinds = [("w0", [8, 32]), ("b0", [32]), ("w1", [32, 4]), ("rows", [20, 32])]
                variables = [
                    hr.get_variable(
                        name,
                        initializer=np.random.default_rng(i)
                        .normal(size=shape, scale=0.3)
                        .astype(np.float32),
                        use_resource=resource,
                    )
                    for i, (name, shape) in enumerate(kinds)
                ]
                w0, b0, w1, rows = variables
                looked_up = hr.nn.embedding_lookup(rows, [1, 3, 3, 7])
            with hr.device(WORKER):
                hidden = hr.tanh(hr.matmul(self.x, w0) + b0) + hr.reduce_mean(looked_up, 0)
                self.loss = hr.reduce_mean(hr.square(hr.matmul(hidden, w1) - 0.5))
                made = OPTIMIZERS[optimizer]()
                pairs = made.compute_gradients(self.loss, variables)
                if clips:
                    gradients, self.norm = hr.clip_by_global_norm([g for g, _ in pairs], 0.05)
                    pairs = list(zip(gradients, [v for _, v in pairs], strict=True))
                else:
                    self.norm = hr.reduce_sum(hr.abs(self.x))
            with hr.device(SERVER):
                self.train = made.apply_gradients(pairs)
                # It writes the variables in place, and changes nothing.
                nothing = [v.assign_add(hr.zeros_like(v.read_value())) for v in variables]
                self.touch = hr.group(*nothing)
            self.init = hr.global_variables_initializer()
            self.state = [v.read_value() for v in hr.global_variables()]

    def fed(self, step: int) -> np.ndarray:
        return np.random.default_rng(step).normal(size=[16, 8]).astype(np.float32)

    def on_one_device(self) -> list[Any]:
        config = hr.ConfigProto(allow_soft_placement=True, intra_op_parallelism_threads=1)
        with self.graph.as_default(), hr.Session(config=config) as session:
            session.run(self.init)
            found = [
                session.run([self.loss, self.norm, self.train], {self.x: self.fed(i)})[:2]
                for i in range(STEPS)
            ]
            return [*found, session.run(self.state)]

    def over_tasks(self, touches: bool) -> list[Any]:
        config = hr.ConfigProto(
            device_count={"CPU": 2}, allow_soft_placement=True, intra_op_parallelism_threads=1
        )
        tasks = Tasks(self.graph.as_graph_def(), config.SerializeToString())
        tasks.run([], {}, [self.init.name])
        tasks.plan([], [], [self.touch.name])
        done = threading.Event()

        def touch() -> None:
            while not done.is_set():
                tasks.run([], {}, [self.touch.name])

        thread = threading.Thread(target=touch)
        if touches:
            thread.start()
        try:
            fetches = [self.loss.name, self.norm.name]
            found = [
                tasks.run(fetches, {self.x.name: self.fed(i)}, [self.train.name])
                for i in range(STEPS)
            ]
            # A second run in flight may not have seen its last write.
        finally:
            done.set()
            if touches:
                thread.join()
        found.append(tasks.run([t.name for t in self.state], {}))
        tasks.close()
        return found


@pytest.mark.parametrize("clips", [False, True], ids=["plain", "clipped"])
@pytest.mark.parametrize("resource", [False, True], ids=["references", "resources"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_over_two_tasks_gives_the_bits_of_one_device(
    optimizer: str, resource: bool, clips: bool
) -> None:
    training = Training(optimizer, resource, clips)
    expected = training.on_one_device()
    for touches in (False, True):
        got = training.over_tasks(touches)
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b)
