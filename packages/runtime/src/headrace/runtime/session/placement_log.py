"""ConfigProto.log_device_placement: where each node of a step runs, in TensorFlow's form."""

from __future__ import annotations

import sys
from typing import Any


def print_placement(program: Any) -> None:
    """Prints a line for each node of a program to standard error, as TensorFlow does."""
    lines = [f"{n['name']}: ({n['op']}): {n['device']}\n" for n in program.describe()["nodes"]]
    sys.stderr.write("".join(lines))
