"""The devices of a session, and what is told of them."""

from __future__ import annotations

import os

from headrace.formats import errors
from headrace.formats.proto import device_pb2
from headrace.runtime.kernels import kernel_table
from headrace.runtime.kernels.device_list import DeviceList, accelerator_types
from headrace.runtime.state.session_options import SessionOptions


def session_devices(task: str, options: SessionOptions) -> DeviceList:
    """Returns the devices: the CPUs first, then those of other types for which there are kernels.

    A session has all devices with memory of their own, unless the options say how many or which.

    Args:
      task: "/job:localhost/replica:0/task:0".
      options: as in TensorFlow, a type of which the process knows nothing is passed over.

    Raises: InvalidArgumentError for a device that does not exist.
    """
    counts: dict[str, int | None] = {"CPU": options.device_counts["CPU"]}
    known = kernel_table.device_types()
    for kind, count in options.device_counts.items():
        if kind != "CPU" and count and kind in known:
            counts[kind] = count
    if options.finds_accelerators:
        for kind in accelerator_types():
            if options.device_counts.get(kind) != 0:
                counts.setdefault(kind, None)
    visible = {}
    if options.visible_devices is not None:
        visible["GPU"] = _numbers(options.visible_devices)
    devices = DeviceList(task, counts, visible)
    if options.memory_fraction:
        devices.set_memory_limit(options.memory_fraction)
    return devices


def _numbers(listed: str) -> list[int]:
    try:
        return [int(number) for number in listed.split(",")]
    except ValueError:
        raise errors.InvalidArgumentError(
            None, None, f"Could not parse entry in 'visible_device_list': '{listed}'"
        ) from None


def is_host_device(name: str) -> bool:
    """Whether a device computes in host memory, by its full name."""
    return _type_of(name) == "CPU"


def _type_of(name: str) -> str:
    return name.rpartition("/device:")[2].partition(":")[0]


def device_attributes(devices: DeviceList, number: int) -> bytes:
    """Returns the serialized DeviceAttributes of a device."""
    name = devices.names[number]
    memory = devices.memory(number)
    return device_pb2.DeviceAttributes(
        name=name,
        device_type=_type_of(name),
        memory_limit=memory["limit"]
        if memory
        else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        physical_device_desc=devices.description(number) or "",
    ).SerializeToString()
