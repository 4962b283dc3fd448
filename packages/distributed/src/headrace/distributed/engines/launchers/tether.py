"""Runs a command that ends when the process that started it does; a script, not a module.

    python -I -S tether.py PARENT COMMAND ARGUMENT...

The kernel kills the command when its parent is gone (Linux: PR_SET_PDEATHSIG outlives exec). A
check of the parent afterwards covers a parent that died before.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # A parent such as an actor of Ray ignores signals that this command is to be stopped with.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if os.getppid() != parent:
        os._exit(1)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        print(f"cannot run {command[0]!r}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(127 if missing else 126)


if __name__ == "__main__":
    main()
