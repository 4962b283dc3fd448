"""Iterators in sessions: initialisation, handles, the end, state in checkpoints, generators."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elements_of import elements

import headrace.graph as hr

D = hr.data.Dataset


def read(session: Any, element: Any) -> list[Any]:
    """Returns the values of an element until the end."""
    found = []
    while True:
        try:
            found.append(session.run(element))
        except hr.errors.OutOfRangeError:
            return found


def test_an_iterator_must_be_initialised() -> None:
    iterator = D.range(2).make_initializable_iterator()
    element = iterator.get_next()
    with hr.Session() as session:
        with pytest.raises(hr.errors.FailedPreconditionError):
            session.run(element)
        for _ in range(2):
            session.run(iterator.initializer)
            assert read(session, element) == [0, 1]
        assert read(session, element) == []


def test_a_parameter_of_a_dataset_is_fed_at_initialisation() -> None:
    limit = hr.placeholder(hr.int64, [])
    iterator = D.range(limit).make_initializable_iterator()
    element = iterator.get_next()
    with hr.Session() as session:
        for count in (2, 3):
            session.run(iterator.initializer, {limit: count})
            assert len(read(session, element)) == count


def test_sessions_have_states_of_their_own() -> None:
    element = D.range(3).make_one_shot_iterator().get_next()
    with hr.Session() as one, hr.Session() as other:
        assert [one.run(element), one.run(element), other.run(element)] == [0, 1, 0]


def test_one_run_takes_one_element() -> None:
    x, y = D.range(4).map(lambda x: (x, x * 10)).make_one_shot_iterator().get_next()
    with hr.Session() as session:
        assert [session.run([x + y, y]) for _ in range(2)] == [[0, 0], [11, 10]]


def test_two_calls_of_get_next_take_two_elements() -> None:
    iterator = D.range(4).make_one_shot_iterator()
    pair = [iterator.get_next(), iterator.get_next()]
    with hr.Session() as session:
        assert sorted(session.run(pair)) == [0, 1] and sorted(session.run(pair)) == [2, 3]


def test_reinitialisable_iterator() -> None:
    iterator = hr.data.Iterator.from_structure(hr.int64, [])
    training = iterator.make_initializer(D.range(3))
    testing = iterator.make_initializer(D.range(10, 12))
    element = iterator.get_next()
    with hr.Session() as session:
        session.run(training)
        assert session.run(element) == 0
        session.run(testing)
        assert read(session, element) == [10, 11]
        session.run(training)
        assert read(session, element) == [0, 1, 2]


def test_feedable_iterator_goes_on_where_each_iterator_was() -> None:
    training = D.range(10).make_one_shot_iterator()
    testing = D.range(100, 103).make_initializable_iterator()
    handle = hr.placeholder(hr.string, [])
    chosen = hr.data.Iterator.from_string_handle(handle, training.output_types, [])
    element = chosen.get_next()
    with hr.Session() as session:
        one, other = session.run([training.string_handle(), testing.string_handle()])
        session.run(testing.initializer)
        order = [one, one, other, one, other]
        assert [session.run(element, {handle: h}) for h in order] == [0, 1, 100, 2, 101]


def test_a_feedable_iterator_of_other_elements_is_refused() -> None:
    floats = D.from_tensors(1.0).make_one_shot_iterator()
    handle = hr.placeholder(hr.string, [])
    element = hr.data.Iterator.from_string_handle(handle, hr.int64, []).get_next()
    with hr.Session() as session:
        value = session.run(floats.string_handle())
        with pytest.raises(hr.errors.InvalidArgumentError):
            session.run(element, {handle: value})


def test_optional_elements() -> None:
    iterator = D.range(1).make_one_shot_iterator()
    found = hr.data.experimental.get_next_as_optional(iterator)
    shown = hr.cond(found.has_value(), found.get_value, lambda: hr.constant(-1, hr.int64))
    made = hr.data.experimental.Optional.from_value((1, {"a": [2.0]}))
    empty = hr.data.experimental.Optional.none_from_structure(made.value_structure)
    with hr.Session() as session:
        assert [session.run(shown) for _ in range(3)] == [0, -1, -1]
        one, rest = session.run(made.get_value())
        assert one == 1 and rest["a"].tolist() == [2.0]
        assert session.run([made.has_value(), empty.has_value()]) == [True, False]
        with pytest.raises(hr.errors.InvalidArgumentError):
            session.run(empty.get_value())


def test_element_that_is_a_dataset() -> None:
    window = D.range(5).window(3).make_one_shot_iterator().get_next()
    total = window.reduce(np.int64(0), lambda s, x: s + x)
    with hr.Session() as session:
        assert read(session, total) == [3, 7]


# ---- checkpoints -----------------------------------------------------------------------------


def pipeline() -> Any:
    return D.range(20).shuffle(7, seed=3).map(lambda x: x * 2).batch(2).prefetch(1)


def test_a_restored_iterator_goes_on(tmp_path: Path) -> None:
    iterator = pipeline().make_initializable_iterator()
    saveable = hr.data.experimental.make_saveable_from_iterator(iterator)
    element = iterator.get_next()
    saver = hr.train.Saver([saveable])
    with hr.Session() as session:
        session.run(iterator.initializer)
        for _ in range(3):
            session.run(element)
        path = saver.save(session, str(tmp_path / "input.ckpt"))
        expected = [e.tolist() for e in read(session, element)]
    with hr.Session() as session:
        session.run(iterator.initializer)
        saver.restore(session, path)
        assert [e.tolist() for e in read(session, element)] == expected and len(expected) == 7


def test_a_checkpoint_of_objects_keeps_the_position_of_an_iterator(tmp_path: Path) -> None:
    iterator = pipeline().make_initializable_iterator()
    count = hr.Variable(0, use_resource=True)
    checkpoint = hr.train.Checkpoint(input=iterator, count=count, dataset=D.range(3))
    element, more = iterator.get_next(), count.assign_add(1)
    with hr.Session() as session:
        session.run([iterator.initializer, count.initializer])
        for _ in range(3):
            session.run([element, more])
        path = checkpoint.save(str(tmp_path / "model"), session=session)
        expected = [e.tolist() for e in read(session, element)]
        checkpoint.restore(path).assert_consumed().run_restore_ops(session)
        assert [e.tolist() for e in read(session, element)] == expected
    assert "input/.ATTRIBUTES/ITERATOR_STATE" in dict(hr.train.list_variables(path))
    with hr.Session() as session:
        session.run(iterator.initializer)  # TensorFlow's iterators need it too
        checkpoint.restore(path).initialize_or_restore(session)
        assert [e.tolist() for e in read(session, element)] == expected
        assert session.run(count) == 3


def test_an_iterator_that_a_checkpoint_lacks_is_initialised(tmp_path: Path) -> None:
    count = hr.Variable(4, use_resource=True)
    iterator = D.range(3).make_initializable_iterator()
    element = iterator.get_next()
    with hr.Session() as session:
        session.run(count.initializer)
        path = hr.train.Checkpoint(count=count).save(str(tmp_path / "model"), session=session)
    both = hr.train.Checkpoint(count=count, input=iterator)
    for status in (both.restore(path), both.restore(None)):
        with pytest.raises(AssertionError):
            status.assert_existing_objects_matched()
        with hr.Session() as session:
            status.initialize_or_restore(session)
            assert read(session, element) == [0, 1, 2] and session.run(count) == 4


def test_hook_saves_and_restores_the_input(tmp_path: Path) -> None:
    def train(steps: int) -> list[Any]:
        with hr.Graph().as_default():
            element = D.range(9).make_one_shot_iterator().get_next()
            more = hr.assign_add(hr.train.get_or_create_global_step(), 1)
            config = types.SimpleNamespace(
                num_worker_replicas=1, save_checkpoints_secs=None, save_checkpoints_steps=1
            )
            estimator = types.SimpleNamespace(_config=config, model_dir=str(tmp_path))
            hooks = [
                hr.data.experimental.CheckpointInputPipelineHook(estimator),
                hr.train.StopAtStepHook(num_steps=steps),
            ]
            found = []
            with hr.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), hooks=hooks, save_checkpoint_steps=1
            ) as session:
                while not session.should_stop():
                    found.append(session.run([element, more])[0])
            return found

    assert train(3) == [0, 1, 2]
    assert train(2) == [3, 4]


# ---- generators ------------------------------------------------------------------------------


def test_generator_is_called_for_each_pass_with_its_arguments() -> None:
    calls = []

    def numbers(begin: Any, count: Any) -> Any:
        calls.append((int(begin), int(count)))
        for i in range(int(count)):
            yield begin + i, {"text": ["é"] * i}

    dataset = D.from_generator(
        numbers, (hr.int64, {"text": hr.string}), ([], {"text": [None]}), args=(5, 2)
    )
    found = elements(hr, dataset.repeat(2))
    assert found == [[5, []], [6, ["é"]]] * 2 and calls == [(5, 2)] * 2


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1, "did not match the expected structure"),
        (("text", 1), "could not be converted to the expected type"),
        (([1, 2], 1), "an element of shape"),
    ],
)
def test_values_that_do_not_fit_fail_the_run(value: Any, words: str) -> None:
    dataset = D.from_generator(lambda: [value], (hr.int32, hr.int32), ([], []))
    element = dataset.make_one_shot_iterator().get_next()
    with hr.Session() as session, pytest.raises(hr.errors.OpError, match=words):
        session.run(element)


def test_an_error_of_a_generator_fails_the_run() -> None:
    def broken() -> Any:
        yield 1
        raise LookupError("no more numbers")

    element = D.from_generator(broken, hr.int32, []).make_one_shot_iterator().get_next()
    with hr.Session() as session:
        assert session.run(element) == 1
        with pytest.raises(hr.errors.OpError, match="no more numbers"):
            session.run(element)


def test_a_generator_is_released_when_its_pass_ends() -> None:
    closed = []

    def numbers() -> Any:
        try:
            yield from range(3)
        finally:
            closed.append(True)

    assert len(elements(hr, D.from_generator(numbers, hr.int32, []))) == 3
    assert closed == [True]
