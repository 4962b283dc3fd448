// Order and counts: TopK, Unique, Where, ListDiff, Bincount, histograms, searches.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "arithmetic.hpp"
#include "elements.hpp"
#include "indices.hpp"
#include "parallel.hpp"
#include "rows.hpp"
#include "shape_rules.hpp"
#include "shapes.hpp"
#include "text.hpp"

namespace hr {
namespace {

void put(hr_tensor* out, int64_t i, int64_t value) {
  switch (out->dtype) {
    case HR_INT32: write<int32_t>(out)[i] = int32_t(value); break;
    case HR_INT64: write<int64_t>(out)[i] = value; break;
    case HR_INT16: write<int16_t>(out)[i] = int16_t(value); break;
    default: break;
  }
}

// ---- TopK: larger first, among equals the lower index; NaN last ---------------------------------

template <class C> bool before(C a, int32_t i, C b, int32_t j) {
  if (a != a || b != b) {
    if ((a != a) != (b != b)) return b != b;
    return i < j;
  }
  return a > b || (a == b && i < j);
}

struct TopPlan {
  int64_t rows, n, k;
};

template <class T>
hr_code compute_top(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                    hr_tensor* const* out, void* workspace) {
  using C = Compute<T>;
  const auto& p = *static_cast<const TopPlan*>(plan_);
  if (p.k == 0) return HR_OK;
  parallel_ranges(ctx, p.rows, grain_of(4 * p.n * int64_t(sizeof(T))),
                  [&](int64_t begin, int64_t end) {
    int32_t* order = static_cast<int32_t*>(workspace) + this_thread() * p.n;
    for (int64_t r = begin; r < end; ++r) {
      poll(ctx);
      const T* x = read<T>(in[0]) + r * p.n;
      if (p.k == 1) {
        int32_t best = 0;
        for (int32_t i = 1; i < p.n; ++i)
          if (before<C>(x[i], i, x[best], best)) best = i;
        order[0] = best;
      } else {
        std::iota(order, order + p.n, 0);
        const auto less = [&](int32_t i, int32_t j) { return before<C>(x[i], i, x[j], j); };
        std::partial_sort(order, order + p.k, order + p.n, less);
      }
      for (int64_t i = 0; i < p.k; ++i) {
        write<T>(out[0])[r * p.k + i] = x[order[i]];
        put(out[1], r * p.k + i, order[i]);
      }
    }
  });
  return HR_OK;
}

hr_code prepare_top(void*, hr_request* r) {
  if (r->node->n_inputs == 2) HR_APPLY_RULE(top_k_v2, r);
  else HR_APPLY_RULE(top_k, r);
  const hr_tensor* x = r->inputs[0];
  const int64_t n = x->dims[x->rank - 1];
  if (n > std::numeric_limits<int32_t>::max())
    return hr_request_fail(r, HR_UNIMPLEMENTED, "rows of %lld elements: at most %d",
                           (long long)n, std::numeric_limits<int32_t>::max());
  keep_plan(r, new TopPlan{product(x->dims, 0, x->rank - 1), n,
                           r->outputs[0]->dims[r->outputs[0]->rank - 1]});
  r->workspace = size_t(n) * sizeof(int32_t) * size_t(std::max<int32_t>(1, r->threads));
  r->compute = with_type(x->dtype, Reals{}, [](auto t) -> hr_compute {
    return compute_top<typename decltype(t)::type>;
  });
  return HR_OK;
}

// The nth smallest (or largest) of each row.
template <class T>
hr_code compute_nth(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in, hr_tensor* const* out,
                    void*) {
  const auto& p = *static_cast<const TopPlan*>(plan_);
  std::vector<Compute<T>> row(static_cast<size_t>(p.n));
  for (int64_t r = 0; r < p.rows; ++r) {
    std::copy_n(read<T>(in[0]) + r * p.n, p.n, row.begin());
    poll(ctx);
    // NaN is last: an order of which NaN is no part would lead the algorithm out of the row.
    std::nth_element(row.begin(), row.begin() + p.k, row.end(), [](Compute<T> a, Compute<T> b) {
      return a < b || (a == a && b != b);
    });
    write<T>(out[0])[r] = T(row[size_t(p.k)]);
  }
  return HR_OK;
}

hr_code prepare_nth(void*, hr_request* r) {
  HR_APPLY_RULE(nth_element, r);
  const hr_tensor* x = r->inputs[0];
  const int64_t n = x->dims[x->rank - 1], k = int_at(r->inputs[1], 0);
  if (k < 0 || k >= n)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "n is %lld, not in [0, %lld)", (long long)k,
                           (long long)n);
  const bool reverse = hr_attr_bool(r->node, "reverse", 0);
  keep_plan(r, new TopPlan{product(x->dims, 0, x->rank - 1), n, reverse ? n - 1 - k : k});
  r->compute = with_type(x->dtype, Reals{}, [](auto t) -> hr_compute {
    return compute_nth<typename decltype(t)::type>;
  });
  return HR_OK;
}

// ---- Unique ----------------------------------------------------------------------------------------

// Elements as keys: numbers by value, strings by their bytes. NaN equals nothing, as in TensorFlow.
template <class T> struct KeyOf {
  using type = Compute<T>;
  static type of(const T& x) { return type(x); }
};
template <> struct KeyOf<hr_string> {
  using type = std::string_view;
  static type of(const hr_string& x) { return {x.data, x.size}; }
};
template <class K> struct HashOf {
  size_t operator()(const K& k) const {
    if constexpr (is_complex<K>)
      return std::hash<double>{}(k.real()) * 31 + std::hash<double>{}(k.imag());
    else return std::hash<K>{}(k);
  }
};

// y: the first of each; idx: which of y each is; count: how often each comes.
struct UniquePlan {
  int32_t outputs;
  int32_t axis;  // -1: elements of a vector
};

template <class T>
hr_code compute_unique_elements(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                                hr_tensor* const* out, void*) {
  using Key = typename KeyOf<T>::type;
  const auto& plan = *static_cast<const UniquePlan*>(plan_);
  const T* x = read<T>(in[0]);
  const int64_t n = hr_elements(in[0]);
  std::unordered_map<Key, int64_t, HashOf<Key>> seen;
  seen.reserve(static_cast<size_t>(n));
  std::vector<int64_t> first, which(static_cast<size_t>(n)), counts;
  for (int64_t i = 0; i < n; ++i) {
    if (i % 65536 == 0) poll(ctx);
    const auto found = seen.emplace(KeyOf<T>::of(x[i]), int64_t(first.size()));
    if (found.second) {
      first.push_back(i);
      counts.push_back(0);
    }
    which[size_t(i)] = found.first->second;
    ++counts[size_t(found.first->second)];
  }
  set_shape(out[0], {int64_t(first.size())});
  set_shape(out[1], {n});
  for (int32_t o = 0; o < plan.outputs; ++o) {
    if (o == 2) set_shape(out[2], {int64_t(first.size())});
    if (hr_code code = ctx->api->allocate(ctx, out[o])) return code;
  }
  const int64_t size = hr_dtype_size(in[0]->dtype);
  for (size_t i = 0; i < first.size(); ++i)
    copy_elements(ctx, in[0]->dtype, size, write<char>(out[0]) + int64_t(i) * size, x + first[i],
                  1);
  for (int64_t i = 0; i < n; ++i) put(out[1], i, which[size_t(i)]);
  if (plan.outputs == 3)
    for (size_t i = 0; i < counts.size(); ++i) put(out[2], int64_t(i), counts[i]);
  return HR_OK;
}

// Along an axis: slices are compared by their bytes (strings by their texts).
hr_code compute_unique_slices(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                              hr_tensor* const* out, void*) {
  const auto& plan = *static_cast<const UniquePlan*>(plan_);
  const hr_tensor* x = in[0];
  const int32_t a = plan.axis;
  const int64_t outer = product(x->dims, 0, a), n = x->dims[a],
                inner = product(x->dims, a + 1, x->rank);
  const int64_t size = hr_dtype_size(x->dtype), bytes = inner * size;
  std::unordered_map<std::string, int64_t> seen;
  std::vector<int64_t> first, which, counts;
  for (int64_t i = 0; i < n; ++i) {
    poll(ctx);
    std::string key;
    for (int64_t o = 0; o < outer; ++o) {
      const char* row = read<char>(x) + (o * n + i) * bytes;
      if (x->dtype != HR_STRING) {
        key.append(row, size_t(bytes));
        continue;
      }
      for (int64_t j = 0; j < inner; ++j) {
        const auto& text = reinterpret_cast<const hr_string*>(row)[j];
        key.append(reinterpret_cast<const char*>(&text.size), sizeof text.size);
        key.append(text.data, text.size);
      }
    }
    const auto found = seen.emplace(std::move(key), int64_t(first.size()));
    if (found.second) {
      first.push_back(i);
      counts.push_back(0);
    }
    which.push_back(found.first->second);
    ++counts[size_t(which.back())];
  }
  copy_shape(x, out[0]);
  out[0]->dims[a] = int64_t(first.size());
  set_shape(out[1], {n});
  for (int32_t o = 0; o < plan.outputs; ++o) {
    if (o == 2) set_shape(out[2], {int64_t(first.size())});
    if (hr_code code = ctx->api->allocate(ctx, out[o])) return code;
  }
  for (int64_t o = 0; o < outer; ++o)
    for (size_t i = 0; i < first.size(); ++i)
      if (inner)
        copy_elements(ctx, x->dtype, size,
                      write<char>(out[0]) + (o * int64_t(first.size()) + int64_t(i)) * bytes,
                      read<char>(x) + (o * n + first[i]) * bytes, inner);
  for (int64_t i = 0; i < n; ++i) put(out[1], i, which[size_t(i)]);
  if (plan.outputs == 3)
    for (size_t i = 0; i < counts.size(); ++i) put(out[2], int64_t(i), counts[i]);
  return HR_OK;
}

using Keyed = Join<NumbersAndBool, Types<hr_string>>;

hr_code prepare_unique(void*, hr_request* r) {
  HR_APPLY_DATA_RULE(unique, r);
  const hr_tensor* x = r->inputs[0];
  int64_t axis = -1;
  if (r->node->n_inputs == 2 && hr_elements(r->inputs[1])) {
    axis = axis_of(int_at(r->inputs[1], 0), x->rank);
    if (axis < 0)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "axis %lld is out of range for rank %d",
                             (long long)int_at(r->inputs[1], 0), int(x->rank));
  } else if (x->rank != 1) {
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "x must be a vector, is %s",
                           (const char*)ShapeText(x));
  }
  keep_plan(r, new UniquePlan{r->node->n_outputs, int32_t(axis)});
  r->shape_depends_on_data = 1;
  r->compute = axis >= 0 && x->rank > 1
                   ? compute_unique_slices
                   : with_type(x->dtype, Keyed{}, [](auto t) -> hr_compute {
                       return compute_unique_elements<typename decltype(t)::type>;
                     });
  return HR_OK;
}

