"""The parsing ops in NumPy."""
