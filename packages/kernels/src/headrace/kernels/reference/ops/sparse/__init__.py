"""The sparse ops in NumPy."""
