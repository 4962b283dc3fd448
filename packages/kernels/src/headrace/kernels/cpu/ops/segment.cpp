// Segment reductions (SegmentSum, SegmentMean, ...): sorted, unsorted and sparse, with gradients.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "math/arithmetic.hpp"
#include "processor/parallel.hpp"
#include "processor/simd.hpp"
#include "table/indices.hpp"

namespace hr {
namespace {

enum Way { kSum, kMean, kSqrtN, kProd, kMin, kMax };

// The greatest finite value of T, as the type that T is computed in.
template <class T> constexpr Compute<T> greatest_of() {
  if constexpr (std::is_same_v<T, half>) return 65504.0f;
  else if constexpr (std::is_same_v<T, bfloat16>) return 0x1.fep127f;
  else return std::numeric_limits<T>::max();
}

// The neutral element: folded with x, it gives x.
template <Way way, class T> constexpr Compute<T> start_of() {
  using C = Compute<T>;
  if constexpr (way == kProd) return C(1);
  else if constexpr (way == kMin && is_integer<C>) return std::numeric_limits<C>::max();
  else if constexpr (way == kMin) return std::numeric_limits<C>::infinity();
  else if constexpr (way == kMax && is_integer<C>) return std::numeric_limits<C>::lowest();
  else if constexpr (way == kMax) return -std::numeric_limits<C>::infinity();
  else return C(0);
}

// What a segment without rows has where its number was given: for extremes, the other end of
// the finite numbers.
template <Way way, class T> constexpr Compute<T> blank_of() {
  if constexpr (way == kMin && !is_integer<T>) return greatest_of<T>();
  else if constexpr (way == kMax && !is_integer<T>) return -greatest_of<T>();
  else return start_of<way, T>();
}

template <Way way, class T> void fold_row(Compute<T>* total, const T* row, int64_t n) {
  using C = Compute<T>;
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const C x = row[i];
    if constexpr (way == kProd) total[i] = times(total[i], x);
    else if constexpr (way == kMin) total[i] = smaller(total[i], x);
    else if constexpr (way == kMax) total[i] = larger(total[i], x);
    else total[i] = plus(total[i], x);
  }
}

// Divides what `count` rows were summed to: the mean, or the sum over the root of their number.
template <Way way, class C> void divide(C* total, int64_t count, int64_t n) {
  // Integers are divided in 64 bits: a count of 256 is zero in eight.
  using Divisor = std::conditional_t<is_integer<C>, int64_t, C>;
  const Divisor by = way == kSqrtN ? Divisor(std::sqrt(double(count))) : Divisor(double(count));
  for (int64_t i = 0; i < n; ++i) total[i] = C(total[i] / by);
}

// The number of segments may be absurd: a step that is cancelled ends while they are filled.
template <class C> void fill_polled(hr_ctx* ctx, C* out, int64_t n, C value) {
  for (int64_t i = 0; i < n; i += kElementsBetweenPolls) {
    poll(ctx);
    std::fill_n(out + i, std::min(kElementsBetweenPolls, n - i), value);
  }
}

// Folds rows into segments. ids[i] is the segment of the i-th row, negative: left out; rows[i]
// (or i itself) where it lies in data. A segment without rows gets start_of; for extremes, zero or
// blank_of. Means need sorted ids: a segment is whole when the id changes, and no
// count is kept per segment, of which there may be far more than rows.
template <Way way, class T>
void fold_rows(hr_ctx* ctx, const hr_tensor* data_, const int64_t* rows, const int64_t* ids,
               int64_t n, int64_t inner, int64_t segments, bool zero_blank, hr_tensor* out_) {
  const T* data = read<T>(data_);
  T* out = write<T>(out_);
  using C = Compute<T>;
  constexpr bool extreme = way == kMin || way == kMax, divided = way == kMean || way == kSqrtN;
  const int64_t elements = segments * inner;
  if (elements == 0) return;
  // What is computed as it is stored is folded where it belongs.
  std::unique_ptr<C[]> wide;
  C* totals;
  if constexpr (std::is_same_v<T, C>) {
    totals = out;
  } else {
    wide.reset(new C[size_t(elements)]);
    totals = wide.get();
  }
  fill_polled(ctx, totals, elements, start_of<way, T>());
  std::vector<bool> found(extreme ? size_t(segments) : 0);
  const int64_t between_polls = kElementsBetweenPolls / inner + 1;
  for (int64_t i = 0, first = 0; i < n; ++i) {
    if (i % between_polls == 0) poll(ctx);
    if (ids[i] < 0) continue;
    C* total = totals + ids[i] * inner;
    fold_row<way, T>(total, data + (rows ? rows[i] : i) * inner, inner);
    if constexpr (extreme) found[size_t(ids[i])] = true;
    if constexpr (divided) {
      if (i + 1 < n && ids[i + 1] == ids[i]) continue;
      divide<way>(total, i + 1 - first, inner);
      first = i + 1;
    }
  }
  if constexpr (extreme) {
    const C blank = zero_blank ? C(0) : blank_of<way, T>();
    for (int64_t s = 0; s < segments; ++s) {
      if (s % between_polls == 0) poll(ctx);
      if (!found[size_t(s)]) std::fill_n(totals + s * inner, inner, blank);
    }
  }
  if constexpr (!std::is_same_v<T, C>)
    for (int64_t i = 0; i < elements; ++i) {
      if (i % kElementsBetweenPolls == 0) poll(ctx);
      out[i] = T(totals[i]);
    }
}

using FoldRows = void (*)(hr_ctx* ctx, const hr_tensor* data, const int64_t* rows,
                          const int64_t* ids, int64_t n, int64_t inner, int64_t segments,
                          bool zero_blank, hr_tensor* out);

struct Plan {
  FoldRows fold;
};

template <Way way, class Set> FoldRows fold_for(hr_dtype dtype) {
  const auto of = [](auto t) -> FoldRows { return fold_rows<way, typename decltype(t)::type>; };
  if constexpr (way == kSum || way == kProd)
    return with_type(as_unsigned(dtype), Signless<Set>{}, of);
  else return with_type(dtype, Set{}, of);
}

hr_code prepare_fold(hr_request* r, FoldRows fold, hr_compute compute) {
  keep_plan(r, new Plan{fold});
  r->compute = fold ? compute : nullptr;
  return HR_OK;
}

hr_code not_sorted(hr_ctx* ctx, int64_t at) {
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                     "segment ids must be sorted and not negative: segment_ids[%lld] is not",
                     (long long)at);
}