// ---- ListDiff: what is in x and not in y, and where ---------------------------------------------

template <class T>
hr_code compute_list_diff(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  using Key = typename KeyOf<T>::type;
  const T *x = read<T>(in[0]), *y = read<T>(in[1]);
  std::unordered_map<Key, char, HashOf<Key>> gone;
  for (int64_t i = 0, n = hr_elements(in[1]); i < n; ++i) gone.emplace(KeyOf<T>::of(y[i]), 1);
  std::vector<int64_t> kept;
  for (int64_t i = 0, n = hr_elements(in[0]); i < n; ++i)
    if (!gone.count(KeyOf<T>::of(x[i]))) kept.push_back(i);
  for (int k = 0; k < 2; ++k) {
    set_shape(out[k], {int64_t(kept.size())});
    if (hr_code code = ctx->api->allocate(ctx, out[k])) return code;
  }
  const int64_t size = hr_dtype_size(in[0]->dtype);
  for (size_t i = 0; i < kept.size(); ++i) {
    copy_elements(ctx, in[0]->dtype, size, write<char>(out[0]) + int64_t(i) * size, x + kept[i], 1);
    put(out[1], int64_t(i), kept[i]);
  }
  return HR_OK;
}

hr_code prepare_list_diff(void*, hr_request* r) {
  HR_APPLY_DATA_RULE(list_diff, r);
  r->shape_depends_on_data = 1;
  r->compute = with_type(r->inputs[0]->dtype, Keyed{}, [](auto t) -> hr_compute {
    return compute_list_diff<typename decltype(t)::type>;
  });
  return HR_OK;
}

