"""Runs a script in a separate Python process, where a crash, a hang or a signal does no harm."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

PRELUDE = f"""
import os, signal, sys, threading, time
import numpy as np
import headrace.graph as hr
# A shell's background jobs, and what they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {os.path.dirname(__file__)!r})
from concurrently import wait_until_idle, wait_until_under_way
def started():
    print("started", flush=True)
"""
# A child that hangs ends after this; a busy machine takes long for a child that does not.
HANGS_S = 300.0


def begin(script: str, **environment: str) -> subprocess.Popen[str]:
    """Starts a script after PRELUDE; its output is a pipe."""
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **environment},
    )


def output(script: str, timeout_s: float = HANGS_S, **environment: str) -> str:
    """The output of a script, which must succeed in time."""
    return end(begin(script, **environment), timeout_s)


def end(child: subprocess.Popen[str], timeout_s: float = HANGS_S) -> str:
    """Waits for a child. Returns: its output."""
    try:
        printed, complaints = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)  # with the children that it forked
        printed, complaints = child.communicate()
        raise AssertionError(f"the child hung; it had printed {printed!r} {complaints!r}") from None
    assert child.returncode == 0, (child.returncode, printed, complaints)
    return printed


def interrupt(child: subprocess.Popen[str]) -> None:
    """Sends Ctrl-C once the child has reported that it started."""
    assert child.stdout is not None
    assert child.stdout.readline() == "started\n"
    child.send_signal(signal.SIGINT)
