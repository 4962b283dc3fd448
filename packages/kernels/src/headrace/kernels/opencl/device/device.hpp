// A device of this library: an OpenCL device with a context, its queues and a memory pool.
#ifndef HEADRACE_OPENCL_DEVICE_DEVICE_HPP
#define HEADRACE_OPENCL_DEVICE_DEVICE_HPP

#include <memory>
#include <mutex>
#include <string>

#include "api/cl_types.hpp"
#include "api/status.hpp"
#include "device/staging.hpp"
#include "device/stream.hpp"
#include "device/traits.hpp"
#include "headrace/device.h"
#include "memory/pool.hpp"
#include "memory/roots.hpp"
#include "memory/slab.hpp"

namespace hr::cl {

// The functions of hr_device that it offers are in device.cpp, copies in copies.cpp.
struct Device : hr_device {
  // copies: as in Stream.
  Device(const Traits& traits, cl_device_id id, cl_context context, cl_command_queue queue,
         cl_command_queue copies);
  ~Device();
  Device(const Device&) = delete;

  const Traits traits;
  const std::string description;  // hr_device.description
  const cl_device_id id;
  const cl_context context;

  Stream stream;
  Roots roots;
  SlabSource slabs;
  Pool pool;
  Staging staging;

  // What later layers keep for this device.
  std::mutex attached_mutex;
  std::shared_ptr<void> programs;
};

// Reads what is known about a device without using it.
Traits read_traits(cl_platform_id platform, cl_device_id id);

// Makes a device; null: `error` says why not.
std::unique_ptr<Device> open_device(cl_platform_id platform, cl_device_id id, std::string* error);

// A text or a value that OpenCL keeps; "" or 0 if it has none.
std::string platform_text(cl_platform_id platform, cl_uint what);
std::string device_text(cl_device_id id, cl_uint what);
template <class T> T device_value(cl_device_id id, cl_uint what);

}  // namespace hr::cl

#endif
