"""Lets tests import the generators of logs: `from fixtures import event_logs`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
