// A call of an asynchronous kernel, or a receive, under way.
#pragma once
#include <cstdlib>
#include <new>

#include "executor_state.hpp"

namespace headrace {

// In one block with its tensors. What the kernel left in them ends with the call, unless it was
// handed over.
struct AsyncCall {
  ExecutionState* state;
  int32_t unit;
  Iteration* iteration;
  int32_t n_outputs;
  hr_tensor* outputs;
  hr_tensor** output_pointers;
  const hr_tensor** input_pointers;
  void* plan = nullptr;
  void (*destroy_plan)(void*) = nullptr;
  OwnedTensor workspace;
  int64_t start_ns = 0;

  void handed_over() { n_outputs = 0; }
  // To be called while the step is there.
  void end_plan() {
    if (plan && destroy_plan) destroy_plan(plan);
    plan = nullptr;
  }
  ~AsyncCall() {
    end_plan();
    for (int32_t i = 0; i < n_outputs; ++i) buffer_release(outputs[i].owner);
  }
};

// Null: no memory. Outputs are zeroed; what the pointers to inputs are is the caller's to say.
inline AsyncCall* new_async_call(ExecutionState* state, int32_t unit, Iteration* iteration,
                                 int32_t n_inputs, int32_t n_outputs) {
  const size_t inputs = size_t(n_inputs), outputs = size_t(n_outputs);
  const size_t total = sizeof(AsyncCall) + outputs * (sizeof(hr_tensor) + sizeof(void*)) +
                       inputs * sizeof(void*);
  char* block = static_cast<char*>(std::calloc(1, total));
  if (!block) return nullptr;
  auto* call = new (block) AsyncCall();
  call->state = state;
  call->unit = unit;
  call->iteration = iteration;
  call->n_outputs = n_outputs;
  call->outputs = reinterpret_cast<hr_tensor*>(block + sizeof(AsyncCall));
  call->output_pointers = reinterpret_cast<hr_tensor**>(call->outputs + outputs);
  call->input_pointers = const_cast<const hr_tensor**>(call->output_pointers + outputs);
  for (size_t i = 0; i < outputs; ++i) call->output_pointers[i] = &call->outputs[i];
  return call;
}

inline void delete_async_call(AsyncCall* call) {
  call->~AsyncCall();
  std::free(call);
}

}  // namespace headrace
