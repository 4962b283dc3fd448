"""Constants that reach what outlives the session that made them: shared state, other tasks.

Modules: graph/attributes, memory/buffer, executor/asynchronous_nodes.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from typing import Any

import child_process
import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats import services

raw = hr.raw_ops
# Long enough for memory of its own, short enough to be given to someone else soon.
TEXTS = [b"the first text of a constant", b"", b"another text, which is longer than the first one"]
FORMS = {
    "constant": lambda: hr.constant(TEXTS),
    "folded": lambda: hr.identity(hr.concat([hr.constant(TEXTS[:1]), hr.constant(TEXTS[1:])], 0)),
    "default": lambda: hr.placeholder_with_default(hr.constant(TEXTS), [3]),
}
_names = itertools.count()


def _queue(text: Any) -> tuple[Any, Any]:
    queue = hr.FIFOQueue(-1, [hr.string], shapes=[[3]], shared_name="kept")
    return queue.enqueue(text), queue.dequeue()


def _queue_of_rows(text: Any) -> tuple[Any, Any]:
    queue = hr.FIFOQueue(-1, [hr.string], shapes=[[]], shared_name="kept")
    return queue.enqueue_many(text), queue.dequeue_many(3)


def _priority_queue(text: Any) -> tuple[Any, Any]:
    queue = hr.PriorityQueue(-1, [hr.string], shapes=[[3]], shared_name="kept")
    return queue.enqueue([hr.constant(1, hr.int64), text]), queue.dequeue()[1]


def _reference_variable(text: Any) -> tuple[Any, Any]:
    slot = raw.VariableV2(shape=[3], dtype=hr.string, shared_name="kept")
    return raw.Assign(ref=slot, value=text), raw.Identity(input=slot)


def _resource_variable(text: Any) -> tuple[Any, Any]:
    handle = raw.VarHandleOp(dtype=hr.string, shape=[3], shared_name="kept")
    put = raw.AssignVariableOp(resource=handle, value=text)
    return put, raw.ReadVariableOp(resource=handle, dtype=hr.string)


def _table(text: Any) -> tuple[Any, Any]:
    table = raw.HashTableV2(key_dtype=hr.int64, value_dtype=hr.string, shared_name="kept")
    keys = hr.constant([1, 2, 3], hr.int64)
    find = raw.LookupTableFindV2(table_handle=table, keys=keys, default_value=b"none")
    return raw.LookupTableImportV2(table_handle=table, keys=keys, values=text), find


def _mutable_table(text: Any) -> tuple[Any, Any]:
    table = raw.MutableHashTableOfTensorsV2(
        key_dtype=hr.int64, value_dtype=hr.string, value_shape=[3], shared_name="kept"
    )
    key = hr.constant(1, hr.int64)
    find = raw.LookupTableFindV2(table_handle=table, keys=key, default_value=[b"a", b"b", b"c"])
    put = raw.LookupTableInsertV2(table_handle=table, keys=[key], values=[text])
    return put, find


def _staging_area(text: Any) -> tuple[Any, Any]:
    put = raw.Stage(values=[text], shared_name="kept")
    return put, raw.Unstage(dtypes=[hr.string], shared_name="kept")[0]


def _staging_map(text: Any) -> tuple[Any, Any]:
    key = hr.constant(7, hr.int64)
    put = raw.MapStage(key=key, indices=[0], values=[text], dtypes=[hr.string], shared_name="kept")
    got = raw.MapUnstage(key=key, indices=[0], dtypes=[hr.string], shared_name="kept")
    return put, got[0]


def _barrier(text: Any) -> tuple[Any, Any]:
    barrier = raw.Barrier(component_types=[hr.string], shapes=[[3]], shared_name="kept")
    put = raw.BarrierInsertMany(handle=barrier, keys=[b"key"], values=[text], component_index=0)
    taken = raw.BarrierTakeMany(handle=barrier, num_elements=1, component_types=[hr.string])
    return put, taken[2][0][0]


def _keys_of_a_barrier(text: Any) -> tuple[Any, Any]:
    barrier = raw.Barrier(component_types=[hr.int32], shapes=[[]], shared_name="kept")
    put = raw.BarrierInsertMany(handle=barrier, keys=text, values=[1, 2, 3], component_index=0)
    taken = raw.BarrierTakeMany(handle=barrier, num_elements=3, component_types=[hr.int32])
    return put, taken[1]


def _iterator(text: Any) -> tuple[Any, Any]:
    dataset = hr.data.Dataset.from_tensors(text).cache().repeat()
    iterator = hr.data.Iterator.from_structure(hr.string, hr.TensorShape([3]), shared_name="kept")
    return iterator.make_initializer(dataset), iterator.get_next()


PLACES = [
    _queue, _queue_of_rows, _priority_queue, _reference_variable, _resource_variable, _table,
    _mutable_table, _staging_area, _staging_map, _barrier, _keys_of_a_barrier, _iterator,
]  # fmt: skip


def _churn() -> None:
    """Overwrites memory of the sizes that a session has freed."""
    gc.collect()
    kept = [bytes([i % 251]) * size for size in range(16, 1024, 8) for i in range(20)]
    with hr.Graph().as_default(), hr.Session() as session:
        session.run(hr.constant([b"x" * 40] * 100))
    del kept


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__.strip("_"))
def test_a_text_is_kept_as_long_as_what_holds_it(
    place: Callable[[Any], tuple[Any, Any]], form: str
) -> None:
    target = f"local://texts{next(_names)}"
    with hr.Graph().as_default():
        put, _ = place(FORMS[form]())
        with hr.Session(target) as session:
            session.run(put)
    del put, session
    _churn()
    with hr.Graph().as_default(), hr.Session(target) as session:
        got = session.run(place(hr.constant(TEXTS))[1])
    assert sorted(np.ravel(got).tolist()) == sorted(TEXTS)


def test_a_fetched_text_outlives_its_session() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        got = session.run(FORMS["constant"]())
    _churn()
    assert got.tolist() == TEXTS


@pytest.mark.parametrize("content", [False, True], ids=["string_val", "tensor_content"])
def test_texts_of_either_form_of_a_message_are_kept(content: bool) -> None:
    def run(values: bytes, fetch: list[str], target: list[str]) -> list[Any]:
        service = services.find_service(services.SESSIONS, "local")("local://forms", b"")
        service.extend(values)
        got = service.prepare([], fetch, target)([])
        service.close()
        return got

    with hr.Graph().as_default() as graph:
        _queue(hr.constant(TEXTS, name="texts"))
    graph_def = graph.as_graph_def()
    if content:  # all lengths first, then all bytes
        tensor = next(node for node in graph_def.node if node.name == "texts").attr["value"].tensor
        del tensor.string_val[:]
        tensor.tensor_content = bytes(len(text) for text in TEXTS) + b"".join(TEXTS)
    run(graph_def.SerializeToString(), [], ["fifo_queue_enqueue"])
    _churn()
    got = run(graph.as_graph_def().SerializeToString(), ["fifo_queue_Dequeue:0"], [])
    assert got[0].tolist() == TEXTS


@pytest.mark.parametrize("value", ["np.arange(5000.0)", "np.array([b'a text of a task'] * 300)"])
def test_a_constant_sent_to_another_task_outlives_the_partition_that_sent_it(value: str) -> None:
    printed = child_process.output(
        f"""
    import gc
    from worker_steps import DEVICES, Tasks
    value = {value}
    with hr.Graph().as_default() as graph, hr.device(DEVICES[2]):
        sent = hr.constant(value, name="sent")
    tasks = Tasks(graph.as_graph_def())
    plan, numbers = tasks.plan([], [sent.name])
    rendezvous = tasks.runtime.open_rendezvous()
    for end in [rendezvous.run(tasks.workers[task], n, 1) for task, n in numbers.items()]:
        end(30.0)
    edge = plan.fetch[0]
    tasks.close()
    del tasks, plan, graph, sent
    gc.collect()
    others = [bytes([7]) * n for n in range(512, 100_000, 512) for _ in range(4)]
    assert np.array_equal(rendezvous.recv(edge), value)
    print("kept")
        """,
        MALLOC_PERTURB_="165",
    )
    assert printed == "kept\n"


def test_repeated_elements_share_their_bytes() -> None:
    """A message of 1 MB, whose 100,000 equal elements would take 100 GB as copies."""
    with hr.Graph().as_default() as graph:
        hr.constant([b"m" * 1_000_000], name="many")[-1]  # noqa: B018
    graph_def = graph.as_graph_def()
    tensor = next(node for node in graph_def.node if node.name == "many").attr["value"].tensor
    tensor.tensor_shape.dim[0].size = 100_000
    service = services.find_service(services.SESSIONS, "local")("", b"")
    service.extend(graph_def.SerializeToString())
    last = next(node.name for node in graph_def.node if node.op == "StridedSlice")
    assert service.prepare([], [f"{last}:0"], [])([])[0] == b"m" * 1_000_000
    service.close()
