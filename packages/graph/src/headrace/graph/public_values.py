"""Public names of what works on values by index, on sparse tensors, text and examples.

public_names.py says how to read a row.
"""

from __future__ import annotations

from headrace.graph.public_rows import rows

_SEGMENTS = (
    "segment_sum segment_mean segment_prod segment_max segment_min unsorted_segment_sum "
    "unsorted_segment_mean unsorted_segment_prod unsorted_segment_max unsorted_segment_min "
    "unsorted_segment_sqrt_n"
)
_PICKED = "sparse_segment_sum sparse_segment_mean sparse_segment_sqrt_n"

_BY_INDEX = {
    **rows("ops.segment", f"{_SEGMENTS} {_PICKED}"),
    **rows("ops.segment", _SEGMENTS, "math"),
    "sparse.segment_sum": "ops.segment:sparse_segment_sum",
    "sparse.segment_mean": "ops.segment:sparse_segment_mean",
    "sparse.segment_sqrt_n": "ops.segment:sparse_segment_sqrt_n",
    **rows(
        "ops.scatter",
        "scatter_nd batch_scatter_update dynamic_partition dynamic_stitch "
        "tensor_scatter_nd_update tensor_scatter_nd_add tensor_scatter_nd_sub "
        "tensor_scatter_nd_max tensor_scatter_nd_min",
    ),
    "tensor_scatter_update": "ops.scatter:tensor_scatter_nd_update",
    "tensor_scatter_add": "ops.scatter:tensor_scatter_nd_add",
    "tensor_scatter_sub": "ops.scatter:tensor_scatter_nd_sub",
    "manip.scatter_nd": "ops.scatter",
}

VALUES: dict[str, str] = {**_BY_INDEX}
