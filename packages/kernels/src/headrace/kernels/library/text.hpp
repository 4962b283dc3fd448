// Reads and writes string tensors.
#ifndef HEADRACE_LIBRARY_TEXT_HPP
#define HEADRACE_LIBRARY_TEXT_HPP

#include <string>
#include <string_view>

#include "library/registration.hpp"
#include "library/shapes.hpp"

namespace hr {

inline std::string_view text_of(const hr_string& s) { return {s.data ? s.data : "", s.size}; }
inline std::string_view text_at(const hr_tensor* t, int64_t i) {
  return text_of(static_cast<const hr_string*>(t->data)[i]);
}

inline hr_code set_text(hr_ctx* ctx, hr_tensor* out, int64_t i, std::string_view text) {
  return ctx->api->set_string(ctx, static_cast<hr_string*>(out->data) + i, text.data(),
                              text.size());
}

// Ends prepare where input i holds more or less than one element.
inline hr_code need_scalar(hr_request* r, int i, const char* what) {
  if (hr_elements(r->inputs[i]) == 1) return HR_OK;
  return hr_request_fail(r, HR_INVALID_ARGUMENT, "%s must be a scalar, is %s", what,
                         ShapeText(r->inputs[i]).text);
}

}  // namespace hr

#endif
