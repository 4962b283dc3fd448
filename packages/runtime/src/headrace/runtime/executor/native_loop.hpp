// The steps of a native loop's iteration, and the state of one run.
//
// An iteration is a list of steps in a fixed order. A part is a segment with its kernel schedule; a
// choice is the Merge after a condition; an inner loop runs to its end. Branches that are not taken
// only cost the test of their guards. Values are slots: pointers to tensors in the memory where
// they were computed, valid until the iteration is over.
#pragma once
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "graph/graph_node.hpp"
#include "memory/buffer.hpp"
#include "plan/lease.hpp"

namespace headrace {

enum LoopStepKind : uint8_t { RUN_PART, CHOOSE, RUN_INNER };

// A step runs if the predicate has this value.
struct Guard {
  int32_t slot;
  uint8_t value;
  GraphNode* node;  // the Switch, to name in errors
};

struct LoopStep {
  LoopStepKind kind;
  int32_t number;  // of the part or of the inner loop; CHOOSE: slot of the predicate
  int32_t first_guard, n_guards;
  int32_t first_slot, n_inputs, n_outputs;  // slots of the inputs, then of the outputs; -1: unread
  // CHOOSE: inputs are those for false and for true; the outputs are value and index.
  int32_t index_if_true;
};

struct LoopValue {
  const hr_tensor* tensor = nullptr;
  hr_buffer* owner = nullptr;  // of its memory; null: the loop's own memory
};

struct PartRun {
  Lease lease;
  Executable* executable = nullptr;
  RunBuffers* buffers = nullptr;
  std::vector<hr_tensor> inputs;  // for looking up an executable
  int32_t samples_left = 4;       // runs to measure until the cost counts as known
  bool leaves_counted = false;
  bool same_places = false;   // its outputs have the same addresses as after its first run
  bool heavy = false;         // worth the intra-op pool
  bool chosen_again = false;  // selected again before the next run: it proved not to be heavy
  std::shared_ptr<Executable> single;  // for one thread, whose cost decides
  bool measured = false;               // long enough to keep measuring

  bool fits(const LoopValue* values, const int32_t* slots) const {
    const size_t n = executable->inputs.size();
    for (size_t i = 0; i < n; ++i) {
      const hr_tensor& mine = executable->inputs[i];
      const hr_tensor* actual = values[slots[i]].tensor;
      if (!same_shape(&mine, actual)) return false;
      if (mine.data && std::memcmp(mine.data, actual->data, size_t(mine.bytes)) != 0) return false;
    }
    return true;
  }
  // The shapes equal those of the plan, except for references, whose shapes may change.
  void place(const LoopValue* values, const int32_t* slots) {
    const size_t n = executable->input_tensor.size();
    for (size_t i = 0; i < n; ++i) {
      hr_tensor* to = &buffers->tensors[executable->input_tensor[i]];
      if (to->dtype >= HR_REF) *to = *values[slots[i]].tensor;
      to->data = values[slots[i]].tensor->data;
      to->owner = values[slots[i]].owner;
    }
  }
  void hand_out(LoopValue* values, const int32_t* slots) const {
    const size_t n = executable->outputs.size();
    for (size_t i = 0; i < n; ++i)
      values[slots[i]] = {&buffers->tensors[executable->outputs[i].tensor],
                          buffers->tensors[executable->outputs[i].root].owner};
  }
  bool begin(std::shared_ptr<Executable> chosen) {
    lease.end();
    executable = nullptr;
    if (!lease.begin(std::move(chosen))) return false;
    executable = lease.executable();
    buffers = lease.buffers();
    leaves_counted = executable->counted.size() || executable->by_kernel.size();
    same_places = true;
    for (const SegmentOutput& output : executable->outputs) {
      const uint8_t storage = executable->storage[size_t(output.root)];
      same_places = same_places && (storage == ARENA || storage == STATIC);
    }
    return true;
  }
};

struct LoopRun {
  std::vector<OwnedTensor> variables;
  std::vector<uint8_t> own;            // whether the loop may overwrite the variable's buffer
  std::vector<OwnedTensor> following;  // counted values that an iteration passes to the next one
  std::vector<const hr_tensor*> by;    // all values that it passes on, in `following` or in place
  std::vector<LoopValue> values;       // by slot
  std::vector<PartRun> parts;
  std::vector<std::unique_ptr<LoopRun>> inner;
  std::vector<int32_t> dirty;  // parts that hold counted values of this iteration
  bool started = false;

  LoopRun(size_t n_variables, size_t n_slots, size_t n_parts, const std::vector<LoopStep>& steps)
      : variables(n_variables), own(n_variables), following(n_variables), by(n_variables),
        values(n_slots), parts(n_parts) {
    dirty.reserve(n_parts);
    for (const LoopStep& step : steps)
      if (step.kind == RUN_PART) parts[size_t(step.number)].inputs.resize(size_t(step.n_inputs));
  }
  LoopRun(const LoopRun&) = delete;
  LoopRun& operator=(const LoopRun&) = delete;
  bool has_inner() const { return !inner.empty(); }
  LoopRun* inner_at(int32_t i) const { return inner[size_t(i)].get(); }

  bool is_variable(const hr_tensor* t) const {
    return t >= variables.data()->get() && t < variables.data()->get() + variables.size();
  }
  // After an iteration: releases counted values, except the loop variables' own memory.
  void release_values() {
    for (int32_t i : dirty) parts[size_t(i)].lease.release_values();
    dirty.clear();
    for (auto& loop : inner)
      if (loop->started) loop->release_variables();
  }
  void release_variables() {
    started = false;
    release_values();
    for (size_t k = 0; k < variables.size(); ++k)
      if (!own[k]) variables[k].reset();
  }
};

// Null: out of memory.
inline std::unique_ptr<LoopRun> new_loop_run(size_t n_variables, size_t n_slots, size_t n_parts,
                                             const std::vector<LoopStep>& steps) noexcept {
  try {
    return std::make_unique<LoopRun>(n_variables, n_slots, n_parts, steps);
  } catch (const std::bad_alloc&) { return nullptr; }
}
// False: out of memory.
inline bool add_inner(LoopRun* outer, std::unique_ptr<LoopRun>& inner) noexcept {
  try {
    outer->inner.push_back(std::move(inner));
  } catch (const std::bad_alloc&) { return false; }
  return true;
}

// Output 1 of a Merge: which input it took.
inline const hr_tensor* index_tensor(int32_t index) {
  static int32_t numbers[2] = {0, 1};
  static const hr_tensor tensors[2] = {{&numbers[0], 4, HR_INT32, 0, {}, 0, nullptr},
                                       {&numbers[1], 4, HR_INT32, 0, {}, 0, nullptr}};
  return &tensors[index];
}

}  // namespace headrace
