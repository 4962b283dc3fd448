"""Public names of what trains: the global step, and what is around a training program.

public_names.py says how to read a row.
"""

from __future__ import annotations

TRAINING: dict[str, str] = {}
