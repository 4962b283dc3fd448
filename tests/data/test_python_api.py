"""Pipelines of hr.data, run here, have the elements of TensorFlow 1.15.5 in elements.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import data_programs
import numpy as np
import pytest
from elements_of import elements

import headrace.graph as hr

EXPECTED = json.loads(Path(__file__).with_name("elements.json").read_text())

pytestmark = pytest.mark.filterwarnings("ignore:Seed 4 from outer graph")


# A one-shot iterator cannot read variables.
ITERATORS = [
    pytest.param(program, one_shot, id=f"{program.__name__}-{'one_shot' * one_shot}")
    for program in data_programs.PROGRAMS
    for one_shot in (False, True)
    if not (one_shot and program is data_programs.with_variables)
]


@pytest.mark.parametrize(("program", "one_shot"), ITERATORS)
def test_elements_are_those_of_tensorflow(program: Any, one_shot: bool) -> None:
    found, expected = elements(hr, program(hr), one_shot), EXPECTED[program.__name__]
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            if "random" in program.__name__:
                np.testing.assert_allclose(one, other, rtol=1e-6)
            else:
                assert one == other


def test_every_program_has_elements_of_tensorflow() -> None:
    assert list(EXPECTED) == [program.__name__ for program in data_programs.PROGRAMS]


def test_reshuffled_repetitions_differ_and_are_reproducible() -> None:
    def order(**options: Any) -> list[Any]:
        with hr.Graph().as_default():
            dataset = hr.data.Dataset.range(20).shuffle(20, **options).repeat(2)
            return [value for (value,) in elements(hr, dataset)]

    first = order(seed=3)
    assert first == order(seed=3) != order(seed=4)
    assert first[:20] != first[20:] and sorted(first[:20]) == sorted(first[20:]) == list(range(20))
    same = order(seed=3, reshuffle_each_iteration=False)
    assert same[:20] == same[20:]


def test_reduce_runs_without_an_iterator() -> None:
    dataset = hr.data.Dataset.range(1, 5)
    outer = hr.constant(2, hr.int64)
    total, count = dataset.reduce(
        (np.int64(0), 0), lambda state, x: (state[0] + x * outer, state[1] + 1)
    )
    joined = dataset.reduce("", lambda state, x: hr.string_join([state, hr.as_string(x)]))
    grown = dataset.reduce(hr.zeros([0], hr.int64), lambda state, x: hr.concat([state, [x]], 0))
    with hr.Session() as session:
        assert session.run([total, count, joined]) == [20, 4, b"1234"]
        assert session.run(grown).tolist() == [1, 2, 3, 4]


def test_single_element() -> None:
    single = hr.data.experimental.get_single_element
    one = single(hr.data.Dataset.range(5).batch(9).map(lambda x: {"x": x}))
    with hr.Session() as session:
        assert session.run(one)["x"].tolist() == [0, 1, 2, 3, 4]
        for count in (0, 2):
            with pytest.raises(hr.errors.InvalidArgumentError):
                session.run(single(hr.data.Dataset.range(count)))


def test_tables_and_variables_are_read_when_an_element_is_made() -> None:
    rows = hr.lookup.KeyValueTensorInitializer(["a", "b"], [10, 20])
    table = hr.lookup.StaticHashTable(rows, -1)
    v = hr.get_variable("v", [], hr.int32, hr.zeros_initializer(), use_resource=True)
    dataset = hr.data.Dataset.from_tensor_slices(["b", "x", "a"]).map(lambda k: table.lookup(k) + v)
    iterator = dataset.make_initializable_iterator()
    element, more = iterator.get_next(), v.assign_add(5)
    with hr.Session() as session:
        session.run([hr.tables_initializer(), hr.global_variables_initializer()])
        session.run(iterator.initializer)
        found = [session.run(element)]
        session.run(more)
        assert [*found, session.run(element), session.run(element)] == [20, 4, 15]


def test_errors_of_a_function_name_the_element_and_the_line() -> None:
    dataset = hr.data.Dataset.range(3).map(lambda x: hr.gather([1, 2], x))
    element = dataset.make_one_shot_iterator().get_next()
    with hr.Session() as session:
        assert [session.run(element) for _ in range(2)] == [1, 2]
        with pytest.raises(hr.errors.InvalidArgumentError, match="test_python_api.py"):
            session.run(element)
        with pytest.raises(hr.errors.OutOfRangeError):
            session.run(element)


def test_cached_elements_are_not_computed_again(tmp_path: Path) -> None:
    calls = []

    def count(x: Any) -> Any:
        calls.append(int(x))
        return x

    for filename in ("", str(tmp_path / "cache")):
        calls.clear()
        with hr.Graph().as_default():
            counted = hr.data.Dataset.range(3).map(lambda x: hr.py_func(count, [x], hr.int64))
            found = elements(hr, counted.cache(filename).repeat(3))
            assert [v for (v,) in found] == [0, 1, 2] * 3 and sorted(calls) == [0, 1, 2]


def test_contrib_transformations() -> None:
    data = hr.contrib.data
    dataset = hr.data.Dataset.range(7)
    slid = dataset.apply(data.sliding_window_batch(3, window_shift=2))
    assert elements(hr, slid) == [[[0, 1, 2]], [[2, 3, 4]], [[4, 5, 6]]]
    known = dataset.map(lambda x: hr.fill([x % 3], x)).apply(
        data.assert_element_shape(hr.TensorShape([1]))
    )
    with pytest.raises(hr.errors.InvalidArgumentError):
        elements(hr, known)
    total = data.reduce_dataset(
        dataset,
        data.Reducer(lambda key: key, lambda state, x: state + x, lambda state: state),
    )
    with hr.Session() as session:
        assert session.run(total) == 21
