"""Public op functions and their gradients, by family."""
