"""Iterators: handles, initialisers, errors, saved positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pipelines import Pipe, drained, raw

import headrace.graph as hr


def test_an_iterator_begins_anew_with_each_initialiser() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        first, second = Pipe.range(3), Pipe.range(10, 12)
        handle, initializer = first.iterator()
        other = raw.MakeIterator(dataset=second.variant, iterator=handle)
        following = first.get_next(handle)
        for operation, expected in ((initializer, [0, 1, 2]), (other, [10, 11])):
            for _ in range(2):
                session.run(operation)
                assert session.run(following) == [expected[0]]
            assert drained(session, following) == expected[1:]
            with pytest.raises(hr.errors.OutOfRangeError, match="End of sequence"):
                session.run(following)


def test_an_iterator_without_a_dataset_fails() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        pipe = Pipe.range(3)
        handle, _ = pipe.iterator()
        with pytest.raises(
            hr.errors.FailedPreconditionError,
            match="GetNext.. failed because the iterator has not been initialized",
        ):
            session.run(pipe.get_next(handle))


@pytest.mark.parametrize(
    ("types", "shapes", "message"),
    [
        ([hr.int32], [[]], "Data type mismatch at component 0: expected int32 but got int64"),
        ([hr.int64], [[2]], r"Incompatible shapes at component 0: expected \[2\] but got \[\]"),
        (
            [hr.int64, hr.int64], [[], []],
            "Number of components does not match: expected 2 types but got 1",
        ),
    ],
)  # fmt: skip
def test_a_dataset_of_other_elements_is_rejected(types: Any, shapes: Any, message: str) -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        handle = raw.IteratorV2(
            shared_name="", container="", output_types=types, output_shapes=shapes
        )
        initializer = raw.MakeIterator(dataset=Pipe.range(3).variant, iterator=handle)
        with pytest.raises(hr.errors.InvalidArgumentError, match=message):
            session.run(initializer)


@pytest.mark.parametrize("declared", [[hr.string], [hr.int32], [hr.variant]])
def test_a_dataset_has_the_types_of_its_input_whatever_its_node_declares(declared: Any) -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        taken = raw.TakeDataset(
            input_dataset=Pipe.range(3).variant, count=hr.constant(2, hr.int64),
            output_types=declared, output_shapes=[[]],
        )  # fmt: skip
        handle, initializer = Pipe(taken, declared, [[]]).iterator()
        with pytest.raises(hr.errors.InvalidArgumentError, match="Data type mismatch"):
            session.run(initializer)
        padded = raw.PaddedBatchDatasetV2(
            input_dataset=taken, batch_size=hr.constant(2, hr.int64),
            padded_shapes=[hr.constant([], hr.int64)], padding_values=[hr.constant(0)],
            drop_remainder=False, output_shapes=[[None]],
        )  # fmt: skip
        handle, initializer = Pipe(padded, [hr.int32], [[None]]).iterator()
        with pytest.raises(hr.errors.InvalidArgumentError, match="Mismatched type"):
            session.run(initializer)


def test_a_string_handle_finds_its_iterator() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        pipe = Pipe.range(4)
        handles = []
        for name in ("first", "second"):
            handle, initializer = pipe.iterator(name)
            session.run(initializer)
            handles.append(session.run(raw.IteratorToStringHandle(resource_handle=handle)))
        fed = hr.placeholder(hr.string, [])
        found = raw.IteratorFromStringHandleV2(
            string_handle=fed, output_types=pipe.types, output_shapes=pipe.shapes
        )
        following = pipe.get_next(found)[0]
        order = [session.run(following, {fed: handles[i]}) for i in (0, 0, 1, 0, 1)]
        assert order == [0, 1, 0, 2, 1]
        wrong = raw.IteratorFromStringHandleV2(
            string_handle=fed, output_types=[hr.string], output_shapes=[[]]
        )
        with pytest.raises(hr.errors.InvalidArgumentError, match="Data type mismatch"):
            session.run(raw.IteratorToStringHandle(resource_handle=wrong), {fed: handles[0]})


def test_sessions_with_one_state_share_an_iterator() -> None:
    with hr.Graph().as_default():
        pipe = Pipe.range(6)
        handle, initializer = pipe.iterator("shared")
        following = pipe.get_next(handle)
        with hr.Session("local://iterators") as one, hr.Session("local://iterators") as two:
            one.run(initializer)
            assert [s.run(following)[0] for s in (one, two, two, one)] == [0, 1, 2, 3]


def test_an_optional_has_a_value_until_the_end() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        pipe = Pipe.range(2)
        handle, initializer = pipe.iterator()
        optional = raw.IteratorGetNextAsOptional(
            iterator=handle, output_types=pipe.types, output_shapes=pipe.shapes
        )
        has = raw.OptionalHasValue(optional=optional)
        value = raw.OptionalGetValue(
            optional=optional, output_types=pipe.types, output_shapes=pipe.shapes
        )
        value = value[0] if isinstance(value, (list, tuple)) else value
        session.run(initializer)
        assert [session.run([has, value]) for _ in range(2)] == [[True, 0], [True, 1]]
        assert session.run(has) == np.False_
        with pytest.raises(hr.errors.InvalidArgumentError, match="does not have a value"):
            session.run(value)
        made = raw.OptionalFromValue(components=[hr.constant(3), hr.constant("a")])
        assert session.run(raw.OptionalHasValue(optional=made))
        assert not session.run(raw.OptionalHasValue(optional=raw.OptionalNone()))


def test_errors_of_functions_name_the_node_and_the_next_element_follows() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        pipe = Pipe.range(3).map(lambda x: hr.constant(12, hr.int64) // (x - 1))
        handle, initializer = pipe.iterator()
        following = pipe.get_next(handle)
        session.run(initializer)
        assert session.run(following) == [-12]
        with pytest.raises(hr.errors.InvalidArgumentError, match="FloorDiv '.*': .*division by"):
            session.run(following)
        assert session.run(following) == [12]


@pytest.mark.parametrize("build", ["reduce", "single"])
def test_a_dataset_within_a_step(build: str) -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        pipe = Pipe.range(5)
        if build == "reduce":
            from headrace.graph.functions.defun import Defun

            add = Defun(hr.int64, hr.int64)(lambda state, x: state + x)
            result = raw.ReduceDataset(
                input_dataset=pipe.variant, initial_state=[hr.constant(100, hr.int64)],
                other_arguments=[], f=add, output_types=[hr.int64], output_shapes=[[]],
            )  # fmt: skip
            expected = 110
        else:
            result = raw.DatasetToSingleElement(
                dataset=pipe.take(1).variant, output_types=[hr.int64], output_shapes=[[]]
            )
            expected = 0
        result = result[0] if isinstance(result, (list, tuple)) else result
        assert session.run(result) == expected
        if build == "single":
            for n, message in ((0, "was empty"), (2, "more than one element")):
                many = raw.DatasetToSingleElement(
                    dataset=pipe.take(n).variant, output_types=[hr.int64], output_shapes=[[]]
                )
                with pytest.raises(hr.errors.InvalidArgumentError, match=message):
                    session.run(many)


# ---- saved positions -----------------------------------------------------------------------------

SAVED = {
    "range": lambda: Pipe.range(9),
    "map": lambda: Pipe.range(9).map(lambda x: x * x),
    "parallel_map": lambda: Pipe.range(9).map(lambda x: x * x, calls=3),
    "filter": lambda: Pipe.range(20).filter(lambda x: hr.equal(x % 2, 0)),
    "batch": lambda: Pipe.range(9).batch(2),
    "shuffle": lambda: Pipe.range(9).shuffle(4).repeat(2),
    "prefetch": lambda: Pipe.range(9).prefetch(3),
    "flat_map": lambda: Pipe.range(5).flat_map(lambda x: Pipe.range(3).variant),
    "interleave": lambda: Pipe.range(5).interleave(lambda x: Pipe.range(3).variant, 2),
    "parallel_interleave": lambda: Pipe.range(5).interleave(
        lambda x: Pipe.range(3).variant, 3, 2, 2
    ),
    "cache": lambda: Pipe.range(4).cache().repeat(3),
    "zip": lambda: Pipe.zip(Pipe.range(5), Pipe.range(5).skip(1).concatenate(Pipe.range(3))),
    "shard": lambda: Pipe.range(20).shard(3, 1).take(5),
    "unbatch": lambda: Pipe.range(9).batch(4).unbatch(),
    "strings": lambda: Pipe.slices([b"a", b"", b"ccc"], [1.5, 2.5, 3.5]).repeat(2).batch(2),
}


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_position_is_restored_wherever_it_was_saved(name: str) -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        pipe = SAVED[name]()
        handle, initializer = pipe.iterator()
        other, other_initializer = pipe.iterator("other")
        following, other_following = pipe.get_next(handle), pipe.get_next(other)
        copied = raw.DeserializeIterator(
            resource_handle=other, serialized=raw.SerializeIterator(resource_handle=handle)
        )
        session.run([initializer, other_initializer])
        while True:
            session.run(copied)
            try:
                left = session.run(following)
            except hr.errors.OutOfRangeError:
                assert not drained(session, other_following)
                break
            np.testing.assert_equal(session.run(other_following), left)
        session.run(initializer)
        session.run(following)
        session.run(copied)
        mine, theirs = drained(session, following), drained(session, other_following)
        np.testing.assert_equal(theirs, mine)


def test_a_position_of_another_pipeline_is_rejected() -> None:
    with hr.Graph().as_default(), hr.Session() as session:
        handle, initializer = Pipe.range(3).iterator()
        other, other_initializer = Pipe.range(3).batch(1).unbatch().take(3).iterator("other")
        session.run([initializer, other_initializer])
        copied = raw.DeserializeIterator(
            resource_handle=other, serialized=raw.SerializeIterator(resource_handle=handle)
        )
        with pytest.raises(hr.errors.InvalidArgumentError, match="saved by another pipeline"):
            session.run(copied)
