// BiasAdd and its gradient.
#include <algorithm>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "processor/parallel.hpp"
#include "processor/simd.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

// The value as [outer, channels, inner]; inner is 1 for NHWC.
struct Channels {
  int64_t outer, channels, inner;
};

bool channels_first(const hr_request* r) {
  return attr_text(r->node, "data_format", "NHWC") == "NCHW";
}

hr_code read_channels(hr_request* r, const hr_tensor* t, Channels* c) {
  if (t->rank < 2)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "a bias needs a value of rank 2 or more: value is %s",
                           ShapeText(t).text);
  const int32_t axis = channels_first(r) ? 1 : t->rank - 1;
  *c = {product(t->dims, 0, axis), t->dims[axis], product(t->dims, axis + 1, t->rank)};
  return HR_OK;
}

template <class T>
HR_INLINE void add_rows(const T* value, const T* bias, T* out, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < rows; ++i) {
    HR_INDEPENDENT
    for (int64_t j = 0; j < n; ++j) out[i * n + j] = T(value[i * n + j] + bias[j]);
  }
}
template <class T>
HR_INLINE void add_one(const T* value, T bias, T* out, int64_t n) {
  HR_INDEPENDENT
  for (int64_t j = 0; j < n; ++j) out[j] = T(value[j] + bias);
}
// Accumulates in A the sum over rows, in stretches so that long sums of floats stay exact.
template <class T, class A>
HR_INLINE void sum_rows(const T* value, A* total, A* stretch, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < rows;) {
    const int64_t stop = std::min(rows, i + 128);
    std::fill(stretch, stretch + n, A(0));
    for (; i < stop; ++i) {
      HR_INDEPENDENT
      for (int64_t j = 0; j < n; ++j) stretch[j] += A(value[i * n + j]);
    }
    HR_INDEPENDENT
    for (int64_t j = 0; j < n; ++j) total[j] += stretch[j];
  }
}

HR_CLONES void add_rows_float(const float* v, const float* b, float* o, int64_t rows, int64_t n) {
  add_rows(v, b, o, rows, n);
}
HR_CLONES void add_one_float(const float* v, float b, float* o, int64_t n) { add_one(v, b, o, n); }
HR_CLONES void sum_rows_float(const float* v, float* t, float* s, int64_t rows, int64_t n) {
  sum_rows(v, t, s, rows, n);
}

template <class T>
void add(const T* v, const T* b, T* o, int64_t rows, int64_t n) {
  if constexpr (std::is_same_v<T, float>) add_rows_float(v, b, o, rows, n);
  else add_rows(v, b, o, rows, n);
}

template <class T>
hr_code compute_bias_add(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void*) {
  const Channels& c = *static_cast<Channels*>(plan);
  const T *value = read<T>(inputs[0]), *bias = read<T>(inputs[1]);
  T* out = write<T>(outputs[0]);
  if (c.inner == 1) {
    parallel_ranges(ctx, c.outer, grain_of(c.channels * sizeof(T)), [&](int64_t i, int64_t end) {
      add(value + i * c.channels, bias, out + i * c.channels, end - i, c.channels);
    });
    return HR_OK;
  }
  parallel_ranges(
      ctx, c.outer * c.channels, grain_of(c.inner * sizeof(T)), [&](int64_t i, int64_t end) {
        for (; i < end; ++i) {
          if constexpr (std::is_same_v<T, float>)
            add_one_float(value + i * c.inner, bias[i % c.channels], out + i * c.inner, c.inner);
          else add_one(value + i * c.inner, bias[i % c.channels], out + i * c.inner, c.inner);
        }
      });
  return HR_OK;
}

template <class T>
hr_code compute_bias_grad(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                          hr_tensor* const* outputs, void* workspace) {
  using A = Compute<T>;
  const Channels& c = *static_cast<Channels*>(plan);
  const T* value = read<T>(inputs[0]);
  T* out = write<T>(outputs[0]);
  A* totals = static_cast<A*>(workspace);  // [threads, 2, channels]
  if (c.inner == 1) {
    std::fill(totals, totals + 2 * c.channels * most_threads(ctx), A(0));
    parallel_ranges(ctx, c.outer, grain_of(c.channels * sizeof(T)), [&](int64_t i, int64_t end) {
      A* mine = totals + 2 * c.channels * (most_threads(ctx) > 1 ? this_thread() : 0);
      if constexpr (std::is_same_v<T, float>)
        sum_rows_float(value + i * c.channels, mine, mine + c.channels, end - i, c.channels);
      else sum_rows(value + i * c.channels, mine, mine + c.channels, end - i, c.channels);
    });
    for (int64_t j = 0; j < c.channels; ++j) {
      A sum = totals[j];
      for (int64_t t = 1; t < most_threads(ctx); ++t) sum += totals[2 * c.channels * t + j];
      out[j] = T(sum);
    }
    return HR_OK;
  }
  parallel_ranges(ctx, c.channels, grain_of(c.outer * c.inner * sizeof(T)),
                  [&](int64_t j, int64_t end) {
                    for (; j < end; ++j) {
                      A sum = A(0);
                      for (int64_t i = 0; i < c.outer; ++i) {
                        const T* at = value + (i * c.channels + j) * c.inner;
                        A part = A(0);
                        for (int64_t q = 0; q < c.inner; ++q) part += A(at[q]);
                        sum += part;
                      }
                      out[j] = T(sum);
                    }
                  });
  return HR_OK;
}

hr_code prepare_bias_add(void*, hr_request* r) {
  hr_code code = hr_shape_bias_add(r);
  Channels c;
  if (code == HR_OK) code = read_channels(r, r->inputs[0], &c);
  if (code != HR_OK) return code;
  if (r->inputs[0]->rank < 3 && attr_text(r->node, "data_format", "NHWC") == "NCHW")
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Shape must be at least rank 3 for NCHW but is rank %d",
                           int(r->inputs[0]->rank));
  keep_plan(r, new Channels(c));
  r->compute = with_type(
      as_unsigned(r->inputs[0]->dtype), Signless<Numbers>{},
      [](auto type) -> hr_compute { return compute_bias_add<typename decltype(type)::type>; });
  return HR_OK;
}

hr_code prepare_bias_grad(void*, hr_request* r) {
  hr_code code = hr_shape_bias_add_grad(r);
  Channels c;
  if (code == HR_OK) code = read_channels(r, r->inputs[0], &c);
  if (code != HR_OK) return code;
  keep_plan(r, new Channels(c));
  r->workspace = size_t(2 * c.channels * std::max(1, r->threads)) * 16;
  r->compute = with_type(
      as_unsigned(r->inputs[0]->dtype), Signless<Numbers>{},
      [](auto type) -> hr_compute { return compute_bias_grad<typename decltype(type)::type>; });
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("BiasAdd", "T=" HR_NUMBERS, prepare_bias_add).reuses(0),
    kernel("BiasAddV1", "T=" HR_NUMBERS, prepare_bias_add).reuses(0),
    kernel("BiasAddGrad", "T=" HR_NUMBERS, prepare_bias_grad),
};

}  // namespace hr
