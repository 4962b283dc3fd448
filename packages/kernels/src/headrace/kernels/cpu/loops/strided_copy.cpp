// Strided copies between two tensors.
#include "loops/strided_copy.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

constexpr int64_t kTile = 16;
constexpr int64_t kSmall = 64;

}  // namespace

int64_t row_major(int32_t rank, const int64_t* dims, int64_t* strides) {
  int64_t step = 1;
  for (int32_t d = rank - 1; d >= 0; --d) {
    strides[d] = step;
    step *= dims[d];
  }
  return step;
}

StridedCopy::StridedCopy(hr_dtype dtype, int32_t rank, const int64_t* dims,
                         const int64_t* to_strides, const int64_t* from_strides, int64_t to_offset,
                         int64_t from_offset, bool once)
    : dtype_(dtype), size_(hr_dtype_size(dtype)), elements_(1), to_offset_(to_offset),
      from_offset_(from_offset) {
  for (int32_t d = 0; d < rank; ++d) {
    elements_ *= dims[d];
    if (dims[d] == 1) continue;
    const int32_t last = rank_ - 1;
    if (rank_ > 0 && to_[last] == to_strides[d] * dims[d] &&
        from_[last] == from_strides[d] * dims[d]) {
      dims_[last] *= dims[d];
      to_[last] = to_strides[d];
      from_[last] = from_strides[d];
      continue;
    }
    dims_[rank_] = dims[d];
    to_[rank_] = to_strides[d];
    from_[rank_] = from_strides[d];
    ++rank_;
  }
  const int32_t last = rank_ - 1;
  if (elements_ == 0) {
    way_ = kNothing;
  } else if (rank_ == 0) {
    way_ = kOne;
  } else if (rank_ == 1 && to_[0] == 1 && from_[0] == 1) {
    way_ = kWhole;
  } else if (elements_ <= kSmall && is_plain(dtype) && !once) {
    way_ = kMap;
    each_row(rank_, 0, elements_, [&](int64_t t, int64_t f) {
      in_order_ = in_order_ && t == int64_t(targets_.size());
      targets_.push_back(int32_t(t));
      sources_.push_back(int32_t(f));
    });
  } else if (to_[last] == 1 && from_[last] == 1) {
    way_ = kRows;
  } else {
    way_ = kStrides;
    for (int32_t q = 0; q < last; ++q)
      if (is_plain(dtype) && to_[last] == 1 && from_[q] == 1 && dims_[q] >= 4 && dims_[last] >= 4) {
        // The dimension that is contiguous in the source goes next to the last.
        for (int32_t d = q; d + 1 < last; ++d) {
          std::swap(dims_[d], dims_[d + 1]);
          std::swap(to_[d], to_[d + 1]);
          std::swap(from_[d], from_[d + 1]);
        }
        way_ = kTiles;
        break;
      }
  }
}

// f(to, from) for steps [begin, end) through the first outer_dims dimensions.
template <class F>
void StridedCopy::each_row(int32_t outer_dims, int64_t begin, int64_t end, F&& f) const {
  if (begin >= end) return;
  int64_t at[kMostDims], to = 0, from = 0, rest = begin;
  for (int32_t d = outer_dims - 1; d >= 0; --d) {
    at[d] = rest % dims_[d];
    rest /= dims_[d];
    to += at[d] * to_[d];
    from += at[d] * from_[d];
  }
  for (int64_t i = begin;;) {
    f(to, from);
    if (++i >= end) return;
    for (int32_t d = outer_dims - 1; d >= 0; --d) {
      to += to_[d];
      from += from_[d];
      if (++at[d] < dims_[d]) break;
      at[d] = 0;
      to -= to_[d] * dims_[d];
      from -= from_[d] * dims_[d];
    }
  }
}

template <class U> void StridedCopy::tiles(hr_ctx* ctx, U* to, const U* from) const {
  const int32_t last = rank_ - 1, q = rank_ - 2;
  const int64_t columns = dims_[last], rows = dims_[q];
  const int64_t to_step = to_[q], from_step = from_[last];
  const int64_t strips = (rows + kTile - 1) / kTile;
  int64_t outer = 1;
  for (int32_t d = 0; d < q; ++d) outer *= dims_[d];
  parallel_ranges(
      ctx, outer * strips, grain_of(2 * kTile * columns * int64_t(sizeof(U))),
      [&](int64_t begin, int64_t end) {
        for (int64_t item = begin; item < end;) {
          const int64_t matrix = item / strips, stop = std::min(end, (matrix + 1) * strips);
          const int64_t r0 = (item - matrix * strips) * kTile;
          const int64_t r1 = std::min(rows, r0 + (stop - item) * kTile);
          each_row(q, matrix, matrix + 1, [&](int64_t t, int64_t f) {
            for (int64_t r = r0; r < r1; r += kTile)
              for (int64_t c = 0; c < columns; c += kTile) {
                const int64_t re = std::min(r1, r + kTile), ce = std::min(columns, c + kTile);
                for (int64_t i = r; i < re; ++i) {
                  U* out = to + t + i * to_step;
                  const U* in = from + f + i;
                  for (int64_t j = c; j < ce; ++j) out[j] = in[j * from_step];
                }
              }
          });
          item = stop;
        }
      });
}

