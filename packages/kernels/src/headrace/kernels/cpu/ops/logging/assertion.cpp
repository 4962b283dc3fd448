// Assert: fails the step with the values of its data if its condition is false.
#include <cstdio>
#include <string>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

template <class T> std::string text_of(const T& x) {
  char text[64];
  if constexpr (is_complex<T>)
    std::snprintf(text, sizeof text, "(%g,%g)", double(x.real()), double(x.imag()));
  else if constexpr (is_integer<T> && std::is_signed_v<T>)
    std::snprintf(text, sizeof text, "%lld", (long long)x);
  else if constexpr (is_integer<T>) std::snprintf(text, sizeof text, "%llu", (unsigned long long)x);
  else std::snprintf(text, sizeof text, "%g", double(Compute<T>(x)));
  return text;
}

std::string element(const hr_tensor* t, int64_t i) {
  if (t->dtype == HR_STRING) {
    const hr_string& s = read<hr_string>(t)[i];
    return std::string(s.data ? s.data : "", s.size);
  }
  std::string text = "?";
  with_type(t->dtype, NumbersAndBool{}, [&](auto tag) -> int {
    text = text_of(read<typename decltype(tag)::type>(t)[i]);
    return 0;
  });
  return text;
}

// "[1 2][3...]...": the first elements, brackets around all dimensions but the outermost.
struct Summary {
  const hr_tensor* t;
  int64_t most, at = 0;
  std::string text;

  void dimension(int32_t d) {
    if (at >= most) return;
    for (int64_t i = 0; i < t->dims[d]; ++i) {
      if (d + 1 < t->rank) {
        const bool opens = at < most;
        if (opens) text += "[";
        dimension(d + 1);
        if (opens) text += "]";
        continue;
      }
      if (at >= most) {
        if (d > 0) text += "...";
        return;
      }
      if (i > 0) text += " ";
      text += element(t, at++);
    }
  }
};

std::string summary(const hr_tensor* t, int64_t most) {
  const int64_t n = hr_elements(t);
  if (most < 0) most = n;
  if (t->rank == 0) return element(t, 0);
  Summary s{t, most, 0, {}};
  s.dimension(0);
  return s.text + (n > most ? "..." : "");
}

struct AssertPlan {
  int32_t n;
  int64_t summarize;
};

hr_code compute_assert(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                       hr_tensor* const*, void*) {
  if (*read<bool>(in[0])) return HR_OK;
  const auto& p = *static_cast<const AssertPlan*>(plan_);
  std::string text;
  for (int32_t i = 0; i < p.n; ++i)
    text += (i ? " [" : "[") + summary(in[1 + i], p.summarize) + "]";
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "assertion failed: %s", text.c_str());
}

hr_code prepare_assert(void*, hr_request* r) {
  if (hr_elements(r->inputs[0]) != 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "condition must be a scalar, is %s",
                           (const char*)ShapeText(r->inputs[0]));
  keep_plan(r, new AssertPlan{r->node->n_inputs - 1, hr_attr_int(r->node, "summarize", 3)});
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("Assert", nullptr, prepare_assert, compute_assert),
};

}  // namespace hr
