"""Stacks, which store the values of loop iterations for gradients. No public functions yet."""

from __future__ import annotations

from headrace.graph.framework.op_registry import gradient_not_implemented, no_gradient

for _version in ("", "V2"):
    no_gradient(f"Stack{_version}", "its output is a handle")
    no_gradient(f"StackClose{_version}", "it closes a handle and has no output")
    for _way in ("Push", "Pop"):
        gradient_not_implemented(
            f"Stack{_way}{_version}",
            "the gradient of while_loop makes stacks, and its own gradient is not built yet; "
            "unroll the loop in Python",
        )
