"""Random schedules on threads give outcomes that a plain Python model gives in some order.

`HEADRACE_HISTORIES=5000 pytest tests/executor/test_waiting_histories.py` runs many of each kind;
`HEADRACE_HISTORY=kind:seed` repeats one.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import waiting_models as models
from histories import Operation, is_explained, run_history

import headrace.graph as hr
from headrace.graph.ops.synchronisation.barriers import Barrier
from headrace.graph.ops.synchronisation.staging_areas import MapStagingArea, StagingArea

COUNT = int(os.environ.get("HEADRACE_HISTORIES", "40"))  # of each kind
THREADS, LENGTH = 3, 4


class Kind(NamedTuple):
    """An object: its model, its random calls, and the graph that carries them out."""

    model: Callable[[], Any]
    call: Callable[[random.Random], tuple[Any, ...]]
    build: Callable[[], Callable[[hr.Session, tuple[Any, ...]], Any]]


def queue_call(rng: random.Random) -> tuple[Any, ...]:
    kind = rng.choices(
        ["put", "take", "take_many", "take_up_to", "close", "cancel", "size"], [9, 5, 3, 3, 1, 1, 2]
    )[0]
    if kind == "put":
        return kind, tuple(rng.randrange(100) for _ in range(rng.randrange(1, 4)))
    return (kind, rng.randrange(1, 4)) if kind.startswith("take_") else (kind,)


def queue_graph(kind: str) -> Any:
    def build() -> Any:
        least = kind == "PriorityQueue"
        queue = getattr(hr, kind)(2, hr.int32, [[]])
        fed, n = hr.placeholder(hr.int32, [None]), hr.placeholder(hr.int32, [])
        parts = [hr.cast(fed, hr.int64), fed] if least else [fed]
        ops = {
            "put": queue.enqueue_many(parts),
            "take": queue.dequeue(),
            "take_many": queue.dequeue_many(n),
            "take_up_to": queue.dequeue_up_to(n),
            "close": queue.close(),
            "cancel": queue.close(cancel_pending_enqueues=True),
            "size": queue.size(),
        }

        def run(session: hr.Session, call: tuple[Any, ...]) -> Any:
            name, *rest = call
            feeds = {} if not rest else {fed: rest[0]} if name == "put" else {n: rest[0]}
            value = session.run(ops[name], feeds)
            if name == "size" or value is None:
                return None if value is None else int(value)
            value = value[-1] if least else value
            return int(value) if name == "take" else tuple(value.tolist())

        return run

    return build


def accumulator_call(rng: random.Random) -> tuple[Any, ...]:
    kind = rng.choices(["apply", "take", "step", "count"], [8, 4, 1, 2])[0]
    if kind == "apply":
        return kind, rng.randrange(3), rng.randrange(1, 50), rng.choice([0, 1, 2, 9])
    return (kind, rng.randrange(1, 3)) if kind in ("take", "step") else (kind,)


def accumulator_graph(sparse: bool) -> Any:
    def build() -> Any:
        value = hr.placeholder(hr.float64, [])
        row, step = hr.placeholder(hr.int64, []), hr.placeholder(hr.int64, [])
        n = hr.placeholder(hr.int32, [])
        accumulator: Any
        if sparse:
            accumulator = hr.SparseConditionalAccumulator(hr.float64, reduction_type="SUM")
            apply = accumulator.apply_grad([row], [value], local_step=step)
            take = list(accumulator.take_grad(n))[:2]
        else:
            accumulator = hr.ConditionalAccumulator(hr.float64, reduction_type="SUM")
            apply, take = accumulator.apply_grad(value, step), accumulator.take_grad(n)
        set_step, count = accumulator.set_global_step(step), accumulator.num_accumulated()

        def run(session: hr.Session, call: tuple[Any, ...]) -> Any:
            name, *rest = call
            if name == "apply":
                return session.run(apply, {row: rest[0], value: rest[1], step: rest[2]})
            if name == "step":
                return session.run(set_step, {step: rest[0]})
            if name == "count":
                return int(session.run(count))
            taken = session.run(take, {n: rest[0]})
            return tuple((int(i), int(v)) for i, v in zip(*taken)) if sparse else int(taken)

        return run

    return build


def barrier_call(rng: random.Random) -> tuple[Any, ...]:
    kind = rng.choices(["insert", "take", "close", "sizes"], [10, 4, 1, 2])[0]
    if kind == "insert":
        return kind, rng.choice("abc"), rng.randrange(2), rng.randrange(50)
    if kind == "take":
        return kind, rng.randrange(1, 3), rng.random() < 0.4
    return kind, rng.random() < 0.4


def barrier_graph() -> Any:
    barrier = Barrier([hr.int32, hr.int32], [[], []])
    key, value = hr.placeholder(hr.string, []), hr.placeholder(hr.int32, [])
    n = hr.placeholder(hr.int32, [])
    inserts = [barrier.insert_many(i, [key], [value]) for i in range(2)]
    takes = [barrier.take_many(n, allow_small_batch=small) for small in (False, True)]
    closes = [barrier.close(cancel) for cancel in (False, True)]
    sizes = [barrier.incomplete_size(), barrier.ready_size()]

    def run(session: hr.Session, call: tuple[Any, ...]) -> Any:
        name, *rest = call
        if name == "insert":
            return session.run(inserts[rest[1]], {key: rest[0], value: rest[2]})
        if name == "close":
            return session.run(closes[rest[0]])
        if name == "sizes":
            return int(session.run(sizes[rest[0]]))
        taken = session.run(takes[rest[1]], {n: rest[0]})
        return tuple((k.decode(), int(a), int(b)) for k, a, b in zip(taken.keys, *taken.values))

    return run


def staging_call(rng: random.Random) -> tuple[Any, ...]:
    kind = rng.choices(["put", "get", "peek", "size", "clear"], [8, 5, 2, 2, 1])[0]
    return (
        (kind, rng.randrange(50))
        if kind == "put"
        else (kind, rng.randrange(3))[: 2 if kind == "peek" else 1]
    )


def staging_graph() -> Any:
    area = StagingArea([hr.int32], [[]], capacity=2)
    fed = hr.placeholder(hr.int32, [])
    ops = {
        "put": area.put([fed]),
        "get": area.get()[0],
        "peek": area.peek(fed)[0],
        "size": area.size(),
        "clear": area.clear(),
    }

    def run(session: hr.Session, call: tuple[Any, ...]) -> Any:
        value = session.run(ops[call[0]], {fed: call[1]} if len(call) > 1 else None)
        return None if value is None else int(value)

    return run


def keyed_call(rng: random.Random) -> tuple[Any, ...]:
    kind = rng.choices(["put", "take", "take_any", "peek"], [10, 3, 3, 1])[0]
    if kind == "put":
        return kind, rng.randrange(3), rng.randrange(2), rng.randrange(50)
    return (kind,) if kind == "take_any" else (kind, rng.randrange(3))


def keyed_graph() -> Any:
    area = MapStagingArea([hr.int32, hr.int32], [[], []], ordered=True, capacity=2)
    key, value = hr.placeholder(hr.int64, []), hr.placeholder(hr.int32, [])
    puts = [area.put(key, [value], [i]) for i in range(2)]
    take, take_any, peek = area.get(key)[1], area.get(), area.peek(key)

    def run(session: hr.Session, call: tuple[Any, ...]) -> Any:
        name, *rest = call
        if name == "put":
            return session.run(puts[rest[1]], {key: rest[0], value: rest[2]})
        if name == "take_any":
            found, values = session.run(take_any)
            return (int(found), *map(int, values))
        return tuple(map(int, session.run(take if name == "take" else peek, {key: rest[0]})))

    return run


def mutex_graph() -> Any:
    total = hr.get_variable("total", initializer=0, use_resource=True, dtype=hr.int32)
    section, fed = hr.CriticalSection(), hr.placeholder(hr.int32, [])

    def add() -> hr.Tensor:
        seen = hr.py_func(lambda x: np.int32(x), [total.read_value()], hr.int32)
        seen.set_shape([])
        return total.assign(seen + fed, read_value=True)

    out = section.execute(add)

    def run(session: hr.Session, call: tuple[Any, ...]) -> Any:
        return int(session.run(out, {fed: call[1]}))

    return run


KINDS = {
    "fifo": Kind(lambda: models.QueueModel(2), queue_call, queue_graph("FIFOQueue")),
    "padding": Kind(lambda: models.QueueModel(2), queue_call, queue_graph("PaddingFIFOQueue")),
    "priority": Kind(
        lambda: models.QueueModel(2, least=True), queue_call, queue_graph("PriorityQueue")
    ),
    "dense": Kind(models.AccumulatorModel, accumulator_call, accumulator_graph(False)),
    "sparse": Kind(
        lambda: models.AccumulatorModel(sparse=True), accumulator_call, accumulator_graph(True)
    ),
    "barrier": Kind(models.BarrierModel, barrier_call, barrier_graph),
    "staging": Kind(lambda: models.StagingModel(2), staging_call, staging_graph),
    "keyed": Kind(lambda: models.KeyedStagingModel(2), keyed_call, keyed_graph),
    "mutex": Kind(models.MutexModel, lambda rng: ("add", rng.randrange(1, 9)), mutex_graph),
}


def history_of(name: str, seed: int, graph: hr.Graph, run: Any) -> list[Operation]:
    rng = random.Random(f"{name}:{seed}")
    scripts = [[KINDS[name].call(rng) for _ in range(LENGTH)] for _ in range(THREADS)]
    session = hr.Session(graph=graph)
    if name == "mutex":
        session.run("total/Assign")
    return run_history(session, scripts, run)


@pytest.mark.parametrize("name", KINDS)
def test_some_order_explains_every_history(name: str) -> None:
    kind, _, seed = os.environ.get("HEADRACE_HISTORY", "").partition(":")
    if kind and kind != name:
        pytest.skip("another kind is repeated")
    with hr.Graph().as_default() as graph:
        run = KINDS[name].build()
    for number in [int(seed)] * COUNT if seed else range(COUNT):
        history = history_of(name, number, graph, run)
        assert is_explained(history, KINDS[name].model()), "\n".join(
            [f"HEADRACE_HISTORY={name}:{number}", *map(str, history)]
        )


def test_a_history_that_no_order_explains_is_found() -> None:
    def history(*outcomes: Any) -> list[Operation]:
        calls: list[tuple[Any, ...]] = [("put", (1, 2)), ("take",), ("take",)]
        return [Operation(c, i, i + 0.5, o) for i, (c, o) in enumerate(zip(calls, outcomes))]

    assert is_explained(history(None, 1, 2), models.QueueModel(2))
    assert not is_explained(history(None, 2, 1), models.QueueModel(2))
    assert not is_explained(history(None, 1, 1), models.QueueModel(2))
    early = history(None, 1, 2)
    early[1].began, early[1].ended = -2.0, -1.0  # a take that ended before anything was put
    assert not is_explained(early, models.QueueModel(2))
