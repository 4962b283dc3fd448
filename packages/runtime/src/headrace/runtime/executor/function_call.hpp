// Calls of functions in progress (function_calls.pyx).
#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "executor/call_scopes.hpp"
#include "executor/executor_state.hpp"
#include "threads/inter_op_pool.hpp"

namespace headrace {

// What a call needs until it is over.
struct Call {
  hr_function* function = nullptr;
  std::shared_ptr<void> body;  // CompiledFunction
  hr_scope* scope = nullptr;
  const hr_tensor* const* inputs = nullptr;
  hr_tensor* const* outputs = nullptr;
  hr_call_done done = nullptr;
  void* argument = nullptr;
  uint32_t flags = 0;
};

// A call that waits for a thread. It keeps its scope, which may be closed before the call begins.
struct WaitingCall {
  Call call;

  explicit WaitingCall(const Call& waits) : call(waits) {
    call.scope->references.fetch_add(1, std::memory_order_relaxed);
  }
  WaitingCall(const WaitingCall&) = delete;
  WaitingCall& operator=(const WaitingCall&) = delete;
  ~WaitingCall() { scope_release(call.scope); }
};

// Null: out of memory.
inline WaitingCall* new_waiting_call(const Call& call) noexcept {
  return new (std::nothrow) WaitingCall(call);
}

// Ends a run for its scope.
struct ScopedRun : ScopedCall {
  Run run;

  ScopedRun() {
    end = [](ScopedCall* self, hr_code code, const char* why) {
      Run& run = static_cast<ScopedRun*>(self)->run;
      run_fail_text(&run, code, why);
      run_cancel(&run);
    };
  }
};

// A call on the dynamic executor. The driver that finds it over frees it.
struct DynamicCall : ScopedCall {
  ExecutionState state;
  Call call;
  PoolCall waits;  // while it waits for a thread of a pool

  DynamicCall(Call call, size_t n_frames, size_t n_fetches)
      : state(n_frames, n_fetches), call(std::move(call)) {}
};

inline DynamicCall* new_dynamic_call(const Call& call, size_t n_frames, size_t n_fetches) noexcept {
  try {
    return new DynamicCall(call, n_frames, n_fetches);
  } catch (const std::bad_alloc&) { return nullptr; }
}

// The tensors of a call; few need no heap.
class CallTensors {
 public:
  // False: out of memory.
  bool hold(size_t n) noexcept {
    if (n > FEW) many_.reset(new (std::nothrow) hr_tensor[n]);
    data_ = n > FEW ? many_.get() : few_;
    return data_ != nullptr;
  }
  hr_tensor* data() { return data_; }

 private:
  static constexpr size_t FEW = 8;
  hr_tensor few_[FEW];
  std::unique_ptr<hr_tensor[]> many_;
  hr_tensor* data_ = nullptr;
};

// The error of a run: "Op 'node': text" if a node caused it.
inline std::string call_error(Run* run) noexcept {
  try {
    const auto* node = static_cast<const GraphNode*>(run_blamed(run));
    if (run_code(run) == HR_OK) return "the call was cancelled";
    if (!node) return run->message;
    return (node->op == "_ReadSlot" ? std::string("Variable") : node->op) + " '" + node->name +
           "': " + run->message;
  } catch (const std::bad_alloc&) { return {}; }
}

// ---- the table of kernel.h ----------------------------------------------------------------------

inline hr_code find_function(hr_ctx* ctx, const hr_node* node, const char* attribute,
                             hr_function** found) {
  Run* run = reinterpret_cast<Run*>(ctx);
  AttrScalar scalar;
  const hr_code kind = find_scalar(graph_node(node), attribute, kFunc, scalar);
  if (kind != HR_OK)
    return run_fail(ctx, HR_INVALID_ARGUMENT, "attribute '%s' names no function", attribute);
  SessionFunctions* session = run->functions;
  if (!session) return run_fail(ctx, HR_FAILED_PRECONDITION, "functions cannot be called here");
  std::string key, error;
  try {
    key.assign(scalar.bytes);
    {
      std::lock_guard<std::mutex> hold(session->lock);
      auto known = session->by_key.find(key);
      if (known != session->by_key.end()) {
        function_retain(known->second);
        *found = known->second;
        return HR_OK;
      }
    }
    const hr_code code = session->compile(session, key, found, &error);
    return code == HR_OK ? code : run_fail_text(run, code, error.c_str());
  } catch (const std::bad_alloc&) {
    return run_fail_text(run, HR_RESOURCE_EXHAUSTED, "no memory for a function");
  }
}

inline void fill_function_api(hr_function_api* api, decltype(hr_function_api::call) call) {
  std::memset(api, 0, sizeof *api);
  api->size = sizeof *api;
  api->find = find_function;
  api->retain = function_retain;
  api->release = function_release;
  api->name = [](const hr_function* f) { return f->name.c_str(); };
  api->n_inputs = [](const hr_function* f) { return int32_t(f->inputs.size()); };
  api->n_outputs = [](const hr_function* f) { return int32_t(f->outputs.size()); };
  api->input_dtypes = [](const hr_function* f) { return f->inputs.data(); };
  api->output_dtypes = [](const hr_function* f) { return f->outputs.data(); };
  api->waits = [](hr_function* f) { return f->waits; };
  api->open_scope = open_scope;
  api->cancel_scope = cancel_scope;
  api->close_scope = close_scope;
  api->scope_context = [](hr_scope* scope) { return &scope->run.ctx; };
  api->call = call;
  api->start_thread = start_thread;
  api->join_thread = join_thread;
}

}  // namespace headrace
