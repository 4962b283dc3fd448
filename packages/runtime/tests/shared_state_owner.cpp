// The one library that has the process's state, as the extension threads.pyx has it.
#include "shared_state.hpp"

#include "threads/process_state.hpp"

namespace {

std::mutex allocator_lock;
int64_t blocks = 0;

hr_buffer* allocate(int64_t bytes) {
  std::lock_guard<std::mutex> hold(allocator_lock);
  ++blocks;
  auto* created = new hr_buffer();
  created->references.store(1);
  created->bytes = bytes;
  created->destroy = [](hr_buffer* b) {
    std::lock_guard<std::mutex> hold(allocator_lock);
    --blocks;
    delete b;
  };
  return created;
}
int64_t blocks_alive() {
  std::lock_guard<std::mutex> hold(allocator_lock);
  return blocks;
}
void* inter_op() { return the_inter_op_pool().get(); }
void* intra_op() { return the_intra_op_pool(); }
void* prepare_lock() { return &preparing; }
bool run_on_intra_op_pool(void (*work)(void*), void* argument) {
  return try_intra_op(work, argument, 2, nullptr, nullptr);
}
int end_runs(const void* session) { return active_runs.end_of(session, HR_CANCELLED, "closed"); }
void begin(ActiveRun* run) { begin_run(run); }
void end(ActiveRun* run) { end_run(run); }
ActiveRun* current() { return current_run(); }
int forks() { return fork_count; }

const StateTable table = {
    allocate, blocks_alive, inter_op, intra_op, prepare_lock, run_on_intra_op_pool,
    end_runs, begin,        end,      current,  forks};

}  // namespace

extern "C" const StateTable* state_table() {
  static const bool once = (watch_forks(), true);
  (void)once;
  return &table;
}