// ---- Where ----------------------------------------------------------------------------------------

template <class T>
hr_code compute_where(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                      void*) {
  const T* x = read<T>(in[0]);
  const int64_t n = hr_elements(in[0]);
  const int32_t rank = in[0]->rank;
  int64_t found = 0;
  for (int64_t i = 0; i < n; ++i) found += Compute<T>(x[i]) != Compute<T>(0);
  set_shape(out[0], {found, rank});
  if (hr_code code = ctx->api->allocate(ctx, out[0])) return code;
  int64_t* to = write<int64_t>(out[0]);
  for (int64_t i = 0; i < n; ++i) {
    if (!(Compute<T>(x[i]) != Compute<T>(0))) continue;
    int64_t rest = i;
    for (int32_t d = rank - 1; d >= 0; --d) {
      to[d] = rest % in[0]->dims[d];
      rest /= in[0]->dims[d];
    }
    to += rank;
  }
  return HR_OK;
}

hr_code prepare_where(void*, hr_request* r) {
  if (r->inputs[0]->rank == 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "WhereOp: Unhandled input dimensions: 0");
  HR_APPLY_DATA_RULE(where, r);
  r->shape_depends_on_data = 1;
  r->compute = with_type(r->inputs[0]->dtype, NumbersAndBool{}, [](auto t) -> hr_compute {
    return compute_where<typename decltype(t)::type>;
  });
  return HR_OK;
}

