"""Which tasks a session sees: ConfigProto.device_filters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from headrace.distributed.cluster.tasks import Task
from headrace.formats.errors import InvalidArgumentError

_PART = re.compile(r"(job|replica|task|device):([\w.:*]+)", re.ASCII)


def visible_tasks(tasks: Mapping[Task, str], own: Task, filters: Iterable[str]) -> dict[Task, str]:
    """Returns the tasks that one of the filters names, and the own one.

    Args:
      tasks: addresses by task.
      own: the master's task.
      filters: parts of device names, "/job:ps", "/job:worker/task:3"; none: all tasks are seen.
    Raises: InvalidArgumentError for a filter that is no part of a device name.
    Example:
      >>> tasks = {Task("ps", 0): "a:1", Task("worker", 0): "b:1", Task("worker", 1): "c:1"}
      >>> list(visible_tasks(tasks, Task("worker", 1), ["/job:ps"]))
      [Task(job='ps', index=0), Task(job='worker', index=1)]
    """
    specs = [_spec(text) for text in filters]
    if not specs:
        return dict(tasks)
    return {
        task: address
        for task, address in tasks.items()
        if task == own or any(_matches(task, spec) for spec in specs)
    }


def _spec(text: str) -> dict[str, str]:
    spec = {}
    for part in filter(None, text.split("/")):
        found = _PART.fullmatch(part)
        if found is None:
            raise InvalidArgumentError(
                None, None, f"device_filters: {text!r} is no part of a device name, such as "
                "'/job:ps' or '/job:worker/task:3'",
            )  # fmt: skip
        spec[found[1]] = found[2]
    return spec


def _matches(task: Task, spec: Mapping[str, str]) -> bool:
    return (
        spec.get("job", task.job) == task.job
        and spec.get("task", str(task.index)) == str(task.index)
        and spec.get("replica", "0") == "0"
    )
