// Select, SelectV2, ClipByValue, AddN and other ops of several operands.
#include <vector>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/tensor_lists/tensor_list.hpp"
#include "loops/elements.hpp"
#include "loops/strided.hpp"
#include "math/arithmetic.hpp"
#include "math/special_functions.hpp"
#include "processor/parallel.hpp"
#include "processor/simd.hpp"

namespace hr {
namespace {

// ---- Select ------------------------------------------------------------------------------------

template <class U, bool c_moves, bool t_moves, bool e_moves>
HR_CLONES void choose(const uint8_t* c, const U* t, const U* e, U* out, int64_t n) {
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i)
    out[i] = c[c_moves ? i : 0] ? t[t_moves ? i : 0] : e[e_moves ? i : 0];
}

template <class U> struct Chooser {
  using Loop = void (*)(const uint8_t*, const U*, const U*, U*, int64_t);
  static Loop of(bool c, bool t, bool e) {
    static const Loop loops[2][2][2] = {
        {{choose<U, 0, 0, 0>, choose<U, 0, 0, 1>}, {choose<U, 0, 1, 0>, choose<U, 0, 1, 1>}},
        {{choose<U, 1, 0, 0>, choose<U, 1, 0, 1>}, {choose<U, 1, 1, 0>, choose<U, 1, 1, 1>}}};
    return loops[c][t][e];
  }
};

struct SelectPlan {
  Walk<3> walk;
  hr_dtype dtype;
  int64_t size;
};

hr_code compute_select(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const SelectPlan*>(plan_);
  const auto* c = read<uint8_t>(in[0]);
  const int64_t inner = p.walk.inner(), outer = p.walk.outer();
  const int32_t last = p.walk.rank - 1;
  bool moves[3];
  for (int k = 0; k < 3; ++k) moves[k] = last >= 0 && p.walk.strides[k][last] != 0;
  if (!is_plain(p.dtype)) {
    p.walk.rows(0, outer, [&](int64_t row, const int64_t* at) {
      for (int64_t i = 0; i < inner; ++i) {
        const bool first = c[at[0] + (moves[0] ? i : 0)];
        const int64_t from = first ? at[1] + (moves[1] ? i : 0) : at[2] + (moves[2] ? i : 0);
        copy_counted(ctx, p.dtype, write<char>(out[0]) + (row * inner + i) * p.size,
                     read<char>(in[first ? 1 : 2]) + from * p.size);
      }
    });
    return HR_OK;
  }
  with_size(p.size, [&](auto tag) {
    using U = typename decltype(tag)::type;
    const auto loop = Chooser<U>::of(moves[0], moves[1], moves[2]);
    const U *t = read<U>(in[1]), *e = read<U>(in[2]);
    U* to = write<U>(out[0]);
    if (outer == 1) {
      parallel_blocks(ctx, inner, 64, grain_of(3 * p.size), [&](int64_t begin, int64_t end) {
        loop(c + (moves[0] ? begin : 0), t + (moves[1] ? begin : 0), e + (moves[2] ? begin : 0),
             to + begin, end - begin);
      });
      return;
    }
    parallel_ranges(ctx, outer, grain_of(3 * inner * p.size), [&](int64_t begin, int64_t end) {
      p.walk.rows(begin, end, [&](int64_t row, const int64_t* at) {
        loop(c + at[0], t + at[1], e + at[2], to + row * inner, inner);
      });
    });
  });
  return HR_OK;
}

hr_code compute_nothing(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*, void*) {
  return HR_OK;
}

hr_code fill_request(hr_request* r, Walk<3>& walk) {
  const hr_dtype dtype = r->outputs[0]->dtype;
  walk.collapse();
  keep_plan(r, new SelectPlan{walk, dtype, hr_dtype_size(dtype)});
  r->compute = hr_elements(r->outputs[0]) ? compute_select : compute_nothing;
  return HR_OK;
}

hr_code prepare_select_v2(void*, hr_request* r) {
  if (hr_code code = hr_shape_broadcast(r)) return code;
  Walk<3> walk = broadcast_walk<3>(r->outputs[0], {r->inputs[0], r->inputs[1], r->inputs[2]});
  return fill_request(r, walk);
}

// The condition may also be a vector over the first dimension.
hr_code prepare_select(void*, hr_request* r) {
  const hr_tensor *c = r->inputs[0], *t = r->inputs[1], *e = r->inputs[2];
  const bool fits = c->rank == 0 || same_shape(c, t) ||
                    (c->rank == 1 && t->rank >= 1 && c->dims[0] == t->dims[0]);
  if (!same_shape(t, e) || !fits)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "shapes do not fit: condition %s, t %s, e %s",
                           (const char*)ShapeText(c), (const char*)ShapeText(t),
                           (const char*)ShapeText(e));
  copy_shape(t, r->outputs[0]);
  Walk<3> walk;
  walk.rank = t->rank;
  int64_t step = 1;
  for (int32_t d = t->rank - 1; d >= 0; --d) {
    walk.dims[d] = t->dims[d];
    walk.strides[1][d] = walk.strides[2][d] = step;
    walk.strides[0][d] = c->rank == 0 ? 0 : same_shape(c, t) ? step : d == 0 ? 1 : 0;
    step *= t->dims[d];
  }
  return fill_request(r, walk);
}