// ---- permutations and places ------------------------------------------------------------------------

hr_code compute_invert(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const int64_t n = hr_elements(in[0]);
  std::vector<bool> seen(static_cast<size_t>(n), false);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = int_at(in[0], i);
    if (at < 0 || at >= n)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "x[%lld] = %lld is not in [0, %lld)",
                         (long long)i, (long long)at, (long long)n);
    if (seen[size_t(at)])
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%lld is duplicated in the input.",
                         (long long)at);
    seen[size_t(at)] = true;
    put(out[0], at, i);
  }
  return HR_OK;
}

hr_code prepare_invert(void*, hr_request* r) {
  HR_APPLY_RULE(vector_unchanged, r);
  return HR_OK;
}

hr_code compute_unravel(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  const int64_t n = hr_elements(in[0]), rank = hr_elements(in[1]);
  const auto dims = to_int64(in[1]);
  int64_t size;
  if (!checked_product(dims, &size))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "dims %s has a negative size or more elements than can be counted",
                       (const char*)ShapeText(int32_t(rank), dims.data()));
  if (n == 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "received empty tensor indices");
  if (in[0]->dtype == HR_INT32 && size > INT32_MAX)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Input dims product is causing integer overflow: %s",
                       (const char*)ShapeText(int32_t(rank), dims.data()));
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = int_at(in[0], i);
    // An index below 0 is one with coordinates below 0, as TensorFlow divides it.
    if (rest >= size || size == 0)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "index %lld is out of bounds of %lld elements",
                         (long long)rest, (long long)size);
    for (int64_t d = rank - 1; d >= 0; --d) {
      put(out[0], d * n + i, rest % dims[size_t(d)]);
      rest /= dims[size_t(d)];
    }
  }
  return HR_OK;
}

hr_code prepare_unravel(void*, hr_request* r) {
  HR_APPLY_RULE(unravel_index, r);
  return HR_OK;
}

// Rows of sorted_inputs searched for rows of values.
template <class T, bool upper>
hr_code compute_bound(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                      void*) {
  using C = Compute<T>;
  const int64_t n = in[0]->dims[1], m = in[1]->dims[1], rows = in[0]->dims[0];
  const auto less = [](const C& a, const C& b) { return a < b; };
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = read<T>(in[0]) + r * n;
    for (int64_t i = 0; i < m; ++i) {
      if (i % 65536 == 0) poll(ctx);
      const C value = read<T>(in[1])[r * m + i];
      const T* at = upper ? std::upper_bound(row, row + n, value,
                                             [&](const C& v, const T& x) { return less(v, C(x)); })
                          : std::lower_bound(row, row + n, value,
                                             [&](const T& x, const C& v) { return less(C(x), v); });
      put(out[0], r * m + i, at - row);
    }
  }
  return HR_OK;
}

