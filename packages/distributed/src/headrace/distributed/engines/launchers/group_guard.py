"""Kills the process groups of a launcher that died; a script, not a module.

The launcher writes "+PGID" for each group that it started and "-PGID" for each that ended to its
standard input. At the end of the input, which the kernel brings about however the launcher ends,
the groups that remain are killed: with them what a task started itself.
"""

import os
import signal
import sys


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        group = int(line[1:])
        if line[0] == "+":
            groups.add(group)
        else:
            groups.discard(group)
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass


if __name__ == "__main__":
    main()
