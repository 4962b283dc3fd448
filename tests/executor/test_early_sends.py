"""A segment sends its outputs to other devices and tasks as soon as each is complete.

Modules: executor/executor_segments, executor/asynchronous_nodes, plan/schedule_writer,
passes/graph_ir.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from worker_steps import DEVICES, Tasks

import headrace.graph as hr
from headrace.formats import errors
from headrace.formats.proto.run_pb2 import RunMetadata

NEAR, FAR = "/cpu:0", "/cpu:1"
HERE, THERE = DEVICES[0], DEVICES[2]
SIZE = 300  # of matrices whose product takes long enough to be seen in a trace


def _session(threads: int = 1) -> hr.Session:
    config = hr.ConfigProto(device_count={"CPU": 2}, intra_op_parallelism_threads=threads)
    return hr.Session(config=config)


def _long(x: hr.Tensor, products: int = 4) -> hr.Tensor:
    """A chain of matrix products, whose elements stay small."""
    for _ in range(products):
        x = hr.matmul(x, x) / float(SIZE)
    return x


def _matrix(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=[SIZE, SIZE]).astype(np.float32)


class Span:
    """When a node ran, in nanoseconds."""

    def __init__(self, stats: Any) -> None:
        self.start = stats.all_start_nanos
        self.end = stats.all_start_nanos + stats.op_end_rel_nanos


def _spans(metadata: RunMetadata) -> dict[str, Span]:
    """By the name of a node; a Send's and a Recv's label is "NAME = OP"."""
    found = {}
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            op = node.timeline_label.partition(" = ")[2]
            found[f"{node.node_name}" + (f" {op}" if op in ("_Send", "_Recv") else "")] = Span(node)
    return found


def _traced(session: hr.Session, fetches: Any, feeds: Any) -> tuple[Any, dict[str, Span]]:
    metadata = hr.RunMetadata()
    options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
    return session.run(fetches, feeds, options, metadata), _spans(metadata)


def _sends(spans: dict[str, Span]) -> list[Span]:
    return [span for name, span in spans.items() if name.endswith("_Send")]


# ---- when ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2], ids=["one thread", "a team"])
def test_a_value_is_sent_before_the_rest_of_its_segment_has_run(threads: int) -> None:
    x = hr.placeholder(hr.float32, [SIZE, SIZE])
    with hr.device(NEAR):
        rest = hr.reduce_sum(_long(x), name="rest")
        early = hr.tanh(x, name="early")  # made last, and sent first
    with hr.device(FAR):
        there = hr.reduce_sum(early, name="there")
    fed = _matrix()
    with _session(threads) as session:
        plain = session.run([rest, there], {x: fed})
        for _ in range(3):
            found, spans = _traced(session, [rest, there], {x: fed})
            np.testing.assert_allclose(found, plain, rtol=1e-5)
            (send,) = _sends(spans)
            assert spans["early"].end <= send.start <= send.end < spans["rest"].start
            assert send.end - send.start < 1e9
    np.testing.assert_allclose(plain[1], np.tanh(fed).sum(), rtol=1e-3)


def test_each_send_of_a_segment_is_traced_once() -> None:
    x = hr.placeholder(hr.float32, [64])
    with hr.device(NEAR):
        values = [hr.tanh(x * float(k + 1), name=f"value{k}") for k in range(5)]
        rest = hr.reduce_sum(hr.add_n(values))
    with hr.device(FAR):
        there = [hr.identity(value) for value in values]
    with _session() as session:
        metadata = hr.RunMetadata()
        options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
        session.run([rest, *there], {x: np.ones(64)}, options, metadata)
    labels = [n.timeline_label for d in metadata.step_stats.dev_stats for n in d.node_stats]
    assert sum("_Send" in label for label in labels) == 5
    assert sum("_Recv" in label for label in labels) == 5


def test_another_task_works_while_the_segment_still_runs() -> None:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float32, [SIZE, SIZE])
        with hr.device(HERE):
            rest = hr.reduce_sum(_long(x, 40), name="rest")
            early = hr.tanh(x[:4, :4], name="early")
        with hr.device(THERE):
            there = hr.reduce_sum(early, name="there")
        tasks = Tasks(graph.as_graph_def())
        fed = {x.name: _matrix()}
        tasks.run([rest.name, there.name], fed)
        ahead = 0
        for _ in range(10):  # of a machine that does other work, too
            traces: list[bytes] = []
            tasks.run([rest.name, there.name], fed, traces=traces)
            spans: dict[str, Span] = {}
            for trace in traces:
                spans |= _spans(RunMetadata.FromString(trace))
            ahead += spans["there"].end < spans["rest"].start
        tasks.close()
    assert ahead >= 5


# ---- what ----------------------------------------------------------------------------------------

# Each takes a value that was sent, and returns what the segment does with it afterwards.
LATER: dict[str, Callable[[hr.Tensor], hr.Tensor]] = {
    "a chain in place": lambda y: hr.exp(hr.negative(hr.square(y + 1.0) * 2.0) + 3.0),
    "views": lambda y: hr.reshape(hr.reshape(y, [-1]) * 2.0, [2, -1]) + 1.0,
    "rows in place": lambda y: hr.raw_ops.InplaceUpdate(x=y, i=[0], v=hr.zeros_like(y[:1])),
    "a sum": lambda y: hr.add_n([y, y, hr.ones_like(y)]),
    "a transposition": lambda y: hr.transpose(y) * 0.5,
}


@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("rows", [2, 64], ids=["small", "large"])
def test_what_the_segment_does_later_does_not_change_what_was_sent(name: str, rows: int) -> None:
    x = hr.placeholder(hr.float32, [rows, 128])
    with hr.device(NEAR):
        y = x * 3.0 - 1.0
        later = LATER[name](y)
        seen = hr.reshape(y, [-1])  # two views of one value
    with hr.device(FAR):
        there = [hr.identity(y), hr.identity(seen)]
    fed = np.random.default_rng(1).normal(size=[rows, 128]).astype(np.float32)
    expected = fed * np.float32(3.0) - np.float32(1.0)
    with _session() as session:
        for _ in range(3):
            found = session.run([later, *there], {x: fed})
            np.testing.assert_array_equal(found[1], expected)
            np.testing.assert_array_equal(found[2], expected.reshape(-1))


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
def test_a_variable_that_takes_the_buffer_is_updated_in_another(resource: bool) -> None:
    x = hr.placeholder(hr.float32, [4096])
    with hr.device(NEAR):
        v = hr.get_variable("v", [4096], use_resource=resource)
        y = x * 2.0
        kept = v.assign(y)
        with hr.control_dependencies([kept]):
            added = v.assign_add(hr.ones([4096]))
        with hr.control_dependencies([added]):
            scaled = v.assign(v.read_value() * 10.0)
        with hr.control_dependencies([scaled]):
            rows = hr.scatter_update(v, [0], [7.0]) if not resource else v.assign_sub(v * 0.0)
    with hr.device(FAR):
        there = hr.identity(y)
        read = hr.identity(v.read_value())
    ones = np.ones(4096, np.float32)
    with _session() as session:
        session.run(v.initializer)
        before = session.run(v)
        for k in range(1, 6):
            first, second, _ = session.run([there, read, rows.op], {x: ones * k})
            np.testing.assert_array_equal(first, ones * 2 * k)
            np.testing.assert_array_equal(second, before)  # a read comes before the writes
            before = session.run(v)
            assert before[-1] == (2 * k + 1) * 10


def test_strings_lists_and_empty_tensors_are_sent() -> None:
    x = hr.placeholder(hr.float32, [None])
    with hr.device(NEAR):
        words = hr.as_string(x)
        items = hr.raw_ops.TensorListFromTensor(tensor=hr.stack([x, x * 2.0]), element_shape=[-1])
        none = x[:0] * 2.0
        rest = hr.reduce_sum(hr.sin(x)) + hr.cast(hr.size(words), hr.float32)
    with hr.device(FAR):
        joined = hr.reduce_join(words, 0)
        stacked = hr.raw_ops.TensorListStack(
            input_handle=items, element_shape=[-1], element_dtype=hr.float32
        )
        nothing = hr.concat([none, none], 0)
    with _session() as session:
        for n in (1, 3, 1):
            found = session.run([joined, stacked, nothing, rest], {x: np.arange(n)})
            assert len(found[0]) == 8 * n and found[1].shape == (2, n) and found[2].shape == (0,)


def test_a_loop_sends_the_value_of_each_iteration() -> None:
    with hr.Graph().as_default() as graph:
        x = hr.placeholder(hr.float64, [8])

        def body(i: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
            with hr.device(HERE):
                early = hr.tanh(a + hr.cast(i, hr.float64))
                rest = hr.sin(hr.cos(early) * 2.0) + a
            with hr.device(THERE):
                far = early * 2.0 + b
            return i + 1, rest, far

        with hr.device(HERE):
            found = hr.while_loop(lambda i, *_: i < 9, body, [0, x, x], parallel_iterations=4)
        tasks = Tasks(graph.as_graph_def())
        fed = np.linspace(-1.0, 1.0, 8)
        for scale in (1.0, 0.5, 2.0):
            a, b = fed * scale, fed * scale
            for i in range(9):
                early = np.tanh(a + i)
                a, b = np.sin(np.cos(early) * 2.0) + a, early * 2.0 + b
            got = tasks.run([t.name for t in found[1:]], {x.name: fed * scale})
            np.testing.assert_allclose(got, [a, b], rtol=1e-12)
        tasks.close()


def test_dead_values_and_live_ones_arrive() -> None:
    x = hr.placeholder(hr.float32, [16])
    which = hr.placeholder(hr.bool, [])

    def branch(scale: float) -> hr.Tensor:
        with hr.device(NEAR):
            early = x * scale
            rest = hr.reduce_sum(hr.exp(hr.tanh(early)))
        with hr.device(FAR):
            return early + rest

    y = hr.cond(which, lambda: branch(2.0), lambda: branch(-1.0))
    ones = np.ones(16)
    with _session() as session:
        for taken in (True, False, False, True):
            scale = 2.0 if taken else -1.0
            found = session.run(y, {x: ones, which: taken})
            np.testing.assert_allclose(found, scale + 16 * np.exp(np.tanh(scale)), rtol=1e-5)


def test_a_partial_run_sends_what_it_has() -> None:
    x, z = (hr.placeholder(hr.float32, [8]) for _ in range(2))
    with hr.device(NEAR):
        early = x * 2.0
        rest = hr.reduce_sum(hr.tanh(early))
    with hr.device(FAR):
        there = early + 1.0
        last = there + z
    with _session() as session:
        for k in (1.0, 2.0):
            handle = session.partial_run_setup([there, rest, last], [x, z])
            assert session.partial_run(handle, there, {x: np.full(8, k)})[0] == 2 * k + 1
            assert session.partial_run(handle, last, {z: np.ones(8)})[0] == 2 * k + 2
            session.partial_run(handle, rest)


# ---- steps that do not go well -------------------------------------------------------------------


def _failing_later() -> tuple[hr.Tensor, list[hr.Tensor]]:
    x = hr.placeholder(hr.float32, [64])
    with hr.device(HERE):
        early = hr.tanh(x)
        checked = hr.check_numerics(hr.log(early), "not a number", name="checked")
        rest = hr.reduce_sum(checked)
    with hr.device(THERE):
        there = hr.reduce_sum(early)
    return x, [rest, there]


def test_a_segment_that_fails_after_it_has_sent_fails_the_step_and_not_the_next_one() -> None:
    with hr.Graph().as_default() as graph:
        x, fetches = _failing_later()
        names = [t.name for t in fetches]
        tasks = Tasks(graph.as_graph_def())
        with hr.Session(config=hr.ConfigProto(allow_soft_placement=True)) as session:
            expected = session.run(fetches, {x: np.ones(64)})
        for _ in range(20):
            with pytest.raises(errors.OpError) as caught:
                tasks.run(names, {x.name: -np.ones(64, np.float32)})
            if isinstance(caught.value, errors.InvalidArgumentError):
                assert caught.value.node_name == "checked"
            else:  # what another task says of it
                assert isinstance(caught.value, errors.CancelledError)
            got = tasks.run(names, {x.name: np.ones(64, np.float32)})
            np.testing.assert_allclose(got, expected, rtol=1e-6)
        tasks.close()


def test_in_one_session_the_error_is_that_of_the_node() -> None:
    x = hr.placeholder(hr.float32, [64])
    with hr.device(NEAR):
        early = hr.tanh(x)
        rest = hr.reduce_sum(hr.check_numerics(hr.log(early), "not a number", name="checked"))
    with hr.device(FAR):
        there = hr.reduce_sum(early)
    for threads in (1, 2):
        with _session(threads) as session:
            for _ in range(10):
                with pytest.raises(errors.InvalidArgumentError, match="not a number") as caught:
                    session.run([rest, there], {x: -np.ones(64)})
                assert caught.value.node_name == "checked"
                assert len(session.run([rest, there], {x: np.ones(64)})) == 2


def test_runs_that_are_cancelled_while_they_send_leave_the_session_usable() -> None:
    x = hr.placeholder(hr.float32, [SIZE, SIZE])
    with hr.device(NEAR):
        values = [hr.tanh(x * float(k)) for k in range(8)]
        rest = hr.reduce_sum(_long(hr.add_n(values), 30))
    with hr.device(FAR):
        there = [hr.reduce_sum(value) for value in values]
    fed = _matrix()
    with _session() as session:
        expected = session.run([rest, *there], {x: fed})
        for timeout in range(1, 30, 3):
            try:
                session.run([rest, *there], {x: fed}, options=hr.RunOptions(timeout_in_ms=timeout))
            except errors.DeadlineExceededError:
                pass
        np.testing.assert_array_equal(session.run([rest, *there], {x: fed}), expected)


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
def test_a_variable_is_read_once_though_the_segment_is_planned_again(resource: bool) -> None:
    """A variable that gets another shape makes the segment run again from its start: what it has
    sent by then, and what it reads now, must not differ."""
    fed = hr.placeholder(hr.float32, [SIZE, SIZE])
    with hr.device(NEAR):
        u = hr.get_variable("u", initializer=hr.zeros([4]), use_resource=resource)
        w = hr.get_variable(
            "w", initializer=hr.zeros([1]), validate_shape=False, use_resource=resource
        )
        early = u.read_value() + 0.0
        product = _long(fed, 60)
        with hr.control_dependencies([product]):
            shaped = w.read_value()
        here = early + hr.reduce_sum(shaped) * 0.0
    with hr.device(FAR):
        there = hr.identity(early)
    value = hr.placeholder(hr.float32, [4])
    other = hr.placeholder(hr.float32, [None])
    if resource:
        change = [
            hr.raw_ops.AssignVariableOp(resource=u.handle, value=value),
            hr.raw_ops.AssignVariableOp(resource=w.handle, value=other),
        ]
    else:
        change = [
            hr.assign(u, value),
            hr.assign(w, other, validate_shape=False),
        ]
    change_all = hr.group(*change)
    matrix = _matrix()
    with _session() as session:
        session.run(hr.global_variables_initializer())
        session.run([here, there, product.op], {fed: matrix})
        done = threading.Event()

        def work() -> None:
            k = 0
            while not done.wait(0.02):
                k += 1
                session.run(change_all, {value: np.full(4, k), other: np.zeros(1 + k % 7)})

        thread = threading.Thread(target=work)
        thread.start()
        try:
            for _ in range(30):
                try:
                    found = session.run([here, there, product.op], {fed: matrix})
                except errors.AbortedError:  # changed at each attempt
                    continue
                np.testing.assert_array_equal(found[0], found[1])
        finally:
            done.set()
            thread.join()
