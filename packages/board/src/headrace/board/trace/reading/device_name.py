"""Names of devices in a step trace: `/job:worker/replica:0/task:1/device:GPU:0/stream:all`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_TASK = re.compile(r"^(/job:[^/]+)?(/replica:[0-9]+)?(/task:[0-9]+)?")
_DIGITS = re.compile(r"([0-9]{1,18})")
_MAX_CHARACTERS = 1000  # of a name, for its place among others


@dataclass(frozen=True)
class DeviceName:
    """The parts of a device name; task is "" if the trace does not name it."""

    task: str  # /job:worker/replica:0/task:1
    device: str  # GPU:0
    stream: str  # stream:all, memcpy, or ""

    @property
    def is_stream(self) -> bool:
        return bool(self.stream)

    @property
    def title_of_task(self) -> str:
        """The task in short form: `worker 1`."""
        found = re.match(r"^/job:([^/]+)(?:/replica:([0-9]+))?(?:/task:([0-9]+))?$", self.task)
        if found is None:
            return self.task or "this process"
        job, replica, task = found.groups()
        return " ".join(
            [job, *([f"replica {replica}"] if replica not in (None, "0") else []), task or ""]
        ).strip()


@lru_cache(maxsize=4096)
def read_device(text: str) -> DeviceName:
    """Splits a device name into its parts; accepts any text."""
    task = _TASK.match(text)
    head = task[0] if task else ""
    rest = text[len(head) :].strip("/")
    parts = rest.split("/")
    stream = ""
    if len(parts) > 1 and (parts[-1].startswith(("stream:", "memcpy"))):
        stream = parts.pop()
    device = "/".join(parts)
    if device.startswith("device:"):
        device = device[len("device:") :]
    elif re.match(r"^[a-z]+:[0-9]+$", device):  # the old form: /cpu:0
        device = device.upper()
    return DeviceName(head, device or text, stream)


def in_reading_order(text: str) -> list[tuple[int, int | str]]:
    """Returns a sort key that compares numbers in names by value: task:2 before task:10."""
    parts = _DIGITS.split(text[:_MAX_CHARACTERS])
    # The split puts numbers at the odd places.
    return [(0, int(p)) if at % 2 else (1, p) for at, p in enumerate(parts) if p]
