"""How processes that share a folder learn each other's addresses.

Each process reserves a port, writes its address to a file named after its rank, and reads the files
of the others. A run needs a folder of its own: files of an earlier run would be taken for its own.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from headrace.distributed.engines.resolvers.port_reservation import reserve_port
from headrace.formats.errors import AlreadyExistsError, DeadlineExceededError

_POLL_S = 0.05


def exchange_addresses(
    folder: Path, rank: int, size: int, host: str, timeout_s: float = 60.0
) -> list[str]:
    """Reserves a port of this host, and returns the addresses of all processes by rank.

    The port stays reserved as long as this process lives, also through `exec`.

    Args:
      folder: seen by all processes; it is made if it does not exist.
      host: name or address under which the others reach this host.
    Raises: AlreadyExistsError if the folder has an address for this rank: an earlier run used it;
      DeadlineExceededError if an address does not appear in time; the message names the ranks;
      OSError if the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder, f"address-{rank}", f"{host}:{reserve_port()}")
    deadline = time.monotonic() + timeout_s
    found: dict[int, str] = {}
    while True:
        for other in range(size):
            if other not in found:
                try:
                    found[other] = (folder / f"address-{other}").read_text()
                except FileNotFoundError:
                    continue
        missing = [other for other in range(size) if other not in found]
        if not missing:
            return [found[other] for other in range(size)]
        if time.monotonic() > deadline:
            raise DeadlineExceededError(
                None,
                None,
                f"rank {rank} waited {timeout_s:g} s in {folder} for the addresses of the ranks"
                f" {', '.join(map(str, missing))} of {size}",
            )
        time.sleep(_POLL_S)


def mark_ended(folder: Path, rank: int, status: int) -> None:
    """Writes that the process of a rank has ended for good, for `ended_ranks`."""
    _write(folder, f"ended-{rank}", str(status))


def ended_ranks(folder: Path) -> dict[int, int]:
    """Returns the exit statuses of the processes that have ended for good, by rank."""
    found = folder.glob("ended-*")
    return {int(path.name.removeprefix("ended-")): int(path.read_text()) for path in found}


def _write(folder: Path, name: str, text: str) -> None:
    """Writes a file that others see whole or not at all."""
    partial = folder / f".{name}-{os.getpid()}"
    partial.write_text(text)
    try:
        os.link(partial, folder / name)
    except FileExistsError:
        raise AlreadyExistsError(
            None,
            None,
            f"{folder / name} exists: an earlier run used this folder; give each run its own",
        ) from None
    finally:
        partial.unlink()
