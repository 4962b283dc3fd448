"""The registrations of the compiled table agree with the op catalogue."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kernel_harness import table
from kernel_harness.abi import VIEW

from headrace.formats import kernel_abi, op_catalogue
from headrace.kernels.cpu import capsule as cpu

OPS = sorted({op for op, _ in table.registrations()})


def test_table_is_of_this_abi_and_has_a_version():
    kernels, _ = kernel_abi.read_table(cpu())
    assert kernels.abi == 2
    assert kernels.library == b"cpu"
    assert re.fullmatch(rb"\d+\.\d+\.\d+.*|0", kernels.version)


@pytest.mark.parametrize("op", OPS)
def test_registration_names_an_op_attributes_and_types_of_the_catalogue(op):
    signature = op_catalogue.signature(op)
    for registration in table.registrations_of(op):
        for attr, allowed in table.constraint_of(registration).items():
            assert signature.attr(attr).kind in ("type", "list(type)")
            catalogue = signature.attr(attr).allowed
            known = not catalogue or allowed & set(catalogue)
            assert known, f"{op} claims no type that the catalogue has for {attr}"
        for bits in (
            registration.constant_inputs,
            registration.value_inputs,
            registration.reuse_inputs,
        ):
            assert bits >> len(signature.inputs) == 0, f"{op} marks an argument that it lacks"
        assert registration.prepare
        assert registration.device_type == b"CPU"


@pytest.mark.parametrize("op", OPS)
def test_view_registrations_are_those_that_the_catalogue_calls_views(op):
    for registration in table.registrations_of(op):
        if op_catalogue.signature(op).view:
            assert registration.flags & VIEW
        elif registration.flags & VIEW:
            assert op in ("DebugGradientIdentity", "Dropout")


def test_no_two_registrations_claim_the_same_op_and_types():
    for op in OPS:
        found = table.registrations_of(op)
        claims = [(r.constraint, r.priority) for r in found]
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
