"""Random numbers in functions of datasets begin anew with each initialisation of an iterator.

Expected are the numbers of TensorFlow 1.15.5.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import pytest

import headrace.graph as hr

pytestmark = pytest.mark.filterwarnings("ignore:Seed 5 from outer graph")
D = hr.data.Dataset
NUMBERS = [12, 47, 45, 83, 27, 15]


@pytest.fixture(autouse=True)
def seeded_graph() -> Any:
    with hr.Graph().as_default():
        hr.set_random_seed(5)
        yield


def draw(*_: Any) -> Any:
    return hr.random_uniform([], 0, 100, hr.int32)


def read(session: Any, element: Any) -> list[int]:
    found = []
    while True:
        try:
            found.append(int(session.run(element)))
        except hr.errors.OutOfRangeError:
            return found


PIPELINES: dict[str, Callable[[], Any]] = {
    "repeated": lambda: D.range(3).map(draw).repeat(2),
    "parallel": lambda: D.range(6).map(draw, num_parallel_calls=1),
    "flat_map": lambda: D.range(2).flat_map(lambda x: D.range(3).map(draw)),
    "interleave": lambda: D.range(3).interleave(lambda x: D.range(2).map(draw), cycle_length=2),
    "in a loop": lambda: D.range(6).map(
        lambda x: hr.while_loop(lambda i, y: i < 1, lambda i, y: (i + 1, draw()), [0, 0])[1]
    ),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_an_iterator_that_is_initialised_again_draws_the_same(name: str) -> None:
    iterator = PIPELINES[name]().make_initializable_iterator()
    element = iterator.get_next()
    with hr.Session() as session:
        rounds = []
        for _ in range(3):
            session.run(iterator.initializer)
            rounds.append(read(session, element))
        assert rounds == [rounds[0]] * 3
        if name != "in a loop":  # another op-level seed
            assert rounds[0] == NUMBERS


def test_the_iterators_of_a_dataset_draw_the_same() -> None:
    dataset = D.range(3).map(draw)
    iterators = [dataset.make_initializable_iterator() for _ in range(2)]
    elements = [i.get_next() for i in [*iterators, dataset.make_one_shot_iterator()]]
    with hr.Session() as session:
        session.run([i.initializer for i in iterators])
        assert [[int(x) for x in session.run(elements)] for _ in range(3)] == [
            [n] * 3 for n in NUMBERS[:3]
        ]


def test_each_reduction_draws_the_same() -> None:
    total = D.range(3).reduce(0, lambda state, x: state * 100 + draw())
    with hr.Session() as session:
        assert {int(session.run(total)) for _ in range(3)} == {701225}


def test_bodies_end_with_their_iterators() -> None:
    iterator = D.range(3).map(draw).make_initializable_iterator()
    element = iterator.get_next()

    def graphs() -> int:
        gc.collect()
        return sum(type(o).__name__ == "CompiledFunction" for o in gc.get_objects())

    before = graphs()
    session = hr.Session()
    for _ in range(20):
        session.run(iterator.initializer)
        session.run(element)
    assert graphs() <= before + 4  # the function's first body, and those of the last iterators
    session.close()
    del session
    assert graphs() == before and sys.getrefcount(iterator) > 0
