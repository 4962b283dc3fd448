// A segment made ready for one set of shapes: a kernel schedule, its memory, and what it holds.
//
// Executables are shared: a run holds one through a Lease, the runner's cache holds it as long as
// it is of use, and the last of them frees it. Nothing here needs the GIL.
#pragma once
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "graph/graph_node.hpp"
#include "headrace/kernel.h"
#include "memory/buffer.hpp"
#include "memory/memory_account.hpp"
#include "state/run.hpp"
#include "state/slot_shapes.hpp"
#include "threads/thread_policy.hpp"

namespace headrace {

enum Storage : uint8_t {
  STATIC = 0,     // constants and references: the pointer never changes
  ARENA = 1,      // an offset of the run's arena
  INPUT = 2,      // the caller's, set before each run
  COUNTED = 3,    // a counted buffer of its own, made before each run: it may outlive the run
  BY_KERNEL = 4,  // the kernel sets data and owner
};

// A kernel call with everything absolute.
struct Entry {
  hr_compute compute;
  void* state;
  void* plan;
  hr_tensor** inputs;
  hr_tensor** outputs;
  void* workspace;
};

struct EntryPlan {
  hr_compute compute;
  void* state;
  void* plan;
  int32_t first_input, n_inputs;  // into Executable::arguments
  int32_t first_output, n_outputs;
  int64_t workspace;  // offset in the arena; -1: none
  GraphNode* node;    // to name in errors and traces
};

// What a kernel's `prepare` answered for one node: made once, shared by executables and caches.
struct PreparedNode {
  void* plan = nullptr;
  void (*destroy)(void*) = nullptr;
  hr_compute compute = nullptr;
  int64_t workspace = 0;
  double flops = 0, bytes_moved = 0;
  bool shape_depends_on_data = false;
  std::vector<hr_tensor> outputs;  // dtype, rank, dims, layout, bytes

  PreparedNode() = default;
  PreparedNode(const PreparedNode&) = delete;
  PreparedNode& operator=(const PreparedNode&) = delete;
  ~PreparedNode() {
    if (plan && destroy) destroy(plan);
  }
};

// Whether the kernels of a step overlap: found out in some runs, under the GIL
// (branch_overlap.pyx).
struct OverlapChoice {
  bool decided = false;
  bool clocks = false;           // the next run is measured kernel by kernel
  int8_t runs = 0, looks = 0;    // of this look; finished looks
  int8_t short_runs = 0;         // too short for a look
  int32_t step = -1;             // the dynamic step in which they do; -1: none
  double wall_ns = 0;            // the least that a run took
  std::vector<int64_t> took_ns;  // the least that each kernel took
};

// A value that leaves the segment.
struct SegmentOutput {
  int32_t tensor;
  int32_t root;         // whose memory it is
  uint8_t handed_over;  // alone on memory that a run makes: may be taken, not copied
  hr_buffer* constant;  // that the executable holds and the value lies in, or null
};

class Executable;

constexpr int64_t MAPPED_BYTES = 1 << 20;

// One run's memory: tensors, entries and arena in one block, everything absolute.
struct RunBuffers {
  Executable* owner;
  hr_tensor* tensors;
  Entry* entries;
  int64_t bytes;        // that it was made of
  int64_t block_bytes;  // of the block in which it lies
  // While idle:
  RunBuffers* next_of_owner;
  RunBuffers *before, *after;  // in IdleBuffers, in order of time
};

// Large blocks are mapped, so that what is freed goes back to the system whatever lies beside it.
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

// The large buffers that executables keep between runs. Beyond the limit, what was idle longest is
// freed. Buffers below SMALL stay with their executable: they cost less than the list does.
// Mapped blocks of executables that are gone are kept for the next ones: touching fresh pages costs
// more than planning for a new shape does.
class IdleBuffers {
 public:
  static constexpr int64_t SMALL = 32 << 10;
  static constexpr int64_t MOST_SPARE = 64 << 20;  // bytes

