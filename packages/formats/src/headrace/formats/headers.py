"""Location of the C headers."""

from __future__ import annotations

import os


def include_dir() -> str:
    """Returns the include folder for `#include <headrace/kernel.h>`."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
