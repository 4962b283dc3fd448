"""The arrays ops in NumPy."""