template <bool upper> hr_code prepare_bound(void*, hr_request* r) {
  const hr_tensor *s = r->inputs[0], *v = r->inputs[1];
  if (s->rank != 2 || v->rank != 2 || s->dims[0] != v->dims[0])
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "sorted_inputs %s and values %s must be matrices of as many rows",
                           (const char*)ShapeText(s), (const char*)ShapeText(v));
  HR_APPLY_RULE(as_input_1, r);
  r->compute = with_type(s->dtype, Reals{}, [](auto t) -> hr_compute {
    return compute_bound<typename decltype(t)::type, upper>;
  });
  return HR_OK;
}

// ---- InTopK -------------------------------------------------------------------------------------------

hr_code compute_in_top_k(hr_ctx*, void*, void* plan, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  const int64_t k = plan ? *static_cast<const int64_t*>(plan) : int_at(in[2], 0);
  const int64_t rows = in[0]->dims[0], n = in[0]->dims[1];
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = read<float>(in[0]) + r * n;
    const int64_t target = int_at(in[1], r);
    bool finite = target >= 0 && target < n && std::isfinite(x[target]);
    int64_t above = 0;
    for (int64_t i = 0; finite && i < n; ++i) {
      if (!std::isfinite(x[i])) finite = false;
      else above += x[i] > x[target];
    }
    write<bool>(out[0])[r] = finite && above < k;
  }
  return HR_OK;
}

hr_code prepare_in_top_k(void*, hr_request* r) {
  HR_APPLY_RULE(in_top_k, r);
  if (r->node->n_inputs == 3)
    if (hr_code code = need_scalar(r, 2, "k")) return code;
  if (r->node->n_inputs == 2) keep_plan(r, new int64_t(hr_attr_int(r->node, "k", 1)));
  return HR_OK;
}

// ---- counts ------------------------------------------------------------------------------------------

template <class T> void add_count(hr_tensor* out, int64_t at, const hr_tensor* weights, int64_t i) {
  T& bin = write<T>(out)[at];
  bin = hr_elements(weights) ? T(bin + read<T>(weights)[i]) : T(bin + 1);
}

hr_code count(hr_tensor* out, int64_t at, const hr_tensor* weights, int64_t i) {
  switch (out->dtype) {
    case HR_INT32: add_count<int32_t>(out, at, weights, i); break;
    case HR_INT64: add_count<int64_t>(out, at, weights, i); break;
    case HR_FLOAT: add_count<float>(out, at, weights, i); break;
    default: add_count<double>(out, at, weights, i); break;
  }
  return HR_OK;
}

struct CountPlan {
  int64_t rows, n, bins;
  bool binary;
};

hr_code compute_bincount(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const CountPlan*>(plan_);
  std::memset(out[0]->data, 0, size_t(out[0]->bytes));
  for (int64_t i = 0, n = p.rows * p.n; i < n; ++i) {
    const int64_t value = int_at(in[0], i);
    if (value < 0)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Input arr must be non-negative! Found %lld",
                         (long long)value);
    if (value >= p.bins) continue;
    const int64_t at = i / p.n * p.bins + value;
    if (!p.binary) {
      count(out[0], at, in[2], i);
      continue;
    }
    static const int32_t one32 = 1;
    static const int64_t one64 = 1;
    static const float onef = 1;
    static const double oned = 1;
    const void* one = out[0]->dtype == HR_INT32   ? static_cast<const void*>(&one32)
                      : out[0]->dtype == HR_INT64 ? static_cast<const void*>(&one64)
                      : out[0]->dtype == HR_FLOAT ? static_cast<const void*>(&onef)
                                                  : static_cast<const void*>(&oned);
    const int64_t size = hr_dtype_size(out[0]->dtype);
    std::memcpy(write<char>(out[0]) + at * size, one, size_t(size));
  }
  return HR_OK;
}

