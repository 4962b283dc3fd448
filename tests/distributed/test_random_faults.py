"""Sessions of several threads while links are cut and tasks are restarted at random.

`HEADRACE_FAULTS=200 pytest tests/distributed/test_random_faults.py` makes many.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from served_cluster import InProcess, in_process

import headrace.graph as hr
from headrace.formats import errors

FAULTS = int(os.environ.get("HEADRACE_FAULTS", "30"))
LOST = errors.UnavailableError, errors.AbortedError, errors.CancelledError


def until(condition: Callable[[], bool], timeout_s: float = 60.0) -> None:
    """Waits for a condition."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)


class Client:
    """A thread that runs steps over three tasks, and makes a new session when it has to."""

    def __init__(self, cluster: InProcess, number: int, stop: threading.Event) -> None:
        self.cluster, self.number, self.stop = cluster, number, stop
        self.steps = self.since_fault = 0
        self.wrong: list[Any] = []
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def _work(self) -> None:
        worker = self.number % 2
        with hr.Graph().as_default():
            with hr.device("/job:ps/task:0"):
                x = hr.placeholder(hr.float32, [None])
                doubled = x * 2.0
            with hr.device("/job:ps/task:1"):
                more = doubled + 1.0
            with hr.device(f"/job:worker/task:{worker}"):
                y = hr.reduce_sum(more)
            rng = random.Random(self.number)
            session = None
            while not self.stop.is_set():
                try:
                    session = session or hr.Session(self.cluster.target("worker", worker))
                    size = rng.choice([1, 10, 1000, 100_000])
                    got = session.run(y, {x: np.ones(size, np.float32)})
                    if got != 3.0 * size:
                        self.wrong.append((size, got))
                    self.steps += 1
                    self.since_fault += 1
                    if rng.random() < 0.01:
                        session.close()
                        session = None
                except errors.AbortedError:
                    if session is not None:
                        session.close()
                    session = None
                except LOST:
                    time.sleep(0.005)
                except Exception as error:  # noqa: BLE001 - it is what the test looks at
                    self.wrong.append(error)
                    return
            if session is not None:
                session.close()


@pytest.mark.parametrize("protocol", ["grpc", "grpc+shm", "grpc+tcp", "grpc+stream"])
def test_steps_are_right_or_lost_and_go_on_after_each_fault(protocol: str) -> None:
    rng = random.Random(7)
    stop = threading.Event()
    with in_process(protocol, ps=2, worker=2) as cluster:
        clients = [Client(cluster, n, stop) for n in range(4)]
        try:
            for _ in range(FAULTS):
                if rng.random() < 0.6:
                    one, other = rng.sample(sorted(cluster.servers), 2)
                    endpoint = cluster.servers[other]._endpoint
                    cluster.servers[one]._endpoint.close_link(endpoint.incarnation, "cut")
                else:
                    index = rng.randrange(2)
                    cluster.stop("ps", index)
                    cluster.start("ps", index)
                for client in clients:
                    client.since_fault = 0
                until(lambda: all(c.since_fault > 3 or c.wrong for c in clients))
        finally:
            stop.set()
            for client in clients:
                client.thread.join(60.0)
        assert [client.wrong for client in clients] == [[]] * len(clients)
        assert not any(client.thread.is_alive() for client in clients)
        servers = cluster.servers.values()
        until(lambda: not any(server._worker._machine.sessions for server in servers))
        until(lambda: not any(server._endpoint.n_steps for server in servers))
