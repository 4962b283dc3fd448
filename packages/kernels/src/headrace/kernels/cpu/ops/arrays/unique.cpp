// Distinct values and differences of lists: Unique, UniqueWithCounts, ListDiff.
#include <string_view>
#include <unordered_map>
#include <vector>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "loops/elements.hpp"
#include "processor/parallel.hpp"
#include "table/indices.hpp"

namespace hr {
namespace {

// ---- Unique
// ----------------------------------------------------------------------------------------

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
  for (int64_t i = 0; i < n; ++i) put_index(out[1], i, which[size_t(i)]);
  if (plan.outputs == 3)
    for (size_t i = 0; i < counts.size(); ++i) put_index(out[2], int64_t(i), counts[i]);
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
  for (int64_t i = 0; i < n; ++i) put_index(out[1], i, which[size_t(i)]);
  if (plan.outputs == 3)
    for (size_t i = 0; i < counts.size(); ++i) put_index(out[2], int64_t(i), counts[i]);
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
  for (int64_t i = 0, n = hr_elements(in[1]); i < n; ++i) {
    poll_at(ctx, i);
    gone.emplace(KeyOf<T>::of(y[i]), 1);
  }
  std::vector<int64_t> kept;
  for (int64_t i = 0, n = hr_elements(in[0]); i < n; ++i) {
    poll_at(ctx, i);
    if (!gone.count(KeyOf<T>::of(x[i]))) kept.push_back(i);
  }
  for (int k = 0; k < 2; ++k) {
    set_shape(out[k], {int64_t(kept.size())});
    if (hr_code code = ctx->api->allocate(ctx, out[k])) return code;
  }
  const int64_t size = hr_dtype_size(in[0]->dtype);
  for (size_t i = 0; i < kept.size(); ++i) {
    copy_elements(ctx, in[0]->dtype, size, write<char>(out[0]) + int64_t(i) * size, x + kept[i], 1);
    put_index(out[1], int64_t(i), kept[i]);
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

#define HR_KEYED HR_NUMBERS "|bool|string"

constexpr KernelRegistration found(const char* op, const char* constraint, Prepare prepare) {
  return kernel(op, constraint, prepare).is(HR_KERNEL_DATA_SHAPE);
}

}  // namespace

HR_KERNELS = {
    found("Unique", "T=" HR_KEYED, prepare_unique),
    found("UniqueV2", "T=" HR_KEYED, prepare_unique).constant(1),
    found("UniqueWithCounts", "T=" HR_KEYED, prepare_unique),
    found("UniqueWithCountsV2", "T=" HR_KEYED, prepare_unique).constant(1),
    found("ListDiff", "T=" HR_KEYED, prepare_list_diff),
};

}  // namespace hr
