// Sums, products, extremes and means over some dimensions.
//
// The input's dimensions are merged into runs that are kept and runs that are reduced, in turn.
// Where the last run is reduced, rows are folded; where it is kept, rows are added up column by
// column. Partial results are made over blocks whose bounds do not depend on the number of
// threads, so neither do the results' last bits.
#include <cmath>
#include <limits>
#include <vector>

#include "loops/elements.hpp"
#include "loops/reduction_fold.hpp"
#include "math/arithmetic.hpp"
#include "ops/reduction/reduction_ops.hpp"
#include "processor/parallel.hpp"
#include "table/registration.hpp"
#include "table/shape_rules.hpp"
#include "table/shapes.hpp"

namespace hr {
namespace {

constexpr int64_t kChunk = kBlocksOfChunk * kBlock;     // of a full reduction per piece of work
constexpr int64_t kColumns = 128, kMostColumns = 1024;  // that one piece of work adds up

struct ReducePlan {
  int64_t n;                        // elements per result
  int64_t inner;                    // of the last run
  bool rows;                        // the last run is reduced
  int32_t kept_rank, reduced_rank;  // of the runs before the last
  int64_t kept_dims[HR_MAX_RANK], kept_strides[HR_MAX_RANK], kept;
  int64_t reduced_dims[HR_MAX_RANK], reduced_strides[HR_MAX_RANK], reduced;
};

// Offset of step i through some dimensions.
inline int64_t offset_of(int64_t i, int32_t rank, const int64_t* dims, const int64_t* strides) {
  int64_t offset = 0;
  for (int32_t d = rank - 1; d >= 0; --d) {
    offset += i % dims[d] * strides[d];
    i /= dims[d];
  }
  return offset;
}

template <class Op, class T>
hr_code compute_all(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                    hr_tensor* const* out, void* workspace) {
  using Total = typename Op::Total;
  const auto& p = *static_cast<const ReducePlan*>(plan_);
  const T* x = read<T>(in[0]);
  if (p.inner <= kChunk) {
    *write<T>(out[0]) = Op::finish(fold_row<Op, T>(x, p.inner), p.n);
    return HR_OK;
  }
  auto* partial = static_cast<Total*>(workspace);
  const int64_t chunks = (p.inner + kChunk - 1) / kChunk;
  parallel_ranges(ctx, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      partial[c] = fold_row<Op, T>(x + c * kChunk, std::min(kChunk, p.inner - c * kChunk));
  });
  Total total = partial[0];
  for (int64_t c = 1; c < chunks; ++c) total = Op::fold(total, partial[c]);
  *write<T>(out[0]) = Op::finish(total, p.n);
  return HR_OK;
}

template <class Op, class T>
hr_code compute_rows(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                     hr_tensor* const* out, void*) {
  using Total = typename Op::Total;
  const auto& p = *static_cast<const ReducePlan*>(plan_);
  const T* x = read<T>(in[0]);
  T* y = write<T>(out[0]);
  parallel_ranges(ctx, p.kept, grain_of(p.n * int64_t(sizeof(T))), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const T* at = x + offset_of(k, p.kept_rank, p.kept_dims, p.kept_strides);
      if (p.reduced == 1) {
        y[k] = Op::finish(fold_row<Op, T>(at, p.inner), p.n);
        continue;
      }
      Total total = Total(Op::start());
      for (int64_t r = 0; r < p.reduced; ++r)
        total = Op::fold(total, fold_row<Op, T>(at + offset_of(r, p.reduced_rank, p.reduced_dims,
                                                               p.reduced_strides),
                                                p.inner));
      y[k] = Op::finish(total, p.n);
    }
  });
  return HR_OK;
}

