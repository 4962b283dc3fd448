"""Daemon threads whose runs end with the program."""

from __future__ import annotations

import threading


def stop_with_the_program() -> None:
    """Stops a daemon thread for good if the main thread has ended.

    Runtimes then end all runs. A daemon thread that writes the error of its run while the
    interpreter ends may abort the process: the interpreter cannot wait for it to release stderr.
    """
    if threading.current_thread().daemon and not threading.main_thread().is_alive():
        threading.Event().wait()
