"""For all tests: a busy machine is no fault, nor is a run in the background."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

# A shell lets what it starts in the background ignore Ctrl-C, and children inherit that: tests of
# interrupts would wait for one that never comes.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# In CI hypothesis has no deadline anyway.
if "CI" not in os.environ:
    settings.register_profile("headrace", deadline=None)
    settings.load_profile("headrace")
