// Copies reference-counted elements.
#include "loops/elements.hpp"

#include <algorithm>

#include "processor/parallel.hpp"

namespace hr {

void copy_counted(hr_ctx* ctx, hr_dtype dtype, void* to, const void* from) {
  if (dtype == HR_STRING) {
    auto* target = static_cast<hr_string*>(to);
    const hr_string value = *static_cast<const hr_string*>(from);
    hr_buffer* before = target->owner;
    if (value.owner) ctx->api->retain(value.owner);
    *target = value;
    if (before) ctx->api->release(before);
  } else if (dtype == HR_RESOURCE) {
    auto* target = static_cast<hr_resource*>(to);
    const hr_resource value = *static_cast<const hr_resource*>(from);
    hr_object* before = target->object;
    if (value.object) ctx->api->retain_object(value.object);
    *target = value;
    if (before) ctx->api->release_object(before);
  } else {
    auto* target = static_cast<hr_variant*>(to);
    const hr_variant before = *target;
    const auto* source = static_cast<const hr_variant*>(from);
    target->type = source->type;
    target->value = source->type ? source->type->copy(source->value) : nullptr;
    if (before.type) before.type->destroy(before.value);
  }
}

void fill_elements(hr_ctx* ctx, hr_dtype dtype, void* to, const void* from, int64_t n) {
  const int64_t size = hr_dtype_size(dtype);
  if (!is_plain(dtype)) {
    for (int64_t i = 0; i < n; ++i) {
      poll_at(ctx, i);
      copy_counted(ctx, dtype, static_cast<char*>(to) + i * size, from);
    }
    return;
  }
  with_size(size, [&](auto t) {
    using U = typename decltype(t)::type;
    const U value = *static_cast<const U*>(from);
    U* out = static_cast<U*>(to);
    parallel_blocks(ctx, n, 64, grain_of(size),
                    [&](int64_t begin, int64_t end) { std::fill(out + begin, out + end, value); });
  });
}

}  // namespace hr
