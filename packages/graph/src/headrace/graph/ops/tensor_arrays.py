"""TensorArrays, read and written by loops one element per iteration. No public functions yet."""

from __future__ import annotations

from headrace.graph.framework.op_registry import gradient_not_implemented, no_gradient

for _version in ("V2", "V3"):
    for _kind in ("", "Grad"):
        no_gradient(f"TensorArray{_kind}{_version}", "its output is a handle")
    no_gradient(f"TensorArrayClose{_version}", "it closes a handle and has no output")
    no_gradient(f"TensorArraySize{_version}", "its output is a count")
    for _kind in "Write Scatter Split Read Gather Concat".split():
        gradient_not_implemented(
            f"TensorArray{_kind}{_version}",
            "gradients through TensorArray come with those of while_loop, and are not built yet; "
            "stack and unstack instead",
        )
no_gradient("TensorArrayGradWithShape", "its output is a handle")
