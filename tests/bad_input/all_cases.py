"""All cases, section by section."""

from __future__ import annotations

import building
import files
import running

CASES = [*building.CASES, *running.CASES, *files.CASES]
