// Sums, products, extremes and means over some dimensions.
//
// The input's dimensions are merged into runs that are alternately kept and reduced. If the last
// run is reduced, rows are folded; if it is kept, rows are added column by column. Partial results
// cover blocks whose bounds do not depend on the number of threads, so neither do the last bits of
// the results.
#include <cmath>
#include <limits>
#include <vector>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "loops/reduction_fold.hpp"
#include "math/arithmetic.hpp"
#include "ops/reduction/reduction_ops.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

constexpr int64_t kChunk = kBlocksOfChunk * kBlock;  // of a full reduction per piece of work

struct Loops;

struct ReducePlan {
  const Loops* loops;
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

// The parts of a reduction that depend on the operation and the element type; what divides them
// among threads is compiled once.
struct Loops {
  // All partial results of one full reduction, and one chunk of it.
  void (*whole)(const ReducePlan& p, const void* x, void* y);
  void (*chunk)(const void* x, int64_t chunk, int64_t n, void* totals);
  void (*combine)(const void* totals, int64_t chunks, int64_t n, void* y);
  // Results [begin, end).
  void (*rows)(const ReducePlan& p, const void* x, void* y, int64_t begin, int64_t end);
  // One strip of `width` columns, from `column` on, of kept result k.
  void (*strip)(const ReducePlan& p, const void* x, void* y, int64_t k, int64_t column,
                int64_t width);
  // Nothing is reduced: every element alone goes through load and finish.
  void (*each)(const void* x, void* y, int64_t n);
  // The input is empty, the output perhaps not.
  void (*empty)(void* y, int64_t n);
  int64_t size, total_size;
};

template <template <class> class Reduction, class T> struct LoopsOf {
  using Op = Reduction<Compute<T>>;
  using Acc = typename Op::Acc;
  using Total = typename Op::Total;

  static void whole(const ReducePlan& p, const void* x, void* y) {
    *static_cast<T*>(y) = T(Op::finish(fold_row<Op, T>(static_cast<const T*>(x), p.inner), p.n));
  }

  static void chunk(const void* x, int64_t chunk, int64_t n, void* totals) {
    static_cast<Total*>(totals)[chunk] =
        fold_row<Op, T>(static_cast<const T*>(x) + chunk * kChunk, n);
  }

  static void combine(const void* totals, int64_t chunks, int64_t n, void* y) {
    const Total* partial = static_cast<const Total*>(totals);
    Total total = partial[0];
    for (int64_t c = 1; c < chunks; ++c) total = Op::fold(total, partial[c]);
    *static_cast<T*>(y) = T(Op::finish(total, n));
  }

  static void rows(const ReducePlan& p, const void* x, void* y, int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const T* at =
          static_cast<const T*>(x) + offset_of(k, p.kept_rank, p.kept_dims, p.kept_strides);
      Total total;
      if (p.reduced == 1) {
        total = fold_row<Op, T>(at, p.inner);
      } else {
        total = Total(Op::start());
        for (int64_t r = 0; r < p.reduced; ++r)
          total = Op::fold(total, fold_row<Op, T>(at + offset_of(r, p.reduced_rank, p.reduced_dims,
                                                                 p.reduced_strides),
                                                  p.inner));
      }
      static_cast<T*>(y)[k] = T(Op::finish(total, p.n));
    }
  }

  static void strip(const ReducePlan& p, const void* x, void* y, int64_t k, int64_t column,
                    int64_t width) {
    constexpr int64_t kRows = 128;
    const T* at =
        static_cast<const T*>(x) + offset_of(k, p.kept_rank, p.kept_dims, p.kept_strides) + column;
    T* to = static_cast<T*>(y) + k * p.inner + column;
    Total total[kMostColumns];
    Acc acc[kMostColumns];
    std::fill(total, total + width, Total(Op::start()));
    for (int64_t r0 = 0; r0 < p.reduced; r0 += kRows) {
      std::fill(acc, acc + width, Op::start());
      for (int64_t r = r0; r < std::min(p.reduced, r0 + kRows); ++r)
        fold_columns<Op, T>(at + (p.reduced_rank == 1 ? r * p.reduced_strides[0]
                                                      : offset_of(r, p.reduced_rank, p.reduced_dims,
                                                                  p.reduced_strides)),
                            acc, width);
      for (int64_t c = 0; c < width; ++c) total[c] = Op::fold(total[c], Total(acc[c]));
    }
    for (int64_t c = 0; c < width; ++c) to[c] = T(Op::finish(total[c], p.n));
  }

  static void each(const void* x, void* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      static_cast<T*>(y)[i] =
          T(Op::finish(Total(Op::load(Compute<T>(static_cast<const T*>(x)[i]))), 1));
  }

  static void empty(void* y, int64_t n) {
    std::fill_n(static_cast<T*>(y), n, T(Op::finish(Total(Op::start()), 0)));
  }

