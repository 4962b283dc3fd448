// Chooses and runs the loop of a binary kernel for the shapes of its two operands.
#include "loops/binary_loops.hpp"

#include "library/dtype_names.hpp"
#include "library/shape_rules.hpp"
#include "loops/via_float.hpp"
#include "processor/polled_stretch.hpp"

namespace hr::binary {
namespace {

struct BroadcastPlan {
  const BinaryLoops* loops;
  BinaryLoops::Loop inner;
  Walk<2> walk;
};

hr_code fault(hr_ctx* ctx, const BinaryLoops* loops) {
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s", loops->fault);
}

hr_code nothing(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*, void*) {
  return HR_OK;
}

// One contiguous stretch, on this thread.
template <BinaryLoops::Loop BinaryLoops::* loop, bool a_moves, bool b_moves>
hr_code stretch(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in, hr_tensor* const* out,
                void*) {
  const auto* loops = static_cast<const BinaryLoops*>(plan);
  const int64_t n = out[0]->bytes / loops->out_size;
  const char *a = read<char>(in[0]), *b = read<char>(in[1]);
  char* to = write<char>(out[0]);
  int32_t faults = 0;
  in_polled_pieces(ctx, 0, n, [&](int64_t begin, int64_t end) {
    faults |= (loops->*loop)(a + (a_moves ? begin * loops->in_size : 0),
                             b + (b_moves ? begin * loops->in_size : 0),
                             to + begin * loops->out_size, end - begin);
  });
  return faults ? fault(ctx, loops) : HR_OK;
}

template <BinaryLoops::Loop BinaryLoops::* loop, bool a_moves, bool b_moves>
hr_code shared_stretch(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const auto* loops = static_cast<const BinaryLoops*>(plan);
  const int64_t n = out[0]->bytes / loops->out_size;
  const char *a = read<char>(in[0]), *b = read<char>(in[1]);
  char* to = write<char>(out[0]);
  int32_t faults = 0;
  parallel_blocks(ctx, n, 64, grain_of(loops->in_size * 2 + loops->out_size),
                  [&](int64_t first, int64_t last) {
                    in_polled_pieces(ctx, first, last, [&](int64_t begin, int64_t end) {
                      if ((loops->*loop)(a + (a_moves ? begin * loops->in_size : 0),
                                         b + (b_moves ? begin * loops->in_size : 0),
                                         to + begin * loops->out_size, end - begin))
                        __atomic_store_n(&faults, 1, __ATOMIC_RELAXED);
                    });
                  });
  return faults ? fault(ctx, loops) : HR_OK;
}

hr_code broadcast(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                  hr_tensor* const* out, void*) {
  const auto* plan = static_cast<const BroadcastPlan*>(plan_);
  const BinaryLoops* loops = plan->loops;
  const char *a = read<char>(in[0]), *b = read<char>(in[1]);
  char* to = write<char>(out[0]);
  const int64_t inner = plan->walk.inner(), in_size = loops->in_size;
  int32_t faults = 0;
  parallel_ranges(ctx, plan->walk.outer(), grain_of(inner * (in_size * 2 + loops->out_size)),
                  [&](int64_t begin, int64_t end) {
                    int32_t bad = 0;
                    plan->walk.rows(begin, end, [&](int64_t row, const int64_t* at) {
                      if (row % 1024 == 0) poll(ctx);
                      bad |= plan->inner(a + at[0] * in_size, b + at[1] * in_size,
                                         to + row * inner * loops->out_size, inner);
                    });
                    if (bad) __atomic_store_n(&faults, 1, __ATOMIC_RELAXED);
                  });
  return faults ? fault(ctx, loops) : HR_OK;
}

// Rows of half or bfloat16 up to kShortRow elements are converted about kGathered elements at a
// time, so that calls and loop ends are paid per block, not per row.
constexpr int64_t kShortRow = 256, kGathered = 1024;

// Rows of one 16-bit operand, copied side by side.
class GatheredRows {
 public:
  GatheredRows(const void* data, const Walk<2>& walk, int operand, int64_t rows)
      : data_(static_cast<const uint16_t*>(data)), inner_(walk.inner()) {
    const int64_t* strides = walk.strides[operand];
    repeats_ = strides[walk.rank - 1] == 0;
    int64_t step = 1;
    for (int32_t d = walk.rank - 1; d >= 0; step *= walk.dims[d--])
      contiguous_ = contiguous_ && strides[d] == step;
    if (!contiguous_ && !repeats_) std::fill_n(offsets_, rows, -1);
  }