// ---- ClipByValue: bounds of one element or of the whole shape -----------------------------------

// As TensorFlow has it: the lower bound wins over the upper, a bound that is NaN is none.
template <class C> HR_INLINE C clipped(C x, C low, C high) {
  const C below = high < x ? high : x;
  return below < low ? low : below;
}

template <class T, bool low_moves, bool high_moves>
HR_CLONES void clip(const T* x, const T* low, const T* high, T* out, int64_t n) {
  using C = Compute<T>;
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i)
    out[i] = T(clipped(C(x[i]), C(low[low_moves ? i : 0]), C(high[high_moves ? i : 0])));
}

template <class T>
hr_code compute_clip(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  const int64_t n = hr_elements(out[0]);
  const bool low = hr_elements(in[1]) != 1, high = hr_elements(in[2]) != 1;
  const T *x = read<T>(in[0]), *l = read<T>(in[1]), *h = read<T>(in[2]);
  T* y = write<T>(out[0]);
  const auto loop =
      low ? (high ? clip<T, 1, 1> : clip<T, 1, 0>) : (high ? clip<T, 0, 1> : clip<T, 0, 0>);
  parallel_blocks(ctx, n, 64, grain_of(2 * int64_t(sizeof(T))), [&](int64_t begin, int64_t end) {
    loop(x + begin, l + (low ? begin : 0), h + (high ? begin : 0), y + begin, end - begin);
  });
  return HR_OK;
}

hr_code prepare_clip(void*, hr_request* r) {
  if (hr_code code = hr_shape_clip_by_value(r)) return code;
  r->compute = with_type(r->inputs[0]->dtype, Reals{}, [](auto t) -> hr_compute {
    return compute_clip<typename decltype(t)::type>;
  });
  return HR_OK;
}

// ---- AddN
// -----------------------------------------------------------------------------------------

// sum (+)= a + b + c + d, from left to right; the absent ones are null and come last.
template <class T>
HR_CLONES void accumulate(const T* a, const T* b, const T* c, const T* d, Compute<T>* sum,
                          int64_t n, bool first) {
  using C = Compute<T>;
  if (d && !first) {
    HR_INDEPENDENT
    for (int64_t i = 0; i < n; ++i)
      sum[i] = plus(plus(plus(plus(sum[i], C(a[i])), C(b[i])), C(c[i])), C(d[i]));
    return;
  }
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) sum[i] = first ? C(a[i]) : plus(sum[i], C(a[i]));
  for (const T* x : {b, c, d}) {
    if (!x) continue;
    HR_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) sum[i] = plus(sum[i], C(x[i]));
  }
}

