"""Functions applied to the rows of tensors: map, fold, scan."""
