// Copies between a device and the host, and within the device.
#ifndef HEADRACE_OPENCL_DEVICE_COPIES_HPP
#define HEADRACE_OPENCL_DEVICE_COPIES_HPP

#include <cstdint>

#include "api/status.hpp"
#include "device/device.hpp"

namespace hr::cl {

// As in hr_device.
Status copy_in(Device& device, void* to, const void* from, int64_t bytes, hr_profile* profile,
               hr_device_done done, void* argument);
Status copy_out(Device& device, void* to, const void* from, int64_t bytes, hr_profile* profile,
                hr_device_done done, void* argument);
Status copy_within(Device& device, void* to, const void* from, int64_t bytes, hr_profile* profile);
Status fill(Device& device, void* to, const void* pattern, size_t pattern_bytes, int64_t bytes,
            hr_profile* profile);

}  // namespace hr::cl

#endif
