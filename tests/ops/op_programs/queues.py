"""Queues of each kind by reference and by resource, accumulators, barriers and stages."""

from __future__ import annotations

import headrace.graph as hr
from op_programs import Program, Runs

r = hr.raw_ops
F, I = hr.float32, hr.int64  # noqa: E741


def _queue(kind: str, v2: str) -> Runs:
    settings = {} if kind in ("RandomShuffleQueue", "PriorityQueue") else {"shapes": [[2]]}
    if kind == "PriorityQueue":
        queue = getattr(r, kind + v2)(component_types=[F], shapes=[[2]], capacity=9)
    elif kind == "RandomShuffleQueue":
        queue = getattr(r, kind + v2)(
            component_types=[F], shapes=[[2]], capacity=9, seed=3, seed2=4
        )
    else:
        queue = getattr(r, kind + v2)(component_types=[F], capacity=9, **settings)
    extra = [hr.constant(5, I)] if kind == "PriorityQueue" else []
    many = [hr.constant([4, 3, 2, 1], I)] if kind == "PriorityQueue" else []
    one = getattr(r, "QueueEnqueue" + v2)(handle=queue, components=[*extra, hr.constant([1.0, 2])])
    four = getattr(r, "QueueEnqueueMany" + v2)(handle=queue, components=[*many, hr.ones([4, 2])])
    types = [I, F] if kind == "PriorityQueue" else [F]
    size = getattr(r, "QueueSize" + v2)(handle=queue)
    first = getattr(r, "QueueDequeue" + v2)(handle=queue, component_types=types)
    two = getattr(r, "QueueDequeueMany" + v2)(handle=queue, n=2, component_types=types)
    rest = getattr(r, "QueueDequeueUpTo" + v2)(handle=queue, n=5, component_types=types)
    closed = getattr(r, "QueueIsClosed" + v2)(handle=queue)
    close = getattr(r, "QueueClose" + v2)(handle=queue, cancel_pending_enqueues=False)
    return [[one], [four], [size], _list(first), _list(two), [closed], [close], _list(rest),
            [closed, size], _list(first), [four]]  # fmt: skip


def _list(value: object) -> list:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _accumulator(resource: bool) -> Runs:
    pre = "Resource" if resource else ""
    acc = getattr(r, pre + "ConditionalAccumulator")(dtype=F, shape=[2])
    add = getattr(r, pre + "AccumulatorApplyGradient")(
        handle=acc, local_step=hr.constant(0, I), gradient=hr.constant([1.0, 4.0]))  # fmt: skip
    count = getattr(r, pre + "AccumulatorNumAccumulated")(handle=acc)
    step = getattr(r, pre + "AccumulatorSetGlobalStep")(
        handle=acc, new_global_step=hr.constant(1, I)
    )
    take = getattr(r, pre + "AccumulatorTakeGradient")(handle=acc, num_required=1, dtype=F)
    wrong = getattr(r, pre + "AccumulatorTakeGradient")(handle=acc, num_required=0, dtype=F)
    return [[add], [add], [count], [take], [step], [add], [count], [wrong]]


def _sparse_accumulator() -> Runs:
    acc = r.SparseConditionalAccumulator(dtype=F, shape=[3, 2])
    add = r.SparseAccumulatorApplyGradient(
        handle=acc, local_step=hr.constant(0, I), gradient_indices=hr.constant([0, 2], I),
        gradient_values=hr.ones([2, 2]), gradient_shape=hr.constant([3, 2], I),
        has_known_shape=True)  # fmt: skip
    take = r.SparseAccumulatorTakeGradient(handle=acc, num_required=2, dtype=F)
    return [[add], [add], list(take)]


def _barrier() -> Runs:
    b = r.Barrier(component_types=[F, I], shapes=[[], []])
    left = r.BarrierInsertMany(handle=b, keys=hr.constant(["a", "b"]), values=hr.constant([1.0, 2]),
                               component_index=0)  # fmt: skip
    right = r.BarrierInsertMany(handle=b, keys=hr.constant(["b", "a"]),
                                values=hr.constant([7, 8], I), component_index=1)  # fmt: skip
    ready, missing = r.BarrierReadySize(handle=b), r.BarrierIncompleteSize(handle=b)
    take = r.BarrierTakeMany(handle=b, num_elements=2, component_types=[F, I])
    close = r.BarrierClose(handle=b)
    return [[left], [ready, missing], [left], [right], [ready, missing],
            [take.indices, take.keys, *take.values], [close], [left], [ready]]  # fmt: skip


def _stage() -> Runs:
    a = {"dtypes": [F, I], "shared_name": "stage"}
    put = r.Stage(values=[hr.constant([1.0]), hr.constant(2, I)], shared_name="stage")
    size, clear = r.StageSize(**a), r.StageClear(**a)
    peek, out = r.StagePeek(index=0, **a), r.Unstage(**a)
    return [[put], [put], [size], list(peek), list(out), [size], [clear], [size]]


def _map(pre: str) -> Runs:
    a = {"dtypes": [F, I], "shared_name": pre + "map"}
    call = lambda name, **k: getattr(r, pre + name)(**k, **a)  # noqa: E731
    puts = [call("MapStage", key=hr.constant(n, I), indices=[0, 1],
                 values=[hr.constant(float(n)), hr.constant(n, I)]) for n in (2, 1)]  # fmt: skip
    part = call("MapStage", key=hr.constant(3, I), indices=[0], values=[hr.constant(3.0)])
    size, missing = call("MapSize"), call("MapIncompleteSize")
    peek = call("MapPeek", key=hr.constant(2, I), indices=[0, 1])
    out = call("MapUnstage", key=hr.constant(2, I), indices=[0, 1])
    some = call("MapUnstageNoKey", indices=[0, 1])
    clear = call("MapClear")
    return [[puts[0]], [puts[1]], [part], [size, missing], list(peek), list(out),
            [some.key, *some.values], [puts[0]], [puts[0]], [clear], [size, missing]]  # fmt: skip


SMALL_BATCH = {7: "TensorFlow's priority queue takes no small last batch"}
PROGRAMS = [
    *[Program(f"{k}{v}", lambda k=k, v=v: _queue(k, v), random=k.startswith("Random"),
             differences=SMALL_BATCH if k == "PriorityQueue" else {})
      for k in ("FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue", "PriorityQueue")
      for v in ("", "V2")],
    Program("accumulator", lambda: _accumulator(False)),
    Program("resource accumulator", lambda: _accumulator(True)),
    Program("sparse accumulator", _sparse_accumulator),
    Program("barrier", _barrier),
    Program("stage", _stage),
    Program("map stage", lambda: _map("")),
    Program("ordered map stage", lambda: _map("Ordered")),
]  # fmt: skip