// Sorted ids: their number of segments, or an error. limit -1: the last id decides.
hr_code sorted_segments(hr_ctx* ctx, const std::vector<int64_t>& ids, int64_t limit,
                        int64_t* segments) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < (i ? ids[i - 1] : 0)) return not_sorted(ctx, int64_t(i));
  if (!ids.empty() && ids.back() == std::numeric_limits<int64_t>::max())
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "segment id %lld is too large",
                       (long long)ids.back());
  *segments = ids.empty() ? 0 : ids.back() + 1;
  if (limit >= 0) {
    if (*segments > limit)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "segment id %lld is not in [0, %lld)",
                         (long long)ids.back(), (long long)limit);
    *segments = limit;
  }
  return HR_OK;
}

// ---- SegmentSum, ...Mean, ...Prod, ...Min, ...Max: sorted ids --------------------------------

hr_code compute_sorted(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const auto ids = to_int64(in[1]);
  int64_t segments;
  if (hr_code code = sorted_segments(ctx, ids, -1, &segments)) return code;
  copy_shape(in[0], out[0]);
  out[0]->dims[0] = segments;
  if (hr_code code = ctx->api->allocate(ctx, out[0])) return code;
  static_cast<Plan*>(plan)->fold(ctx, in[0], nullptr, ids.data(), int64_t(ids.size()),
                                 product(in[0]->dims, 1, in[0]->rank), segments, true, out[0]);
  return HR_OK;
}

template <Way way, class Set> hr_code prepare_sorted(void*, hr_request* r) {
  HR_APPLY_DATA_RULE(segment, r);
  r->shape_depends_on_data = 1;
  return prepare_fold(r, fold_for<way, Set>(r->inputs[0]->dtype), compute_sorted);
}

// ---- unsorted ids, number of segments given --------------------------------------------------

