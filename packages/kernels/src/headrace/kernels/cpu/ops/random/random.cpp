// Stateful and stateless random ops: uniform, normal, truncated normal, shuffle and multinomial.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "library/random/random_state.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "math/philox.hpp"
#include "processor/parallel.hpp"

namespace hr {

namespace {

constexpr int64_t kChunk = 64;  // blocks at a time

// ---- distributions: `per_block` numbers of one block -------------------------------------------

struct Bounds {
  int64_t low = 0, high = 0;
};

template <class T>
struct Uniform {
  static constexpr int per_block = sizeof(T) == 8 ? 2 : 4;
  void operator()(const uint32_t* bits, T* out, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<T, float>) out[i] = unit_float(bits[i]);
      else if constexpr (std::is_same_v<T, double>)
        out[i] = unit_double(bits[2 * i], bits[2 * i + 1]);
      else if constexpr (std::is_same_v<T, half>) out[i] = unit_half(bits[i]);
      else out[i] = unit_bfloat16(bits[i]);
    }
  }
};

template <class T>
struct Normal {
  static constexpr int per_block = sizeof(T) == 8 ? 2 : 4;
  void operator()(const uint32_t* bits, T* out, int64_t n) const {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      box_muller(bits, out, n);
    } else {
      float wide[4 * kChunk];
      box_muller(bits, wide, n);
      for (int64_t i = 0; i < n; ++i) out[i] = T(wide[i]);
    }
  }
};

template <class T>
struct UniformInt {
  static constexpr int per_block = sizeof(T) == 8 ? 2 : 4;
  using U = std::make_unsigned_t<T>;
  U low, range;
  void operator()(const uint32_t* bits, T* out, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (sizeof(T) == 8)
        out[i] = T(low + (bits[2 * i] | uint64_t(bits[2 * i + 1]) << 32) % range);
      else out[i] = T(low + bits[i] % range);
    }
  }
};

template <class T>
struct FullInt {
  static constexpr int per_block = sizeof(T) == 8 ? 2 : 4;
  void operator()(const uint32_t* bits, T* out, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (sizeof(T) == 8) out[i] = T(bits[2 * i] | uint64_t(bits[2 * i + 1]) << 32);
      else out[i] = T(bits[i]);
    }
  }
};

template <class T, class Distribution>
void fill(hr_ctx* ctx, const Philox& from, T* out, int64_t n, const Distribution& distribution) {
  constexpr int per_block = Distribution::per_block;
  const int64_t blocks = (n + per_block - 1) / per_block;
  const int64_t chunks = (blocks + kChunk - 1) / kChunk;
  parallel_ranges(ctx, chunks, 16, [&](int64_t begin, int64_t end) {
    uint32_t bits[4 * kChunk];
    T last[per_block * kChunk];
    for (int64_t c = begin; c < end; ++c) {
      const int64_t width = std::min(kChunk, blocks - c * kChunk);
      from.after(uint64_t(c * kChunk)).fill(bits, width);
      T* to = out + c * kChunk * per_block;
      const int64_t numbers = width * per_block, room = n - c * kChunk * per_block;
      if (numbers <= room) {
        distribution(bits, to, numbers);
      } else {
        distribution(bits, last, numbers);
        std::copy(last, last + room, to);
      }
    }
  });
}

// Numbers within two standard deviations: every group of as many as a block holds has a
// stretch of the stream to itself, since it takes an unknown part of it.
template <class T>
void fill_truncated(hr_ctx* ctx, const Philox& from, T* out, int64_t n) {
  using C = Compute<T>;
  constexpr int group = sizeof(T) == 8 ? 2 : 4;
  constexpr uint64_t stretch = group * kReservedBlocks / 4;
  parallel_ranges(ctx, (n + group - 1) / group, 256, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      SinglePhilox single(from.after(uint64_t(g) * stretch));
      const int64_t stop = std::min(n, (g + 1) * group);
      for (int64_t i = g * group; i < stop;) {
        uint32_t bits[4];
        C two[2];
        for (int q = 0; q < (sizeof(C) == 8 ? 4 : 2); ++q) bits[q] = single();
        box_muller(bits, two, 2);
        for (int q = 0; q < 2 && i < stop; ++q) {
          if (std::fabs(two[q]) < C(2)) out[i++] = T(two[q]);
        }
      }
    }
  });
}

// ---- filling ops --------------------------------------------------------------------------------

enum class Kind { uniform, normal, truncated, full_int };

