"""Prints what a checkpoint holds, as TensorFlow's inspect_checkpoint."""

from __future__ import annotations

import re

import numpy as np

from headrace.graph.checkpoints.checkpoint_reader import load_checkpoint


def print_tensors_in_checkpoint_file(
    file_name: str,
    tensor_name: str,
    all_tensors: bool,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Prints tensors of a checkpoint and the number of its elements.

    Args:
      file_name: path of the checkpoint.
      tensor_name: name of one tensor; "" prints names, dtypes and shapes only.
      all_tensors: print the values of all tensors.
      all_tensor_names: print the names of all tensors.
      count_exclude_pattern: regular expression of names that do not count.
    Raises: NotFoundError for another tensor_name.
    """
    reader = load_checkpoint(file_name)
    shapes = reader.get_variable_to_shape_map()
    if all_tensors or all_tensor_names:
        for name in sorted(shapes):
            print("tensor_name: ", name)
            if all_tensors:
                print(reader.get_tensor(name))
    elif tensor_name:
        print("tensor_name: ", tensor_name)
        print(reader.get_tensor(tensor_name))
    else:
        print(reader.debug_string().decode("utf-8"))
    counted = [
        name
        for name in shapes
        if not (count_exclude_pattern and re.search(count_exclude_pattern, name))
    ]
    total = sum(int(np.prod(shapes[name], dtype=np.int64)) for name in counted)
    print(f"# Total number of params: {total}")
