"""The devices of a session, and what is told of them."""

from __future__ import annotations

import os
from collections.abc import Mapping

from headrace.formats.proto import device_pb2
from headrace.runtime.kernels import kernel_table


def session_devices(task: str, counts: Mapping[str, int]) -> list[str]:
    """Returns full names: the CPUs first, then devices of other types for which there are kernels.

    Args:
      task: "/job:localhost/replica:0/task:0".
      counts: by type; as in TensorFlow, a type of which the process knows nothing is passed over.
    """
    others = [kind for kind, count in counts.items() if kind != "CPU" and count]
    if others:
        known = kernel_table.device_types()
        others = sorted(kind for kind in others if kind in known)
    return [f"{task}/device:{kind}:{i}" for kind in ("CPU", *others) for i in range(counts[kind])]


def device_attributes(name: str) -> bytes:
    """Returns the serialized DeviceAttributes of a device, all of which use the host's memory."""
    return device_pb2.DeviceAttributes(
        name=name,
        device_type=name.rpartition("/device:")[2].partition(":")[0],
        memory_limit=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
    ).SerializeToString()
