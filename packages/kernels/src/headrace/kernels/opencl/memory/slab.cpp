#include "memory/slab.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "api/errors.hpp"
#include "api/loader.hpp"

namespace hr::cl {

namespace {

// Addresses that nothing else in the process has. Those of a device with memory of its own are
// reserved only: a host access there is a fault, not a wrong number.
void* reserve(int64_t bytes, bool usable) {
  const int access = usable ? PROT_READ | PROT_WRITE : PROT_NONE;
  void* base =
      ::mmap(nullptr, size_t(bytes), access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return nullptr;
#ifdef MADV_HUGEPAGE
  if (usable) ::madvise(base, size_t(bytes), MADV_HUGEPAGE);
#endif
  return base;
}

uint64_t next_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

bool SlabSource::create(int64_t bytes, Root* slab, std::string* error) {
  void* base = reserve(bytes, on_host);
  if (!base) {
    *error = std::string("the system has no addresses: ") + std::strerror(errno);
    return false;
  }
  cl_int code = CL_SUCCESS;
  cl_mem memory =
      clCreateBuffer(context_, CL_MEM_READ_WRITE | (on_host ? CL_MEM_USE_HOST_PTR : cl_bitfield(0)),
                     size_t(bytes), on_host ? base : nullptr, &code);
  if (code == CL_SUCCESS && !on_host) {
    // Drivers take the memory when it is first used; they must refuse it here.
    const cl_uint zero = 0;
    code = clEnqueueFillBuffer(queue_, memory, &zero, sizeof zero, 0, sizeof zero, 0, nullptr,
                               nullptr);
    if (code != CL_SUCCESS) clReleaseMemObject(memory);
  }
  if (code != CL_SUCCESS) {
    ::munmap(base, size_t(bytes));
    *error = error_name(code);
    return false;
  }
  *slab = {reinterpret_cast<uintptr_t>(base), uint64_t(bytes), memory, next_id()};
  return true;
}

void SlabSource::destroy(const Root& slab) {
  clFinish(queue_);
  clReleaseMemObject(slab.memory);
  ::munmap(reinterpret_cast<void*>(slab.base), slab.bytes);
}

}  // namespace hr::cl
