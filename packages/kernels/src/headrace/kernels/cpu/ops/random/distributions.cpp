// Gamma, Poisson and truncated normal numbers with given parameters, and RandomCrop.
#include <algorithm>
#include <cmath>

#include "library/attributes.hpp"
#include "library/random/random_state.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "math/philox.hpp"
#include "math/special_functions.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

double number_at(const hr_tensor* t, int64_t i) {
  switch (t->dtype) {
    case HR_FLOAT: return read<float>(t)[i];
    case HR_DOUBLE: return read<double>(t)[i];
    case HR_HALF: return float(read<half>(t)[i]);
    case HR_BFLOAT16: return float(read<bfloat16>(t)[i]);
    default: return double(int_at(t, i));
  }
}

void put(const hr_tensor* t, int64_t i, double value) {
  switch (t->dtype) {
    case HR_FLOAT: write<float>(t)[i] = float(value); break;
    case HR_DOUBLE: write<double>(t)[i] = value; break;
    case HR_HALF: write<half>(t)[i] = half(float(value)); break;
    case HR_BFLOAT16: write<bfloat16>(t)[i] = bfloat16(float(value)); break;
    case HR_INT32: write<int32_t>(t)[i] = int32_t(value); break;
    case HR_INT64: write<int64_t>(t)[i] = int64_t(value); break;
    default: break;
  }
}

double positive(SinglePhilox& single) {  // in (0, 1]
  return 1.0 - single.uniform();
}

double normal(SinglePhilox& single) {
  return std::sqrt(-2.0 * std::log(positive(single))) * std::sin(2.0 * M_PI * single.uniform());
}

// Marsaglia and Tsang 2000.
double gamma(SinglePhilox& single, double alpha) {
  if (!(alpha > 0)) return NAN;
  if (alpha == 1) return -std::log(positive(single));
  double scale = 1;
  if (alpha < 1) {
    scale = std::pow(positive(single), 1 / alpha);
    alpha += 1;
  }
  const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal(single), u = 1 + c * x, v = u * u * u;
    if (v <= 0) continue;
    const double chance = positive(single);
    if (chance < 1 - 0.0331 * x * x * x * x ||
        std::log(chance) < 0.5 * x * x + d * (1 - v + std::log(v)))
      return scale * d * v;
  }
}

// By multiplication for small rates (Knuth), by transformed rejection above (Hoermann 1993).
double poisson(SinglePhilox& single, double rate) {
  if (!(rate >= 0) || std::isinf(rate)) return NAN;
  if (rate < 10) {
    const double least = std::exp(-rate);
    double product = 1, n = 0;
    while ((product *= single.uniform()) > least) n += 1;
    return n;
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse = 1.1239 + 1.1328 / (b - 3.4), log_rate = std::log(rate);
  for (;;) {
    const double u = single.uniform() - 0.5, v = positive(single), us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v * inverse / (a / (us * us) + b)) <= k * log_rate - rate - std::lgamma(k + 1))
      return k;
  }
}

// A normal number between two bounds, in units of the deviation: by rejection from the normal,
// the uniform, or beyond the middle an exponential (Robert 1995).
// Bounds so far out that no trial succeeds give the bound next to the middle.
double truncated(SinglePhilox& single, double low, double high) {
  constexpr int most_trials = 100000;
  if (!(low < high)) return low == high ? low : NAN;
  if (low > 0 || high < 0) {
    const bool mirrored = high < 0;
    const double a = mirrored ? -high : low, b = mirrored ? -low : high;
    const double alpha = 0.5 * (a + std::sqrt(a * a + 4));
    // Close bounds are hit faster by a uniform.
    const bool narrow = b - a < std::exp(0.5 * (a * a - a * std::sqrt(a * a + 4)) + 0.5) * 2 /
                                    (a + std::sqrt(a * a + 4));
    for (int trial = 0; trial < most_trials; ++trial) {
      const double z =
          narrow ? a + (b - a) * single.uniform() : a - std::log(positive(single)) / alpha;
      if (z > b) continue;
      const double chance = narrow ? 0.5 * (a * a - z * z) : -0.5 * (z - alpha) * (z - alpha);
      if (std::log(positive(single)) <= chance) return mirrored ? -z : z;
    }
    return mirrored ? -a : a;
  }
  if (high - low > std::sqrt(2 * M_PI)) {
    for (int trial = 0; trial < most_trials; ++trial) {
      const double z = normal(single);
      if (z >= low && z <= high) return z;
    }
    return low > -1 ? low : high;
  }
  for (int trial = 0; trial < most_trials; ++trial) {
    const double z = low + (high - low) * single.uniform();
    if (std::log(positive(single)) <= -0.5 * z * z) return z;
  }
  return 0;
}

