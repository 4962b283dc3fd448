"""TensorArrays, and the loops over the rows of tensors that they are for."""