template <class T>
hr_code compute_add_n(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  constexpr int64_t kBlock = 2048;  // long stretches of each input, as memory likes it
  const auto n_inputs = reinterpret_cast<intptr_t>(plan);
  const int64_t n = hr_elements(out[0]);
  T* y = write<T>(out[0]);
  // The output may be the memory of any input: it is written when all have been read.
  parallel_blocks(ctx, n, kBlock, grain_of((n_inputs + 1) * int64_t(sizeof(T))),
                  [&](int64_t begin, int64_t end) {
                    Compute<T> sum[kBlock];
                    const auto at = [&](intptr_t i, int64_t b) -> const T* {
                      return i < n_inputs ? read<T>(in[i]) + b : nullptr;
                    };
                    for (int64_t b = begin; b < end; b += kBlock) {
                      const int64_t m = std::min(kBlock, end - b);
                      for (intptr_t i = 0; i < n_inputs; i += 4)
                        accumulate(at(i, b), at(i + 1, b), at(i + 2, b), at(i + 3, b), sum, m,
                                   i == 0);
                      for (int64_t j = 0; j < m; ++j) y[b + j] = T(sum[j]);
                    }
                  });
  return HR_OK;
}

hr_code compute_add_lists(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  return add_lists(ctx, int32_t(reinterpret_cast<intptr_t>(plan)), in, out[0]);
}

hr_code prepare_add_n(void*, hr_request* r) {
  if (hr_code code = hr_shape_merge(r)) return code;
  r->plan = reinterpret_cast<void*>(intptr_t(r->node->n_inputs));
  if (r->inputs[0]->dtype == HR_VARIANT) {
    r->compute = compute_add_lists;
    return HR_OK;
  }
  r->compute =
      with_type(as_unsigned(r->inputs[0]->dtype), Signless<Numbers>{},
                [](auto t) -> hr_compute { return compute_add_n<typename decltype(t)::type>; });
  return HR_OK;
}

// ---- Betainc and Cross
// ------------------------------------------------------------------------------

template <class T>
hr_code compute_betainc(hr_ctx*, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                        void*) {
  const int64_t n = hr_elements(out[0]);
  const auto at = [&](int k, int64_t i) {
    return double(read<T>(in[k])[hr_elements(in[k]) == 1 ? 0 : i]);
  };
  for (int64_t i = 0; i < n; ++i) write<T>(out[0])[i] = T(betainc(at(0, i), at(1, i), at(2, i)));
  return HR_OK;
}

hr_code prepare_betainc(void*, hr_request* r) {
  if (hr_code code = hr_shape_merge_or_scalar(r)) return code;
  r->compute = r->inputs[0]->dtype == HR_FLOAT ? compute_betainc<float> : compute_betainc<double>;
  return HR_OK;
}

template <class T>
hr_code compute_cross(hr_ctx*, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                      void*) {
  using C = Compute<T>;
  const int64_t n = hr_elements(out[0]) / 3;
  for (int64_t i = 0; i < n; ++i) {
    const T *a = read<T>(in[0]) + 3 * i, *b = read<T>(in[1]) + 3 * i;
    for (int j = 0; j < 3; ++j) {
      const int p = (j + 1) % 3, q = (j + 2) % 3;
      write<T>(out[0])[3 * i + j] = T(minus(times(C(a[p]), C(b[q])), times(C(a[q]), C(b[p]))));
    }
  }
  return HR_OK;
}

hr_code prepare_cross(void*, hr_request* r) {
  if (hr_code code = hr_shape_merge(r)) return code;
  const hr_tensor* a = r->inputs[0];
  if (a->rank < 1 || a->dims[a->rank - 1] != 3)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "the last dimension must be 3, the shape is %s",
                           (const char*)ShapeText(a));
  r->compute = with_type(a->dtype, Reals{}, [](auto t) -> hr_compute {
    return compute_cross<typename decltype(t)::type>;
  });
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("Select", nullptr, prepare_select),
    kernel("SelectV2", nullptr, prepare_select_v2),
    kernel("ClipByValue", "T=" HR_REALS, prepare_clip).reuses(0),
    kernel("AddN", "T=" HR_NUMBERS, prepare_add_n).reuses(0),
    kernel("AddN", "T=variant", prepare_add_n),
    kernel("AccumulateNV2", "T=" HR_NUMBERS, prepare_add_n).reuses(0),
    kernel("Betainc", "T=" HR_WIDE_FLOATS, prepare_betainc),
    kernel("Cross", "T=" HR_REALS, prepare_cross),
};

}  // namespace hr
