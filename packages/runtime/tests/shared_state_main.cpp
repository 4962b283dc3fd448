// Loads the owner of the process's state and two users, each for itself: what one of them does, the
// other sees. Python is not there; its functions say so.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "shared_state.hpp"

// The process ends for Python: threads of ours make no state in it.
extern "C" {
int Py_IsInitialized() { return 0; }
int _Py_IsFinalizing() { return 1; }
int Py_IsFinalizing() { return 1; }
int PyGILState_Check() { return 0; }
void* PyThreadState_New(void*) { std::abort(); }
void* PyInterpreterState_Main() { std::abort(); }
void* PyGILState_GetThisThreadState() { return nullptr; }
void* PyEval_SaveThread() { std::abort(); }
void PyEval_RestoreThread(void*) { std::abort(); }
void PyThreadState_Clear(void*) { std::abort(); }
void PyThreadState_DeleteCurrent() { std::abort(); }
}

static void* open_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) std::printf("%s\n", dlerror()), std::exit(1);
  return library;
}
template <class F>
static F* function(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}
static void expect(bool holds, const char* claim) {
  if (!holds) std::printf("not so: %s\n", claim), std::exit(1);
  std::printf("%s\n", claim);
}

static bool same(const Seen& a, const Seen& b) {
  return a.inter_op_pool == b.inter_op_pool && a.intra_op_pool == b.intra_op_pool &&
         a.prepare_lock == b.prepare_lock && a.fork_count == b.fork_count;
}

int main(int, char** arguments) {
  const StateTable* state =
      function<const StateTable*()>(open_library(arguments[1]), "state_table")();
  void *a = open_library(arguments[2]), *b = open_library(arguments[3]);
  auto* look_a = function<Seen(const StateTable*)>(a, "look");
  auto* look_b = function<Seen(const StateTable*)>(b, "look");
  expect(reinterpret_cast<void*>(look_a) != reinterpret_cast<void*>(look_b), "two libraries");
  expect(same(look_a(state), look_b(state)), "one pool of each kind, one lock");

  hr_buffer* buffer = function<hr_buffer*(const StateTable*)>(a, "make")(state);
  expect(state->blocks_alive() == 1, "one allocator: what the first takes is counted");
  function<void(hr_buffer*)>(b, "release")(buffer);
  expect(state->blocks_alive() == 0, "one allocator: the second gives it back");

  headrace::ActiveRun run;
  int session = 0, ended = 0, count = 0;
  run.end = [](void* n, hr_code, const char*) { ++*static_cast<int*>(n); };
  run.argument = &ended;
  run.session = &session;
  function<void(const StateTable*, headrace::ActiveRun*)>(a, "begin")(state, &run);
  expect(function<void*(const StateTable*)>(b, "current")(state) == &run,
         "one table of runs: the second sees the run of the first");
  expect(function<int(const StateTable*, const void*)>(b, "close_session")(state, &session) == 1 &&
             ended == 1,
         "one table of runs: the second ends it");
  state->end_run(&run);

  for (void* library : {a, b})
    expect(function<bool(const StateTable*, int*)>(library, "work")(state, &count),
           "the one team works for it");
  expect(count == 2, "both have had the team");

  const Seen before = look_a(state);
  const pid_t child = fork();
  if (child == 0) {
    const Seen now_a = look_a(state), now_b = look_b(state);
    _exit(same(now_a, now_b) && now_a.fork_count == before.fork_count + 1 &&
                  now_a.intra_op_pool != before.intra_op_pool
              ? 0
              : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  expect(status == 0, "a forked child has new pools, one for both");
  return 0;
}
