// One execution of a step, with the context of its kernels.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "headrace/kernel.h"
#include "memory/buffer.hpp"
#include "memory/memory_account.hpp"
#include "memory/relaxed.hpp"

namespace headrace {

// The state that a session's kernels share: resources by container and name.
struct SessionState {
  std::mutex lock;
  std::unordered_map<std::string, hr_object*> objects;  // "container\0name"
  std::atomic<int64_t> steps{0};
  std::atomic<int32_t> closed{0};
  // The number of resets: plans from before the last one hold removed resources.
  std::atomic<int64_t> resets{0};
  std::shared_ptr<MemoryAccount> memory;  // the limit for its plans; null: none

  ~SessionState() {
    for (auto& entry : objects) object_release(entry.second);
  }
};

inline int64_t next_step(SessionState* session) { return ++session->steps; }

// The callbacks of a cancellation, for kernels that wait. Most runs have none.
struct CancelCalls {
  std::mutex lock;
  std::condition_variable done;
  uint64_t next_token = 1;
  uint64_t calling = 0;  // the token of the callback in progress
  std::thread::id caller;
  std::map<uint64_t, std::pair<void (*)(void*), void*>> waiting;
};

struct SessionFunctions;

// What the kernels of a step make for the time of the step.
struct StepObject {
  hr_object* object;  // counted
  const void* maker;  // the state of the node that made it
  std::string name;
  bool alive;  // not destroyed by a node yet
};

struct StepObjects {
  std::mutex lock;
  std::vector<StepObject> objects;

  ~StepObjects() {
    for (const StepObject& held : objects) object_release(held.object);
  }
};

struct Run {
  hr_ctx ctx;  // first: hr_ctx* and Run* convert
  alignas(8) Flag cancelled;
  Flag check_signals;  // adjacent to ctx's flag: both are read at once between kernels
  void (*on_check_signals)(void*) = nullptr;
  void* check_signals_argument = nullptr;
  SessionState* session = nullptr;
  SessionFunctions* functions = nullptr;  // of the session that runs it; null: it calls none
  // The first error is kept. Once `code` is set, the message does not change; see run_code.
  SpinLock lock;
  std::atomic<hr_code> code{HR_OK};
  std::atomic<void*> failed{nullptr};  // GraphNode*
  char message[1536];

  std::atomic<CancelCalls*> calls{nullptr};    // made by the first kernel that registers a callback
  int64_t deadline_ns = 0;                     // on the steady clock; 0: none
  std::atomic<StepObjects*> objects{nullptr};  // made by the first kernel that needs it
  int32_t first_profiled = 0;  // ctx.profile's number of the first entry of the schedule that runs
  Run* first = nullptr;  // of the runs of one step, the one that has the objects; null: itself