template <class Op, class T>
hr_code compute_columns(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  using Acc = typename Op::Acc;
  using Total = typename Op::Total;
  constexpr int64_t kRows = 128;
  const auto& p = *static_cast<const ReducePlan*>(plan_);
  const T* x = read<T>(in[0]);
  T* y = write<T>(out[0]);
  // As wide as leaves a few pieces for each thread: memory is read fastest in long rows.
  const int64_t share = p.kept * p.inner / (4 * most_threads(ctx)) / kColumns * kColumns;
  const int64_t columns = std::min(kMostColumns, std::max(kColumns, share));
  const int64_t strips = (p.inner + columns - 1) / columns;
  parallel_ranges(
      ctx, p.kept * strips, grain_of(p.n * std::min(columns, p.inner) * int64_t(sizeof(T))),
      [&](int64_t begin, int64_t end) {
        for (int64_t item = begin; item < end; ++item) {
          const int64_t k = item / strips, column = item % strips * columns;
          const int64_t width = std::min(columns, p.inner - column);
          const T* at = x + offset_of(k, p.kept_rank, p.kept_dims, p.kept_strides) + column;
          Total total[kMostColumns];
          Acc acc[kMostColumns];
          std::fill(total, total + width, Total(Op::start()));
          for (int64_t r0 = 0; r0 < p.reduced; r0 += kRows) {
            std::fill(acc, acc + width, Op::start());
            for (int64_t r = r0; r < std::min(p.reduced, r0 + kRows); ++r)
              fold_columns<Op, T>(
                  at + (p.reduced_rank == 1
                            ? r * p.reduced_strides[0]
                            : offset_of(r, p.reduced_rank, p.reduced_dims, p.reduced_strides)),
                  acc, width);
            for (int64_t c = 0; c < width; ++c) total[c] = Op::fold(total[c], Total(acc[c]));
          }
          for (int64_t c = 0; c < width; ++c)
            y[k * p.inner + column + c] = Op::finish(total[c], p.n);
        }
      });
  return HR_OK;
}

// Nothing is reduced: every element alone goes through load and finish.
template <class Op, class T>
hr_code compute_each(hr_ctx*, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  const int64_t n = hr_elements(out[0]);
  for (int64_t i = 0; i < n; ++i)
    write<T>(out[0])[i] = Op::finish(typename Op::Total(Op::load(read<T>(in[0])[i])), 1);
  return HR_OK;
}

// The input is empty, the output perhaps not.
template <class Op, class T>
hr_code compute_empty(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const* out,
                      void*) {
  const T value = Op::finish(typename Op::Total(Op::start()), 0);
  const int64_t n = hr_elements(out[0]);
  std::fill(write<T>(out[0]), write<T>(out[0]) + n, value);
  return HR_OK;
}

struct Loops {
  hr_compute all, rows, columns, each, empty;
  size_t total_size;
};

template <class Op, class T> const Loops* loops() {
  static const Loops table = {compute_all<Op, T>,     compute_rows<Op, T>,
                              compute_columns<Op, T>, compute_each<Op, T>,
                              compute_empty<Op, T>,   sizeof(typename Op::Total)};
  return &table;
}

hr_code read_axes(hr_request* r, bool* reduced) {
  const hr_tensor *x = r->inputs[0], *axes = r->inputs[1];
  const int64_t n = hr_elements(axes);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t asked = int_at(axes, i), axis = axis_of(asked, x->rank);
    if (axis < 0)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "axis %lld is out of range for rank %d",
                             (long long)asked, int(x->rank));
    if (reduced[axis])
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "axis %lld is given twice", (long long)axis);
    reduced[axis] = true;
  }
  return HR_OK;
}

hr_code prepare_loops(hr_request* r, const Loops* loops) {
  if (!loops) return hr_request_fail(r, HR_UNIMPLEMENTED, "no kernel for this dtype");
  const hr_tensor* x = r->inputs[0];
  hr_tensor* y = r->outputs[0];
  bool reduced[HR_MAX_RANK] = {};
  if (hr_code code = read_axes(r, reduced)) return code;
  const bool keep = hr_attr_bool(r->node, "keep_dims", 0);
  y->rank = 0;
  for (int32_t d = 0; d < x->rank; ++d)
    if (!reduced[d] || keep) y->dims[y->rank++] = reduced[d] ? 1 : x->dims[d];

  // Merge into runs; a dimension of 1 joins whatever it stands in.
  int32_t runs = 0;
  int64_t dims[HR_MAX_RANK];
  bool is_reduced[HR_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) {
    if (x->dims[d] == 1) continue;
    if (runs > 0 && is_reduced[runs - 1] == reduced[d]) {
      dims[runs - 1] *= x->dims[d];
    } else {
      dims[runs] = x->dims[d];
      is_reduced[runs++] = reduced[d];
    }
  }
  const int64_t n_in = hr_elements(x), n_out = hr_elements(y);
  r->flops = double(n_in);
  r->bytes_moved = double((n_in + n_out) * hr_dtype_size(x->dtype));
  bool any = false;
  for (int32_t i = 0; i < runs; ++i) any |= is_reduced[i];
  if (n_in == 0) {
    r->compute = loops->empty;
    return HR_OK;
  }
  if (!any) {
    r->compute = loops->each;
    return HR_OK;
  }
  auto* p = keep_plan(r, new ReducePlan{});
  p->n = n_in / n_out;
  p->kept = p->reduced = 1;
  int64_t stride = 1;
  p->inner = dims[runs - 1];
  p->rows = is_reduced[runs - 1];
  for (int32_t i = runs - 1; i >= 0; --i) {
    if (i < runs - 1) {
      const bool red = is_reduced[i];
      int32_t& rank = red ? p->reduced_rank : p->kept_rank;
      // Filled from the back; turned round below.
      (red ? p->reduced_dims : p->kept_dims)[rank] = dims[i];
      (red ? p->reduced_strides : p->kept_strides)[rank] = stride;
      ++rank;
      (red ? p->reduced : p->kept) *= dims[i];
    }
    stride *= dims[i];
  }
  std::reverse(p->kept_dims, p->kept_dims + p->kept_rank);
  std::reverse(p->kept_strides, p->kept_strides + p->kept_rank);
  std::reverse(p->reduced_dims, p->reduced_dims + p->reduced_rank);
  std::reverse(p->reduced_strides, p->reduced_strides + p->reduced_rank);
  if (p->rows && runs == 1) {
    r->compute = loops->all;
    if (p->inner > kChunk)
      r->workspace = size_t((p->inner + kChunk - 1) / kChunk) * loops->total_size;
  } else {
    r->compute = p->rows ? loops->rows : loops->columns;
  }
  return HR_OK;
}

