"""Loops with nodes on two devices give the same results as on one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError

NEAR, FAR = "/cpu:0", "/cpu:1"
BOTH = pytest.mark.parametrize("executor", ["", "dynamic"], ids=["native loops", "dynamic only"])


def _session(executor: str) -> hr.Session:
    config = hr.ConfigProto(device_count={"CPU": 2})
    config.experimental.executor_type = executor
    return hr.Session(config=config)


def _counting(x: hr.Tensor, far: str) -> hr.Tensor:
    def body(i: hr.Tensor, a: hr.Tensor) -> tuple[hr.Tensor, hr.Tensor]:
        with hr.device(far):
            b = hr.tanh(a) + 1.0
        c = b * 0.5 + x
        with hr.device(far):
            return i + 1, c - hr.cast(i, hr.float32) * b

    return hr.while_loop(lambda i, _: i < 6, body, [hr.constant(0), x])[1]


def _counted_elsewhere(x: hr.Tensor, far: str) -> hr.Tensor:
    def condition(i: hr.Tensor, a: hr.Tensor) -> hr.Tensor:
        with hr.device(far):
            return hr.logical_and(i < 6, hr.reduce_sum(a) < 1e3)

    return hr.while_loop(condition, lambda i, a: (i + 1, a * 1.5 + x), [hr.constant(0), x])[1]


def _with_branches(x: hr.Tensor, far: str) -> hr.Tensor:
    def body(i: hr.Tensor, a: hr.Tensor) -> tuple[hr.Tensor, hr.Tensor]:
        def one() -> hr.Tensor:
            with hr.device(far):
                return hr.sin(a) + hr.cond(i > 3, lambda: a * 2.0, lambda: x)

        def other() -> hr.Tensor:
            return a + 1.0

        with hr.device(far):
            even = hr.equal(i % 2, 0)
        return i + 1, hr.cond(even, one, other)

    return hr.while_loop(lambda i, _: i < 7, body, [hr.constant(0), x])[1]


def _nested(x: hr.Tensor, far: str) -> hr.Tensor:
    def inner(j: hr.Tensor, a: hr.Tensor) -> tuple[hr.Tensor, hr.Tensor]:
        with hr.device(far):
            return j + 1, a * 0.9

    def outer(i: hr.Tensor, a: hr.Tensor) -> tuple[hr.Tensor, hr.Tensor]:
        with hr.device(far):
            b = a + x
        last = hr.while_loop(lambda j, _: j < i, inner, [hr.constant(0), b])[1]
        return i + 1, last - 0.1

    return hr.while_loop(lambda i, _: i < 5, outer, [hr.constant(0), x])[1]


LOOPS: dict[str, Callable[[hr.Tensor, str], hr.Tensor]] = {
    "body on both": _counting,
    "condition elsewhere": _counted_elsewhere,
    "branches": _with_branches,
    "nested": _nested,
}


@BOTH
@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_gives_the_same_on_two_devices_as_on_one(loop: str, executor: str) -> None:
    at = np.array([0.3, -1.2, 0.8], np.float32)
    found = []
    for far in (NEAR, FAR):
        with hr.Graph().as_default(), hr.device(NEAR):
            x = hr.placeholder(hr.float32, [3])
            y = LOOPS[loop](x, far)
            with _session(executor) as session:
                found.append([session.run(y, {x: at * k}) for k in (1.0, 0.5)])
    np.testing.assert_array_equal(found[0], found[1])
    assert np.abs(found[0]).sum() > 0


def test_each_node_of_the_loop_runs_on_its_device() -> None:
    def body(i: hr.Tensor, a: hr.Tensor) -> tuple[hr.Tensor, hr.Tensor]:
        with hr.device(FAR):
            b = hr.tanh(a, name="far")
        return i + 1, hr.sin(b, name="near")

    with hr.device(NEAR):
        x = hr.placeholder(hr.float32, [2])
        loop = hr.while_loop(lambda i, _: i < 3, body, [hr.constant(0), x])[1]
    options = hr.RunOptions(trace_level=hr.RunOptions.FULL_TRACE)
    metadata = hr.RunMetadata()
    with _session("dynamic") as session:
        session.run(loop, {x: [1.0, 2.0]}, options, metadata)
    ran = {
        (device.device[-5:], node.node_name)
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
    }
    assert ("CPU:1", "while/far") in ran and ("CPU:0", "while/near") in ran, ran


@BOTH
@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
def test_a_variable_of_another_device_is_read_and_written_in_a_loop(
    resource: bool, executor: str
) -> None:
    with hr.device(FAR):
        v = hr.get_variable("v", initializer=1.0, use_resource=resource)

    def body(i: hr.Tensor, a: hr.Tensor) -> tuple[hr.Tensor, hr.Tensor]:
        with hr.device(FAR), hr.control_dependencies([v.assign_add(a)]):
            read = v.read_value()
        return i + 1, read + hr.cast(i, hr.float32)

    with hr.device(NEAR):
        n = hr.placeholder(hr.int32, [])
        loop = hr.while_loop(lambda i, _: i < n, body, [hr.constant(0), 2.0])[1]
    with _session(executor) as session:
        session.run(v.initializer)
        value, a = 1.0, 2.0
        for i in range(4):
            value += a
            a = value + i
        assert session.run(loop, {n: 4}) == a
        assert session.run(v) == value


@BOTH
def test_an_error_on_the_other_device_names_its_node(executor: str) -> None:
    x = hr.placeholder(hr.int32, [])

    def body(i: hr.Tensor, a: hr.Tensor) -> tuple[hr.Tensor, hr.Tensor]:
        with hr.device(FAR):
            b = hr.floordiv(12, a, name="divided")
        return i + 1, b - 4

    with hr.device(NEAR):
        loop = hr.while_loop(lambda i, _: i < 3, body, [hr.constant(0), x])[1]
    with _session(executor) as session:
        with pytest.raises(InvalidArgumentError, match="divided.*Integer division by zero"):
            session.run(loop, {x: 3})
        assert session.run(loop, {x: 1}) == -8
