"""Strings that a task holds for several sessions, made by itself or sent by another.

Modules: graph/attributes, executor/worker_runs.
"""

from __future__ import annotations

import gc
from typing import Any

import pytest
from in_process_cluster import InProcessCluster

import headrace.graph as hr

TEXT = b"a text of a constant of a worker"


@pytest.mark.parametrize("device", ["/job:ps/task:0", "/job:worker/task:1"])
def test_a_text_in_a_queue_of_a_server_outlives_the_session_that_put_it_there(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build() -> tuple[hr.Graph, Any, Any]:
        with hr.Graph().as_default() as graph:
            with hr.device(device):
                text = hr.constant(TEXT)
            with hr.device("/job:ps/task:0"):
                queue = hr.FIFOQueue(-1, hr.string, shapes=[[]], shared_name="kept")
                return graph, queue.enqueue(text), queue.dequeue()

    cluster = InProcessCluster(monkeypatch, 1, 2)
    for _ in range(10):
        graph, put, _ = build()
        session = hr.Session("tasks://worker/1", graph=graph)
        session.run(put)
        session.close()
        del session, graph, put
        gc.collect()
        others = [b"x" * size for size in range(16, 4096, 8) for _ in range(10)]
        graph, _, take = build()
        with hr.Session("tasks://worker/0", graph=graph) as reader:
            assert reader.run(take) == TEXT
        del others
    cluster.close()