// A few elements whose targets lie side by side, as those of a small matrix that is transposed.
template <class U> void StridedCopy::gather(U* to, const U* from) const {
  const int32_t* at = sources_.data();
  const size_t n = sources_.size();
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const U a = from[at[i]], b = from[at[i + 1]], c = from[at[i + 2]], d = from[at[i + 3]];
    to[i] = a;
    to[i + 1] = b;
    to[i + 2] = c;
    to[i + 3] = d;
  }
  for (; i < n; ++i) to[i] = from[at[i]];
}

template <class U> void StridedCopy::scatter(U* to, const U* from) const {
  for (size_t i = 0; i < sources_.size(); ++i) to[targets_[i]] = from[sources_[i]];
}

constexpr int64_t kLongRow = 4 << 20;  // bytes

template <class U> void StridedCopy::run_as(hr_ctx* ctx, U* to, const U* from) const {
  const int32_t last = rank_ - 1;
  switch (way_) {
    case kMap: in_order_ ? gather(to, from) : scatter(to, from); return;
    case kTiles: tiles(ctx, to, from); return;
    default: break;
  }
  const int64_t inner = dims_[last], to_step = to_[last], from_step = from_[last];
  const auto stretch = [&](U* out, const U* in, int64_t n) {
    if (to_step == 1 && from_step == 1) std::memcpy(out, in, size_t(n) * sizeof(U));
    else if (to_step == 1 && from_step == 0) std::fill(out, out + n, *in);
    else
      for (int64_t i = 0; i < n; ++i) out[i * to_step] = in[i * from_step];
  };
  if (inner * int64_t(sizeof(U)) > kLongRow) {  // shared and polled within a row
    each_row(last, 0, elements_ / inner, [&](int64_t t, int64_t f) {
      parallel_ranges(
          ctx, inner, grain_of(2 * int64_t(sizeof(U))), [&](int64_t begin, int64_t end) {
            stretch(to + t + begin * to_step, from + f + begin * from_step, end - begin);
          });
    });
    return;
  }
  parallel_ranges(ctx, elements_ / inner, grain_of(2 * inner * int64_t(sizeof(U))),
                  [&](int64_t begin, int64_t end) {
                    each_row(last, begin, end,
                             [&](int64_t t, int64_t f) { stretch(to + t, from + f, inner); });
                  });
}

void StridedCopy::run(hr_ctx* ctx, void* to_, const void* from_) const {
  if (way_ == kNothing) return;
  char* to = static_cast<char*>(to_) + to_offset_ * size_;
  const char* from = static_cast<const char*>(from_) + from_offset_ * size_;
  if (!is_plain(dtype_)) {
    int64_t done = 0;
    each_row(rank_, 0, elements_, [&](int64_t t, int64_t f) {
      poll_at(ctx, done++);
      copy_counted(ctx, dtype_, to + t * size_, from + f * size_);
    });
    return;
  }
  if (way_ == kWhole) {
    parallel_blocks(ctx, elements_ * size_, 4096, 4 * kGrainBytes, [&](int64_t begin, int64_t end) {
      std::memcpy(to + begin, from + begin, size_t(end - begin));
    });
    return;
  }
  with_size(size_, [&](auto t) {
    using U = typename decltype(t)::type;
    U* out = reinterpret_cast<U*>(to);
    const U* in = reinterpret_cast<const U*>(from);
    if (way_ == kOne) *out = *in;
    else run_as(ctx, out, in);
  });
}

namespace {
hr_code compute_copy(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                     hr_tensor* const* out, void*) {
  static_cast<const StridedCopy*>(plan)->run(ctx, out[0]->data, in[0]->data);
  return HR_OK;
}
}  // namespace

template <class U>
hr_code StridedCopy::compute_map(hr_ctx*, void*, void* plan, const hr_tensor* const* in,
                                 hr_tensor* const* out, void*) {
  const auto* copy = static_cast<const StridedCopy*>(plan);
  U* to = static_cast<U*>(out[0]->data) + copy->to_offset_;
  const U* from = static_cast<const U*>(in[0]->data) + copy->from_offset_;
  copy->in_order_ ? copy->gather(to, from) : copy->scatter(to, from);
  return HR_OK;
}

template <class U>
hr_code StridedCopy::compute_one(hr_ctx*, void*, void* plan, const hr_tensor* const* in,
                                 hr_tensor* const* out, void*) {
  const auto* copy = static_cast<const StridedCopy*>(plan);
  static_cast<U*>(out[0]->data)[copy->to_offset_] =
      static_cast<const U*>(in[0]->data)[copy->from_offset_];
  return HR_OK;
}

hr_compute StridedCopy::compute() const {
  if (is_plain(dtype_) && (way_ == kMap || way_ == kOne))
    return with_size(size_, [&](auto t) -> hr_compute {
      using U = typename decltype(t)::type;
      return way_ == kMap ? compute_map<U> : compute_one<U>;
    });
  return compute_copy;
}

hr_code prepare_copy(hr_request* request, StridedCopy* copy) {
  keep_plan(request, copy);
  request->bytes_moved =
      2.0 * double(copy->elements()) * double(hr_dtype_size(request->inputs[0]->dtype));
  request->compute = copy->compute();
  return HR_OK;
}

}  // namespace hr
