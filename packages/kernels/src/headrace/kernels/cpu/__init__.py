"""The kernel library of the CPU: compiled loops, and oneDNN."""

from headrace.kernels.cpu._table import capsule

__all__ = ["capsule"]
