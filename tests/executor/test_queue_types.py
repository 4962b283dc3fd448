"""Queues return the enqueued values: never another dtype or object, nor foreign memory.

Modules: kernels/queue_kernels, kernels/queue_creation, kernels/queue_batches, state/queue.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from child_process import output
from concurrently import wait_until_idle

import headrace.graph as hr
from headrace.formats.errors import CancelledError, InvalidArgumentError, OutOfRangeError


def _old_queue(name: str = "q") -> hr.Tensor:
    """A queue of the first generation: a reference to a string."""
    return hr.raw_ops.FIFOQueue(
        component_types=[hr.float32], shapes=[[]], shared_name=name, capacity=10
    )


def test_the_handle_of_a_first_generation_queue_is_not_a_variable() -> None:
    handle = _old_queue()
    put = hr.raw_ops.QueueEnqueue(handle=handle, components=[np.float32(4.0)])
    get = hr.raw_ops.QueueDequeue(handle=handle, component_types=[hr.float32])
    with hr.Session() as session:
        for _ in range(2):
            for use in (handle, hr.identity(handle), hr.identity(handle) + "x"):
                with pytest.raises(InvalidArgumentError, match="does not point at a variable"):
                    session.run(use)
        session.run(put)
        assert session.run(get) == [4.0]


def test_a_write_through_a_queue_handle_is_rejected() -> None:
    handle = _old_queue()
    assign = hr.raw_ops.Assign(ref=handle, value=b"text", validate_shape=False)
    with hr.Session() as session:
        with pytest.raises(InvalidArgumentError, match="does not point at a variable"):
            session.run(assign.op)
        assert session.run(hr.raw_ops.QueueSize(handle=handle)) == 0


def test_a_variable_is_no_queue() -> None:
    v = hr.raw_ops.VariableV2(shape=[2], dtype=hr.string)
    handle = hr.raw_ops.VarHandleOp(dtype=hr.float32, shape=[])
    with hr.Session() as session:
        for size in (
            hr.raw_ops.QueueSize(handle=v),
            hr.raw_ops.QueueSizeV2(handle=handle),
        ):
            with pytest.raises(InvalidArgumentError, match="does not point at a queue"):
                session.run(size)


@pytest.mark.parametrize("op", ["QueueDequeueV2", "QueueDequeueManyV2", "QueueDequeueUpToV2"])
@pytest.mark.parametrize("dtype", [hr.float64, hr.string, hr.int32])
def test_a_dequeue_of_other_component_types_is_rejected(op: str, dtype: hr.DType) -> None:
    queue = hr.FIFOQueue(10, [hr.float32], shapes=[[2]])
    put = queue.enqueue([[1.0, 2.0]])
    many = {} if op == "QueueDequeueV2" else {"n": 1}
    get = getattr(hr.raw_ops, op)(handle=queue.queue_ref, component_types=[dtype], **many)
    with hr.Session() as session:
        session.run(put)
        with pytest.raises(InvalidArgumentError, match="component"):
            session.run(get)
        assert session.run(queue.dequeue()).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("shape", [[2], [1], [0]])
@pytest.mark.parametrize("declared", [[], [2]])
def test_a_priority_that_is_not_a_scalar_is_rejected(shape: list[int], declared: list[int]) -> None:
    queue = hr.raw_ops.PriorityQueueV2(component_types=[hr.float32], shapes=[declared], capacity=9)
    priority = hr.placeholder(hr.int64)
    value = np.ones(declared, np.float32)
    put = hr.raw_ops.QueueEnqueueV2(handle=queue, components=[priority, value])
    put_many = hr.raw_ops.QueueEnqueueManyV2(
        handle=queue, components=[priority, np.ones([3, *declared], np.float32)]
    )
    size = hr.raw_ops.QueueSizeV2(handle=queue)
    with hr.Session() as session:
        with pytest.raises(InvalidArgumentError, match="[Ss]hape"):
            session.run(put, {priority: np.ones(shape, np.int64)})
        with pytest.raises(InvalidArgumentError, match="[Ss]hape"):
            session.run(put_many, {priority: np.ones([3, *shape], np.int64)})
        assert session.run(size) == 0
        session.run(put, {priority: 7})
        assert session.run(size) == 1


def test_a_priority_queue_returns_the_least_first_and_equals_in_order() -> None:
    queue = hr.raw_ops.PriorityQueueV2(component_types=[hr.int32], shapes=[[]], capacity=2000)
    rng = np.random.default_rng(7)
    priorities = rng.integers(0, 20, 1000)
    put = hr.raw_ops.QueueEnqueueManyV2(
        handle=queue, components=[priorities, np.arange(1000, dtype=np.int32)]
    )
    get = hr.raw_ops.QueueDequeueManyV2(handle=queue, n=1000, component_types=[hr.int64, hr.int32])
    with hr.Session() as session:
        session.run(put)
        first, number = session.run(get)
    order = np.argsort(priorities, kind="stable")
    np.testing.assert_array_equal(first, priorities[order])
    np.testing.assert_array_equal(number, order)


@pytest.mark.parametrize(("kind", "most"), [("RandomShuffleQueueV2", 8), ("PriorityQueueV2", 30)])
def test_taking_from_a_queue_does_not_cost_in_proportion_to_its_length(
    kind: str, most: float
) -> None:
    def seconds(length: int) -> float:
        priority = kind == "PriorityQueueV2"
        queue = getattr(hr.raw_ops, kind)(
            component_types=[hr.int32], shapes=[[]], capacity=1_000_000
        )
        components = [np.arange(length, dtype=np.int32)]
        types = [hr.int32]
        if priority:
            components = [np.arange(length, dtype=np.int64), *components]
            types = [hr.int64, *types]
        put = hr.raw_ops.QueueEnqueueManyV2(handle=queue, components=components)
        get = hr.raw_ops.QueueDequeueManyV2(handle=queue, n=2000, component_types=types)
        with hr.Session() as session:
            session.run(put)
            times = []
            for _ in range(3):
                start = time.process_time()  # what others run beside it counts for nothing
                session.run(get)
                times.append(time.process_time() - start)
            return min(times)

    short, long = seconds(10_000), seconds(400_000)
    assert long < most * short, (short, long)  # 40 times as long; linear: more than 200 times


def test_a_shuffled_queue_returns_every_element_once_in_another_order() -> None:
    queue = hr.RandomShuffleQueue(1000, 0, [hr.int32], shapes=[[]], seed=3)
    put = queue.enqueue_many([np.arange(500, dtype=np.int32)])
    get = queue.dequeue_many(500)
    with hr.Session() as session:
        session.run(put)
        got = session.run(get)
    assert sorted(got.tolist()) == list(range(500)) and got.tolist() != list(range(500))


def test_an_enqueue_that_finds_no_memory_fails_and_queues_nothing() -> None:
    printed = output(
        """
        import resource
        queue = hr.FIFOQueue(10, [hr.uint8])
        fed = hr.placeholder(hr.uint8)
        put = queue.enqueue([fed])
        many = queue.enqueue_many([fed])
        size = queue.size()
        session = hr.Session()
        value = np.ones(300 << 20, np.uint8)
        session.run(put, {fed: np.ones(3, np.uint8)})
        used = int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20), used + (200 << 20)))
        for op, fed_value in ((put, value), (many, value.reshape(1, -1))):
            try:
                session.run(op, {fed: fed_value})
                print("no error")
            except hr.errors.ResourceExhaustedError as error:
                print("exhausted", session.run(size))
        """
    )
    assert printed == "exhausted 1\n" * 2


def test_a_cancelled_random_or_priority_dequeue_puts_back_what_it_took() -> None:
    for kind, types in (("RandomShuffleQueueV2", 1), ("PriorityQueueV2", 2)):
        queue = getattr(hr.raw_ops, kind)(component_types=[hr.int32], shapes=[[]], capacity=100)
        dtypes = [hr.int64, hr.int32][2 - types :]
        parts = [np.arange(5, dtype=d.as_numpy_dtype) for d in dtypes]
        put = hr.raw_ops.QueueEnqueueManyV2(handle=queue, components=parts)
        get = hr.raw_ops.QueueDequeueManyV2(handle=queue, n=10, component_types=dtypes)
        rest = hr.raw_ops.QueueDequeueManyV2(handle=queue, n=5, component_types=dtypes)
        with hr.Session() as session:
            session.run(put)
            with pytest.raises(hr.errors.DeadlineExceededError):
                session.run(get, options=hr.RunOptions(timeout_in_ms=50))
            assert session.run(hr.raw_ops.QueueSizeV2(handle=queue)) == 5
            assert sorted(session.run(rest)[-1].tolist()) == [0, 1, 2, 3, 4]


def test_an_empty_batch_of_many_components_of_unknown_shape_is_rejected() -> None:
    queue = hr.FIFOQueue(10, [hr.int32])
    with (
        hr.Session() as session,
        pytest.raises(InvalidArgumentError, match="require the components"),
    ):
        session.run(queue.dequeue_many(0))


@pytest.mark.parametrize("kind", ["FIFOQueue", "RandomShuffleQueue"])
def test_a_batch_of_elements_whose_shapes_are_not_declared_is_rejected(kind: str) -> None:
    least = [0] if kind == "RandomShuffleQueue" else []
    queue = getattr(hr, kind)(10, *least, dtypes=[hr.int32])
    with hr.Session() as session:
        session.run(queue.enqueue([[1, 2]]))
        for batch in (queue.dequeue_many(1), queue.dequeue_up_to(1)):
            with pytest.raises(InvalidArgumentError, match=f"{kind}'s DequeueMany and DequeueUpTo"):
                session.run(batch)
        assert session.run(queue.dequeue()).tolist() == [1, 2]


@pytest.mark.parametrize("kind", ["FIFOQueueV2", "PaddingFIFOQueueV2"])
@pytest.mark.parametrize("values", [([1, 2], 7), (7, [1, 2]), ([1, 2], [[3]])])
def test_a_batch_of_elements_of_different_ranks_is_rejected(kind: str, values: Any) -> None:
    handle = getattr(hr.raw_ops, kind)(component_types=[hr.int32], shapes=[None])
    puts = [hr.raw_ops.QueueEnqueueV2(handle=handle, components=[hr.constant(v)]) for v in values]
    batch = hr.raw_ops.QueueDequeueManyV2(handle=handle, n=2, component_types=[hr.int32])
    with hr.Session() as session:
        for put in puts:
            session.run(put)
        with pytest.raises(InvalidArgumentError, match="different shapes do not make a batch"):
            session.run(batch)


@pytest.mark.parametrize("kind", ["FIFOQueueV2", "RandomShuffleQueueV2", "PaddingFIFOQueueV2"])
def test_a_queue_has_a_shape_for_each_component_or_none(kind: str) -> None:
    for types, shapes in (([hr.int32], [[], [2]]), ([hr.int32, hr.int32], [[]]), ([hr.int32], [])):
        handle = getattr(hr.raw_ops, kind)(component_types=types, shapes=shapes)
        size = hr.raw_ops.QueueSizeV2(handle=handle)
        with hr.Session() as session:
            if not shapes and not kind.startswith("Padding"):
                assert session.run(size) == 0
                continue
            with pytest.raises(InvalidArgumentError, match="Different number of component types"):
                session.run(size)


def test_a_batch_of_more_dimensions_than_tensors_have_is_rejected() -> None:
    queue = hr.FIFOQueue(10, [hr.int32], shapes=[[1] * 8])
    put = queue.enqueue([np.ones([1] * 8, np.int32)])
    with hr.Session() as session:
        session.run(put)
        with pytest.raises(InvalidArgumentError, match="more dimensions"):
            session.run(queue.dequeue_many(1))


def _declared(kind: str, **attrs: Any) -> hr.Tensor:
    known = {"component_types": [hr.int32], "shapes": [[2]], "capacity": 10, "shared_name": "s"}
    return getattr(hr.raw_ops, kind)(**{**known, **attrs})


INCOMPATIBLE = [
    ("FIFOQueueV2", {}, "RandomShuffleQueueV2", {}, "Expected FIFOQueue, found RandomShuffleQueue"),
    ("FIFOQueueV2", {}, "PaddingFIFOQueueV2", {}, "Expected FIFOQueue, found PaddingFIFOQueue"),
    ("FIFOQueueV2", {}, "FIFOQueueV2", {"capacity": 9},
     "Shared queue 's' has capacity 10 but requested capacity was 9"),
    ("FIFOQueueV2", {"capacity": -1}, "FIFOQueueV2", {},
     "has capacity 2147483647 but requested capacity was 10"),
    ("FIFOQueueV2", {}, "FIFOQueueV2", {"component_types": [hr.float32]},
     r"has component types \[int32\] but requested component types were \[float\]"),
    ("FIFOQueueV2", {}, "FIFOQueueV2", {"shapes": [[3]]},
     r"has component shapes \[\[2\]\] but requested component shapes were \[\[3\]\]"),
    ("FIFOQueueV2", {}, "FIFOQueueV2", {"shapes": []}, r"requested component shapes were \[\]"),
    ("PaddingFIFOQueueV2", {"shapes": [hr.TensorShape([None])]}, "PaddingFIFOQueueV2", {},
     r"has component shapes \[\[\?\]\] but requested component shapes were \[\[2\]\]"),
    ("PriorityQueueV2", {}, "PriorityQueueV2", {"component_types": [hr.float32]},
     r"has component types \[int64, int32\]"),
    ("RandomShuffleQueueV2", {}, "RandomShuffleQueueV2", {"min_after_dequeue": 3},
     "has min_after_dequeue 0 but requested min_after_dequeue was 3"),
    ("RandomShuffleQueueV2", {"seed": 1, "seed2": 2}, "RandomShuffleQueueV2",
     {"seed": 3, "seed2": 4}, r"has random seeds \(1, 2\) but requested seeds are \(3, 4\)"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "attrs", "other", "others", "words"), INCOMPATIBLE)
def test_a_shared_queue_that_is_declared_otherwise_is_rejected(
    kind: str, attrs: dict[str, Any], other: str, others: dict[str, Any], words: str
) -> None:
    with hr.Session() as session:
        first = _declared(kind, **attrs)
        session.run(hr.raw_ops.QueueSizeV2(handle=first))
        with pytest.raises(InvalidArgumentError, match=words):
            session.run(hr.raw_ops.QueueSizeV2(handle=_declared(other, **others)))
        assert session.run(hr.raw_ops.QueueSizeV2(handle=_declared(kind, **attrs))) == 0


def test_a_queue_without_requested_seeds_is_shared_with_one_that_has_them() -> None:
    seeded = _declared("RandomShuffleQueueV2", seed=1, seed2=2)
    free = _declared("RandomShuffleQueueV2")
    with hr.Session() as session:
        session.run(hr.raw_ops.QueueSizeV2(handle=seeded))
        assert session.run(hr.raw_ops.QueueSizeV2(handle=free)) == 0


@pytest.mark.parametrize("generation", ["", "V2"])
def test_a_close_waits_for_the_enqueues_before_it_and_rejects_those_after_it(
    generation: str,
) -> None:
    handle = getattr(hr.raw_ops, f"FIFOQueue{generation}")(
        component_types=[hr.int32], shapes=[[]], capacity=1
    )

    def use(op: str, **arguments: Any) -> Any:
        return getattr(hr.raw_ops, f"{op}{generation}")(handle=handle, **arguments)

    fill = use("QueueEnqueue", components=[np.int32(1)])
    late = use("QueueEnqueue", components=[np.int32(2)])
    close, get = use("QueueClose"), use("QueueDequeue", component_types=[hr.int32])
    closed, size = use("QueueIsClosed"), use("QueueSize")
    with hr.Session() as session:
        session.run(fill)
        waiting = [threading.Thread(target=session.run, args=(op,)) for op in (late, close)]
        waiting[0].start()
        wait_until_idle()
        waiting[1].start()
        wait_until_idle()
        assert not session.run(closed) and session.run(size) == 1
        assert session.run(get) == [1]
        for thread in waiting:
            thread.join(20)
        assert session.run(closed)
        with pytest.raises(CancelledError, match="FIFOQueue '.*' is closed"):
            session.run(fill)
        assert session.run(get) == [2]
        with pytest.raises(OutOfRangeError, match="FIFOQueue '.*' is closed and has insufficient"):
            session.run(get)
        with pytest.raises(CancelledError, match="Queue '.*' is already closed"):
            session.run(close)
        session.run(use("QueueClose", cancel_pending_enqueues=True))  # may be repeated


@pytest.mark.parametrize("kind", ["FIFOQueue", "PaddingFIFOQueue"])
def test_nothing_is_enqueued_and_dequeued_even_if_the_queue_is_closed(kind: str) -> None:
    queue = getattr(hr, kind)(1, hr.int32, [[]])
    put = queue.enqueue_many([np.zeros([0], np.int32)])
    get = queue.dequeue_many(0)
    with hr.Session() as session:
        session.run(queue.enqueue(1))  # full
        session.run(put)
        session.run(queue.close())
        session.run(put)
        assert session.run(get).tolist() == []


def test_a_batch_of_less_than_no_elements_is_rejected() -> None:
    queue = hr.FIFOQueue(10, [hr.int32], shapes=[[]])
    n = hr.placeholder(hr.int32, [])
    with hr.Session() as session:
        for get, op in ((queue.dequeue_many, "DequeueMany"), (queue.dequeue_up_to, "DequeueUpTo")):
            with pytest.raises(InvalidArgumentError, match=f"{op}Op requested -1 < 0"):
                session.run(get(n), {n: -1})


def test_components_that_do_not_fit_are_rejected_with_their_shapes() -> None:
    queue = hr.FIFOQueue(10, [hr.int32, hr.float32], shapes=[[2], []])
    ints, floats = hr.placeholder(hr.int32), hr.placeholder(hr.float32)
    put, many = queue.enqueue([ints, floats]), queue.enqueue_many([ints, floats])
    with hr.Session() as session:
        for op, one, other, words in (
            (
                put,
                [1, 2, 3],
                1.0,
                r"mismatch in tuple component 0. Expected \[2\], got \[3\]",
            ),
            (many, [[1, 2, 3]], [1.0], r"component 0. Expected \[1,2\], got \[1,3\]"),
            (many, [[1, 2]], [1.0, 2.0], "same size in the 0th dimension. Component 1 has 2, and"),
        ):
            with pytest.raises(InvalidArgumentError, match=words):
                session.run(op, {ints: one, floats: other})


def test_the_number_of_elements_to_dequeue_is_a_scalar() -> None:
    queue = hr.FIFOQueue(10, [hr.int32], shapes=[[]])
    fed = hr.placeholder(hr.int32)
    get = queue.dequeue_many(fed)
    with hr.Session() as session:
        for n in ([], [1], [[1, 2]]):
            with pytest.raises(InvalidArgumentError, match="scalar"):
                session.run(get, {fed: np.array(n, np.int32)})


@pytest.mark.parametrize("op", ["RandomShuffleQueue", "RandomShuffleQueueV2"])
@pytest.mark.parametrize(
    ("capacity", "minimum", "text"),
    [
        (3, 5, "min_after_dequeue 5 must be < capacity 3"),
        (3, 3, "min_after_dequeue 3 must be < capacity 3"),
        (3, -1, "min_after_dequeue -1 must be >= 0"),
    ],
)
def test_a_minimum_that_no_queue_can_exceed_is_refused(
    op: str, capacity: int, minimum: int, text: str
) -> None:
    handle = getattr(hr.raw_ops, op)(
        component_types=[hr.int32], capacity=capacity, min_after_dequeue=minimum
    )
    size = hr.raw_ops.QueueSizeV2 if op.endswith("V2") else hr.raw_ops.QueueSize
    with hr.Session() as session, pytest.raises(InvalidArgumentError, match=text):
        session.run(size(handle=handle))
