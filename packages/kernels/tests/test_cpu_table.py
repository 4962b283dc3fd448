"""What the rows of the compiled table say of themselves agrees with the op catalogue."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kernel_harness import harness

from headrace.formats import op_catalogue

OPS = sorted({op for op, _ in harness.rows()})


def test_table_is_of_this_abi_and_has_a_version():
    table = harness._load_table()
    assert table.abi == 2
    assert table.library == b"cpu"
    assert re.fullmatch(rb"\d+\.\d+\.\d+.*|0", table.version)


@pytest.mark.parametrize("op", OPS)
def test_row_names_an_op_attributes_and_types_of_the_catalogue(op):
    signature = op_catalogue.signature(op)
    for row in harness._rows_of(op):
        for attr, allowed in harness._constraint(row).items():
            assert signature.attr(attr).kind in ("type", "list(type)")
            catalogue = signature.attr(attr).allowed
            known = not catalogue or allowed & set(catalogue)
            assert known, f"{op} claims no type that the catalogue has for {attr}"
        for bits in (
            row.constant_inputs,
            row.value_inputs,
            row.reuse_inputs,
        ):
            assert bits >> len(signature.inputs) == 0, f"{op} marks an argument that it lacks"
        assert row.prepare
        assert row.device_type == b"CPU"


@pytest.mark.parametrize("op", OPS)
def test_view_rows_are_those_that_the_catalogue_calls_views(op):
    for row in harness._rows_of(op):
        if op_catalogue.signature(op).view:
            assert row.flags & harness.VIEW
        elif row.flags & harness.VIEW:
            assert op in ("DebugGradientIdentity", "Dropout")


def test_no_two_rows_claim_the_same_op_and_types():
    for op in OPS:
        rows = harness._rows_of(op)
        claims = [(row.constraint, row.priority) for row in rows]
        assert len(claims) == len(set(claims)), op


def test_ops_without_a_kernel_are_those_that_the_documentation_lists():
    text = (Path(__file__).parents[3] / "docs" / "kernels.md").read_text()
    families, _, ops = text.partition("## Ops without a compiled kernel")
    elsewhere = set(re.findall(r"^\| ([a-z_]+) \| (?!where)", families, re.MULTILINE))
    listed = re.findall(r"^\| `(\w+)` \|", ops, re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert elsewhere <= {op_catalogue.family(name) for name in op_catalogue.names()}
    lacking = {
        name
        for name in op_catalogue.names()
        if name not in OPS and op_catalogue.family(name) not in elsewhere
    }
    assert lacking == set(listed)
