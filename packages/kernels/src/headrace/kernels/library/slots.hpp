// Access to the values of variables: pinned for reading, locked for writing. The dtype is checked,
// because a node that reaches a variable by its handle may declare another one.
#ifndef HEADRACE_LIBRARY_SLOTS_HPP
#define HEADRACE_LIBRARY_SLOTS_HPP

#include "headrace/kernel.h"
#include "library/dtype_names.hpp"
#include "library/variable_updates.hpp"

namespace hr {

inline hr_code check_slot_dtype(hr_ctx* ctx, const hr_tensor& value, hr_dtype expected,
                                const char* purpose) {
  if (value.dtype == expected) return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                     "Trying to %s variable with wrong dtype. Expected %s got %s", purpose,
                     dtype_name(expected), dtype_name(value.dtype));
}

// A variable's value for as long as this lives.
struct ReadSlot {
  hr_ctx* ctx;
  hr_tensor value{};
  bool pinned = false;
  hr_code code;

  ReadSlot(hr_ctx* c, const hr_tensor* ref, hr_dtype dtype) : ctx(c) {
    code = ctx->api->slot_read(ctx, ref, &value);
    pinned = code == HR_OK;
    if (pinned) code = check_slot_dtype(ctx, value, dtype, "read");
  }
  ~ReadSlot() {
    if (pinned && value.owner) ctx->api->release(value.owner);
  }
  ReadSlot(const ReadSlot&) = delete;
  ReadSlot& operator=(const ReadSlot&) = delete;
};

// The values of n variables, at most `most`, locked; committed when this ends, also by an
// exception.
template <int most> struct WriteSlots {
  hr_ctx* ctx;
  const hr_tensor* const* refs;
  int n;
  hr_tensor values[most];
  bool locked = false;
  hr_code code;

  WriteSlots(hr_ctx* c, const hr_tensor* const* r, hr_dtype dtype, int count = most)
      : ctx(c), refs(r), n(count) {
    code = ctx->api->begin_write(ctx, n, refs, values);
    locked = code == HR_OK;
    updates_of_thread() += locked;
    for (int i = 0; i < n && code == HR_OK; ++i)
      code = check_slot_dtype(ctx, values[i], dtype, "write");
  }
  ~WriteSlots() {
    updates_of_thread() -= locked;
    if (locked) ctx->api->commit(ctx, n, refs);
  }
  WriteSlots(const WriteSlots&) = delete;
  WriteSlots& operator=(const WriteSlots&) = delete;
};

}  // namespace hr

#endif
