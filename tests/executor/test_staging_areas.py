"""Staging areas: bounded buffers of tuples, in order or by key.

Modules: state/synchronisation/staging_area, state/synchronisation/staging_map,
kernels/synchronisation/staging_kernels.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest
from concurrently import wait_until_idle

import headrace.graph as hr
from headrace.formats.errors import (
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    ResourceExhaustedError,
)
from headrace.graph.ops.synchronisation.staging_areas import MapStagingArea, StagingArea

BRIEFLY = hr.RunOptions(timeout_in_ms=20)


def numbers(session: hr.Session, *tensors: hr.Tensor) -> list[int]:
    return [int(session.run(t)) for t in tensors]


def test_tuples_return_in_order() -> None:
    area = hr.contrib.staging.StagingArea([hr.int32, hr.string], [[], [1]])
    i, s = hr.placeholder(hr.int32, []), hr.placeholder(hr.string, [1])
    put, get, peek, size = area.put([i, s]), area.get(), area.peek(1), area.size()
    with hr.Session() as session:
        for n in range(3):
            session.run(put, {i: n, s: [f"s{n}"]})
        assert session.run(size) == 3
        assert session.run(peek) == [1, [b"s1"]]
        assert [session.run(get)[0] for _ in range(2)] == [0, 1]
        session.run(area.clear())
        assert session.run(size) == 0
        assert session.run([get, put], {i: 7, s: ["x"]})[0] == [7, [b"x"]]


def test_named_tuples_are_dicts() -> None:
    area = StagingArea([hr.int32, hr.float32], names=["i", "f"])
    put, get = area.put({"f": hr.constant(2.0), "i": hr.constant(1)}), area.get()
    with hr.Session() as session:
        session.run(put)
        assert session.run(get) == {"i": 1, "f": 2.0}
    for values, words in (
        ([hr.constant(1), hr.constant(1.0)], "must enqueue a dictionary"),
        ({"i": hr.constant(1), "x": hr.constant(1.0)}, "do not match names"),
        ({"i": hr.constant(1.0)}, "Datatypes do not match"),
    ):
        with pytest.raises(ValueError, match=words):
            area.put(values)


def test_a_full_area_holds_up_a_put() -> None:
    for limits in ({"capacity": 1}, {"memory_limit": 12}):
        area = StagingArea([hr.float32], **limits)
        put, get = area.put([hr.constant([1.0, 2.0])]), area.get()
        with hr.Session() as session:
            session.run(put)
            with pytest.raises(DeadlineExceededError):
                session.run(put, options=BRIEFLY)
            session.run([put, get])
            assert numbers(session, area.size()) == [1]


def test_a_tuple_that_never_fits_is_rejected() -> None:
    words = "combined size of '12' bytes into Staging Area with a memory limit of '8'"
    area = StagingArea([hr.float32], memory_limit=8)
    by_key = MapStagingArea([hr.float32], memory_limit=8)
    value = hr.constant([1.0, 2.0, 3.0])
    with hr.Session() as session:
        for op in (area.put([value]), by_key.put(1, [value], [0])):
            with pytest.raises(ResourceExhaustedError, match=words):
                session.run(op)


def test_a_peek_that_waits_holds_up_no_get() -> None:
    area = StagingArea([hr.int32])
    put, get, peek = area.put([hr.constant(1)]), area.get(), area.peek(5)
    size, negative = area.size(), area.peek(-1)
    ended: list[str] = []

    def wait() -> None:
        with pytest.raises(CancelledError) as error:
            session.run([peek, put, get])
        ended.append(error.value.message)

    with hr.Session() as session:
        waiting = threading.Thread(target=wait)
        waiting.start()
        wait_until_idle()
        assert not ended and numbers(session, size) == [0]
        with pytest.raises(InvalidArgumentError, match="negative"):
            session.run(negative)
    waiting.join(120)
    assert len(ended) == 1


def test_a_get_of_another_number_of_tensors_is_rejected() -> None:
    area = StagingArea([hr.int32], shared_name="n")
    other = StagingArea([hr.int32, hr.int32], shared_name="n")
    with hr.Session() as session:
        for op in (other.get(), other.peek(0)):
            session.run(area.put([hr.constant(1)]))
            with pytest.raises(InvalidArgumentError, match="Mismatch stage/unstage: 1 vs. 2"):
                session.run(op)


@pytest.mark.parametrize("ordered", [False, True])
def test_tuples_with_keys_may_be_put_and_taken_in_parts(ordered: bool) -> None:
    area = MapStagingArea([hr.int32, hr.float32], names=["i", "f"], ordered=ordered)
    size = [area.size(), area.incomplete_size()]
    with hr.Session() as session:
        session.run(area.put(5, {"i": hr.constant(1)}))
        assert numbers(session, *size) == [0, 1]
        with pytest.raises(InvalidArgumentError, match="index '0' for key '5' was already init"):
            session.run(area.put(5, {"i": hr.constant(1)}))
        session.run(area.put(5, {"f": hr.constant(2.0)}))
        assert numbers(session, *size) == [1, 0]
        assert session.run(area.peek(5)) == {"i": 1, "f": 2.0}
        assert session.run(area.get(5, ["f"])[1]) == {"f": 2.0}
        assert numbers(session, *size) == [1, 0]
        with pytest.raises(InvalidArgumentError, match="'1' for key '5' has already been removed"):
            session.run(area.peek(5, ["f"]))
        assert session.run(area.get(5, ["i"])[1]) == {"i": 1}
        assert numbers(session, *size) == [0, 0]
        session.run(area.put(1, {"i": hr.constant(1)}))
        session.run(area.clear())
        assert numbers(session, *size) == [0, 0]


def test_an_ordered_area_returns_the_least_key_first() -> None:
    area = MapStagingArea([hr.int32], ordered=True)
    key, value = hr.placeholder(hr.int64, []), hr.placeholder(hr.int32, [])
    put, get = area.put(key, [value], [0]), area.get()
    with hr.Session() as session:
        for n in (3, -7, 2**40, 0):
            session.run(put, {key: n, value: n % 5})
        assert [session.run(get)[0] for _ in range(4)] == [-7, 0, 3, 2**40]


def test_a_get_waits_for_its_key_and_a_put_for_room() -> None:
    area = MapStagingArea([hr.int32], capacity=1)
    with hr.Session() as session:
        session.run(area.put(1, [hr.constant(1)], [0]))
        with pytest.raises(DeadlineExceededError):
            session.run(area.put(2, [hr.constant(2)], [0]), options=BRIEFLY)
        with pytest.raises(DeadlineExceededError):
            session.run(area.get(2)[1], options=BRIEFLY)
        taken = session.run([area.get(2)[1], area.put(2, [hr.constant(2)], [0]), area.get(1)[1]])
        assert (taken[0], taken[2]) == ([2], [1])


def test_indices_of_tensors_are_checked() -> None:
    area = MapStagingArea([hr.int32, hr.float32])
    values: list[Any] = [hr.constant(1), hr.constant(1.0)]
    with pytest.raises(ValueError, match="Indices must be supplied"):
        area.put(1, values)
    with pytest.raises(ValueError, match="doesn't match number of values"):
        area.put(1, values, [0])
    for indices in ([], ["x"]):
        with pytest.raises(ValueError, match="Empty indices|not created with names"):
            area.get(1, indices)
    for indices in ("i", [0, "i"]):
        with pytest.raises(TypeError, match="indices"):
            area.get(1, indices)
    stage = hr.raw_ops.MapStage
    with hr.Session() as session:
        for given, words in (
            ([1, 0], "Indices are not strictly ordered"),
            ([0, 2], "Index '2' for key '1' was out of bounds '2'"),
            ([-1, 0], "out of bounds"),
            ([0], "vector of 2 indices"),
        ):
            put = stage(
                key=1, indices=given, values=[1, 1.0] if given != [1, 0] else [1.0, 1],
                dtypes=area.dtypes, shared_name="m",
            )  # fmt: skip
            with pytest.raises(InvalidArgumentError, match=words):
                session.run(put)


def test_a_put_that_waits_for_room_holds_up_no_part_of_another_tuple() -> None:
    area = MapStagingArea([hr.int32, hr.int32], capacity=1)
    both = [hr.constant(1), hr.constant(2)]
    full, more = area.put(1, both, [0, 1]), area.put(2, both, [0, 1])
    part, get = area.put(3, both[:1], [0]), area.get(1)[1]
    with hr.Session() as session:
        session.run(full)
        waiting = threading.Thread(target=lambda: session.run(more))
        waiting.start()
        wait_until_idle()
        session.run(part)  # an incomplete tuple takes no room
        assert numbers(session, area.size(), area.incomplete_size()) == [1, 1]
        session.run(get)
        waiting.join()
        assert numbers(session, area.size()) == [1]
