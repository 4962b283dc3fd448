"""Every op of the catalogue has a shape rule, and a gradient and a kernel or a reason for none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from missing_kernels import (
    FAMILIES_NOT_IMPLEMENTED,
    NO_KERNEL,
    NOT_IMPLEMENTED,
    is_not_implemented,
)

from headrace.formats import include_dir, op_catalogue
from headrace.graph.framework import op_registry
from headrace.runtime.kernels.kernel_libraries import has_kernels

# Ops that the executor runs without a kernel.
IN_THE_EXECUTOR = {
    *"Switch RefSwitch _SwitchN Merge RefMerge Enter RefEnter Exit RefExit".split(),
    *"NextIteration RefNextIteration LoopCond NoOp ControlTrigger".split(),
    *"If StatelessIf While StatelessWhile Case StatelessCase For RemoteCall".split(),
    *"PartitionedCall StatefulPartitionedCall SymbolicGradient".split(),  # bodies replace them
    *"_ReadVariablesOp _VarHandlesOp".split(),  # TensorFlow's passes make them; ours do not
    *"_Send _HostSend _Recv _HostRecv _Arg _Retval".split(),
}

# Families none of whose ops has a gradient.
WITHOUT_GRADIENT = {
    "candidate_sampling": "classes are chosen, not computed",
    "checkpoint": "files have no gradient",
    "datasets": "input pipelines have no gradient",
    "lookup": "tables have no gradient",
    "optimizers": "they change variables and have no outputs to differentiate",
    "queues": "elements of queues have no gradient",
    "readers": "files have no gradient",
    "sendrecv": "the runtime makes them after the gradient was built",
    "session": "handles have no gradient",
    "summary": "messages have no gradient",
}
NAMES = op_catalogue.names()


@pytest.fixture(scope="module")
def c_rules() -> set[str]:
    """The names in the table of rules of the C headers."""
    text = (Path(include_dir()) / "headrace" / "shape_rules.h").read_text()
    return set(re.findall(r'\{"(\w+)", hr_shape_\w+\}', text))


@pytest.mark.parametrize("name", NAMES)
def test_op_has_a_shape_rule(name: str) -> None:
    rule = op_catalogue.signature(name).shape_rule
    assert rule, f"{name} names no shape rule"
    assert op_registry.shape_function(rule) is not None, f"{rule} is not known in Python"


def test_rules_without_a_c_function_are_listed_as_only_in_python(c_rules: set[str]) -> None:
    named = {op_catalogue.signature(name).shape_rule for name in NAMES}
    known = _only_in_python()
    assert named - c_rules <= known


def _only_in_python() -> set[str]:
    source = Path(__file__).parents[1] / "contract" / "test_shape_rules_agree.py"
    text = source.read_text()
    return set(re.findall(r'"(\w+)"', text[text.index("ONLY_IN_PYTHON") : text.index("}  #")]))


@pytest.mark.parametrize("name", NAMES)
def test_op_has_a_gradient_or_a_reason(name: str) -> None:
    family = op_catalogue.family(name)
    if family in WITHOUT_GRADIENT or name in IN_THE_EXECUTOR:
        return
    try:
        function = op_registry.gradient_function(name)
    except LookupError:  # not registered: there must be a reason
        assert op_registry.no_gradient_reason(name) or is_not_implemented(name)
        return
    assert function is not None or op_registry.no_gradient_reason(name)


@pytest.mark.parametrize("name", NAMES)
def test_op_has_a_kernel_or_a_reason(name: str) -> None:
    if name in NO_KERNEL or name in IN_THE_EXECUTOR or is_not_implemented(name):
        return
    assert has_kernels(name), f"{name} has no kernel and no reason for it"


def test_reasons_are_not_out_of_date() -> None:
    assert not [name for name in NO_KERNEL if has_kernels(name)]
    assert not set(NO_KERNEL) - set(NAMES)


def test_ops_listed_as_not_implemented_have_no_kernel() -> None:
    there = [name for name in NAMES if has_kernels(name) and is_not_implemented(name)]
    assert not there, (
        "they have kernels: remove them from NOT_IMPLEMENTED or FAMILIES_NOT_IMPLEMENTED"
    )


def test_every_entry_of_the_lists_stands_for_ops_of_the_catalogue() -> None:
    families = {op_catalogue.family(name) for name in NAMES}
    assert not (set(FAMILIES_NOT_IMPLEMENTED) | set(WITHOUT_GRADIENT)) - families
    unused = [
        prefix for prefix in NOT_IMPLEMENTED if not any(name.startswith(prefix) for name in NAMES)
    ]
    assert not unused
    without_kernels = {name for name in NAMES if not has_kernels(name)}
    assert not [
        p for p in NOT_IMPLEMENTED if not any(name.startswith(p) for name in without_kernels)
    ]
