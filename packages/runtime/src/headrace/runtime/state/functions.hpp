// Functions of a session as kernels call them, and the scopes and threads in which they do
// (hr_function_api of kernel.h).
#pragma once
#include <Python.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph_node.hpp"
#include "headrace/kernel.h"
#include "state/run.hpp"

// A handle. `body` is a CompiledFunction (function_calls.pyx), which the session drops when it
// ends.
struct hr_function {
  std::atomic<int32_t> references{1};
  std::string name, key;  // key: the serialised NameAttrList
  std::vector<hr_dtype> inputs, outputs;
  int32_t waits = 1;
  bool draws = false;                // it has seeded random ops: each scope has a body
  std::atomic<bool> is_used{false};  // a scope has taken `body` as its own
  headrace::SpinLock lock;
  std::shared_ptr<void> body;  // null: the session has ended

  std::shared_ptr<void> body_now() {
    std::lock_guard<headrace::SpinLock> hold(lock);
    return body;
  }
  void drop_body() {
    std::shared_ptr<void> dropped;  // ends without the lock
    std::lock_guard<headrace::SpinLock> hold(lock);
    dropped.swap(body);
  }
};

namespace headrace {

// Releases the GIL, if this thread has it, around something that waits for other threads.
class WithoutGil {
 public:
  WithoutGil() : state_(Py_IsInitialized() && PyGILState_Check() ? PyEval_SaveThread() : nullptr) {}
  ~WithoutGil() {
    if (state_) PyEval_RestoreThread(state_);
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// A Python object that the last holder releases, on any thread.
inline std::shared_ptr<void> shared_python(PyObject* object) {
  Py_INCREF(object);
  return std::shared_ptr<void>(object, [](void* held) {
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(static_cast<PyObject*>(held));
    PyGILState_Release(state);
  });
}

inline void function_retain(hr_function* f) {
  f->references.fetch_add(1, std::memory_order_relaxed);
}
inline void function_release(hr_function* f) {
  if (f && f->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete f;
}

// The functions of one session. The kernels' handles and scopes may outlive it.
struct SessionFunctions : std::enable_shared_from_this<SessionFunctions> {
  using Compile = hr_code (*)(SessionFunctions* self, const std::string& key, hr_function** made,
                              std::string* error);
  using Recompile = hr_code (*)(SessionFunctions* self, const std::string& key,
                                std::shared_ptr<void>* body, std::string* error);

  std::mutex lock;
  std::condition_variable changed;
  bool closed = false;
  bool left = false;  // its session is closed, iterators of a shared state still call functions
  std::unordered_map<std::string, hr_function*> by_key;  // serialised NameAttrList; counted
  std::vector<hr_scope*> scopes;
  int threads = 0;               // of its scopes
  PyObject* compiler = nullptr;  // a FunctionCompiler; null once closed. Accessed under the GIL.
  Compile compile = nullptr;
  Recompile recompile = nullptr;  // makes another body
  void (*unused)(SessionFunctions* self) =
      nullptr;                 // called once, after the last scope of a left one
  const int* forks = nullptr;  // the number of forks now, and when this was made
  int generation = 0;

  bool forked() const { return forks && *forks != generation; }
  ~SessionFunctions() {
    for (auto& entry : by_key) function_release(entry.second);
  }
};

// A call in progress, in the list of its scope. Cancelling pins it, so that it stays in memory.
struct ScopedCall {
  ScopedCall *before = nullptr, *after = nullptr;
  std::atomic<int32_t> pins{0};
  void (*end)(ScopedCall* self, hr_code code, const char* why) = nullptr;
};

}  // namespace headrace

struct hr_scope {
  headrace::Run run;  // the context of work outside of steps
  std::shared_ptr<headrace::SessionFunctions> session;
  hr_object* object = nullptr;  // not counted: only compared
  std::mutex lock;              // of what follows
  bool ended = false;
  std::string why;
  headrace::ScopedCall* calls = nullptr;
  // Of functions that draw: their random numbers begin with the scope. The functions are those of
  // the session, which keeps them.
  std::unordered_map<hr_function*, std::shared_ptr<void>> bodies;
  // Held while on_end is called, which may drop the last reference to what closes the scope.
  std::recursive_mutex calling;
  void (*on_end)(void*) = nullptr;
  void* argument = nullptr;
  std::atomic<int32_t> references{1};  // the opener's, and those of its calls and threads
};

struct hr_thread {
  std::thread thread;
  hr_scope* scope = nullptr;
  void (*body)(void*) = nullptr;
  void* argument = nullptr;
};
