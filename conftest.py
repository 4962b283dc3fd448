"""For all tests: a busy machine is no fault, so hypothesis has no deadline (none in CI either)."""

from __future__ import annotations

import os

from hypothesis import settings

if "CI" not in os.environ:
    settings.register_profile("headrace", deadline=None)
    settings.load_profile("headrace")
