"""Stacks, which graphs of TensorFlow use in loops. They have no public functions."""

from __future__ import annotations

from headrace.graph.framework.op_registry import gradient_not_implemented, no_gradient

for _version in ("", "V2"):
    no_gradient(f"Stack{_version}", "its output is a handle")
    no_gradient(f"StackClose{_version}", "it closes a handle and has no output")
    for _way in ("Push", "Pop"):
        gradient_not_implemented(
            f"Stack{_way}{_version}",
            "values on a stack have none: use hr.TensorArray, or hr.while_loop, whose gradient "
            "keeps its values on lists",
        )