  static const Loops* table() {
    static const Loops loops = {whole, chunk, combine,   rows,         strip,
                                each,  empty, sizeof(T), sizeof(Total)};
    return &loops;
  }
};

hr_code compute_all(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                    hr_tensor* const* out, void* workspace) {
  const auto& p = *static_cast<const ReducePlan*>(plan);
  const void* x = in[0]->data;
  if (p.inner <= kChunk) {
    p.loops->whole(p, x, out[0]->data);
    return HR_OK;
  }
  const int64_t chunks = (p.inner + kChunk - 1) / kChunk;
  parallel_ranges(ctx, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c)
      p.loops->chunk(x, c, std::min(kChunk, p.inner - c * kChunk), workspace);
  });
  p.loops->combine(workspace, chunks, p.n, out[0]->data);
  return HR_OK;
}

hr_code compute_rows(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                     hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const ReducePlan*>(plan);
  parallel_ranges(ctx, p.kept, grain_of(p.n * p.loops->size), [&](int64_t begin, int64_t end) {
    p.loops->rows(p, in[0]->data, out[0]->data, begin, end);
  });
  return HR_OK;
}

hr_code compute_columns(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const ReducePlan*>(plan);
  // As wide as leaves a few pieces for each thread: memory is read fastest in long rows.
  const int64_t share = p.kept * p.inner / (4 * most_threads(ctx)) / kColumns * kColumns;
  const int64_t columns = std::min(kMostColumns, std::max(kColumns, share));
  const int64_t strips = (p.inner + columns - 1) / columns;
  parallel_ranges(ctx, p.kept * strips, grain_of(p.n * std::min(columns, p.inner) * p.loops->size),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t item = begin; item < end; ++item) {
                      const int64_t column = item % strips * columns;
                      p.loops->strip(p, in[0]->data, out[0]->data, item / strips, column,
                                     std::min(columns, p.inner - column));
                    }
                  });
  return HR_OK;
}

hr_code compute_each(hr_ctx*, void*, void* plan, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  static_cast<const ReducePlan*>(plan)->loops->each(in[0]->data, out[0]->data, hr_elements(out[0]));
  return HR_OK;
}

hr_code compute_empty(hr_ctx*, void*, void* plan, const hr_tensor* const*, hr_tensor* const* out,
                      void*) {
  static_cast<const ReducePlan*>(plan)->loops->empty(out[0]->data, hr_elements(out[0]));
  return HR_OK;
}

hr_code read_axes(hr_request* r, bool* reduced) {
  const hr_tensor *x = r->inputs[0], *axes = r->inputs[1];
  const int64_t n = hr_elements(axes);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t attribute = int_at(axes, i), axis = axis_of(attribute, x->rank);
    if (axis < 0)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "axis %lld is out of range for rank %d",
                             (long long)attribute, int(x->rank));
    if (reduced[axis])
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "axis %lld is given twice", (long long)axis);
    reduced[axis] = true;
  }
  return HR_OK;
}

// Neighbouring dimensions that are all kept or all reduced; a dimension of 1 joins either.
struct Runs {
  int32_t count = 0;
  int64_t dims[HR_MAX_RANK];
  bool reduced[HR_MAX_RANK];
  bool any_reduced() const { return std::find(reduced, reduced + count, true) != reduced + count; }
};

Runs runs_of(const hr_tensor& x, const bool* reduced) {
  Runs runs;
  for (int32_t d = 0; d < x.rank; ++d) {
    if (x.dims[d] == 1) continue;
    if (runs.count > 0 && runs.reduced[runs.count - 1] == reduced[d]) {
      runs.dims[runs.count - 1] *= x.dims[d];
    } else {
      runs.dims[runs.count] = x.dims[d];
      runs.reduced[runs.count++] = reduced[d];
    }
  }
  return runs;
}

void plan_runs(const Runs& runs, ReducePlan* p) {
  const int32_t last = runs.count - 1;
  p->kept = p->reduced = 1;
  p->inner = runs.dims[last];
  p->rows = runs.reduced[last];
  int64_t stride = runs.dims[last];
  for (int32_t i = last - 1; i >= 0; --i) {  // from the back; turned round below
    int32_t& rank = runs.reduced[i] ? p->reduced_rank : p->kept_rank;
    (runs.reduced[i] ? p->reduced_dims : p->kept_dims)[rank] = runs.dims[i];
    (runs.reduced[i] ? p->reduced_strides : p->kept_strides)[rank] = stride;
    ++rank;
    (runs.reduced[i] ? p->reduced : p->kept) *= runs.dims[i];
    stride *= runs.dims[i];
  }
  std::reverse(p->kept_dims, p->kept_dims + p->kept_rank);
  std::reverse(p->kept_strides, p->kept_strides + p->kept_rank);
  std::reverse(p->reduced_dims, p->reduced_dims + p->reduced_rank);
  std::reverse(p->reduced_strides, p->reduced_strides + p->reduced_rank);
}

