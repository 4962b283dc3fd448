from __future__ import annotations

import importlib
import operator
import subprocess
import sys

import pytest

import headrace.graph as hr
from headrace.graph.api.namespace import find
from headrace.graph.api.public_names import PUBLIC

TABLES = ("public_linalg.LINALG", "public_networks.NETWORKS", "public_training.TRAINING",
          "public_values.VALUES")  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_a_table_of_public_names_is_part_of_the_whole(table):
    module, _, name = table.partition(".")
    rows = getattr(importlib.import_module(f"headrace.graph.api.{module}"), name)
    assert rows and rows.items() <= PUBLIC.items()


def test_rows_put_names_in_a_space():
    from headrace.graph.api.public_rows import rows

    assert rows("m", "a b", "nn") == {"nn.a": "m", "nn.b": "m"}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name):
    value = find(name)
    assert value is not None or name == "newaxis"
    reached = hr
    for part in name.split("."):
        reached = getattr(reached, part)
    assert reached is value


def test_a_name_that_is_not_public_is_refused():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        hr.nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="initializers.*nonsense"):
        hr.initializers.nonsense  # noqa: B018
    assert "placeholder" in dir(hr) and "initializers" in dir(hr)


@pytest.mark.parametrize(
    ("typo", "near"),
    [("matmull", "matmul"), ("nn.rellu", "relu"), ("train.AdamOptimiser", "AdamOptimizer")],
)
def test_a_typo_is_answered_with_the_closest_names(typo, near):
    with pytest.raises(AttributeError, match=f"did you mean .*\\b{near}\\b.*\\?"):
        operator.attrgetter(typo)(hr)


def test_a_typo_of_an_op_is_answered_with_the_closest_ops():
    with pytest.raises(AttributeError, match=r"no op 'MatMull'.*did you mean .*\bMatMul\b"):
        hr.raw_ops.MatMull  # noqa: B018


def test_asking_for_a_name_that_is_not_there_searches_nothing():
    code = (
        "import sys, headrace.graph as hr; hasattr(hr, 'matmull'); print('difflib' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_importing_loads_neither_protobuf_nor_the_op_families():
    code = (
        "import sys, headrace.graph as hr; "
        "loaded = [m for m in sys.modules if m.startswith(('google', 'headrace.graph.ops.'))]; "
        "print(loaded)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
