// Counts the updates of variables that a thread is in the middle of.
#ifndef HEADRACE_LIBRARY_VARIABLE_UPDATES_HPP
#define HEADRACE_LIBRARY_VARIABLE_UPDATES_HPP

namespace hr {

// How many updates of variables this thread is in the middle of. They go on to their end: half of
// one is worse than a late timeout. The context is no place for this: kernels of other threads
// share it.
inline int& updates_of_thread() {
  static thread_local int updates = 0;
  return updates;
}

}  // namespace hr

#endif