hr_code prepare_bincount(void*, hr_request* r) {
  const bool dense = r->node->op[0] == 'D';
  if (dense) HR_APPLY_RULE(dense_bincount, r);
  else HR_APPLY_RULE(bincount, r);
  const hr_tensor *x = r->inputs[0], *w = r->inputs[2];
  if (hr_elements(w) && hr_elements(w) != hr_elements(x))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "weights are %s, the input is %s",
                           (const char*)ShapeText(w), (const char*)ShapeText(x));
  const bool matrix = dense && x->rank == 2;
  const int64_t rows = matrix ? x->dims[0] : 1;
  keep_plan(r, new CountPlan{rows, matrix ? x->dims[1] : hr_elements(x), int_at(r->inputs[1], 0),
                             hr_attr_bool(r->node, "binary_output", 0) != 0});
  r->compute = compute_bincount;
  return HR_OK;
}

template <class T>
hr_code compute_histogram(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  const T low = read<T>(in[1])[0], high = read<T>(in[1])[1];
  if (!(low < high))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "value_range should satisfy value_range[0] < value_range[1], but got "
                       "[%g, %g]", double(low), double(high));
  std::memset(out[0]->data, 0, size_t(out[0]->bytes));
  const int64_t bins = out[0]->dims[0];
  const double step = (double(high) - double(low)) / double(bins);
  for (int64_t i = 0, n = hr_elements(in[0]); i < n; ++i) {
    const double place = std::floor((double(read<T>(in[0])[i]) - double(low)) / step);
    const int64_t at = place > 0 ? int64_t(std::min(place, double(bins - 1))) : 0;
    if (out[0]->dtype == HR_INT32) ++write<int32_t>(out[0])[at];
    else ++write<int64_t>(out[0])[at];
  }
  return HR_OK;
}

hr_code prepare_histogram(void*, hr_request* r) {
  HR_APPLY_RULE(histogram_fixed_width, r);
  if (hr_elements(r->inputs[1]) != 2)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "value_range must have 2 elements, is %s",
                           (const char*)ShapeText(r->inputs[1]));
  if (r->outputs[0]->dims[0] < 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "nbins should be a positive number, but got %lld",
                           (long long)r->outputs[0]->dims[0]);
  r->compute = with_type(r->inputs[0]->dtype, Join<WideFloats, Indices>{}, [](auto t) -> hr_compute {
    return compute_histogram<typename decltype(t)::type>;
  });
  return HR_OK;
}

#define HR_KEYED HR_NUMBERS "|bool|string"

constexpr Row found(const char* op, const char* constraint, Prepare prepare) {
  return row(op, constraint, prepare).is(HR_KERNEL_DATA_SHAPE);
}

}  // namespace

HR_ROWS(sorting) = {
    row("TopKV2", "T=" HR_REALS, prepare_top).constant(1),
    row("TopK", "T=" HR_REALS, prepare_top),
    row("NthElement", "T=" HR_REALS, prepare_nth).constant(1),
    found("Unique", "T=" HR_KEYED, prepare_unique),
    found("UniqueV2", "T=" HR_KEYED, prepare_unique).constant(1),
    found("UniqueWithCounts", "T=" HR_KEYED, prepare_unique),
    found("UniqueWithCountsV2", "T=" HR_KEYED, prepare_unique).constant(1),
    found("ListDiff", "T=" HR_KEYED, prepare_list_diff),
    found("Where", "T=" HR_NUMBERS "|bool", prepare_where),
    row("InvertPermutation", nullptr, prepare_invert, compute_invert),
    row("UnravelIndex", nullptr, prepare_unravel, compute_unravel),
    row("LowerBound", "T=" HR_REALS, prepare_bound<false>),
    row("UpperBound", "T=" HR_REALS, prepare_bound<true>),
    row("InTopK", nullptr, prepare_in_top_k, compute_in_top_k),
    row("InTopKV2", nullptr, prepare_in_top_k, compute_in_top_k),
    row("Bincount", nullptr, prepare_bincount).constant(1),
    row("DenseBincount", nullptr, prepare_bincount).constant(1),
    row("HistogramFixedWidth", nullptr, prepare_histogram).constant(2),
};
HR_ROWS_END(sorting)

}  // namespace hr