hr_code prepare_loops(hr_request* r, const Loops* loops) {
  HR_APPLY_RULE(reduce, r);
  if (!loops) return hr_request_fail(r, HR_UNIMPLEMENTED, "no kernel for this dtype");
  const hr_tensor* x = r->inputs[0];
  hr_tensor* y = r->outputs[0];
  bool reduced[HR_MAX_RANK] = {};
  if (hr_code code = read_axes(r, reduced)) return code;
  const bool keep = hr_attr_bool(r->node, "keep_dims", 0);
  y->rank = 0;
  for (int32_t d = 0; d < x->rank; ++d)
    if (!reduced[d] || keep) y->dims[y->rank++] = reduced[d] ? 1 : x->dims[d];

  const int64_t n_in = hr_elements(x), n_out = hr_elements(y);
  r->flops = double(n_in);
  r->bytes_moved = double((n_in + n_out) * hr_dtype_size(x->dtype));
  auto* p = keep_plan(r, new ReducePlan{});
  p->loops = loops;
  if (n_in == 0) {
    r->compute = compute_empty;
    return HR_OK;
  }
  const Runs runs = runs_of(*x, reduced);
  if (!runs.any_reduced()) {
    r->compute = compute_each;
    return HR_OK;
  }
  p->n = n_in / n_out;
  plan_runs(runs, p);
  if (p->rows && runs.count == 1) {
    r->compute = compute_all;
    if (p->inner > kChunk)
      r->workspace = size_t((p->inner + kChunk - 1) / kChunk) * size_t(loops->total_size);
  } else {
    r->compute = p->rows ? compute_rows : compute_columns;
  }
  return HR_OK;
}

template <template <class> class Op, class Set> const Loops* loops_for(hr_dtype dtype) {
  return with_type(dtype, Set{}, [](auto t) -> const Loops* {
    return LoopsOf<Op, typename decltype(t)::type>::table();
  });
}

template <template <class> class Op, class Set> hr_code prepare_reduce(void*, hr_request* r) {
  return prepare_loops(r, loops_for<Op, Set>(r->inputs[0]->dtype));
}

// Integers wrap around to the same bits whatever their sign.
template <template <class> class Op> hr_code prepare_wrapping(void*, hr_request* r) {
  using Set = Join<Join<Floats, Complexes>, Unsigned>;
  return prepare_loops(r, loops_for<Op, Set>(as_unsigned(r->inputs[0]->dtype)));
}

// ---- folds for other kernels -----------------------------------------------------------------

template <template <class> class Reduction, class T> const Fold* fold() {
  using Op = Reduction<Compute<T>>;
  using Total = typename Op::Total;
  static const Fold table = {
      int64_t(sizeof(Total)),
      [](const void* x, int64_t n, void* out) {
        *static_cast<T*>(out) = T(Op::finish(fold_row<Op, T>(static_cast<const T*>(x), n), n));
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
        *static_cast<T*>(out) = T(Op::finish(*static_cast<const Total*>(total), n));
      }};
  return &table;
}

template <template <class> class Op, class Set> const Fold* fold_for(hr_dtype dtype) {
  return with_type(dtype, Set{}, [](auto t) -> const Fold* {
    using T = typename decltype(t)::type;
    return fold<Op, T>();
  });
}

}  // namespace

const Fold* fold_of(std::string_view op, hr_dtype dtype) {
  using Set = Join<Floats, Indices>;
  if (op == "Sum")
    return fold_for<SumOf, Join<Floats, Types<uint32_t, uint64_t>>>(as_unsigned(dtype));
  if (op == "Mean") return fold_for<MeanOf, Set>(dtype);
  if (op == "Max") return fold_for<MaxOf, Set>(dtype);
  if (op == "Min") return fold_for<MinOf, Set>(dtype);
  if (op == "All") return fold_for<AllOf, Types<bool>>(dtype);
  if (op == "Any") return fold_for<AnyOf, Types<bool>>(dtype);
  return nullptr;
}

HR_KERNELS = {
    kernel("Sum", "T=" HR_NUMBERS, prepare_wrapping<SumOf>).constant(1),
    kernel("Mean", "T=" HR_NUMBERS, prepare_reduce<MeanOf, Numbers>).constant(1),
    kernel("Prod", "T=" HR_NUMBERS, prepare_wrapping<ProductOf>).constant(1),
    kernel("Max", "T=" HR_REALS, prepare_reduce<MaxOf, Reals>).constant(1),
    kernel("Min", "T=" HR_REALS, prepare_reduce<MinOf, Reals>).constant(1),
    kernel("EuclideanNorm", "T=" HR_NUMBERS, prepare_reduce<NormOf, Numbers>).constant(1),
    kernel("All", nullptr, prepare_reduce<AllOf, Types<bool>>).constant(1),
    kernel("Any", nullptr, prepare_reduce<AnyOf, Types<bool>>).constant(1),
};

}  // namespace hr