  // Puts the row at `offset` at a place of the block; places are filled in ascending order.
  void gather(int64_t place, int64_t offset) {
    if (contiguous_) return;
    uint16_t* to = values_ + place * inner_;
    if (repeats_) {
      // Whole vectors: what goes beyond the row is overwritten by the next one.
      for (int64_t i = 0; i < inner_; i += kVector) std::fill_n(to + i, kVector, data_[offset]);
    } else if (offsets_[place] != offset) {  // else the block before had the same row there
      offsets_[place] = offset;
      std::copy_n(data_ + offset, inner_, to);
    }
  }

  const void* block(int64_t first_row) const {
    return contiguous_ ? data_ + first_row * inner_ : values_;
  }

 private:
  static constexpr int64_t kVector = 16;

  const uint16_t* data_;
  int64_t inner_;
  bool repeats_, contiguous_ = true;
  int64_t offsets_[kGathered / 2];  // an inner dimension is at least 2
  uint16_t values_[kGathered + kVector];
};

hr_code broadcast_short_rows(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                             hr_tensor* const* out, void*) {
  const auto* plan = static_cast<const BroadcastPlan*>(plan_);
  const BinaryLoops* loops = plan->loops;
  char* to = write<char>(out[0]);
  const int64_t inner = plan->walk.inner(), outer = plan->walk.outer(),
                rows = std::min(kGathered / inner, outer);
  int32_t faults = 0;
  parallel_ranges(
      ctx, outer, grain_of(inner * (loops->in_size * 2 + loops->out_size)),
      [&](int64_t begin, int64_t end) {
        GatheredRows a(in[0]->data, plan->walk, 0, rows), b(in[1]->data, plan->walk, 1, rows);
        int32_t bad = 0;
        for (int64_t first = begin; first < end; first += rows) {
          if (first % 1024 < rows) poll(ctx);
          const int64_t last = std::min(first + rows, end);
          plan->walk.rows(first, last, [&](int64_t row, const int64_t* at) {
            a.gather(row - first, at[0]);
            b.gather(row - first, at[1]);
          });
          bad |= loops->both(a.block(first), b.block(first), to + first * inner * loops->out_size,
                             (last - first) * inner);
        }
        if (bad) __atomic_store_n(&faults, 1, __ATOMIC_RELAXED);
      });
  return faults ? fault(ctx, loops) : HR_OK;
}

// A whole operand of up to kOneStretch elements is converted without calls.
constexpr int64_t kOneStretch = 64;

template <class T>
HR_CLONES int32_t short_stretch(Form form, BinaryLoops::Loop loop, bool narrows, const T* a,
                                const T* b, void* out, int64_t n) {
  float wide_a[kOneStretch], wide_b[kOneStretch], wide_out[kOneStretch];
  const int64_t n_a = form == kWithLeft ? 1 : n, n_b = form == kWithRight ? 1 : n;
  for (int64_t i = 0; i < n_a; ++i) wide_a[i] = float(a[i]);
  for (int64_t i = 0; i < n_b; ++i) wide_b[i] = float(b[i]);
  const int32_t faults = loop(wide_a, wide_b, narrows ? wide_out : out, n);
  if (narrows)
    for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = T(wide_out[i]);
  return faults;
}

}  // namespace

int32_t in_float_blocks(hr_dtype dtype, Form form, BinaryLoops::Loop loop, hr_dtype result,
                        const void* a, const void* b, void* out, int64_t n) {
  if (n <= kOneStretch) {
    const bool narrow_result = is_narrow(result);
    return dtype == HR_HALF
               ? short_stretch(form, loop, narrow_result, static_cast<const half*>(a),
                               static_cast<const half*>(b), out, n)
               : short_stretch(form, loop, narrow_result, static_cast<const bfloat16*>(a),
                               static_cast<const bfloat16*>(b), out, n);
  }
  constexpr int64_t kBlock = 512;
  float wide_a[kBlock], wide_b[kBlock], wide_out[kBlock];
  const bool narrows = is_narrow(result);
  const int64_t size = hr_dtype_size(result);
  int32_t faults = 0;
  if (form == kWithLeft) narrow_to_float(dtype, a, wide_a, 1);
  if (form == kWithRight) narrow_to_float(dtype, b, wide_b, 1);
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t width = std::min(kBlock, n - i);
    if (form != kWithLeft)
      narrow_to_float(dtype, static_cast<const char*>(a) + 2 * i, wide_a, width);
    if (form != kWithRight)
      narrow_to_float(dtype, static_cast<const char*>(b) + 2 * i, wide_b, width);
    char* to = static_cast<char*>(out) + size * i;
    faults |= loop(wide_a, wide_b, narrows ? static_cast<void*>(wide_out) : to, width);
    if (narrows) float_to_narrow(result, wide_out, to, width);
  }
  return faults;
}

