"""Where the C headers of the contract lie."""

from __future__ import annotations

import os


def include_dir() -> str:
    """Returns the folder to give a compiler, for `#include <headrace/kernel.h>`."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
