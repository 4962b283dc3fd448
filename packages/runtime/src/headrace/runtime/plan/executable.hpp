// A segment made ready for one set of shapes: a kernel schedule, its memory, and what it holds.
//
// Executables are shared: a run holds one through a Lease (lease.hpp), the runner's cache holds it
// as long as it is useful, and the last holder frees it. Nothing here needs the GIL.
#pragma once
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_node.hpp"
#include "headrace/kernel.h"
#include "memory/buffer.hpp"
#include "memory/memory_account.hpp"
#include "plan/owned_plan.hpp"
#include "plan/run_buffers.hpp"
#include "state/run.hpp"
#include "state/slot_shapes.hpp"
#include "threads/team_choice.hpp"
#include "threads/thread_policy.hpp"

namespace headrace {

enum Storage : uint8_t {
  STATIC = 0,     // constants and references: the pointer never changes
  ARENA = 1,      // an offset of the run's arena
  INPUT = 2,      // the caller's, set before each run
  COUNTED = 3,    // a counted buffer of its own, made before each run: it may outlive the run
  BY_KERNEL = 4,  // the kernel sets data and owner
};

struct EntryPlan {
  hr_compute compute;
  void* state;
  void* plan;
  int32_t first_input, n_inputs;  // into Executable::arguments
  int32_t first_output, n_outputs;
  int64_t workspace;        // offset in the arena; -1: none
  GraphNode* node;          // to name in errors and traces
  const hr_kernel* kernel;  // null: none
  bool on_host;             // of a device's executable: it computes on the host
};

// The result of a kernel's `prepare` for one node: made once, shared by executables and caches.
struct PreparedNode : OwnedPlan {
  hr_compute compute = nullptr;
  int64_t workspace = 0;
  double flops = 0, bytes_moved = 0;
  bool shape_depends_on_data = false;
  std::vector<hr_tensor> outputs;  // dtype, rank, dims, layout, bytes
};

// Whether kernels of a step should overlap: measured in some runs, under the GIL
// (branch_overlap.pyx).
struct OverlapChoice {
  bool decided = false;
  bool clocks = false;           // the next run is measured kernel by kernel
  int8_t runs = 0, series = 0;   // of this series of measurements; finished series
  int8_t short_runs = 0;         // too short to be measured
  int32_t step = -1;             // the dynamic step in which they overlap; -1: none
  double wall_ns = 0;            // the shortest run
  std::vector<int64_t> took_ns;  // the shortest time of each kernel
};

// A value that leaves the segment.
struct SegmentOutput {
  int32_t tensor;
  int32_t root;         // the tensor that owns its memory
  uint8_t handed_over;  // the only value in memory that a run allocates: moved, not copied
  uint8_t sent;         // a Send that waits for nothing else reads it
  hr_buffer* constant;  // the executable's buffer that contains the value, or null
};

class Executable {
 public:
  // ---- the kernel schedule
  std::vector<hr_tensor> tensors;  // their state before a run; ARENA: data is the offset
  std::vector<uint8_t> storage;
  std::vector<EntryPlan> entries;
  std::vector<int32_t> arguments;          // tensor numbers
  std::vector<int32_t> counted;            // tensors to allocate before, and to release after a run
  std::vector<GraphNode*> counted_makers;  // of each of `counted`: its holder, in messages
  std::vector<int32_t> by_kernel;          // tensors to release after a run
  int64_t arena_bytes = 0;
  // The device whose memory the arena and `counted` are in; null: the host's. A run then takes its
  // arena from the device, which gives memory back in the order of its work.
  hr_device* memory = nullptr;
  std::vector<int32_t> counted_on_host;  // if it is a device's: the same for tensors on the host
  int64_t host_workspace = 0;            // bytes; shared by the entries on the host
  int32_t first_effect = 0;              // earlier entries change nothing that outlives the run
  // Outputs that are sent before the run ends, in the order in which they are complete.
  struct EarlyOutput {
    int32_t after;   // as many entries have run
    int32_t output;  // into `outputs`
  };
  std::vector<EarlyOutput> early;

  // ---- its key
  std::vector<hr_tensor> inputs;      // shapes; with data where the value is part of the key
  std::vector<int32_t> input_tensor;  // its number in `tensors`
  std::vector<SegmentOutput> outputs;
  std::vector<ShapeGuard> guards;  // shapes of variables when it was made
  int64_t resets = 0;              // of the session's state, when it was made
  int threads = 1;
  int device = 0;  // of the program

  // ---- what it owns
  std::vector<BufferRef> constants;
  std::vector<std::shared_ptr<const PreparedNode>> prepared;
  std::vector<std::shared_ptr<GraphNode>> nodes;  // made by passes over the segment

  // ---- figures
  double flops = 0, bytes_moved = 0;
  int64_t intermediate_bytes = 0;  // total size of all values in the arena
  int folded = 0;
  int fused = 0;            // nodes that fused kernels compute
  mutable Cost cost;        // of a run, measured
  mutable TeamChoice team;  // of an executable for one thread
  int8_t blocks = -1;       // 1: may wait or call Python; -1: not known yet
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

  // From now on its memory counts against the session's limit, under that name. False: its
  // constants alone exceed the limit.
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

  // The error text for a run without buffers.
  std::string no_room() const {
    std::string text = "no memory for an arena of " + std::to_string(arena_bytes) + " bytes";
    if (memory) {
      char holders[1024];
      memory->describe_memory(memory, holders, sizeof holders);
      text += std::string(" on ") + memory->description + ", which is held by:\n" + holders;
      return memory_ ? text + "\n" + memory_->text() : text;
    }
    return memory_ ? text + ": " + memory_->text() : text;
  }

