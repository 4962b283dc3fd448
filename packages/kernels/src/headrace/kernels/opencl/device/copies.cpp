#include "device/copies.hpp"

#include <cstdio>
#include <cstring>

#include "api/loader.hpp"
#include "device/fork_guard.hpp"

namespace hr::cl {

namespace {

// The root of a range, and the range's offset in it.
Status locate(Device& device, const void* data, int64_t bytes, Root* root, uint64_t* offset) {
  if (device.roots.find(data, root)) {
    *offset = reinterpret_cast<uintptr_t>(data) - root->base;
    if (uint64_t(bytes) <= root->bytes - *offset) return {};
  }
  char text[160];
  std::snprintf(text, sizeof text, "%lld bytes at %p are not in the memory of ",
                static_cast<long long>(bytes), data);
  return {HR_INVALID_ARGUMENT, text + device.traits.name};
}

}  // namespace

Status copy_in(Device& device, void* to, const void* from, int64_t bytes, hr_profile* profile,
               hr_device_done done, void* argument) {
  if (devices_are_lost()) return lost();
  if (bytes <= 0) {
    if (done) done(argument, HR_OK, "");
    return {};
  }
  Root root;
  uint64_t offset;
  if (Status status = locate(device, to, bytes, &root, &offset); !status.ok()) return status;
  if (device.slabs.on_host && device.stream.idle() && !profile) {
    // Nothing is enqueued that could still use the memory.
    std::memcpy(to, from, size_t(bytes));
    if (done) done(argument, HR_OK, "");
    return {};
  }
  if (!done) return device.staging.write(root, offset, from, bytes, profile);
  return device.stream.enqueue_awaited(Traced(profile, "copy to device", bytes),
                                       "copy to the device", done, argument, [&](cl_event* event) {
                                         return clEnqueueWriteBuffer(
                                             device.stream.queue(), root.memory, CL_FALSE, offset,
                                             size_t(bytes), from, 0, nullptr, event);
                                       });
}

Status copy_out(Device& device, void* to, const void* from, int64_t bytes, hr_profile* profile,
                hr_device_done done, void* argument) {
  if (devices_are_lost()) return lost();
  if (bytes <= 0) {
    done(argument, HR_OK, "");
    return {};
  }
  Root root;
  uint64_t offset;
  if (Status found = locate(device, from, bytes, &root, &offset); !found.ok()) return found;
  if (device.slabs.on_host && device.stream.idle() && !profile) {
    std::memcpy(to, from, size_t(bytes));
    done(argument, HR_OK, "");
    return {};
  }
  Status status = device.stream.enqueue_copy_out(
      Traced(profile, "copy to host", bytes), "copy to the host", done, argument,
      [&](cl_command_queue queue, cl_uint n, const cl_event* work, cl_event* event) {
        return clEnqueueReadBuffer(queue, root.memory, CL_FALSE, offset, size_t(bytes), to, n,
                                   n ? work : nullptr, event);
      });
  if (status.ok()) device.stream.flush();
  return status;
}

Status copy_within(Device& device, void* to, const void* from, int64_t bytes, hr_profile* profile) {
  if (devices_are_lost()) return lost();
  if (bytes <= 0) return {};
  Root target, source;
  uint64_t target_offset, source_offset;
  if (Status status = locate(device, to, bytes, &target, &target_offset); !status.ok())
    return status;
  if (Status status = locate(device, from, bytes, &source, &source_offset); !status.ok())
    return status;
  Traced traced(profile, "copy", bytes);
  const cl_int error =
      clEnqueueCopyBuffer(device.stream.queue(), source.memory, target.memory, source_offset,
                          target_offset, size_t(bytes), 0, nullptr, traced.event());
  if (error != CL_SUCCESS) return failed(error, "copy within the device", device.traits.name);
  device.stream.enqueued(traced);
  return {};
}

Status fill(Device& device, void* to, const void* pattern, size_t pattern_bytes, int64_t bytes,
            hr_profile* profile) {
  if (devices_are_lost()) return lost();
  if (bytes <= 0) return {};
  Root root;
  uint64_t offset;
  if (Status status = locate(device, to, bytes, &root, &offset); !status.ok()) return status;
  Traced traced(profile, "fill", bytes);
  const cl_int error =
      clEnqueueFillBuffer(device.stream.queue(), root.memory, pattern, pattern_bytes, offset,
                          size_t(bytes), 0, nullptr, traced.event());
  if (error != CL_SUCCESS) return failed(error, "fill memory", device.traits.name);
  device.stream.enqueued(traced);
  return {};
}

}  // namespace hr::cl
