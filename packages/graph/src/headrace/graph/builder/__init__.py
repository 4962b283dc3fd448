"""Converts Python values to tensors and calls of ops to nodes."""
