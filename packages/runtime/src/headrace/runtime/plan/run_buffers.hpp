// The memory of one run of an executable, and the buffers that executables keep between runs.
#pragma once
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>

#include "headrace/kernel.h"
#include "memory/memory_account.hpp"

namespace headrace {

// A kernel call with resolved addresses.
struct Entry {
  hr_compute compute;
  void* state;
  void* plan;
  hr_tensor** inputs;
  hr_tensor** outputs;
  void* workspace;
};

class Executable;

constexpr int64_t MAPPED_BYTES = 1 << 20;

// The memory of one run: tensors, entries and arena in one block, with resolved addresses.
struct RunBuffers {
  Executable* owner;
  hr_tensor* tensors;
  Entry* entries;
  int64_t bytes;        // of its content
  int64_t block_bytes;  // of the block that contains it
  void* device_arena;   // of a device's executable, during a run
  void* placed_at;      // the arena that the addresses are those of
  // While idle:
  RunBuffers* next_of_owner;
  RunBuffers *before, *after;  // in IdleBuffers, oldest first
};

// Large blocks are mapped, so that freeing them returns their memory to the system.
inline void* block_of(int64_t bytes) {
  if (bytes >= MAPPED_BYTES) {
    void* block =
        mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? nullptr : block;
  }
  void* block = nullptr;
  return posix_memalign(&block, 64, size_t(bytes)) ? nullptr : block;
}
inline void free_block(void* block, int64_t bytes) {
  if (bytes >= MAPPED_BYTES) {
    munmap(block, size_t(bytes));
  } else {
    std::free(block);
  }
}

// The large buffers that executables keep between runs. Beyond the limit, those idle longest are
// freed. Buffers below SMALL stay with their executable: they cost less than the list. Mapped
// blocks of freed executables are kept for later ones: touching fresh pages costs more than
// planning for a new shape.
class IdleBuffers {
 public:
  static constexpr int64_t SMALL = 32 << 10;
  static constexpr int64_t MOST_SPARE = 64 << 20;  // bytes

  explicit IdleBuffers(int64_t limit) : limit_(limit) {}
  RunBuffers* take(Executable* owner);
  void give(RunBuffers* buffers);
  void forget(Executable* owner);
  // Frees the idle buffers of the account's plans.
  void drop_of(const MemoryAccount* account);
  // A block of at least `bytes`, and its size. Null: out of memory.
  void* block(int64_t bytes, int64_t* size) {
    *size = bytes;
    if (bytes >= MAPPED_BYTES) {
      // Sizes are rounded up by an eighth to a quarter, so that the arena of a similar shape fits;
      // mapped pages that are not touched cost no memory.
      int64_t step = MAPPED_BYTES / 4;
      while (step * 8 <= bytes) step *= 2;
      bytes = *size = (bytes + step - 1) / step * step;
      std::lock_guard<std::mutex> hold(lock_);
      auto best = spare_.end();
      for (auto it = spare_.begin(); it != spare_.end(); ++it)
        if (it->bytes >= bytes && it->bytes / 2 <= bytes &&
            (best == spare_.end() || it->bytes < best->bytes))
          best = it;
      if (best != spare_.end()) {
        void* found = best->block;
        *size = best->bytes;
        spare_bytes_ -= best->bytes;
        spare_.erase(best);
        return found;
      }
    }
    return block_of(bytes);
  }
  int64_t bytes() {
    std::lock_guard<std::mutex> hold(lock_);
    return bytes_ + spare_bytes_;
  }
  int64_t limit() {
    std::lock_guard<std::mutex> hold(lock_);
    return limit_;
  }
  void set_limit(int64_t limit) {
    std::lock_guard<std::mutex> hold(lock_);
    limit_ = limit;
    trim();
  }
  // Around a fork: the lock must be free in the child.
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

 private:
  std::mutex lock_;
  RunBuffers *oldest_ = nullptr, *newest_ = nullptr;
  int64_t bytes_ = 0;
  int64_t limit_;

  struct Spare {
    void* block;
    int64_t bytes;
  };
  std::deque<Spare> spare_;  // newest last
  int64_t spare_bytes_ = 0;

  void unlink(RunBuffers* buffers);
  void drop(RunBuffers* buffers);
  void keep_spare(void* block, int64_t bytes) {
    if (bytes < MAPPED_BYTES || bytes > MOST_SPARE) return free_block(block, bytes);
    spare_.push_back({block, bytes});
    spare_bytes_ += bytes;
    while (spare_bytes_ > MOST_SPARE) free_spare();
  }
  void free_spare() {
    const Spare oldest = spare_.front();
    spare_.pop_front();
    spare_bytes_ -= oldest.bytes;
    free_block(oldest.block, oldest.bytes);
  }
  void trim() {
    while (bytes_ + spare_bytes_ > limit_ && !spare_.empty()) free_spare();
    while (bytes_ > limit_ && oldest_) drop(oldest_);
  }
};

}  // namespace headrace
