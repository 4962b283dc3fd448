"""Shuffled elements come in TensorFlow 1.15's order: seeded_orders.json has what 1.15.5 gave."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import seeded_orders

import headrace.graph as hr

FOLDER = Path(__file__).parent
ORDERS = json.loads((FOLDER / "seeded_orders.json").read_text())
KINDS = ["one_shot", "initializable"]


@pytest.mark.filterwarnings("ignore:Seed 5 from outer graph")
@pytest.mark.parametrize("kind", KINDS)
def test_shuffled_elements_have_tensorflows_order(kind: str) -> None:
    assert seeded_orders.elements(hr, kind == "one_shot") == ORDERS[kind]


@pytest.mark.parametrize("count", [0, -5])
def test_a_shuffle_that_is_repeated_no_times_is_refused(count: int) -> None:
    # TensorFlow makes shuffle_and_repeat of the two, which takes no such count.
    D = hr.data.Dataset
    iterator = D.range(3).shuffle(3).repeat(count).make_initializable_iterator()
    plain = D.range(3).shuffle(3, reshuffle_each_iteration=False).repeat(0)
    empty = plain.make_one_shot_iterator().get_next()
    with hr.Session() as session:
        words = "count must be greater than zero or equal to -1."
        with pytest.raises(hr.errors.InvalidArgumentError, match=words):
            session.run(iterator.initializer)
        with pytest.raises(hr.errors.OutOfRangeError):
            session.run(empty)


@pytest.mark.peer
@pytest.mark.parametrize("kind", KINDS)
def test_the_orders_are_tensorflows(kind: str) -> None:
    python = os.environ.get("TENSORFLOW1_PYTHON")
    if not python:
        pytest.skip("TENSORFLOW1_PYTHON is not set")
    program = [python, str(FOLDER / "seeded_orders.py"), kind]
    # TensorFlow 2 in this process sets TF2_BEHAVIOR, by which 1.15 takes other seeds in functions.
    left_out = ("PYTHONPATH", "TF2_BEHAVIOR")
    environment = {k: v for k, v in os.environ.items() if k not in left_out}
    printed = subprocess.run(program, env=environment, capture_output=True, check=True, text=True)
    assert json.loads(printed.stdout.splitlines()[-1]) == ORDERS[kind]
