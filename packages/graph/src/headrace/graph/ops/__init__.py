"""Public functions of ops and their gradients, by family."""
