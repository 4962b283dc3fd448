// Ops on the letters of each string: StringLength, StringStrip.
#include "library/attributes.hpp"
#include "library/shape_rules.hpp"
#include "library/text.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

// A character of UTF-8 begins at every byte that does not continue one.
int64_t characters(std::string_view text) {
  int64_t count = 0;
  for (const char c : text) count += (c & 0xc0) != 0x80;
  return count;
}

hr_code compute_length(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const bool utf8 = attr_text(static_cast<const hr_node*>(state), "unit") == "UTF8_CHAR";
  for (int64_t i = 0, n = hr_elements(in[0]); i < n; ++i) {
    poll_at(ctx, i);
    const std::string_view text = text_at(in[0], i);
    write<int32_t>(out[0])[i] = int32_t(utf8 ? characters(text) : int64_t(text.size()));
  }
  return HR_OK;
}

hr_code compute_strip(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                      void*) {
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  for (int64_t i = 0, n = hr_elements(in[0]); i < n; ++i) {
    poll_at(ctx, i);
    std::string_view text = text_at(in[0], i);
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    if (hr_code code = set_text(ctx, out[0], i, text)) return code;
  }
  return HR_OK;
}

hr_code prepare(void*, hr_request* r) {
  HR_APPLY_RULE(unchanged, r);
  return HR_OK;
}

hr_code create_with_node(hr_node* node, void** state) {
  *state = node;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("StringLength", nullptr, prepare, compute_length)
        .with_state(create_with_node, [](void*) {}),
    kernel("StringStrip", nullptr, prepare, compute_strip),
};

}  // namespace hr
