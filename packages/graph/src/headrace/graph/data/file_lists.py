"""Datasets of the names of files."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.control_flow.assertion import Assert
from headrace.graph.control_flow.control_flow_ops import identity
from headrace.graph.data.order import shuffle as shuffled
from headrace.graph.data.sources import from_tensor_slices
from headrace.graph.framework.scopes import control_dependencies, name_scope
from headrace.graph.ops.arrays.shapes import shape
from headrace.graph.ops.elementwise.elementwise import add, greater, maximum
from headrace.graph.ops.files import matching_files
from headrace.graph.ops.strings import reduce_join


def list_files(file_pattern: Any, shuffle: bool | None, seed: Any) -> Any:
    """Returns a dataset of the paths that match patterns; the run fails if there is none."""
    with name_scope("list_files"):
        pattern = convert_to_tensor(file_pattern, as_dtype("string"), name="file_pattern")
        found = matching_files(pattern)
        is_matched = greater(shape(found)[0], 0, name="match_not_empty")
        listed = reduce_join(pattern, separator=", ")
        message = add("No files matched pattern: ", listed, name="message")
        check = Assert(is_matched, [message], summarize=1, name="assert_not_empty")
        with control_dependencies([check]):
            found = identity(found)
        dataset = from_tensor_slices(found)
        if shuffle is None or shuffle:
            count = maximum(shape(found, out_type=as_dtype("int64"))[0], 1)
            dataset = shuffled(dataset, count, seed, None)
        return dataset
