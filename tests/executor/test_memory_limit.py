"""ConfigProto.experimental.plan_memory_limit_bytes bounds the memory of a session's plans.

Modules: memory/memory_account.
"""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError, ResourceExhaustedError

MIB = 1 << 20


def _session(limit: int, **options: object) -> hr.Session:
    config = hr.ConfigProto(**options)
    config.experimental.plan_memory_limit_bytes = limit
    return hr.Session(config=config)


def _deep(rows: hr.Tensor) -> hr.Tensor:
    """Two values of 4 KiB a row are alive at a time."""
    with hr.name_scope("deep"):
        wide = hr.matmul(rows, hr.constant(np.full([4, 1024], 0.01, np.float32)))
        narrow = hr.matmul(wide, hr.constant(np.full([1024, 4], 0.01, np.float32)))
        return hr.reduce_sum(narrow, name="sum")


def test_a_run_beyond_the_limit_names_the_largest_holders() -> None:
    x = hr.placeholder(hr.float32, [None, 4])
    y = _deep(x)
    table = hr.add(hr.tanh(hr.ones([500, 500])), hr.reduce_sum(x), name="table")
    with _session(5 * MIB) as session:
        session.run(y, {x: np.ones([100, 4], np.float32)})
        session.run(table[0], {x: np.ones([3, 4], np.float32)})  # folds tables of 1 MB
        with pytest.raises(ResourceExhaustedError) as caught:
            session.run(y, {x: np.ones([4000, 4], np.float32)})
        text = str(caught.value)
        assert "no memory for an arena of 16" in text
        assert "the session's memory limit is 5120.0 KiB, of which" in text
        holder = r"are taken: \d+.\d KiB by the plan up to node 'strided_slice' for \[3, 4\]"
        assert re.search(holder, text)
        assert np.isfinite(session.run(y, {x: np.ones([100, 4], np.float32)}))


def test_idle_memory_of_other_shapes_makes_room() -> None:
    x = hr.placeholder(hr.float32, [None, 4])
    y = _deep(x)
    with _session(3 * MIB) as session:
        for _ in range(3):
            for rows in (300, 310, 320, 330, 340, 350):  # 1.2 to 1.4 MiB each
                session.run(y, {x: np.ones([rows, 4], np.float32)})


def test_runs_at_the_same_time_share_the_limit() -> None:
    x = hr.placeholder(hr.float32, [None, 4])
    y = _deep(x)
    ended: list[str] = []

    def work() -> None:
        for _ in range(20):
            try:
                session.run(y, {x: np.ones([400, 4], np.float32)})
                ended.append("value")
            except ResourceExhaustedError:
                ended.append("no room")

    with _session(4 * MIB) as session:
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(ended) == 120 and "value" in ended
        session.run(y, {x: np.ones([400, 4], np.float32)})  # all was given back


def test_folded_constants_count() -> None:
    folded = hr.tanh(hr.ones([600, 600]))
    x = hr.placeholder(hr.float32, [])
    with _session(MIB) as session, pytest.raises(ResourceExhaustedError, match="for constants"):
        session.run(folded[0, 0] + x, {x: 1.0})


@pytest.mark.parametrize("executor", ["", "dynamic"])
def test_every_executor_keeps_to_it(executor: str) -> None:
    config = hr.ConfigProto()
    config.experimental.plan_memory_limit_bytes = MIB
    config.experimental.executor_type = executor
    x = hr.placeholder(hr.float32, [None, 4])
    queue = hr.FIFOQueue(1, [hr.float32], shapes=[[]])
    with hr.control_dependencies([queue.enqueue(1.0)] if executor else []):
        rows = hr.identity(x)
    y = _deep(rows)
    with hr.Session(config=config) as session:
        with pytest.raises(ResourceExhaustedError, match="the session's memory limit is"):
            session.run(y, {x: np.ones([4000, 4], np.float32)})


def test_without_a_limit_nothing_is_rejected() -> None:
    x = hr.placeholder(hr.float32, [None, 4])
    with hr.Session() as session:
        session.run(_deep(x), {x: np.ones([4000, 4], np.float32)})


def test_a_negative_limit_is_rejected() -> None:
    with pytest.raises(InvalidArgumentError, match="plan_memory_limit_bytes is -1"):
        _session(-1)