  // Takes ownership of a reference.
  void keep(hr_buffer* counted) { constants.emplace_back(counted); }

  // The constant at this address; null: none.
  hr_buffer* constant_at(const void* data) const {
    for (const BufferRef& held : constants)
      if (held.get()->data == data) return held.get();
    return nullptr;
  }

  // Its approximate size, with the memory of one run.
  int64_t held_bytes() const {
    int64_t total = arena_bytes + int64_t(sizeof(Executable));
    total += int64_t(tensors.size() * (2 * sizeof(hr_tensor) + sizeof storage[0]));
    total += int64_t(entries.size() * (sizeof(EntryPlan) + sizeof(Entry)));
    total += int64_t(arguments.size() * (sizeof(int32_t) + sizeof(void*)));
    for (const BufferRef& held : constants) total += held.get()->bytes;
    return total;
  }

  bool fits(const hr_tensor* values) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const hr_tensor& mine = inputs[i];
      if (!same_shape(&mine, &values[i])) return false;
      if (mine.data && std::memcmp(mine.data, values[i].data, size_t(mine.bytes)) != 0)
        return false;
    }
    return true;
  }

  // Whether the variables still have the shapes that it was made for.
  bool variables_fit(const hr_tensor* values) const {
    for (const ShapeGuard& guard : guards)
      if (!guard.holds(values)) return false;
    return true;
  }

  // Null: out of memory.
  RunBuffers* take_buffers() {
    RunBuffers* found = take_idle_buffers();
    if (!found) found = new_buffers();
    if (found && memory && !place_arena(found)) {
      give_buffers(found);
      return nullptr;
    }
    return found;
  }
  void give_buffers(RunBuffers* buffers) {
    if (buffers->device_arena) {
      memory->release(memory, buffers->device_arena);
      buffers->device_arena = nullptr;
      if (memory_) memory_->give(this, arena_bytes);
    }
    if (is_large()) return idle_->give(buffers);
    lock_.lock();
    buffers->next_of_owner = idle_of_mine_;
    idle_of_mine_ = buffers;
    lock_.unlock();
  }

 private:
  friend class IdleBuffers;

  bool is_large() const { return !memory && arena_bytes >= IdleBuffers::SMALL; }

  RunBuffers* take_idle_buffers() {
    if (is_large()) return idle_->take(this);
    std::lock_guard<SpinLock> hold(lock_);
    RunBuffers* found = idle_of_mine_;
    if (found) idle_of_mine_ = found->next_of_owner;
    return found;
  }

  // Takes an arena from the device for one run. False: out of memory.
  bool place_arena(RunBuffers* buffers) {
    if (arena_bytes == 0) return true;
    const char* holder =
        entries.empty() || !entries.back().node ? "an arena" : entries.back().node->name.c_str();
    if (memory_ && !memory_->take(this, arena_bytes)) {
      idle_->drop_of(memory_.get());
      if (!memory_->take(this, arena_bytes)) return false;
    }
    buffers->device_arena = memory->allocate(memory, arena_bytes, holder);
    if (!buffers->device_arena) {
      if (memory_) memory_->give(this, arena_bytes);
      return false;
    }
    if (buffers->device_arena == buffers->placed_at) return true;
    buffers->placed_at = buffers->device_arena;
    char* arena = static_cast<char*>(buffers->device_arena);
    for (size_t i = 0; i < tensors.size(); ++i)
      if (storage[i] == ARENA) buffers->tensors[i].data = arena + size_t(tensors[i].data);
    for (size_t i = 0; i < entries.size(); ++i)
      if (entries[i].workspace >= 0 && !entries[i].on_host)
        buffers->entries[i].workspace = arena + entries[i].workspace;
    return true;
  }

  IdleBuffers* idle_;
  std::shared_ptr<MemoryAccount> memory_;  // null: no limit
  SpinLock lock_;                          // guards small buffers in idle_of_mine_
  RunBuffers* idle_of_mine_ = nullptr;     // idle_ guards large ones

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
    const int64_t host_bytes = memory ? host_workspace : arena_bytes;
    const int64_t total = header + for_tensors + for_entries + for_arguments + host_bytes + 64;
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
    auto* created = static_cast<RunBuffers*>(block);
    created->owner = this;
    created->bytes = total;
    created->block_bytes = size;
    created->device_arena = created->placed_at = nullptr;
    created->tensors = reinterpret_cast<hr_tensor*>(memory + header);
    created->entries = reinterpret_cast<Entry*>(memory + header + for_tensors);
    auto** pointers = reinterpret_cast<hr_tensor**>(memory + header + for_tensors + for_entries);
    char* arena = memory + header + for_tensors + for_entries + for_arguments;
    for (size_t i = 0; i < tensors.size(); ++i) {
      created->tensors[i] = tensors[i];
      if (storage[i] == ARENA) created->tensors[i].data = arena + size_t(tensors[i].data);
    }
    for (size_t i = 0; i < arguments.size(); ++i) pointers[i] = &created->tensors[arguments[i]];
    for (size_t i = 0; i < entries.size(); ++i) {
      const EntryPlan& plan = entries[i];
      created->entries[i] = {plan.compute,
                             plan.state,
                             plan.plan,
                             pointers + plan.first_input,
                             pointers + plan.first_output,
                             plan.workspace >= 0 ? arena + plan.workspace : nullptr};
    }
    return created;
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
  if (!owner->is_large()) return;
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

}  // namespace headrace
