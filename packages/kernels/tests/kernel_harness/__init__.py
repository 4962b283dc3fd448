"""Calls kernels of the compiled table alone; harness.py says how."""

from kernel_harness.harness import (
    PreparedKernel,
    Variable,
    has_kernel,
    live_buffers,
    rows,
    run_kernel,
)

__all__ = ["PreparedKernel", "Variable", "has_kernel", "live_buffers", "rows", "run_kernel"]