  ~Run() {
    delete calls.load(std::memory_order_relaxed);
    delete objects.load(std::memory_order_relaxed);
  }
};

// The objects of the run's step.
inline StepObjects* step_objects(Run* run) {
  if (run->first) run = run->first;
  StepObjects* found = run->objects.load(std::memory_order_acquire);
  if (found) return found;
  auto* created = new StepObjects();
  if (run->objects.compare_exchange_strong(found, created)) return created;
  delete created;
  return found;
}

inline hr_code run_fail_text(Run* run, hr_code code, const char* text) {
  run->lock.lock();
  if (run->code.load(std::memory_order_relaxed) == HR_OK) {
    std::snprintf(run->message, sizeof run->message, "%s", text);
    run->code.store(code, std::memory_order_release);
  }
  run->lock.unlock();
  return code;
}

// Fails a run whose predicate is not a scalar; needs no memory.
inline hr_code fail_not_scalar(Run* run, const hr_tensor* predicate) noexcept {
  char text[400];
  int n = std::snprintf(text, sizeof text, "The second input must be a scalar, but it has shape [");
  for (int32_t i = 0; i < predicate->rank; ++i)
    n += std::snprintf(text + n, sizeof text - size_t(n), "%s%lld", i ? ", " : "",
                       static_cast<long long>(predicate->dims[i]));
  std::snprintf(text + n, sizeof text - size_t(n), "]");
  return run_fail_text(run, HR_INVALID_ARGUMENT, text);
}

// The run's error so far. If it is not HR_OK, the message is complete and final.
inline hr_code run_code(const Run* run) { return run->code.load(std::memory_order_acquire); }

// Sets the node of the run's error; the first one stays.
inline void run_blame(Run* run, void* node) {
  void* none = nullptr;
  if (node) run->failed.compare_exchange_strong(none, node, std::memory_order_acq_rel);
}
inline void* run_blamed(const Run* run) { return run->failed.load(std::memory_order_acquire); }

// Resets it to its initial state, before other threads know the run.
inline void run_clear(Run* run) {
  run->code.store(HR_OK, std::memory_order_relaxed);
  run->failed.store(nullptr, std::memory_order_relaxed);
  run->cancelled.set(0);
  run->check_signals.set(0);
  run->on_check_signals = nullptr;
}

inline hr_code run_fail(hr_ctx* ctx, hr_code code, const char* format, ...) {
  char text[1536];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return run_fail_text(reinterpret_cast<Run*>(ctx), code, text);
}

// 0: the run is already cancelled, or memory is exhausted.
inline uint64_t run_on_cancel(hr_ctx* ctx, void (*cancel)(void*), void* argument) {
  Run* run = reinterpret_cast<Run*>(ctx);
  CancelCalls* calls = run->calls.load(std::memory_order_acquire);
  if (!calls) {
    auto* created = new CancelCalls();
    if (run->calls.compare_exchange_strong(calls, created, std::memory_order_seq_cst)) {
      calls = created;
    } else {
      delete created;
    }
  }
  std::lock_guard<std::mutex> hold(calls->lock);
  // A cancellation sets the flag and then reads the callbacks; this reads the flag after adding
  // one.
  if (__atomic_load_n(run->cancelled.address(), __ATOMIC_SEQ_CST)) return 0;
  calls->waiting[calls->next_token] = {cancel, argument};
  return calls->next_token++;
}

// Afterwards the callback neither runs nor will run, so its argument may be freed.
inline void run_forget_cancel(hr_ctx* ctx, uint64_t token) {
  CancelCalls* calls = reinterpret_cast<Run*>(ctx)->calls.load(std::memory_order_acquire);
  if (!calls) return;
  std::unique_lock<std::mutex> hold(calls->lock);
  calls->waiting.erase(token);
  if (calls->caller != std::this_thread::get_id())
    calls->done.wait(hold, [&] { return calls->calling != token; });
}

// Marks the run as cancelled and calls all callbacks; later calls do nothing.
inline void run_cancel(Run* run) {
  if (run->cancelled.swap(1)) return;
  CancelCalls* calls = run->calls.load(std::memory_order_seq_cst);
  if (!calls) return;
  std::unique_lock<std::mutex> hold(calls->lock);
  calls->caller = std::this_thread::get_id();
  while (!calls->waiting.empty()) {
    auto first = calls->waiting.begin();
    auto callback = first->second;
    calls->calling = first->first;
    calls->waiting.erase(first);
    hold.unlock();
    callback.first(callback.second);
    hold.lock();
    calls->calling = 0;
    calls->done.notify_all();
  }
  calls->caller = std::thread::id();
}

// Whether the run was cancelled, or must check for signals.
inline bool run_wants_attention(const Run* run) {
  typedef int64_t __attribute__((may_alias)) Both;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  static_assert(offsetof(Run, check_signals) == offsetof(Run, cancelled) + 4, "read as one word");
#pragma GCC diagnostic pop
  return __atomic_load_n(reinterpret_cast<const volatile Both*>(&run->cancelled),
                         __ATOMIC_RELAXED) != 0;
}

// Called between kernels if run_wants_attention. HR_OK: the run continues.
inline hr_code run_attend(Run* run) {
  if (!run->cancelled.get() && run->on_check_signals)
    run->on_check_signals(run->check_signals_argument);
  return run->cancelled.get() ? run_fail_text(run, HR_CANCELLED, "the step was cancelled") : HR_OK;
}

inline void run_parallel_for(hr_ctx* ctx, int64_t total, int64_t grain,
                             void (*body)(void*, int64_t, int64_t), void* argument) {
  int64_t pieces = grain > 0 ? (total + grain - 1) / grain : total;
  if (pieces > ctx->threads) pieces = ctx->threads;
  if (pieces <= 1) {
    if (total > 0) body(argument, 0, total);
    return;
  }
#pragma omp parallel for num_threads(static_cast<int>(pieces)) schedule(static, 1)
  for (int64_t i = 0; i < pieces; ++i) body(argument, total * i / pieces, total * (i + 1) / pieces);
}

// Whether a container of queues or reference variables may have this name: letters, digits, dots,
// dashes and slashes, the last two not first. As in TensorFlow, VarHandleOp is not checked.
inline bool is_container_name(const std::string& name) {
  for (const char* c = name.data(); c != name.data() + name.size(); ++c) {
    const bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                       (*c >= '0' && *c <= '9') || *c == '.';
    if (!plain && (c == name.data() || (*c != '-' && *c != '/'))) return false;
  }
  return true;
}

// The object of that name, counted for the caller; `make` creates it if there is none.
inline hr_code session_lookup(SessionState* session, const char* container, const char* name,
                              const char* kind, hr_object* (*make)(void*), void* argument,
                              hr_object** object, std::string* error) {
  std::string key(container);
  key.push_back('\0');
  key += name;
  std::lock_guard<std::mutex> hold(session->lock);
  auto found = session->objects.find(key);
  if (found != session->objects.end()) {
    if (std::string(found->second->kind) != kind) {
      *error = "resource '" + std::string(name) + "' in container '" + container + "' is a " +
               found->second->kind + ", not a " + kind;
      return HR_INVALID_ARGUMENT;
    }
  } else {
    hr_object* created = make ? make(argument) : nullptr;
    if (!created) {
      *error = "no " + std::string(kind) + " '" + name + "' in container '" + container + "'";
      return HR_NOT_FOUND;
    }
    found = session->objects.emplace(key, created).first;
  }
  object_retain(found->second);
  *object = found->second;
  return HR_OK;
}

// Removes the resources of the named containers (of all, if none is named); the next lookup creates
// new ones. Returns: the removed resources, counted for the caller.
inline std::vector<hr_object*> session_clear(SessionState* session,
                                             const std::vector<std::string>& containers) {
  std::vector<hr_object*> dropped;
  {
    std::lock_guard<std::mutex> hold(session->lock);
    for (auto it = session->objects.begin(); it != session->objects.end();) {
      const std::string container(it->first.c_str());
      bool named = containers.empty();
      for (const auto& c : containers) named = named || c == container;
      if (named) {
        dropped.push_back(it->second);
        it = session->objects.erase(it);
      } else {
        ++it;
      }
    }
  }
  return dropped;
}

}  // namespace headrace
