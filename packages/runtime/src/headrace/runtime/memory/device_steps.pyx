# cython: language_level=3
# distutils: language = c++
"""The steps that have work on devices with memory of their own (device_steps.hpp)."""

from headrace.runtime.memory.kernel_abi cimport hr_code, hr_device


cdef extern from "memory/device_steps.hpp" namespace "headrace" nogil:
    cdef cppclass DeviceSteps:
        @staticmethod
        DeviceSteps& all()
        bint begin(const hr_device* device, void* step,
                   void (*fail)(void*, hr_code, const char*) noexcept nogil)
        void end(void* step)
        void fail(const hr_device* device, hr_code code, const char* message)


cdef bint begin_on_device(hr_device* device, void* step,
                          void (*fail)(void*, hr_code, const char*) noexcept nogil) noexcept nogil:
    return DeviceSteps.all().begin(device, step, fail)


cdef void end_on_devices(void* step) noexcept nogil:
    DeviceSteps.all().end(step)


cdef void fail_on_device(hr_device* device, hr_code code, const char* message) noexcept nogil:
    DeviceSteps.all().fail(device, code, message)
