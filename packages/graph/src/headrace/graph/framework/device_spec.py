"""Full and partial device names, such as "/job:worker/replica:0/task:1/device:GPU:0"."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any


class DeviceSpec:
    """The parts of a device name; None means unspecified.

    Args:
      job: name of the job, such as "worker".
      replica: index of the replica.
      task: index of the task.
      device_type: "CPU", "GPU", ...
      device_index: index of the device; None prints as "*".
    """

    __slots__ = ("device_index", "device_type", "job", "replica", "task")

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self.job = job
        self.replica = replica
        self.task = task
        self.device_type = _device_type(device_type)
        self.device_index = device_index

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """Parses a device name. Raises: ValueError for an unknown part."""
        return cls().parse_from_string(spec)

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Sets all parts from a device name. Raises: ValueError for an unknown part."""
        self.job = self.replica = self.task = self.device_type = self.device_index = None
        for part in spec.split("/"):
            pieces = part.split(":")
            kind = pieces[0]
            try:
                if not part:
                    continue
                if kind == "job" and len(pieces) == 2:
                    self.job = pieces[1]
                elif kind == "replica" and len(pieces) == 2:
                    self.replica = int(pieces[1])
                elif kind == "task" and len(pieces) == 2:
                    self.task = int(pieces[1])
                elif kind == "device" and len(pieces) in (2, 3):
                    self.device_type = _device_type(pieces[1])
                    self.device_index = _device_index(pieces[2:])
                elif kind.upper() in ("CPU", "GPU", "TPU") and len(pieces) in (1, 2):
                    self.device_type = kind.upper()
                    self.device_index = _device_index(pieces[1:])
                else:
                    raise ValueError(part)
            except ValueError:
                raise ValueError(
                    f"Unknown attribute '{part}' is encountered while parsing the device spec "
                    f"'{spec}': write /job:NAME/replica:N/task:N/device:TYPE:N, or parts of it"
                ) from None
        return self

    def merge_from(self, dev: DeviceSpec) -> None:
        """Sets the parts that `dev` specifies."""
        for part in self.__slots__:
            value = getattr(dev, part)
            if value is not None:
                setattr(self, part, value)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Returns a copy with the parts that `dev` specifies."""
        new = DeviceSpec(self.job, self.replica, self.task, self.device_type, self.device_index)
        new.merge_from(dev)
        return new

    def replace(self, **kwargs: Any) -> DeviceSpec:
        """Returns a copy with some parts set."""
        fields = {part: getattr(self, part) for part in self.__slots__}
        return DeviceSpec(**{**fields, **kwargs})

    def to_string(self) -> str:
        """Returns the device name of the specified parts."""
        out = ""
        if self.job is not None:
            out += f"/job:{self.job}"
        if self.replica is not None:
            out += f"/replica:{self.replica}"
        if self.task is not None:
            out += f"/task:{self.task}"
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            out += f"/device:{self.device_type}:{index}"
        return out

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"DeviceSpec({self.to_string()!r})"


def _device_type(name: str | None) -> str | None:
    return name.upper() if name is not None and name.lower() in ("cpu", "gpu") else name


def _device_index(pieces: list[str]) -> int | None:
    return None if not pieces or pieces[0] == "*" else int(pieces[0])


@lru_cache(maxsize=1024)
def canonical(spec: str) -> str:
    """Returns the canonical form of a device name. Raises: ValueError for an unknown part."""
    return DeviceSpec.from_string(spec).to_string()


@lru_cache(maxsize=1024)
def merged(outer: str, inner: str) -> str:
    """Merges two device names; the parts of the inner name take precedence."""
    return DeviceSpec.from_string(outer).make_merged_spec(DeviceSpec.from_string(inner)).to_string()


def merge_device(spec: Any) -> Callable[[Any], str]:
    """Returns a device function that fills the unspecified parts of a device from `spec`."""
    outer = spec.to_string() if isinstance(spec, DeviceSpec) else canonical(spec or "")
    return lambda op: merged(outer, op.device or "")
