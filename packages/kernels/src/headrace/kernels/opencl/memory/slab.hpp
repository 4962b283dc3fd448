// Large pieces of a device's memory, from which the pool serves allocations.
#ifndef HEADRACE_OPENCL_MEMORY_SLAB_HPP
#define HEADRACE_OPENCL_MEMORY_SLAB_HPP

#include <cstdint>
#include <string>

#include "api/cl_types.hpp"
#include "memory/roots.hpp"

namespace hr::cl {

// Takes slabs from the driver.
class SlabSource {
 public:
  // On a device of the host, slabs are memory of this process that OpenCL uses in place.
  SlabSource(cl_context context, cl_command_queue queue, bool on_host, int64_t max_bytes)
      : max_bytes(max_bytes), on_host(on_host), context_(context), queue_(queue) {}

  // False: `error` has the driver's reason.
  bool create(int64_t bytes, Root* slab, std::string* error);
  // Nothing may be allocated there; waits for the work that uses it.
  void destroy(const Root& slab);

  const int64_t max_bytes;  // of one slab
  const bool on_host;

 private:
  cl_context context_;
  cl_command_queue queue_;
};

}  // namespace hr::cl

#endif
