// Ends a kernel whose step was cancelled.
#ifndef HEADRACE_LIBRARY_POLL_HPP
#define HEADRACE_LIBRARY_POLL_HPP

#include <cstdint>
#include <exception>

#include "headrace/kernel.h"
#include "library/variable_updates.hpp"

namespace hr {

// Thrown out of a kernel whose step was cancelled, from however deep in its loops.
struct Cancelled : std::exception {
  const char* what() const noexcept override { return "the step was cancelled"; }
};

// Whether the kernel of this thread should end because its step was cancelled.
inline bool should_end(const hr_ctx* ctx) { return hr_cancelled(ctx) && updates_of_thread() == 0; }

// Ends the kernel if its step was cancelled: to be called every few milliseconds.
inline void poll(const hr_ctx* ctx) {
  if (should_end(ctx)) throw Cancelled();
}

// For loops of one thread that do little for each i.
inline void poll_at(const hr_ctx* ctx, int64_t i) {
  if ((i & 0xffff) == 0) poll(ctx);
}

}  // namespace hr

#endif
