"""The steps that have work on devices with memory of their own, one list for the process."""

from headrace.runtime.memory.kernel_abi cimport hr_code, hr_device


# From now on an error of the device ends the step: `fail` is called, from any thread, until
# end_on_devices returns. False: out of memory.
cdef bint begin_on_device(hr_device* device, void* step,
                          void (*fail)(void*, hr_code, const char*) noexcept nogil) noexcept nogil
# Waits for calls of `fail` in progress.
cdef void end_on_devices(void* step) noexcept nogil
# Ends all steps that have work on a device: its error may be of any of them.
cdef void fail_on_device(hr_device* device, hr_code code, const char* message) noexcept nogil
