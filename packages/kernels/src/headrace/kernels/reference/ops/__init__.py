"""The ops in NumPy: one file or folder for each family of the op catalogue."""
