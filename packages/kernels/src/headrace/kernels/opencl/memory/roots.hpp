// The root buffers of a device by address: what an address is to OpenCL.
#ifndef HEADRACE_OPENCL_MEMORY_ROOTS_HPP
#define HEADRACE_OPENCL_MEMORY_ROOTS_HPP

#include <atomic>
#include <cstdint>
#include <mutex>

#include "api/cl_types.hpp"

namespace hr::cl {

// A buffer of OpenCL, and the addresses that stand for its bytes.
struct Root {
  uintptr_t base = 0;
  uint64_t bytes = 0;
  cl_mem memory = nullptr;
  uint64_t id = 0;  // never used again, unlike the address of a cl_mem
};

// A set of roots. Reading takes no lock: each launch looks up all of its tensors.
class Roots {
 public:
  static constexpr int kMost = 1024;

  // False: `address` is in no root.
  bool find(const void* address, Root* root) const noexcept;

  // False: there are kMost already.
  bool add(const Root& root);
  void remove(uint64_t id);

 private:
  struct Entry {
    std::atomic<uintptr_t> base{0};
    std::atomic<uint64_t> bytes{0};
    std::atomic<cl_mem> memory{nullptr};
    std::atomic<uint64_t> id{0};
  };
  static Root load(const Entry& entry) noexcept;
  static void store(Entry& entry, const Root& root) noexcept;
  template <class Change> void change(Change&& change);

  std::mutex writing_;
  std::atomic<uint32_t> version_{0};  // odd: a change is under way
  std::atomic<int> n_{0};
  Entry entries_[kMost];  // by address
};

}  // namespace hr::cl

#endif