template <Kind kind, class T>
hr_code generate(hr_ctx* ctx, const Philox& from, hr_tensor* output) {
  T* out = write<T>(output);
  const int64_t n = hr_elements(output);
  if constexpr (kind == Kind::uniform) fill<T>(ctx, from, out, n, Uniform<T>{});
  if constexpr (kind == Kind::normal) fill<T>(ctx, from, out, n, Normal<T>{});
  if constexpr (kind == Kind::truncated) fill_truncated<T>(ctx, from, out, n);
  if constexpr (kind == Kind::full_int) fill<T>(ctx, from, out, n, FullInt<T>{});
  return HR_OK;
}

template <Kind kind, class T, bool stateless>
hr_code compute_fill(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                     hr_tensor* const* outputs, void*) {
  if constexpr (stateless) {
    return generate<kind, T>(ctx, stateless_stream(inputs[1]), outputs[0]);
  } else {
    const uint64_t n = uint64_t(hr_elements(outputs[0]));
    const Philox from = static_cast<RandomState*>(state)->reserve(n * kReservedBlocks);
    return generate<kind, T>(ctx, from, outputs[0]);
  }
}

hr_code check_seed(hr_request* r, int input) {
  if (r->inputs[input]->rank == 1 && r->inputs[input]->dims[0] == 2) return HR_OK;
  return hr_request_fail(r, HR_INVALID_ARGUMENT, "seed must be two numbers: seed is %s",
                         ShapeText(r->inputs[input]).text);
}

template <Kind kind, bool stateless>
hr_code prepare_fill(void*, hr_request* r) {
  hr_code code = hr_shape_shape_from_input_0(r);
  if (code == HR_OK && stateless) code = check_seed(r, 1);
  if (code != HR_OK) return code;
  using Ts = std::conditional_t<kind == Kind::full_int, Types<int32_t, int64_t, uint32_t, uint64_t>,
                                Floats>;
  r->compute = with_type(r->outputs[0]->dtype, Ts{}, [](auto type) -> hr_compute {
    return compute_fill<kind, typename decltype(type)::type, stateless>;
  });
  return HR_OK;
}

template <class T, bool stateless>
hr_code compute_uniform_int(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                            hr_tensor* const* outputs, void*) {
  const T low = *read<T>(inputs[stateless ? 2 : 1]), high = *read<T>(inputs[stateless ? 3 : 2]);
  const int64_t n = hr_elements(outputs[0]);
  if (n == 0) return HR_OK;
  if (low >= high)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "minval must be below maxval: %lld and %lld",
                       (long long)low, (long long)high);
  const Philox from =
      stateless ? stateless_stream(inputs[1])
                : static_cast<RandomState*>(state)->reserve(uint64_t(n) * kReservedBlocks);
  using U = std::make_unsigned_t<T>;
  fill<T>(ctx, from, write<T>(outputs[0]), n, UniformInt<T>{U(low), U(U(high) - U(low))});
  return HR_OK;
}

template <bool stateless>
hr_code prepare_uniform_int(void*, hr_request* r) {
  hr_code code = hr_shape_shape_from_input_0(r);
  if (code == HR_OK && stateless) code = check_seed(r, 1);
  if (code != HR_OK) return code;
  for (int i = stateless ? 2 : 1; i < r->node->n_inputs; ++i) {
    if (hr_elements(r->inputs[i]) != 1)
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "minval and maxval must be scalars: input %d is %s", i,
                             ShapeText(r->inputs[i]).text);
  }
  r->compute = r->outputs[0]->dtype == HR_INT64 ? compute_uniform_int<int64_t, stateless>
                                                : compute_uniform_int<int32_t, stateless>;
  return HR_OK;
}

// ---- shuffles -----------------------------------------------------------------------------------

hr_code compute_shuffle(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void*) {
  const hr_tensor* x = inputs[0];
  if (hr_elements(x) == 0) return HR_OK;
  const int64_t n = x->rank ? x->dims[0] : 1, width = x->rank ? product(x->dims, 1, x->rank) : 1;
  const Philox from =
      static_cast<RandomState*>(state)->reserve(uint64_t(n + 2) / 4);  // n - 1 numbers
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t(0));
  if (x->rank) {
    SinglePhilox single(from);
    for (int64_t i = 0; i + 1 < n; ++i) {
      poll_at(ctx, i);
      std::swap(order[i], order[i + int64_t(uint64_t(single()) % uint64_t(n - i))]);
    }
  }
  const int64_t size = hr_dtype_size(x->dtype);
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    copy_elements(ctx, x->dtype, size, static_cast<char*>(outputs[0]->data) + i * width * size,
                  static_cast<const char*>(x->data) + order[i] * width * size, width);
  }
  return HR_OK;
}

