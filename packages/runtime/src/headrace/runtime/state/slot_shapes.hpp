// The shape of each variable at each point of a schedule, and the guards that it depends on.
#pragma once
#include <unordered_map>
#include <vector>

#include "state/slot.hpp"

namespace headrace {

// A plan is valid while this variable has the shape that it had when the plan was made.
class ShapeGuard {
 public:
  // input: the number of the segment's input with the handle; -1: the handle is a constant.
  ShapeGuard(Slot* slot, int32_t input, int32_t rank, const int64_t* dims, int64_t version)
      : slot_(&slot->object), input_(input), rank_(rank), version_(version) {
    if (rank > 0) std::memcpy(dims_, dims, rank * sizeof(int64_t));
  }

  bool holds(const hr_tensor* inputs) const {
    Slot* planned = reinterpret_cast<Slot*>(slot_.get());
    Slot* slot = input_ < 0 ? planned : slot_of(&inputs[input_]);
    if (!slot) return false;
    if (slot == planned && slot->shape_version.load(std::memory_order_acquire) ==
                               __atomic_load_n(&version_, __ATOMIC_RELAXED))
      return true;
    std::lock_guard<SpinLock> hold(slot->shape_lock);
    // A variable without a value fits any plan: its read fails.
    const bool fits =
        slot->rank < 0 ||
        (rank_ == slot->rank && std::memcmp(dims_, slot->dims, rank_ * sizeof(int64_t)) == 0);
    if (fits && slot == planned)
      __atomic_store_n(&version_, slot->shape_version.load(std::memory_order_relaxed),
                       __ATOMIC_RELAXED);
    return fits;
  }

 private:
  ObjectRef slot_;
  int32_t input_;
  int32_t rank_;  // -1: no value, and no declared shape
  int64_t dims_[HR_MAX_RANK];
  mutable int64_t version_;
};

// Shapes of variables while a plan is made: first the current ones, then those that steps assign.
class SlotShapes {
 public:
  std::vector<ShapeGuard> guards;

  // Sets out's shape to that of the variable at this point of the plan. False: it has neither a
  // value nor a declared shape, or the handle is not that of a variable.
  bool shape_of(const hr_tensor* handle, int32_t input, hr_tensor* out) {
    Slot* slot = slot_of(handle);
    if (!slot) return false;
    auto found = shapes_.find(slot);
    if (found == shapes_.end()) {
      hr_tensor shape;
      std::lock_guard<SpinLock> hold(slot->shape_lock);
      const bool has_value = slot->rank >= 0;
      shape.rank = has_value ? slot->rank : slot->declared_rank;
      const int64_t* dims = has_value ? slot->dims : slot->declared_dims;
      if (shape.rank > 0) std::memcpy(shape.dims, dims, shape.rank * sizeof(int64_t));
      guards.emplace_back(slot, input, shape.rank, shape.dims,
                          slot->shape_version.load(std::memory_order_relaxed));
      found = shapes_.emplace(slot, shape).first;
    }
    if (found->second.rank < 0) return false;
    out->rank = found->second.rank;
    if (out->rank > 0) std::memcpy(out->dims, found->second.dims, out->rank * sizeof(int64_t));
    return true;
  }

  void clear() {
    guards.clear();
    shapes_.clear();
  }

  // From here on the variable has the shape of the value.
  void assign(const hr_tensor* handle, const hr_tensor* value) {
    if (Slot* slot = slot_of(handle)) shapes_[slot] = *value;
  }

 private:
  std::unordered_map<Slot*, hr_tensor> shapes_;  // rank -1: unknown
};

}  // namespace headrace
