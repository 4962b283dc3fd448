"""Fed values are checked against the placeholders before anything runs.

Modules: passes/fed_values, memory/arrays.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.errors import InvalidArgumentError
from headrace.formats.services import SESSIONS, find_service


def _service(executor: str = "") -> Any:
    config = hr.ConfigProto()
    config.experimental.executor_type = executor
    return find_service(SESSIONS, "local")("", config.SerializeToString())


def _step(build: Callable[[], Any], feeds: list[str], executor: str = "") -> Any:
    """The step that fetches the result of `build`."""
    with hr.Graph().as_default() as graph:
        fetch = build().name
        service = _service(executor)
        service.extend(graph.as_graph_def().SerializeToString())
        return service.prepare(feeds, [fetch], [])


def _passed_on(dtype: Any, shape: Any) -> Callable[[], Any]:
    return lambda: hr.identity(hr.placeholder(dtype, shape, name="x"))


@pytest.mark.parametrize("executor", ["", "dynamic"])
@pytest.mark.parametrize(
    ("shape", "fed", "shown"),
    [
        ([None, 3], [2, 4], "[?, 3]"),
        ([None, 3], [3], "[?, 3]"),
        ([2], [2, 1], "[2]"),
        ([], [1], "[]"),
        ([0, 2], [1, 2], "[0, 2]"),
    ],
)
def test_a_value_of_another_shape_is_rejected_with_both_shapes(
    shape: list[int | None], fed: list[int], shown: str, executor: str
) -> None:
    step = _step(_passed_on(hr.float32, shape), ["x:0"], executor)
    with pytest.raises(InvalidArgumentError) as caught:
        step([np.zeros(fed, np.float32)])
    assert caught.value.message == (
        f"Cannot feed value of shape {fed} for Tensor 'x:0', which has shape {shown}"
    )
    assert caught.value.node_name == "x"


@pytest.mark.parametrize("shape", [None, [None, None], [2, None], [2, 3]])
@pytest.mark.parametrize("executor", ["", "dynamic"])
def test_a_value_of_a_shape_that_fits_is_taken(shape: Any, executor: str) -> None:
    step = _step(_passed_on(hr.float32, shape), ["x:0"], executor)
    assert step([np.ones([2, 3], np.float32)])[0].shape == (2, 3)


def test_a_fetch_of_the_feed_itself_checks_it_too() -> None:
    with hr.Graph().as_default() as graph:
        hr.placeholder(hr.float32, [2], name="x")
        service = _service()
        service.extend(graph.as_graph_def().SerializeToString())
        step = service.prepare(["x:0"], ["x:0"], [])
    with pytest.raises(InvalidArgumentError, match="which has shape"):
        step([np.zeros(3, np.float32)])


@pytest.mark.parametrize("executor", ["", "dynamic"])
@pytest.mark.parametrize("value", [np.zeros(2, np.complex64), np.array([None, None]), "word"])
def test_a_value_of_another_kind_is_rejected_with_both_dtypes(value: Any, executor: str) -> None:
    step = _step(_passed_on(hr.float32, [2]), ["x:0"], executor)
    with pytest.raises(InvalidArgumentError, match=r"'x:0', which has dtype float"):
        step([value])


@pytest.mark.parametrize("executor", ["", "dynamic"])
def test_a_ragged_list_is_rejected(executor: str) -> None:
    step = _step(_passed_on(hr.float32, None), ["x:0"], executor)
    with pytest.raises(InvalidArgumentError, match="'x:0', which has dtype float"):
        step([[[1.0], [1.0, 2.0]]])


@pytest.mark.parametrize("executor", ["", "dynamic"])
def test_a_string_feed_of_another_type_is_rejected(executor: str) -> None:
    step = _step(_passed_on(hr.string, [2]), ["x:0"], executor)
    with pytest.raises(InvalidArgumentError, match=r"'x:0', which has dtype string"):
        step([np.array([b"a", 3], object)])


@pytest.mark.parametrize("executor", ["", "dynamic"])
def test_a_bool_array_for_a_bfloat16_placeholder_is_converted_or_rejected(executor: str) -> None:
    step = _step(_passed_on(hr.bfloat16, [None]), ["x:0"], executor)
    np.testing.assert_array_equal(
        step([np.array([True, False, True] * 1000)])[0].astype(np.float32)[:3], [1.0, 0.0, 1.0]
    )


@pytest.mark.parametrize("executor", ["", "dynamic"])
@pytest.mark.parametrize("dtype", [hr.resource, hr.variant], ids=lambda dtype: dtype.name)
def test_nothing_can_be_fed_for_a_resource(dtype: Any, executor: str) -> None:
    def build() -> Any:
        x = hr.placeholder(dtype, name="x")
        if dtype == hr.variant:
            return hr.identity(x)  # no kernel takes variants yet
        return hr.raw_ops.ReadVariableOp(resource=x, dtype=hr.float32)

    step = _step(build, ["x:0"], executor)
    for value in (np.array([True] * 64), np.zeros(4), np.array([b"x"], object)):
        with pytest.raises(InvalidArgumentError, match="has no NumPy form"):
            step([value])


@pytest.mark.parametrize("executor", ["", "dynamic"])
def test_strings_do_not_leak_when_a_later_feed_is_rejected(executor: str) -> None:
    def build() -> Any:
        text = hr.placeholder(hr.string, [None], name="text")
        return hr.string_join([text, hr.as_string(hr.placeholder(hr.float32, [2], name="x"))])

    step = _step(build, ["text:0", "x:0"], executor)
    strings = np.array([b"m" * 1_000_000] * 8, object)
    before = _memory_mib()
    for _ in range(100):  # 800 MB in all
        with pytest.raises(InvalidArgumentError):
            step([strings, np.zeros(3, np.float32)])
        with pytest.raises(InvalidArgumentError):
            step([np.array([*strings[:7], 3], object), np.zeros(2, np.float32)])
    assert _memory_mib() - before < 100


def _memory_mib() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