hr_code prepare_shuffle(void*, hr_request* r) { return hr_shape_unchanged(r); }

// ---- draws from categories ----------------------------------------------------------------------

double logit(const hr_tensor* t, int64_t i) {
  switch (t->dtype) {
    case HR_FLOAT: return read<float>(t)[i];
    case HR_DOUBLE: return read<double>(t)[i];
    case HR_HALF: return float(read<half>(t)[i]);
    case HR_BFLOAT16: return float(read<bfloat16>(t)[i]);
    case HR_UINT32: return read<uint32_t>(t)[i];
    case HR_UINT64: return double(read<uint64_t>(t)[i]);
    default: return double(int_at(t, i));
  }
}

template <class Out, bool stateless>
hr_code compute_multinomial(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                            hr_tensor* const* outputs, void*) {
  const int64_t rows = outputs[0]->dims[0], draws = outputs[0]->dims[1],
                classes = inputs[0]->dims[1];
  if (rows * draws == 0) return HR_OK;
  if (classes == 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "there must be a class: logits is %s",
                       ShapeText(inputs[0]).text);
  const uint64_t reserved = uint64_t(rows) * uint64_t((draws + 3) / 4 * 4) * 2 * kReservedBlocks;
  SinglePhilox single(stateless ? stateless_stream(inputs[2])
                                : static_cast<RandomState*>(state)->reserve(reserved));
  std::vector<double> total(static_cast<size_t>(classes));
  Out* out = write<Out>(outputs[0]);
  for (int64_t i = 0; i < rows; ++i) {
    poll(ctx);
    double top = -HUGE_VAL;
    for (int64_t j = 0; j < classes; ++j) {
      const double x = logit(inputs[0], i * classes + j);
      poll_at(ctx, j);
      if (std::isfinite(x)) top = std::max(top, x);
    }
    double sum = 0;
    for (int64_t j = 0; j < classes; ++j) {
      const double x = logit(inputs[0], i * classes + j);
      if (std::isfinite(x)) sum += std::exp(x - top);
      total[j] = sum;
    }
    for (int64_t d = 0; d < draws; ++d) {
      poll_at(ctx, d);
      const double at = single.uniform() * sum;
      out[i * draws + d] = Out(std::upper_bound(total.begin(), total.end(), at) - total.begin());
    }
  }
  return HR_OK;
}

template <bool stateless>
hr_code prepare_multinomial(void*, hr_request* r) {
  hr_code code = hr_shape_multinomial(r);
  if (code == HR_OK && stateless) code = check_seed(r, 2);
  r->compute = r->outputs[0]->dtype == HR_INT64 ? compute_multinomial<int64_t, stateless>
                                                : compute_multinomial<int32_t, stateless>;
  return code;
}

}  // namespace

HR_KERNELS = {
    kernel("RandomUniform", "dtype=" HR_FLOATS, prepare_fill<Kind::uniform, false>)
        .constant(0)
        .with_state(make_random_state, end_random_state),
    kernel("RandomStandardNormal", "dtype=" HR_FLOATS, prepare_fill<Kind::normal, false>)
        .constant(0)
        .with_state(make_random_state, end_random_state),
    kernel("TruncatedNormal", "dtype=" HR_FLOATS, prepare_fill<Kind::truncated, false>)
        .constant(0)
        .with_state(make_random_state, end_random_state),
    kernel("RandomUniformInt", nullptr, prepare_uniform_int<false>)
        .constant(0)
        .with_state(make_random_state, end_random_state),
    kernel("RandomShuffle", nullptr, prepare_shuffle, compute_shuffle)
        .with_state(make_random_state, end_random_state),
    kernel("Multinomial", "T=" HR_REALS, prepare_multinomial<false>)
        .constant(1)
        .with_state(make_random_state, end_random_state),
    kernel("StatelessRandomUniform", "dtype=" HR_FLOATS, prepare_fill<Kind::uniform, true>)
        .constant(0),
    kernel("StatelessRandomNormal", "dtype=" HR_FLOATS, prepare_fill<Kind::normal, true>)
        .constant(0),
    kernel("StatelessTruncatedNormal", "dtype=" HR_FLOATS, prepare_fill<Kind::truncated, true>)
        .constant(0),
    kernel("StatelessRandomUniformInt", nullptr, prepare_uniform_int<true>).constant(0),
    kernel("StatelessRandomUniformFullInt", nullptr, prepare_fill<Kind::full_int, true>)
        .constant(0),
    kernel("StatelessMultinomial", "T=" HR_REALS, prepare_multinomial<true>).constant(1),
};

}  // namespace hr