template <bool sorted>
hr_code compute_unsorted(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  const auto ids = to_int64(in[1]);
  const int64_t segments = out[0]->dims[0];
  int64_t found;
  if constexpr (sorted)
    if (hr_code code = sorted_segments(ctx, ids, segments, &found)) return code;
  const bool empty = !sorted && hr_elements(in[0]) == 0;  // TensorFlow looks at no id then
  for (size_t i = 0; i < ids.size() && !empty; ++i)
    if (ids[i] >= segments)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s = %lld is not in [0, %lld)",
                         element_name("segment_ids", in[1], int64_t(i)).c_str(), (long long)ids[i],
                         (long long)segments);
  static_cast<Plan*>(plan)->fold(ctx, in[0], nullptr, ids.data(), empty ? 0 : int64_t(ids.size()),
                                 product(in[0]->dims, in[1]->rank, in[0]->rank), segments, false,
                                 out[0]);
  return HR_OK;
}

template <Way way, class Set, bool sorted> hr_code prepare_unsorted(void*, hr_request* r) {
  HR_APPLY_RULE(unsorted_segment, r);
  return prepare_fold(r, fold_for<way, Set>(r->inputs[0]->dtype), compute_unsorted<sorted>);
}

// ---- rows chosen by index, folded by sorted segments -------------------------------------------

template <bool counted>
hr_code compute_sparse(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const auto rows = to_int64(in[1]), ids = to_int64(in[2]);
  int64_t segments = counted ? out[0]->dims[0] : -1;
  if (hr_code code = sorted_segments(ctx, ids, segments, &segments)) return code;
  const int64_t bad = first_outside(in[1], in[0]->dims[0]);
  if (bad >= 0) return index_error(ctx, in[1], bad, in[0]->dims[0]);
  if (!counted) {
    copy_shape(in[0], out[0]);
    out[0]->dims[0] = segments;
    if (hr_code code = ctx->api->allocate(ctx, out[0])) return code;
  }
  static_cast<Plan*>(plan)->fold(ctx, in[0], rows.data(), ids.data(), int64_t(ids.size()),
                                 product(in[0]->dims, 1, in[0]->rank), segments, true, out[0]);
  return HR_OK;
}

template <Way way, class Set, bool counted> hr_code prepare_sparse(void*, hr_request* r) {
  if (counted) HR_APPLY_RULE(sparse_segment_counted, r);
  else HR_APPLY_DATA_RULE(sparse_segment, r);
  return prepare_fold(r, fold_for<way, Set>(r->inputs[0]->dtype), compute_sparse<counted>);
}

// The gradient: row i of the data gets its segment's gradient, scaled, as often as it was taken.
template <Way way, class T>
hr_code compute_sparse_grad(hr_ctx* ctx, void*, void*, const hr_tensor* const* in,
                            hr_tensor* const* out, void*) {
  using C = Compute<T>;
  const auto rows = to_int64(in[1]), ids = to_int64(in[2]);
  const int64_t n = out[0]->dims[0], segments = in[0]->dims[0];
  const int64_t inner = product(in[0]->dims, 1, in[0]->rank);
  const int64_t bad = first_outside(in[1], n);
  if (bad >= 0) return index_error(ctx, in[1], bad, n);
  const int64_t bad_id = first_outside(in[2], segments);
  if (bad_id >= 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "segment id %lld is not in [0, %lld)",
                       (long long)ids[size_t(bad_id)], (long long)segments);
  std::vector<int64_t> counts(static_cast<size_t>(segments), 0);
  for (const int64_t id : ids) ++counts[size_t(id)];
  const std::unique_ptr<C[]> totals(new C[size_t(n * inner)]);
  fill_polled(ctx, totals.get(), n * inner, C(0));
  const size_t between_polls = size_t(kElementsBetweenPolls / (inner + 1) + 1);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i % between_polls == 0) poll(ctx);
    const C count = C(int32_t(counts[size_t(ids[i])]));
    const C scale = way == kMean ? C(1) / count : way == kSqrtN ? C(1) / std::sqrt(count) : C(1);
    const T* from = read<T>(in[0]) + ids[i] * inner;
    C* to = totals.get() + rows[i] * inner;
    for (int64_t j = 0; j < inner; ++j) to[j] += C(from[j]) * scale;
  }
  for (int64_t i = 0; i < n * inner; ++i) {
    poll_at(ctx, i);
    write<T>(out[0])[i] = T(totals[size_t(i)]);
  }
  return HR_OK;
}

