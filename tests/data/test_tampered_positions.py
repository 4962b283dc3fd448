"""A saved position with elements that its dataset cannot have is refused, by each stage that holds
elements."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pipelines import Pipe, drained, raw

import headrace.graph as hr
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.bundle_writer import BundleWriter

D = hr.data.Dataset
E = hr.data.experimental

# What a stage holds has the type of the source in all of them: one pipeline saves integers, the
# other would read them as strings.
STAGES: dict[str, Callable[[Any], Any]] = {
    "parallel map": lambda source: source.map(lambda x: x, num_parallel_calls=3),
    "batch": lambda source: source.batch(4),
    "padded batch": lambda source: source.padded_batch(4, []),
    "map and batch": lambda source: source.apply(
        E.map_and_batch(lambda x: x, 4, num_parallel_calls=2)
    ),
    "shuffle": lambda source: source.shuffle(4, seed=1),
    "shuffle and repeat": lambda source: source.apply(E.shuffle_and_repeat(4, 2, seed=1)),
    "prefetch": lambda source: source.prefetch(3),
    "cache": lambda source: source.cache(),
    "unbatch": lambda source: source.batch(3).apply(E.unbatch()),
    "flat map": lambda source: source.flat_map(lambda x: D.from_tensors(x).repeat(2)),
    "interleave": lambda source: source.interleave(lambda x: D.from_tensors(x).repeat(2), 2),
    "parallel interleave": lambda source: source.apply(
        E.parallel_interleave(lambda x: D.from_tensors(x).repeat(2), 2)
    ),
    "group": lambda source: source.apply(
        E.group_by_window(lambda x: hr.constant(0, hr.int64), lambda key, group: group.batch(2), 3)
    ),
    "scan": lambda source: source.apply(
        E.scan(hr.constant(0, hr.int64), lambda state, x: (state + 1, x))
    ),
}
OTHER = dict(STAGES)
OTHER["scan"] = lambda source: source.apply(E.scan(hr.constant("s"), lambda state, x: (state, x)))
# A row of a batch that failed is read again, so that there are rows between two steps.
FAILING = ("batch", "padded batch", "map and batch")


@pytest.fixture(autouse=True)
def default_graph() -> Any:
    with hr.Graph().as_default():
        yield


def copied(source: Any, target: Any) -> Any:
    return raw.DeserializeIterator(
        resource_handle=target._iterator_resource,
        serialized=raw.SerializeIterator(resource_handle=source._iterator_resource),
    )


def restored_after(n: int, dataset: Any, other: Any, patience_s: float = 0.0) -> None:
    """Reads n elements of a dataset, and goes on with the other at that position.

    A stage with a thread of its own fills its buffer only some time after the first request: the
    position is saved again until `patience_s` seconds have passed.
    """
    iterator = dataset.make_initializable_iterator()
    target = other.make_initializable_iterator()
    following, copy = iterator.get_next(), copied(iterator, target)
    element = target.get_next()
    with hr.Session() as session:
        session.run([iterator.initializer, target.initializer])
        for _ in range(n):
            session.run(following)
        end = time.monotonic() + patience_s
        while True:
            session.run(copy)
            drained(session, [element])
            if time.monotonic() >= end:
                return


@pytest.mark.parametrize("name", [name for name in STAGES if name not in FAILING])
def test_held_elements_of_another_type_are_refused(name: str) -> None:
    numbers, texts = D.range(9), D.from_tensor_slices([b"text"] * 9)
    restored_after(1, STAGES[name](numbers), STAGES[name](D.range(9)))
    with pytest.raises(hr.errors.InvalidArgumentError, match="has other elements than its dataset"):
        restored_after(1, STAGES[name](numbers), OTHER[name](texts), patience_s=10.0)


@pytest.mark.parametrize("name", ["prefetch", "shuffle", "cache", "unbatch"])
def test_held_elements_of_another_shape_are_refused(name: str) -> None:
    rows = [hr.ones([9, size], hr.int64) for size in (2, 3)]
    datasets = [STAGES[name](D.from_tensor_slices(r)) for r in rows]
    with pytest.raises(hr.errors.InvalidArgumentError, match="Incompatible shapes at component 0"):
        restored_after(1, *datasets, patience_s=10.0)


def test_held_elements_of_windows_have_the_type_of_the_input() -> None:
    numbers, texts = Pipe.range(9).window(2, 1), Pipe.slices([b"text"] * 9).window(2, 1)
    source, initializer = numbers.iterator()
    following = numbers.get_next(source)[0].op  # windows themselves are no fetches
    for other, fails in ((numbers, False), (texts, True)):
        target, target_initializer = other.iterator(f"fails {fails}")
        serialized = raw.SerializeIterator(resource_handle=source)
        copy = raw.DeserializeIterator(resource_handle=target, serialized=serialized)
        with hr.Session() as session:
            session.run([initializer, target_initializer])
            session.run(following)
            if not fails:
                session.run(copy)
                continue
            with pytest.raises(hr.errors.InvalidArgumentError, match="has other elements"):
                session.run(copy)


def test_elements_with_more_components_are_refused() -> None:
    pairs = D.zip((D.range(9), D.range(9))).shuffle(4, seed=1)
    with pytest.raises(hr.errors.InvalidArgumentError, match="Number of components does not match"):
        restored_after(1, pairs, D.range(9).shuffle(4, seed=1))


@pytest.mark.parametrize("name", FAILING)
def test_rows_of_a_batch_that_was_cancelled_have_the_types_of_the_input(name: str) -> None:
    # A cancelled step leaves the rows that it has read. The last row waits for its queue.
    queue = hr.FIFOQueue(1, hr.int64, shapes=[[]])
    wait = D.range(9).map(lambda x: hr.cond(x < 2, lambda: x, queue.dequeue))
    texts = D.from_tensor_slices([b"text"] * 9)
    iterator = STAGES[name](wait).make_initializable_iterator()
    target = STAGES[name](texts).make_initializable_iterator()
    following, copy = iterator.get_next(), copied(iterator, target)
    cancelled = hr.RunOptions(timeout_in_ms=300)
    with hr.Session() as session:
        session.run([iterator.initializer, target.initializer])
        with pytest.raises(hr.errors.DeadlineExceededError):
            session.run(following, options=cancelled)
        session.run(queue.close())
        with pytest.raises(hr.errors.InvalidArgumentError, match="has other elements"):
            session.run(copy)


@pytest.mark.parametrize("name", ["random", "shuffle"])
@pytest.mark.parametrize("power", [16, 61])
def test_a_position_of_any_number_of_draws_is_restored_at_once(
    name: str, power: int, tmp_path: Path
) -> None:
    # A saved position begins with the texts and numbers of its first stage. The loop of a restore
    # that draws 2**61 numbers would not end.
    numbers = hr.data.experimental.RandomDataset(seed=3)
    dataset = numbers if name == "random" else D.range(10**9).shuffle(4, seed=3)
    iterator = dataset.make_initializable_iterator()
    saveable = hr.data.experimental.make_saveable_from_iterator(iterator)
    saver, following = hr.train.Saver([saveable]), iterator.get_next()
    with hr.Session() as session:
        session.run(iterator.initializer)
        for _ in range(3):
            session.run(following)
        path = saver.save(session, str(tmp_path / "a"), write_meta_graph=False)
        with BundleReader(path) as reader:
            (key,) = reader.names()
            position = reader.read(key).item()
        drawn = position.index((3).to_bytes(8, "little"), 24 if name == "shuffle" else 0)
        drawn += 8 if name == "shuffle" and position[drawn + 8] == 3 else 0
        tampered = position[:drawn] + (2**power).to_bytes(8, "little") + position[drawn + 8 :]
        with BundleWriter(path) as writer:
            writer.add(key, np.array(tampered, object))
        saver.restore(session, path)
        found = session.run(following)
        if (name, power) == ("random", 16):
            session.run(iterator.initializer)
            assert [session.run(following) for _ in range(2**16 + 1)][-1] == found


def test_a_cache_file_of_other_elements_is_refused(tmp_path: Path) -> None:
    file = str(tmp_path / "cache")
    for dataset in (D.range(3), D.from_tensor_slices([b"text"])):
        following = dataset.cache(file).make_one_shot_iterator().get_next()
        with hr.Session() as session:
            if dataset.output_types == hr.int64:
                assert drained(session, [following]) == [0, 1, 2]
                continue
            with pytest.raises(hr.errors.InvalidArgumentError, match="has other elements"):
                session.run(following)
