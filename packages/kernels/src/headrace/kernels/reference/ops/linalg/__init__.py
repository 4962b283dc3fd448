"""The linalg ops in NumPy."""
