// How a kernel of this library finds its OpenCL kernels, and enqueues them.
//
// prepare finds the kernels (which builds them at most once a machine) and puts them into the plan;
// they live as long as the process:
//
//     std::string error;
//     const Kernel* neg = find_kernel(device_of(r), "unary.cl", "-DT=float", "neg", &error);
//     if (!neg) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
//
// compute enqueues them and returns, without waiting:
//
//     return launch(ctx, *neg, Grid::of(items, 64), In{in[0]->data}, Out{out[0]->data}, n);
//
// and the source, to which sources/prelude.cl is prepended, takes its arguments in the same order:
//
//     kernel void neg(HR_IN(T, x), HR_OUT(T, y), long n) {
//       HR_INPUT(T, x);
//       HR_OUTPUT(T, y);
//       ...
//
// Scalars keep their types: int32_t is int, int64_t long, uint32_t uint, uint64_t ulong. Give the
// local size rather than let the driver choose: PoCL compiles a kernel again for each local size.
#ifndef HEADRACE_OPENCL_LAUNCH_LAUNCH_HPP
#define HEADRACE_OPENCL_LAUNCH_LAUNCH_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "device/device.hpp"
#include "headrace/kernel.h"

namespace hr::cl {

class Kernel;

// The device that a kernel is prepared for, or runs on.
inline Device& device_of(const hr_request* request) {
  return *static_cast<Device*>(request->device);
}
inline Device& device_of(const hr_ctx* ctx) { return *static_cast<Device*>(ctx->device); }

// Finds a kernel function in a file of sources/, compiled with `defines`: compiler options, such as
// "-DT=float -DWIDTH=4". Waits while a program is built, by this thread or another. Null: `error`
// has the compiler's words. May be called from any thread.
const Kernel* find_kernel(Device& device, const char* source_file, const std::string& defines,
                          const char* function, std::string* error);

// The same for a text that was generated, and may include files of sources/.
const Kernel* generated_kernel(Device& device, const std::string& text, const std::string& options,
                               const char* function, std::string* error);

// How many work-items at most a work-group of a kernel can have, and how many bytes of local memory
// it takes, without its Local arguments.
size_t max_work_group(const Kernel& kernel);
size_t local_memory(const Kernel& kernel);

// The work-items of a launch. `global` must be a multiple of `local`, unless that is 0: then the
// driver chooses. A grid without items is valid, and enqueues nothing.
struct Grid {
  int dimensions;
  size_t global[3];
  size_t local[3];

  static size_t rounded(size_t items, size_t local) {
    return local ? (items + local - 1) / local * local : items;
  }
  // At least `x` items: rounded up to whole work-groups, so the kernel compares its number.
  static Grid of(size_t x, size_t local) { return {1, {rounded(x, local), 1, 1}, {local, 1, 1}}; }
  static Grid of(size_t x, size_t y, size_t local_x, size_t local_y) {
    return {2, {rounded(x, local_x), rounded(y, local_y), 1}, {local_x, local_y, 1}};
  }
  static Grid of(size_t x, size_t y, size_t z, size_t local_x, size_t local_y, size_t local_z) {
    return {3,
            {rounded(x, local_x), rounded(y, local_y), rounded(z, local_z)},
            {local_x, local_y, local_z}};
  }
};

// Whether int holds the numbers of so many items, and of those that fill up their last group.
inline bool is_narrow(int64_t items) { return items <= INT32_MAX - 1024; }

// ---- arguments --------------------------------------------------------------------------------

// Memory of the device that the kernel reads, or writes: HR_IN and HR_OUT. Both become two OpenCL
// arguments: a root buffer, and an offset in bytes.
struct In {
  const void* data;
};
struct Out {
  void* data;
};
// Local memory of a work-group: `local T* name`.
struct Local {
  size_t bytes;
};

// An argument as launch_arguments reads it: memory, local memory, or the bytes of a value.
struct Argument {
  enum Kind : uint8_t { kMemory, kLocal, kValue } kind;
  size_t bytes;
  const void* data;
};

inline Argument argument(const In& in) { return {Argument::kMemory, 0, in.data}; }
inline Argument argument(const Out& out) { return {Argument::kMemory, 0, out.data}; }
inline Argument argument(const Local& local) { return {Argument::kLocal, local.bytes, nullptr}; }
// Numbers, OpenCL vectors and structs of them with the layout that the source declares. bool and
// size_t are no arguments in OpenCL C: give an int32_t or int64_t.
template <class T> Argument argument(const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>, "no OpenCL argument");
  static_assert(!std::is_same_v<T, bool>, "bool has no size in OpenCL C: give an int32_t");
  return {Argument::kValue, sizeof(T), &value};
}

// Enqueues a kernel. Returns an hr_code; the context has the error's text.
hr_code launch_arguments(hr_ctx* ctx, const Kernel& kernel, const Grid& grid,
                         const Argument* arguments, int n);

template <class... Args>
hr_code launch(hr_ctx* ctx, const Kernel& kernel, const Grid& grid, const Args&... args) {
  const Argument arguments[] = {argument(args)...};
  return launch_arguments(ctx, kernel, grid, arguments, int(sizeof...(Args)));
}

// ---- work without a kernel --------------------------------------------------------------------

// Enqueues a copy within the device. The ranges do not overlap.
hr_code copy(hr_ctx* ctx, Out to, In from, int64_t bytes);
// Enqueues writing a pattern of 1, 2, 4, 8 or 16 bytes over and over; `bytes` is a multiple of it.
hr_code fill(hr_ctx* ctx, Out to, const void* pattern, size_t pattern_bytes, int64_t bytes);
// Enqueues writing bytes of the host, which are read before it returns: tables of a plan.
hr_code write(hr_ctx* ctx, Out to, const void* from, int64_t bytes);

}  // namespace hr::cl

#endif
