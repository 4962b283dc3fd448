// What libraries get of the process's state: a table of functions, as Cython's extensions do.
#pragma once
#include "memory/buffer.hpp"
#include "threads/active_runs.hpp"

struct StateTable {
  hr_buffer* (*allocate)(int64_t bytes);
  int64_t (*blocks_alive)();
  void* (*inter_op_pool)();
  void* (*intra_op_pool)();
  void* (*prepare_lock)();
  bool (*run_on_intra_op_pool)(void (*work)(void*), void* argument);
  int (*end_runs_of)(const void* session);
  void (*begin_run)(headrace::ActiveRun*);
  void (*end_run)(headrace::ActiveRun*);
  headrace::ActiveRun* (*current_run)();
  int (*fork_count)();
};

// What each library that uses the state returns.
struct Seen {
  void *inter_op_pool, *intra_op_pool, *prepare_lock;
  int fork_count;
};
