"""Makes the modules of this folder importable, and clusters of processes."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "executor")]

# Where this runs in the background of a shell, SIGINT is ignored, and children inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from cluster_processes import make_cluster  # noqa: E402

__all__ = ["make_cluster"]
