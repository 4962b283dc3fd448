"""The image ops in NumPy."""
