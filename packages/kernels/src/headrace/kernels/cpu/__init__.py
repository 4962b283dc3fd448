"""The kernel library of the CPU: compiled loops, and oneDNN."""

from headrace.kernels.cpu._table import capsule, serve_files
from headrace.kernels.cpu.file_server import start as start_file_server
from headrace.kernels.cpu.libraries import pillow

__all__ = ["capsule", "pillow"]

serve_files(start_file_server)
