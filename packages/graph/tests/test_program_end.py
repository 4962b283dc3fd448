"""Daemon threads whose runs end with the program: client/program_end."""

from __future__ import annotations

import subprocess
import sys
import threading

from headrace.graph.client.program_end import stop_with_the_program

PROGRAM = """
import atexit, threading
from headrace.graph.client.program_end import stop_with_the_program

ending = threading.Event()
reached = []

def work():
    ending.wait()
    reached.append("before")
    stop_with_the_program()
    reached.append("after")

def end():
    ending.set()
    thread.join(0.5)
    print(reached)

thread = threading.Thread(target=work, daemon=True)
thread.start()
atexit.register(end)
"""


def test_a_daemon_thread_stops_once_the_main_thread_has_ended() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['before']\n", "")


def test_threads_of_a_program_that_goes_on_are_not_stopped() -> None:
    for daemon in (True, False):
        thread = threading.Thread(target=stop_with_the_program, daemon=daemon)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
    stop_with_the_program()