template <Way way> hr_code prepare_sparse_grad(void*, hr_request* r) {
  HR_APPLY_RULE(sparse_segment_grad, r);
  if (hr_elements(r->outputs[0]) == 0) {  // TensorFlow looks at no index then
    r->compute = [](hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*,
                    void*) -> hr_code { return HR_OK; };
    return HR_OK;
  }
  r->compute = with_type(r->inputs[0]->dtype, Floats{}, [](auto t) -> hr_compute {
    return compute_sparse_grad<way, typename decltype(t)::type>;
  });
  return HR_OK;
}

template <Way way, class Set>
constexpr KernelRegistration sorted(const char* op, const char* constraint) {
  return kernel(op, constraint, prepare_sorted<way, Set>).is(HR_KERNEL_DATA_SHAPE);
}
template <Way way, class Set, bool in_order>
constexpr KernelRegistration unsorted(const char* op, const char* constraint) {
  return kernel(op, constraint, prepare_unsorted<way, Set, in_order>).constant(2);
}
template <Way way, class Set> constexpr KernelRegistration sparse(const char* op,
                                                                  const char* constraint) {
  return kernel(op, constraint, prepare_sparse<way, Set, false>).is(HR_KERNEL_DATA_SHAPE);
}
template <Way way, class Set> constexpr KernelRegistration counted(const char* op,
                                                                   const char* constraint) {
  return kernel(op, constraint, prepare_sparse<way, Set, true>).constant(3);
}
template <Way way> constexpr KernelRegistration sparse_grad(const char* op) {
  return kernel(op, "T=" HR_FLOATS, prepare_sparse_grad<way>).constant(3);
}

}  // namespace

HR_KERNELS = {
    sorted<kSum, Numbers>("SegmentSum", "T=" HR_NUMBERS),
    sorted<kMean, Numbers>("SegmentMean", "T=" HR_NUMBERS),
    sorted<kProd, Numbers>("SegmentProd", "T=" HR_NUMBERS),
    sorted<kMin, Reals>("SegmentMin", "T=" HR_REALS),
    sorted<kMax, Reals>("SegmentMax", "T=" HR_REALS),
    unsorted<kSum, Numbers, true>("SegmentSumV2", "T=" HR_NUMBERS),
    unsorted<kProd, Numbers, true>("SegmentProdV2", "T=" HR_NUMBERS),
    unsorted<kMin, Reals, true>("SegmentMinV2", "T=" HR_REALS),
    unsorted<kMax, Reals, true>("SegmentMaxV2", "T=" HR_REALS),
    unsorted<kSum, Numbers, false>("UnsortedSegmentSum", "T=" HR_NUMBERS),
    unsorted<kProd, Numbers, false>("UnsortedSegmentProd", "T=" HR_NUMBERS),
    unsorted<kMin, Reals, false>("UnsortedSegmentMin", "T=" HR_REALS),
    unsorted<kMax, Reals, false>("UnsortedSegmentMax", "T=" HR_REALS),
    sparse<kSum, Reals>("SparseSegmentSum", "T=" HR_REALS),
    sparse<kMean, Floats>("SparseSegmentMean", "T=" HR_FLOATS),
    sparse<kSqrtN, Floats>("SparseSegmentSqrtN", "T=" HR_FLOATS),
    counted<kSum, Reals>("SparseSegmentSumWithNumSegments", "T=" HR_REALS),
    counted<kMean, Floats>("SparseSegmentMeanWithNumSegments", "T=" HR_FLOATS),
    counted<kSqrtN, Floats>("SparseSegmentSqrtNWithNumSegments", "T=" HR_FLOATS),
    sparse_grad<kSum>("SparseSegmentSumGrad"),
    sparse_grad<kMean>("SparseSegmentMeanGrad"),
    sparse_grad<kSqrtN>("SparseSegmentSqrtNGrad"),
};

}  // namespace hr
