"""Makes the modules of this folder importable, and clusters of processes."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "executor")]

from cluster_processes import make_cluster  # noqa: E402

__all__ = ["make_cluster"]
