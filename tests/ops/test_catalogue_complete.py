"""No op of the catalogue lacks its answers: a shape rule, a gradient or the reason, a kernel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.formats import include_dir, op_catalogue
from headrace.graph import op_registry
from headrace.runtime.kernel_table import has_kernels

# op or family -> why nobody has a kernel for it.
NO_KERNEL = {
    "Placeholder": "a value must be fed",
    "PlaceholderV2": "a value must be fed",
    "ImmutableConst": "it maps a file of TensorFlow's own packaging into memory",
    "Save": "writes checkpoints of before 2016; SaveV2 writes those that are read here",
    "SaveSlices": "writes checkpoints of before 2016; SaveV2 writes those that are read here",
    "Restore": "reads checkpoints of before 2016; RestoreV2 reads the others",
    "RestoreSlice": "reads checkpoints of before 2016; RestoreV2 reads the others",
    "UnicodeScript": "needs ICU's table of scripts, which neither Python nor NumPy has",
    "ParseSequenceExample": "a batch of sequences: not yet; ParseSingleSequenceExample is there",
    "ParseSequenceExampleV2": "a batch of sequences: not yet; ParseSingleSequenceExample is there",
    "RefIdentity": "not yet: references pass through Identity",
    "DebugGradientRefIdentity": "TensorFlow's debugger makes it",
}

# Families of which later issues give the kernels; the foundation needs none of them.
LATER_FAMILIES = {
    "datasets": "input pipelines are a later issue",
    "lookup": "tables are a later issue",
    "readers": "input pipelines are a later issue",
    "tensor_arrays": "loops over arrays are a later issue",
    "tensor_lists": "loops over lists are a later issue",
    "session": "session handles are a later issue",
}

NAMES = op_catalogue.names()


@pytest.fixture(scope="module")
def c_rules() -> set[str]:
    """The rules that the C headers know by name."""
    text = (Path(include_dir()) / "headrace" / "shape_rules.h").read_text()
    return set(re.findall(r'\{"(\w+)", hr_shape_\w+\}', text))


@pytest.mark.parametrize("name", NAMES)
def test_op_has_a_shape_rule(name: str) -> None:
    rule = op_catalogue.signature(name).shape_rule
    assert rule, f"{name} names no shape rule"
    assert op_registry.shape_function(rule) is not None, f"{rule} is not known in Python"


def test_rules_without_a_c_function_are_those_that_only_python_can_tell(c_rules: set[str]) -> None:
    named = {op_catalogue.signature(name).shape_rule for name in NAMES}
    known = _only_in_python()
    assert named - c_rules <= known


def _only_in_python() -> set[str]:
    source = Path(__file__).parents[1] / "contract" / "test_shape_rules_agree.py"
    text = source.read_text()
    return set(re.findall(r'"(\w+)"', text[text.index("ONLY_IN_PYTHON") : text.index("}  #")]))


@pytest.mark.parametrize("name", NAMES)
def test_op_has_a_gradient_or_says_why_it_has_none(name: str) -> None:
    if op_registry.gradient_function(name) is None:  # raises LookupError where nothing was said
        assert op_registry.no_gradient_reason(name)


@pytest.mark.parametrize("name", NAMES)
def test_op_has_a_kernel_or_a_reason(name: str) -> None:
    if name in NO_KERNEL or op_catalogue.family(name) in LATER_FAMILIES:
        return
    assert has_kernels(name), f"{name} has no kernel, and nobody says why"


def test_reasons_are_not_out_of_date() -> None:
    assert not [name for name in NO_KERNEL if has_kernels(name)]
