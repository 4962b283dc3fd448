"""Tensor lists, the loop variables of functional loops. No public functions yet."""

from __future__ import annotations

from headrace.graph.framework.op_registry import gradient_not_implemented, no_gradient

for _kind in "Length ElementShape".split():
    no_gradient(f"TensorList{_kind}", "its output is a size")
no_gradient("EmptyTensorList", "it creates an empty list")
no_gradient("TensorListReserve", "it creates an empty list")
for _kind in (
    "FromTensor PushBack PushBackBatch SetItem Resize Scatter ScatterV2 ScatterIntoExistingList "
    "Split ConcatLists GetItem PopBack Stack Gather Concat ConcatV2"
).split():
    gradient_not_implemented(
        f"TensorList{_kind}",
        "gradients through lists come with those of functional loops, and are not built yet; "
        "stack and unstack instead",
    )
