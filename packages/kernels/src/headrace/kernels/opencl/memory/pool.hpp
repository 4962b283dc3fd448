// Allocates memory of a device: the best fit among the free blocks of a few large slabs.
//
// Blocks are released as soon as the last work on them is enqueued. The device's queue is in order,
// so what is enqueued next may have the memory at once.
#ifndef HEADRACE_OPENCL_MEMORY_POOL_HPP
#define HEADRACE_OPENCL_MEMORY_POOL_HPP

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "headrace/device.h"
#include "memory/roots.hpp"
#include "memory/slab.hpp"

namespace hr::cl {

class Pool {
 public:
  // Roots get the slabs; both must live as long as the pool.
  Pool(SlabSource* source, Roots* roots, int64_t limit);
  ~Pool();
  Pool(const Pool&) = delete;

  static constexpr int64_t kAlignment = 256;

  void* allocate(int64_t bytes, const char* holder);
  void release(void* data);

  void memory(hr_device_memory* memory);
  void reset_peak();
  void set_limit(int64_t bytes);
  // Who holds memory, the largest first, and why the last allocation failed.
  std::string describe();

 private:
  struct Slab;
  struct Block {
    uintptr_t address;
    int64_t bytes;
    Slab* slab;
    Block *before, *after;  // neighbours in the slab
    bool free;
    char holder[47];
  };
  struct Slab {
    Root root;
    Block* first;
  };
  struct BySize {
    bool operator()(const Block* a, const Block* b) const {
      return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
    }
  };

  void* take(int64_t bytes, const char* holder);
  bool grow(int64_t bytes, std::string* error);
  bool add_slab(int64_t bytes, std::string* error);
  bool fits_limit(int64_t slab_bytes);
  void give_back_empty();
  int64_t next_slab_bytes(int64_t needed);
  Block* new_block();
  void end_block(Block* block);
  void fail(int64_t bytes, const char* holder, std::string reason);

  SlabSource* const source_;
  Roots* const roots_;
  // Held while the driver is called, without mutex_: a release must not wait for the driver.
  std::mutex growing_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::set<Block*, BySize> free_;
  std::unordered_map<uintptr_t, Block*> live_;
  std::vector<Block*> unused_;  // of former blocks
  hr_device_memory counts_{};
  int64_t grown_ = 0;  // slabs of the usual sizes so far
  std::string last_failure_;
};

}  // namespace hr::cl

#endif
