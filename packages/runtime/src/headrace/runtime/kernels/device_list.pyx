# cython: language_level=3
# distutils: language = c++
"""The devices of a session: their names, and those of them that have memory of their own."""

from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.formats.errors import InvalidArgumentError
from headrace.runtime.kernels.kernel_table import reasons_for_no_devices
from headrace.runtime.kernels.kernel_table cimport found_devices, is_accelerator_type
from headrace.runtime.memory.kernel_abi cimport hr_device, hr_device_memory


cdef class DeviceList:
    """The devices of one session.

    Args:
      task: "/job:localhost/replica:0/task:0".
      counts: by type: how many; None for a type stands for all that there are.
      visible: numbers of the devices with memory of their own that the session may have, in order,
        by type; a type that is missing has all.
    """

    def __init__(self, str task, dict counts, dict visible=None):
        cdef vector[hr_device*] found
        cdef hr_device* device
        by_type = {}
        self.names = []
        wanted = [kind for kind, count in counts.items() if count != 0]
        if any(is_accelerator_type(<string>kind.encode()) for kind in wanted):
            found = found_devices()
            for device in found:
                by_type.setdefault(device.type.decode(), []).append(<size_t>device)
        for kind in sorted(wanted, key=lambda kind: (kind != "CPU", kind)):
            if not is_accelerator_type(<string>kind.encode()):
                for i in range(counts[kind] or 0):
                    self.names.append(f"{task}/device:{kind}:{i}")
                    self.devices.push_back(NULL)
                continue
            addresses = by_type.get(kind, [])
            if visible and kind in visible:
                for number in visible[kind]:
                    if not 0 <= number < len(addresses):
                        raise InvalidArgumentError(
                            None, None,
                            f"'visible_device_list' listed an invalid {kind} id '{number}' but "
                            f"visible device count is {len(addresses)}{reasons_for_no_devices()}")
                addresses = [addresses[number] for number in visible[kind]]
            if counts[kind] is not None:
                addresses = addresses[:counts[kind]]
            for i, address in enumerate(addresses):
                self.names.append(f"{task}/device:{kind}:{i}")
                self.devices.push_back(<hr_device*><size_t>address)
                self.accelerated = True

    def set_memory_limit(self, double fraction) -> None:
        """Bounds what the devices give, as a fraction of their memory; for the whole process."""
        cdef hr_device* device
        for device in self.devices:
            if device != NULL:
                device.set_limit(device, <long long>(fraction * device.memory_bytes))

    def memory(self, int number):
        """Figures of a device with memory of its own, as a dict of bytes and counts; else None."""
        cdef hr_device_memory figures
        cdef hr_device* device = self.devices[number]
        if device == NULL:
            return None
        device.memory(device, &figures)
        return {"in_use": figures.in_use, "peak": figures.peak, "reserved": figures.reserved,
                "limit": figures.limit, "live": figures.live, "allocated": figures.allocated}

    def description(self, int number):
        """What a device with memory of its own is, for people; else None."""
        cdef hr_device* device = self.devices[number]
        return None if device == NULL else device.description.decode(errors="replace")


def accelerator_types() -> list[str]:
    """The types of the devices with memory of their own that are found."""
    cdef hr_device* device
    return sorted({device.type.decode() for device in found_devices()})