template <template <class> class Op, class Set> hr_code prepare_reduce(void*, hr_request* r) {
  HR_APPLY_RULE(reduce, r);
  return prepare_loops(r, with_type(r->inputs[0]->dtype, Set{}, [](auto t) -> const Loops* {
                         using T = typename decltype(t)::type;
                         return loops<Op<T>, T>();
                       }));
}

// ---- folds for other kernels
// ------------------------------------------------------------------------

template <class Op, class T> const Fold* fold() {
  using Total = typename Op::Total;
  static const Fold table = {
      int64_t(sizeof(Total)),
      [](const void* x, int64_t n, void* out) {
        *static_cast<T*>(out) = Op::finish(fold_row<Op, T>(static_cast<const T*>(x), n), n);
      },
      [](const void* x, int64_t n, void* total) {
        *static_cast<Total*>(total) = Total(fold_block<Op, T>(static_cast<const T*>(x), n));
      },
      [](const void* totals, int64_t n, void* total) {
        Total sum = Total(Op::start());
        for (int64_t i = 0; i < n; ++i) sum = Op::fold(sum, static_cast<const Total*>(totals)[i]);
        *static_cast<Total*>(total) = sum;
      },
      [](const void* totals, int64_t n, void* total) {
        Total sum = static_cast<const Total*>(totals)[0];
        for (int64_t i = 1; i < n; ++i) sum = Op::fold(sum, static_cast<const Total*>(totals)[i]);
        *static_cast<Total*>(total) = sum;
      },
      [](const void* total, int64_t n, void* out) {
        *static_cast<T*>(out) = Op::finish(*static_cast<const Total*>(total), n);
      }};
  return &table;
}

template <template <class> class Op, class Set> const Fold* fold_for(hr_dtype dtype) {
  return with_type(dtype, Set{}, [](auto t) -> const Fold* {
    using T = typename decltype(t)::type;
    return fold<Op<T>, T>();
  });
}

}  // namespace

const Fold* fold_of(std::string_view op, hr_dtype dtype) {
  using Set = Join<Floats, Indices>;
  if (op == "Sum") return fold_for<SumOf, Set>(dtype);
  if (op == "Mean") return fold_for<MeanOf, Set>(dtype);
  if (op == "Max") return fold_for<MaxOf, Set>(dtype);
  if (op == "Min") return fold_for<MinOf, Set>(dtype);
  if (op == "All") return fold_for<AllOf, Types<bool>>(dtype);
  if (op == "Any") return fold_for<AnyOf, Types<bool>>(dtype);
  return nullptr;
}

HR_KERNELS = {
    kernel("Sum", "T=" HR_NUMBERS, prepare_reduce<SumOf, Numbers>).constant(1),
    kernel("Mean", "T=" HR_NUMBERS, prepare_reduce<MeanOf, Numbers>).constant(1),
    kernel("Prod", "T=" HR_NUMBERS, prepare_reduce<ProductOf, Numbers>).constant(1),
    kernel("Max", "T=" HR_REALS, prepare_reduce<MaxOf, Reals>).constant(1),
    kernel("Min", "T=" HR_REALS, prepare_reduce<MinOf, Reals>).constant(1),
    kernel("EuclideanNorm", "T=" HR_NUMBERS, prepare_reduce<NormOf, Numbers>).constant(1),
    kernel("All", nullptr, prepare_reduce<AllOf, Types<bool>>).constant(1),
    kernel("Any", nullptr, prepare_reduce<AnyOf, Types<bool>>).constant(1),
};

}  // namespace hr