// Every number has a stretch of the stream to itself, so that threads do not matter.
template <double (*draw)(SinglePhilox&, double)>
hr_code compute_by_parameter(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                             hr_tensor* const* outputs, void*) {
  const int64_t n = hr_elements(outputs[0]), parameters = hr_elements(inputs[1]);
  const Philox from = static_cast<RandomState*>(state)->reserve(uint64_t(n) * kReservedBlocks);
  parallel_polled(ctx, n, 512, 4096, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      SinglePhilox single(from.after(uint64_t(i) * kReservedBlocks));
      put(outputs[0], i, draw(single, number_at(inputs[1], i % parameters)));
    }
  });
  return HR_OK;
}

template <double (*draw)(SinglePhilox&, double)>
hr_code prepare_by_parameter(void*, hr_request* r) {
  r->compute = compute_by_parameter<draw>;
  return hr_shape_random_gamma(r);
}

// ---- truncated normal ---------------------------------------------------------------------------

hr_code compute_truncated(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                          hr_tensor* const* outputs, void*) {
  const int64_t n = hr_elements(outputs[0]);
  const int64_t batch = outputs[0]->rank ? outputs[0]->dims[0] : 1, each = batch ? n / batch : 0;
  auto parameter = [&](int input, int64_t row) {
    return number_at(inputs[input], hr_elements(inputs[input]) == 1 ? 0 : row);
  };
  // As in TensorFlow: rows of their own parameters are checked even where they have no elements.
  bool apart = false;
  for (int i = 1; i < 5; ++i) apart |= hr_elements(inputs[i]) != 1;
  for (int64_t row = 0; row < batch && (n || apart); ++row) {
    if (!(parameter(2, row) > 0) || !(parameter(3, row) < parameter(4, row)))
      return hr_ctx_fail(
          ctx, HR_INVALID_ARGUMENT,
          "stdevs must be above 0 and minvals below maxvals: row %lld has %g, %g and %g",
          (long long)row, parameter(2, row), parameter(3, row), parameter(4, row));
  }
  const Philox from = static_cast<RandomState*>(state)->reserve(uint64_t(n) * kReservedBlocks);
  parallel_polled(ctx, n, 512, 4096, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      SinglePhilox single(from.after(uint64_t(i) * kReservedBlocks));
      const int64_t row = i / each;
      const double mean = parameter(1, row), deviation = parameter(2, row);
      const double z = truncated(single, (parameter(3, row) - mean) / deviation,
                                 (parameter(4, row) - mean) / deviation);
      put(outputs[0], i, mean + deviation * z);
    }
  });
  return HR_OK;
}

hr_code prepare_truncated(void*, hr_request* r) {
  hr_code code = hr_shape_shape_from_input_0(r);
  for (int i = 1; i < 5 && code == HR_OK; ++i) {
    const int64_t n = hr_elements(r->inputs[i]);
    if (n != 1 && (r->outputs[0]->rank == 0 || n != r->outputs[0]->dims[0]))
      code =
          hr_request_fail(r, HR_INVALID_ARGUMENT,
                          "parameters must be scalars or one per row: input %d is %s, the shape %s",
                          i, ShapeText(r->inputs[i]).text, ShapeText(r->outputs[0]).text);
  }
  return code;
}

