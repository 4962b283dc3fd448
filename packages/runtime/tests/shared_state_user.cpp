// A library that uses the process's state; built twice.
#include "shared_state.hpp"

#include "executor/executor_state.hpp"
#include "executor/native_loop.hpp"
#include "state/queue.hpp"

extern "C" Seen look(const StateTable* state) {
  return {state->inter_op_pool(), state->intra_op_pool(), state->prepare_lock(),
          state->fork_count()};
}
extern "C" hr_buffer* make(const StateTable* state) { return state->allocate(64); }
extern "C" void release(hr_buffer* buffer) { headrace::buffer_release(buffer); }
extern "C" void begin(const StateTable* state, headrace::ActiveRun* run) { state->begin_run(run); }
extern "C" void* current(const StateTable* state) { return state->current_run(); }
extern "C" int close_session(const StateTable* state, const void* session) {
  return state->end_runs_of(session);
}
extern "C" bool work(const StateTable* state, int* count) {
  return state->run_on_intra_op_pool([](void* n) { ++*static_cast<int*>(n); }, count);
}
