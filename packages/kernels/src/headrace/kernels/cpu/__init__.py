"""The kernel library of the CPU: compiled loops, and oneDNN."""

from headrace.kernels.cpu._table import capsule
from headrace.kernels.cpu.libraries import pillow

__all__ = ["capsule", "pillow"]
