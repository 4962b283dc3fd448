from __future__ import annotations

import importlib
import operator
import subprocess
import sys

import pytest

import headrace.graph as hr
from headrace.graph.api.namespace import find
from headrace.graph.api.public_names import PUBLIC

TABLES = ("public_data.DATA", "public_linalg.LINALG", "public_networks.NETWORKS",
          "public_training.TRAINING", "public_values.VALUES")  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_tables_of_public_names_are_merged(table):
    module, _, name = table.partition(".")
    rows = getattr(importlib.import_module(f"headrace.graph.api.{module}"), name)
    assert rows and rows.items() <= PUBLIC.items()


def test_rows_add_the_prefix_of_a_namespace():
    from headrace.graph.api.public_rows import rows

    assert rows("m", "a b", "nn") == {"nn.a": "m", "nn.b": "m"}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_resolves(name):
    value = find(name)
    assert value is not None or name == "newaxis"
    reached = hr
    for part in name.split("."):
        reached = getattr(reached, part)
    assert reached is value


def test_unknown_public_name_raises():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        hr.nonsense  # noqa: B018
    with pytest.raises(AttributeError, match="initializers.*nonsense"):
        hr.initializers.nonsense  # noqa: B018
    assert "placeholder" in dir(hr) and "initializers" in dir(hr)


@pytest.mark.parametrize(
    ("typo", "near"),
    [("matmull", "matmul"), ("nn.rellu", "relu"), ("train.AdamOptimiser", "AdamOptimizer")],
)
def test_typo_suggests_similar_names(typo, near):
    with pytest.raises(AttributeError, match=f"did you mean .*\\b{near}\\b.*\\?"):
        operator.attrgetter(typo)(hr)


def test_typo_in_raw_ops_suggests_similar_ops():
    with pytest.raises(AttributeError, match=r"no op 'MatMull'.*did you mean .*\bMatMul\b"):
        hr.raw_ops.MatMull  # noqa: B018


def test_hasattr_of_a_missing_name_does_not_search():
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