hr_code prepare_broadcast(hr_request* request, const BinaryLoops* loops) {
  if (hr_code code = hr_shape_broadcast(request)) return code;
  return prepare_loops(request, loops);
}

hr_code prepare_equal_shapes(hr_request* request, const BinaryLoops* loops) {
  if (hr_code code = hr_shape_merge(request)) return code;
  return prepare_loops(request, loops);
}

hr_code prepare_loops(hr_request* request, const BinaryLoops* loops) {
  const hr_tensor *a = request->inputs[0], *b = request->inputs[1], *out = request->outputs[0];
  if (!loops) return hr_request_fail(request, HR_UNIMPLEMENTED, "no kernel for this dtype");
  if (as_unsigned(loops->result) != as_unsigned(storage_type(out->dtype)))
    return hr_request_fail(
        request, HR_INVALID_ARGUMENT, "the result for inputs of %s is of %s, not of %s",
        dtype_name(request->inputs[0]->dtype), dtype_name(loops->result), dtype_name(out->dtype));
  const int64_t n = hr_elements(out), na = hr_elements(a), nb = hr_elements(b);
  const bool small =
      request->threads == 1 || n < grain_of(loops->in_size * 2 + loops->out_size) * 2;
  request->flops = double(n);
  request->bytes_moved = double((na + nb) * loops->in_size + n * loops->out_size);
  request->plan = const_cast<BinaryLoops*>(loops);
  if (n == 0) {
    request->compute = nothing;
  } else if (n == 1) {
    request->compute = loops->scalar;
  } else if (na == n && nb == n) {
    request->compute = small ? stretch<&BinaryLoops::both, true, true>
                             : shared_stretch<&BinaryLoops::both, true, true>;
  } else if (nb == 1) {
    request->compute = small ? stretch<&BinaryLoops::with_right, true, false>
                             : shared_stretch<&BinaryLoops::with_right, true, false>;
  } else if (na == 1) {
    request->compute = small ? stretch<&BinaryLoops::with_left, false, true>
                             : shared_stretch<&BinaryLoops::with_left, false, true>;
  } else {
    auto* plan =
        keep_plan(request, new BroadcastPlan{loops, loops->both, broadcast_walk<2>(out, {a, b})});
    const int32_t last = plan->walk.rank - 1;
    if (plan->walk.strides[0][last] == 0) plan->inner = loops->with_left;
    if (plan->walk.strides[1][last] == 0) plan->inner = loops->with_right;
    const bool short_rows = is_narrow(a->dtype) && plan->walk.inner() <= kShortRow;
    request->compute = short_rows ? broadcast_short_rows : broadcast;
  }
  return HR_OK;
}

}  // namespace hr::binary
