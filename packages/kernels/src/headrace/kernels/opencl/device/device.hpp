// A device of this library: an OpenCL device with a context, one in-order queue and a memory pool.
#ifndef HEADRACE_OPENCL_DEVICE_DEVICE_HPP
#define HEADRACE_OPENCL_DEVICE_DEVICE_HPP

#include "device/traits.hpp"
#include "headrace/device.h"

namespace hr::cl {

struct Device : hr_device {
  Traits traits;
};

}  // namespace hr::cl

#endif
