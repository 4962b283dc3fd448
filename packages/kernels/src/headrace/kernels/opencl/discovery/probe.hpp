// Whether a device works: a listed device may fail at the first program.
#ifndef HEADRACE_OPENCL_DISCOVERY_PROBE_HPP
#define HEADRACE_OPENCL_DISCOVERY_PROBE_HPP

#include "api/status.hpp"
#include "device/device.hpp"

namespace hr::cl {

// Builds and runs a kernel on memory of the device and checks its result.
Status probe(Device& device);

}  // namespace hr::cl

#endif