  explicit IdleBuffers(int64_t limit) : limit_(limit) {}
  RunBuffers* take(Executable* owner);
  void give(RunBuffers* buffers);
  void forget(Executable* owner);
  // Frees what plans of that account hold idle.
  void drop_of(const MemoryAccount* account);
  // A block of at least `bytes`, and how large it is. Null: no memory.
  void* block(int64_t bytes, int64_t* size) {
    *size = bytes;
    if (bytes >= MAPPED_BYTES) {
      // Sizes in steps of an eighth to a quarter, so that the next shape's arena fits into this
      // one's block; what is mapped and not touched costs no memory.
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
  // Around a fork: the child must not find the lock taken.
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

class Executable {
 public:
  // ---- the kernel schedule
  std::vector<hr_tensor> tensors;  // as they stand before a run; ARENA: data is the offset
  std::vector<uint8_t> storage;
  std::vector<EntryPlan> entries;
  std::vector<int32_t> arguments;  // tensor numbers
  std::vector<int32_t> counted;    // tensors to allocate before, and to release after a run
  std::vector<int32_t> by_kernel;  // tensors to release after a run
  int64_t arena_bytes = 0;
  int32_t first_effect = 0;  // entries before it change nothing that outlives the run

  // ---- what it was made for
  std::vector<hr_tensor> inputs;      // shapes; with data where the value is part of the key
  std::vector<int32_t> input_tensor;  // its number in `tensors`
  std::vector<SegmentOutput> outputs;
  std::vector<ShapeGuard> guards;  // shapes that variables had
  int64_t resets = 0;              // of the session's state, when it was made
  int threads = 1;
  int device = 0;  // of the program

  // ---- what it holds
  std::vector<BufferRef> constants;
  std::vector<std::shared_ptr<const PreparedNode>> prepared;
  std::vector<std::shared_ptr<GraphNode>> nodes;  // made by passes over the segment

  // ---- figures
  double flops = 0, bytes_moved = 0;
  int64_t intermediate_bytes = 0;  // what all arena values would take side by side
  int folded = 0;
  int fused = 0;       // nodes that other nodes compute on the way
  mutable Cost cost;   // of a run, measured
  int8_t blocks = -1;  // 1: may wait or call Python; -1: not known yet
  OverlapChoice overlap;

  explicit Executable(IdleBuffers* idle) : idle_(idle) {}
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  ~Executable() {
    idle_->forget(this);
    while (idle_of_mine_) {
      RunBuffers* next = idle_of_mine_->next_of_owner;
      free_buffers(idle_of_mine_);
      idle_of_mine_ = next;
    }
    if (memory_) {
      memory_->give(this, constant_bytes());
      memory_->leave(this);
    }
  }

  // From now on what it holds counts against the session's limit, under that name. False: even its
  // constants go beyond it.
  bool hold_in(std::shared_ptr<MemoryAccount> account, std::string name) {
    account->enter(this, std::move(name));
    if (!account->take(this, constant_bytes())) {
      idle_->drop_of(account.get());
      if (!account->take(this, constant_bytes())) {
        account->leave(this);
        return false;
      }
    }
    memory_ = std::move(account);
    return true;
  }

  // Why there are no buffers for a run.
  std::string no_room() const {
    std::string text = "no memory for an arena of " + std::to_string(arena_bytes) + " bytes";
    return memory_ ? text + ": " + memory_->text() : text;
  }

  // Takes over a reference.
  void keep(hr_buffer* counted) { constants.emplace_back(counted); }

  // The constant that begins there; null: none.
  hr_buffer* constant_at(const void* data) const {
    for (const BufferRef& held : constants)
      if (held.get()->data == data) return held.get();
    return nullptr;
  }

  // About what it takes, with the memory of one run.
  int64_t held_bytes() const {
    int64_t total = arena_bytes + int64_t(sizeof(Executable));
    total += int64_t(tensors.size() * (2 * sizeof(hr_tensor) + sizeof storage[0]));
    total += int64_t(entries.size() * (sizeof(EntryPlan) + sizeof(Entry)));
    total += int64_t(arguments.size() * (sizeof(int32_t) + sizeof(void*)));
    for (const BufferRef& held : constants) total += held.get()->bytes;
    return total;
  }

  bool fits(const hr_tensor* given) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const hr_tensor& mine = inputs[i];
      if (!same_shape(&mine, &given[i])) return false;
      if (mine.data && std::memcmp(mine.data, given[i].data, size_t(mine.bytes)) != 0) return false;
    }
    return true;
  }

  // Whether the variables that it looks at still have the shapes that it was made for.
  bool variables_fit(const hr_tensor* given) const {
    for (const ShapeGuard& guard : guards)
      if (!guard.holds(given)) return false;
    return true;
  }

  // Null: no memory.
  RunBuffers* take_buffers() {
    RunBuffers* found;
    if (arena_bytes >= IdleBuffers::SMALL) {
      found = idle_->take(this);
    } else {
      lock_.lock();
      found = idle_of_mine_;
      if (found) idle_of_mine_ = found->next_of_owner;
      lock_.unlock();
    }
    return found ? found : new_buffers();
  }
  void give_buffers(RunBuffers* buffers) {
    if (arena_bytes >= IdleBuffers::SMALL) return idle_->give(buffers);
    lock_.lock();
    buffers->next_of_owner = idle_of_mine_;
    idle_of_mine_ = buffers;
    lock_.unlock();
  }

 private:
  friend class IdleBuffers;
  IdleBuffers* idle_;
  std::shared_ptr<MemoryAccount> memory_;  // null: no limit
  SpinLock lock_;                          // of idle_of_mine_ where that is small
  RunBuffers* idle_of_mine_ = nullptr;     // guarded by idle_ where it is large

  int64_t constant_bytes() const {
    int64_t total = 0;
    for (const BufferRef& held : constants) total += held.get()->bytes;
    return total;
  }

  void free_buffers(RunBuffers* buffers) {
    const int64_t bytes = buffers->bytes;
    free_block(buffers, buffers->block_bytes);
    if (memory_) memory_->give(this, bytes);
  }

  static int64_t up_to_line(size_t bytes) { return (int64_t(bytes) + 63) & ~int64_t(63); }

  RunBuffers* new_buffers() {
    const int64_t header = up_to_line(sizeof(RunBuffers));
    const int64_t for_tensors = up_to_line(sizeof(hr_tensor) * tensors.size());
    const int64_t for_entries = up_to_line(sizeof(Entry) * entries.size());
    const int64_t for_arguments = up_to_line(sizeof(hr_tensor*) * arguments.size());
    const int64_t total = header + for_tensors + for_entries + for_arguments + arena_bytes + 64;
    if (memory_ && !memory_->take(this, total)) {
      idle_->drop_of(memory_.get());
      if (!memory_->take(this, total)) return nullptr;
    }
    int64_t size = 0;
    void* block = idle_->block(total, &size);
    if (!block) {
      if (memory_) memory_->give(this, total);
      return nullptr;
    }
    char* memory = static_cast<char*>(block);
    auto* made = static_cast<RunBuffers*>(block);
    made->owner = this;
    made->bytes = total;
    made->block_bytes = size;
    made->tensors = reinterpret_cast<hr_tensor*>(memory + header);
    made->entries = reinterpret_cast<Entry*>(memory + header + for_tensors);
    auto** pointers = reinterpret_cast<hr_tensor**>(memory + header + for_tensors + for_entries);
    char* arena = memory + header + for_tensors + for_entries + for_arguments;
    for (size_t i = 0; i < tensors.size(); ++i) {
      made->tensors[i] = tensors[i];
      if (storage[i] == ARENA) made->tensors[i].data = arena + size_t(tensors[i].data);
    }
    for (size_t i = 0; i < arguments.size(); ++i) pointers[i] = &made->tensors[arguments[i]];
    for (size_t i = 0; i < entries.size(); ++i) {
      const EntryPlan& plan = entries[i];
      made->entries[i] = {plan.compute,
                          plan.state,
                          plan.plan,
                          pointers + plan.first_input,
                          pointers + plan.first_output,
                          plan.workspace >= 0 ? arena + plan.workspace : nullptr};
    }
    return made;
  }
};

inline void IdleBuffers::unlink(RunBuffers* buffers) {
  (buffers->before ? buffers->before->after : oldest_) = buffers->after;
  (buffers->after ? buffers->after->before : newest_) = buffers->before;
  bytes_ -= buffers->bytes;
}

inline RunBuffers* IdleBuffers::take(Executable* owner) {
  std::lock_guard<std::mutex> hold(lock_);
  RunBuffers* found = owner->idle_of_mine_;
  if (found) {
    owner->idle_of_mine_ = found->next_of_owner;
    unlink(found);
  }
  return found;
}

inline void IdleBuffers::give(RunBuffers* buffers) {
  std::lock_guard<std::mutex> hold(lock_);
  buffers->next_of_owner = buffers->owner->idle_of_mine_;
  buffers->owner->idle_of_mine_ = buffers;
  buffers->before = newest_;
  buffers->after = nullptr;
  (newest_ ? newest_->after : oldest_) = buffers;
  newest_ = buffers;
  bytes_ += buffers->bytes;
  trim();
}

inline void IdleBuffers::forget(Executable* owner) {
  std::lock_guard<std::mutex> hold(lock_);
  if (owner->arena_bytes < SMALL) return;
  while (RunBuffers* buffers = owner->idle_of_mine_) {
    owner->idle_of_mine_ = buffers->next_of_owner;
    unlink(buffers);
    if (owner->memory_) owner->memory_->give(owner, buffers->bytes);
    keep_spare(buffers, buffers->block_bytes);
  }
  trim();
}

inline void IdleBuffers::drop(RunBuffers* buffers) {
  RunBuffers** place = &buffers->owner->idle_of_mine_;
  while (*place != buffers) place = &(*place)->next_of_owner;
  *place = buffers->next_of_owner;
  unlink(buffers);
  buffers->owner->free_buffers(buffers);
}

inline void IdleBuffers::drop_of(const MemoryAccount* account) {
  std::lock_guard<std::mutex> hold(lock_);
  for (RunBuffers* buffers = oldest_; buffers;) {
    RunBuffers* after = buffers->after;
    if (buffers->owner->memory_.get() == account) drop(buffers);
    buffers = after;
  }
}

inline hr_code fail_no_room(Run* run, const Executable& made) noexcept {
  try {
    return run_fail_text(run, HR_RESOURCE_EXHAUSTED, made.no_room().c_str());
  } catch (const std::bad_alloc&) {  // no memory for the text either
    return run_fail_text(run, HR_RESOURCE_EXHAUSTED, "no memory for an arena");
  }
}

// An executable in use by one run, with that run's buffers. What kernels left in counted tensors is
// released with it.
class Lease {
 public:
  Lease() = default;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() { end(); }

  // False: no memory for the buffers.
  bool begin(std::shared_ptr<Executable> executable) {
    end();
    made_ = std::move(executable);
    buffers_ = made_->take_buffers();
    return buffers_ != nullptr;
  }
  void end() {
    if (buffers_) {
      release_values();
      made_->give_buffers(buffers_);
      buffers_ = nullptr;
    }
    made_.reset();
  }
  // Between two runs in the same buffers.
  void release_values() {
    for (int32_t i : made_->counted) release_value(i);
    for (int32_t i : made_->by_kernel) release_value(i);
  }
  Executable* made() const { return made_.get(); }
  RunBuffers* buffers() const { return buffers_; }

 private:
  std::shared_ptr<Executable> made_;
  RunBuffers* buffers_ = nullptr;

  void release_value(int32_t i) {
    hr_tensor& t = buffers_->tensors[i];
    buffer_release(t.owner);
    t.owner = nullptr;
  }
};

}  // namespace headrace
