"""NumPy kernels, one short function an op: the oracle of the tests, and a fallback never silent."""

from headrace.kernels.reference.library import library

__all__ = ["library"]
