// The state of the process: pools, runs in progress, the number of forks. Only pools.pyx includes
// this header, since a static in a header exists once per extension with clang, musl and macOS.
#pragma once
#include <Python.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "threads/active_runs.hpp"
#include "threads/gil_backoff.hpp"
#include "threads/inter_op_pool.hpp"
#include "threads/intra_op_pool.hpp"

namespace {

using headrace::ActiveRun;
using headrace::InterOpPool;
using headrace::IntraOpPool;
using headrace::RunSlot;

// The number of forks that led to this process: pools and sessions made before the last cannot be
// used.
int fork_count = 0;
std::atomic<int> working{0};
std::atomic<int32_t> traced_threads{0};
std::atomic<int32_t> computing{0};  // threads that run heavy units of dynamic steps
headrace::GilBackoff gil_backoff;

// Never freed: the threads outlive static destructors.
headrace::ActiveRuns& active_runs = *new headrace::ActiveRuns();
IntraOpPool* intra_op_pool = nullptr;
std::shared_ptr<InterOpPool>* inter_op_pool = new std::shared_ptr<InterOpPool>();
std::mutex& pools_lock = *new std::mutex();
// Held shared while kernels prepare and while pool threads enter Python: libraries and Python then
// hold locks of the process, and a child forked meanwhile would find them locked for good.
pthread_rwlock_t preparing;

void make_prepare_lock() {
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
#ifdef __GLIBC__  // else a fork would wait until no thread plans anything
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
  pthread_rwlock_init(&preparing, &attributes);
  pthread_rwlockattr_destroy(&attributes);
}

struct ThreadState {
  RunSlot* slot = nullptr;
  void* pool = nullptr;  // the thread's inter-op pool
  bool in_pool = false;  // of any pool
  int32_t computes = 0;  // 1: counted in `computing`, except during a Python kernel
  int32_t number = -1;
  int watched_since = -1;  // fork_count when `watched` was set
  bool watched = false;    // Python's main thread, which handles signals
  ~ThreadState() {
    if (slot) active_runs.leave(slot);
  }
};
thread_local ThreadState this_thread;

void enter_pool_thread(void* pool) {
  this_thread.in_pool = true;
  this_thread.pool = pool;
  ++working;
}
void leave_pool_thread() { --working; }

bool python_ends() {
#if PY_VERSION_HEX >= 0x030D0000
  return !Py_IsInitialized() || Py_IsFinalizing();
#else
  return !Py_IsInitialized() || _Py_IsFinalizing();
#endif
}

// A pool thread keeps one Python thread state, made while no fork is in progress. `with gil` would
// make one each time, under a lock that Python takes without the GIL: CPython 3.11 waits for that
// lock in a forked child, in which its holder does not exist.
void begin_thread() {
  if (python_ends()) return;
  pthread_rwlock_rdlock(&preparing);
  PyThreadState_New(PyInterpreterState_Main());
  pthread_rwlock_unlock(&preparing);
}
void end_thread() {
  PyThreadState* state = PyGILState_GetThisThreadState();
  if (!state || python_ends()) return;
  PyEval_RestoreThread(state);
  PyThreadState_Clear(state);
  PyThreadState_DeleteCurrent();
}

IntraOpPool* the_intra_op_pool() {
  std::lock_guard<std::mutex> hold(pools_lock);
  if (!intra_op_pool) {
    intra_op_pool = new IntraOpPool();
    intra_op_pool->enter = [] { enter_pool_thread(nullptr); };
    intra_op_pool->leave = leave_pool_thread;
    intra_op_pool->begin_thread = begin_thread;
  }
  return intra_op_pool;
}

// The largest possible intra-op team, counted once its driver exists: the first allocation of a
// thread may take as much address space as eight stacks.
int startable_threads(int requested) {
  the_intra_op_pool()->begin();
  return headrace::startable_threads(requested);
}

using PoolRef = std::shared_ptr<InterOpPool>;

PoolRef new_inter_op_pool(int size) {
  return std::make_shared<InterOpPool>(
      size, headrace::PoolHooks{begin_thread, end_thread, enter_pool_thread, leave_pool_thread});
}

PoolRef the_inter_op_pool() {
  std::lock_guard<std::mutex> hold(pools_lock);
  if (!*inter_op_pool) *inter_op_pool = new_inter_op_pool(headrace::core_count());
  return *inter_op_pool;
}

bool try_intra_op(headrace::Work work, void* argument, int threads, headrace::Work poll,
                  void* poll_argument) {
  return the_intra_op_pool()->try_run(work, argument, threads, poll, poll_argument);
}

void yield_with_gil() {
  if (PyGILState_Check()) {
    PyThreadState* state = PyEval_SaveThread();
    sched_yield();
    PyEval_RestoreThread(state);
  } else {
    sched_yield();
  }
}

// Clears the signal check of a run if its thread does not handle signals. False: it is not known
// yet whether it does, and nothing was done.
bool begin_run(ActiveRun* run) {
  ThreadState& thread = this_thread;
  if (run->check_signals) {
    if (thread.watched_since != fork_count) return false;
    if (!thread.watched) run->check_signals = nullptr;
  }
  if (!thread.slot) thread.slot = active_runs.take_slot();
  run->slot = thread.slot;
  run->in_pool = thread.in_pool;
  active_runs.begin(run->slot, run);
  return true;
}
void end_run(ActiveRun* run) { active_runs.end(run->slot, run, yield_with_gil); }
ActiveRun* current_run() {
  return this_thread.slot ? this_thread.slot->top.load(std::memory_order_relaxed) : nullptr;
}

// Around a heavy unit of a dynamic step on one thread; the second takes what the first returns.
// A thread in a Python kernel does not compute, but the kernel may run steps that do.
int32_t begin_heavy_unit() {
  ++computing;
  return std::exchange(this_thread.computes, 1);
}
void end_heavy_unit(int32_t before) {
  --computing;
  this_thread.computes = before;
}
bool others_compute() { return headrace::others_fill_cores(computing); }

// Python kernels may wait for other runs, and compute with denormals like any Python code.
uint64_t begin_python_kernel() {
  if (this_thread.pool) static_cast<InterOpPool*>(this_thread.pool)->begin_blocking();
  computing -= this_thread.computes;
  return headrace::keep_denormals();
}
void end_python_kernel(uint64_t before) {
  headrace::restore_denormals(before);
  computing += this_thread.computes;
  if (this_thread.pool) static_cast<InterOpPool*>(this_thread.pool)->end_blocking();
}

// A fork waits until no thread holds one of the locks; the child starts with new pools.
void before_fork() {
  pthread_rwlock_wrlock(&preparing);
  pools_lock.lock();
  active_runs.lock();
}
void after_fork_in_parent() {
  active_runs.unlock();
  pools_lock.unlock();
  pthread_rwlock_unlock(&preparing);
}
void after_fork_in_child() {
  ++fork_count;
  working = 0;
  computing = 0;
  intra_op_pool = nullptr;  // not freed: their locks may be taken
  inter_op_pool = new std::shared_ptr<InterOpPool>();
  this_thread.pool = nullptr;
  this_thread.in_pool = false;
  active_runs.unlock();
  active_runs.forked(this_thread.slot);
  pools_lock.unlock();
  make_prepare_lock();
}

void watch_forks() {
  make_prepare_lock();
  active_runs.begin_thread = begin_thread;
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace
