// A call of an asynchronous kernel, or a receive, in progress.
#pragma once
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "executor/executor_state.hpp"
#include "graph/attributes.hpp"
#include "memory/dtype_names.hpp"
#include "plan/owned_plan.hpp"

namespace headrace {

// The call and its tensors share one block. Values that the kernel leaves in the tensors are
// released with the call, unless they were propagated.
struct AsyncCall : OwnedPlan {
  ExecutionState* state;
  int32_t unit;
  Iteration* iteration;
  const int32_t n_outputs;
  OwnedTensor* outputs;
  hr_tensor** output_pointers;
  const hr_tensor** input_pointers;
  OwnedTensor workspace;
  int64_t start_ns = 0;

  ~AsyncCall() {
    end_plan();  // the plan may refer to the outputs
    std::destroy_n(outputs, n_outputs);
  }

  // Null: out of memory. The caller sets the pointers to the inputs.
  static std::unique_ptr<AsyncCall> make(ExecutionState* state, int32_t unit, Iteration* iteration,
                                         int32_t n_inputs, int32_t n_outputs) noexcept {
    const size_t inputs = size_t(n_inputs), outputs = size_t(n_outputs);
    void* block =
        std::calloc(1, sizeof(AsyncCall) + outputs * (sizeof(OwnedTensor) + sizeof(void*)) +
                           inputs * sizeof(void*));
    if (!block) return nullptr;
    return std::unique_ptr<AsyncCall>(
        new (block) AsyncCall(state, unit, iteration, n_outputs, static_cast<char*>(block)));
  }
  static void operator delete(void* block) { std::free(block); }

 private:
  // The block is zeroed: an output that its kernel does not set has no shape and no memory.
  AsyncCall(ExecutionState* state, int32_t unit, Iteration* iteration, int32_t n_outputs,
            char* block)
      : state(state), unit(unit), iteration(iteration), n_outputs(n_outputs),
        outputs(reinterpret_cast<OwnedTensor*>(block + sizeof(AsyncCall))),
        output_pointers(reinterpret_cast<hr_tensor**>(outputs + n_outputs)),
        input_pointers(const_cast<const hr_tensor**>(output_pointers + n_outputs)) {
    for (int32_t i = 0; i < n_outputs; ++i) {
      new (&outputs[i]) OwnedTensor(hr_tensor{});
      output_pointers[i] = outputs[i].get();
    }
  }
  static void* operator new(size_t, void* block) { return block; }
};

// The key of a Send or a Recv in one iteration of a frame.
inline hr_edge_key edge_key(int64_t edge, const Iteration* iteration) noexcept {
  return {edge, iteration->frame->key, iteration->frame->key ? iteration->number : 0};
}

// Where an edge of a plan over tasks is met; all others stay in this step.
inline hr_rendezvous* rendezvous_of(ExecutionState* state, int64_t edge) noexcept {
  return edge >= 0 && state->between_tasks ? state->between_tasks : state->rendezvous.abi();
}

// Whether a value has the dtype that its Recv declares; the run fails if not. They differ only in
// graphs that contain Send and Recv nodes themselves.
inline bool check_received(Run* run, const hr_node* node, const hr_tensor* value) noexcept {
  if (value->dtype == node->output_dtypes[0]) return true;
  char text[160];
  std::snprintf(text, sizeof text,
                "Output 0 of type %s does not match declared output type %s: the value of that "
                "tensor_name was sent as another dtype",
                dtype_name(value->dtype), dtype_name(node->output_dtypes[0]));
  run_fail_text(run, HR_INVALID_ARGUMENT, text);
  return false;
}

}  // namespace headrace