// ---- how a gamma sample moves with its parameter ------------------------------------------------

hr_code compute_gamma_gradient(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                               hr_tensor* const* outputs, void*) {
  const hr_tensor *a = inputs[0], *b = inputs[1], *out = outputs[0];
  parallel_polled(ctx, hr_elements(out), 256, 256, [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      int64_t at[2] = {0, 0}, step[2] = {1, 1}, left = i;
      for (int32_t d = out->rank; d-- > 0;) {
        const int64_t place = left % out->dims[d];
        left /= out->dims[d];
        const hr_tensor* both[2] = {a, b};
        for (int k = 0; k < 2; ++k) {
          const int32_t own = d - (out->rank - both[k]->rank);
          if (own < 0) continue;
          if (both[k]->dims[own] != 1) at[k] += place * step[k];
          step[k] *= both[k]->dims[own];
        }
      }
      put(out, i, gamma_sample_by_a(number_at(a, at[0]), number_at(b, at[1])));
    }
  });
  return HR_OK;
}

hr_code prepare_gamma_gradient(void*, hr_request* r) { return hr_shape_broadcast(r); }

// ---- crops --------------------------------------------------------------------------------------

hr_code compute_crop(hr_ctx*, void* state, void*, const hr_tensor* const* inputs,
                     hr_tensor* const* outputs, void*) {
  const hr_tensor *x = inputs[0], *y = outputs[0];
  SinglePhilox single(static_cast<RandomState*>(state)->reserve(2));
  const int64_t down = x->dims[0] - y->dims[0], right = x->dims[1] - y->dims[1];
  const int64_t top = down > 0 ? int64_t(single()) % (down + 1) : 0;
  const int64_t left = right > 0 ? int64_t(single()) % (right + 1) : 0;
  const int64_t pixel = x->dims[2] * hr_dtype_size(x->dtype);
  for (int64_t i = 0; i < y->dims[0]; ++i)
    std::copy_n(static_cast<const char*>(x->data) + ((top + i) * x->dims[1] + left) * pixel,
                y->dims[1] * pixel, static_cast<char*>(y->data) + i * y->dims[1] * pixel);
  return HR_OK;
}

hr_code prepare_crop(void*, hr_request* r) {
  if (r->inputs[0]->rank != 3 || hr_elements(r->inputs[1]) != 2)
    return hr_request_fail(
        r, HR_INVALID_ARGUMENT,
        "image must have 3 dimensions and size 2 values: image is %s, size is %s",
        ShapeText(r->inputs[0]).text, ShapeText(r->inputs[1]).text);
  hr_code code = hr_shape_random_crop(r);
  const hr_tensor *x = r->inputs[0], *y = r->outputs[0];
  if (code == HR_OK && (y->dims[0] > x->dims[0] || y->dims[1] > x->dims[1]))
    code = hr_request_fail(r, HR_INVALID_ARGUMENT, "the crop %s is larger than the image %s",
                           ShapeText(y).text, ShapeText(x).text);
  return code;
}

}  // namespace

HR_KERNELS = {
    kernel("RandomGamma", nullptr, prepare_by_parameter<gamma>)
        .constant(0)
        .with_state(make_random_state, end_random_state),
    kernel("RandomPoisson", nullptr, prepare_by_parameter<poisson>)
        .constant(0)
        .with_state(make_random_state, end_random_state),
    kernel("RandomPoissonV2", nullptr, prepare_by_parameter<poisson>)
        .constant(0)
        .with_state(make_random_state, end_random_state),
    kernel("ParameterizedTruncatedNormal", nullptr, prepare_truncated, compute_truncated)
        .constant(0)
        .with_state(make_random_state, end_random_state),
    kernel("RandomGammaGrad", nullptr, prepare_gamma_gradient, compute_gamma_gradient),
    kernel("RandomCrop", nullptr, prepare_crop, compute_crop)
        .constant(1)
        .with_state(make_random_state, end_random_state),
};

}  // namespace hr
