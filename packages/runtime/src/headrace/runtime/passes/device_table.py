"""The devices of a session: full names, their parts, and which of them a request matches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from headrace.formats.errors import InvalidArgumentError

_MOST_TYPES = 64  # place.pyx has a bit for each

_FIELD = re.compile(
    r"/(?:(job):([^/:]+)|(replica|task):(\d+|\*)|(?:device:)?([A-Za-z]\w*):(\d+|\*)"
    r"|(?:device:)?([A-Za-z]\w*))"
)

Fields = Mapping[str, str | int]


def parse_device(text: str) -> dict[str, str | int]:
    """Reads a device specification, such as "/job:localhost/task:0/device:CPU:1" or "/cpu:1".

    Returns: a dict with the parts that it contains: job, replica, task, type, index.
    Raises: ValueError for text that is none.
    """
    fields: dict[str, str | int] = {}
    at = 0
    while at < len(text):
        match = _FIELD.match(text, at)
        if match is None:
            raise ValueError(text)
        job, job_name, place_of, place_number, kind, number, kind_alone = match.groups()
        if job:
            fields["job"] = job_name
        elif place_of:
            if place_number != "*":
                fields[place_of] = int(place_number)
        else:
            fields["type"] = (kind or kind_alone).upper()
            if number and number != "*":
                fields["index"] = int(number)
        at = match.end()
    return fields


def task_of(device: str) -> str:
    """Returns "/job:ps/replica:0/task:3" of "/job:ps/replica:0/task:3/device:CPU:0"."""
    return device[: device.rindex("/device:")]


class DeviceTable:
    """The devices of a session, by number.

    Attributes:
      names: full names.
      types: of each, such as "CPU"; type_names: without repetition; type_of: numbers of these.
      tasks: names of the tasks; task_of: per device the number of its task.

    Raises: InvalidArgumentError for no devices, more than 64 types, or what is no full name.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._fields = [_fields_of(name) for name in names]
        self.types = [str(fields["type"]) for fields in self._fields]
        self.type_names = list(dict.fromkeys(self.types))
        if not 1 <= len(self.type_names) <= _MOST_TYPES:
            raise InvalidArgumentError(
                None,
                None,
                f"the session has {len(names)} devices of {len(self.type_names)} types; "
                f"it may have 1 to {_MOST_TYPES} types",
            )
        numbers = {name: i for i, name in enumerate(self.type_names)}
        self.type_of = [numbers[name] for name in self.types]
        tasks = [task_of(name) for name in names]
        self.tasks = list(dict.fromkeys(tasks))
        task_numbers = {name: i for i, name in enumerate(self.tasks)}
        self.task_of = [task_numbers[task] for task in tasks]
        # A cluster has a request per task: each is compared with the devices of that task only.
        self._of_task: dict[tuple[str | int | None, str | int | None], list[int]] = {}
        for i, fields in enumerate(self._fields):
            self._of_task.setdefault((fields.get("job"), fields.get("task")), []).append(i)

    def matching(self, requested: Fields) -> list[int]:
        """Returns the numbers of the devices that have the parts of a request, in order."""
        among: list[int] | range = range(len(self.names))
        if "job" in requested and "task" in requested:
            among = self._of_task.get((requested["job"], requested["task"]), [])
        return [
            i
            for i in among
            if all(self._fields[i].get(field) == value for field, value in requested.items())
        ]


def _fields_of(name: str) -> Fields:
    """The parts of a full name. Raises: InvalidArgumentError."""
    try:
        fields = parse_device(name)
    except ValueError:
        fields = {}
    if "type" not in fields or "/device:" not in name:
        raise InvalidArgumentError(
            None,
            None,
            f"{name!r} is not the full name of a device, such as "
            "'/job:worker/replica:0/task:0/device:CPU:0'",
        )
    return fields


@lru_cache(maxsize=16)
def device_table(names: tuple[str, ...]) -> DeviceTable:
    """Returns the table of these devices; the same one for the same names."""
    return DeviceTable(names)
