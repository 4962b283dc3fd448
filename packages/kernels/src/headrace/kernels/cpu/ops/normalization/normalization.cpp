// Batch normalisation and its gradient, and local response normalisation.
#include <algorithm>
#include <cmath>
#include <limits>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/via_float.hpp"
#include "ops/normalization/batch_norm_loops.hpp"
#include "ops/normalization/response_loops.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

// The value as [outer, channels, inner]; inner is 1 where channels come last.
struct Plan {
  int64_t outer, channels, inner;
  float epsilon, factor;
  bool training;
  int64_t count() const { return outer * inner; }
};

Plan read_plan(const hr_request* r, const hr_tensor* x) {
  const auto format = attr_text(r->node, "data_format", "NHWC");
  const int32_t axis = format == "NCHW" || format == "NCDHW" ? 1 : x->rank - 1;
  return {product(x->dims, 0, axis),
          x->dims[axis],
          product(x->dims, axis + 1, x->rank),
          hr_attr_float(r->node, "epsilon", 1e-4f),
          hr_attr_float(r->node, "exponential_avg_factor", 1.0f),
          hr_attr_bool(r->node, "is_training", 1) != 0};
}

// Runs rows(first row, rows) for channels last, planes(plane) for channels first, on the intra-op
// pool.
template <class Rows, class Planes>
void over(hr_ctx* ctx, const Plan& p, Rows&& rows, Planes&& planes) {
  if (p.inner == 1) {
    parallel_ranges(ctx, p.outer, grain_of(8 * p.channels),
                    [&](int64_t b, int64_t e) { rows(b, e - b); });
  } else {
    parallel_ranges(ctx, p.outer * p.channels, grain_of(8 * p.inner), [&](int64_t b, int64_t e) {
      for (; b < e; ++b) planes(b);
    });
  }
}

// Adds up two sums by channel over the threads: totals[2 * channels], from [threads, 2, channels].
template <class Rows, class Planes>
void reduce(hr_ctx* ctx, const Plan& p, double* totals, Rows&& rows, Planes&& planes) {
  const int64_t n = p.channels, threads = most_threads(ctx);
  std::fill(totals, totals + 2 * n * threads, 0.0);
  auto mine = [&] { return totals + 2 * n * (threads > 1 ? this_thread() : 0); };
  over(
      ctx, p, [&](int64_t first, int64_t count) { rows(first, count, mine(), mine() + n); },
      [&](int64_t plane) { planes(plane, mine() + plane % n, mine() + n + plane % n); });
  for (int64_t t = 1; t < threads; ++t) {
    for (int64_t j = 0; j < 2 * n; ++j) totals[j] += totals[2 * n * t + j];
  }
}

// y = x * scale + shift by channel.
void affine(hr_ctx* ctx, const Plan& p, const float* x, float* y, const float* scale,
            const float* shift) {
  over(
      ctx, p,
      [&](int64_t first, int64_t count) {
        batch_norm::scale_and_shift(x + first * p.channels, y + first * p.channels, count,
                                    p.channels, scale, shift);
      },
      [&](int64_t plane) {
        const float a = scale[plane % p.channels], b = shift[plane % p.channels];
        for (int64_t i = plane * p.inner; i < (plane + 1) * p.inner; ++i) y[i] = x[i] * a + b;
      });
}

hr_code compute_forward(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void* workspace) {
  const Plan& p = *static_cast<Plan*>(plan);
  const int64_t n = p.channels, count = p.count();
  const float *x = read<float>(inputs[0]), *scale = read<float>(inputs[1]),
              *offset = read<float>(inputs[2]);
  const float *old_mean = read<float>(inputs[3]), *old_variance = read<float>(inputs[4]);
  float *batch_mean = write<float>(outputs[1]), *batch_variance = write<float>(outputs[2]);
  float *mean = write<float>(outputs[3]), *variance = write<float>(outputs[4]);
  float* a = static_cast<float*>(workspace);
  float* b = a + n;
  if (!p.training) {
    for (int64_t c = 0; c < n; ++c) {
      batch_mean[c] = mean[c] = old_mean[c];
      batch_variance[c] = variance[c] = old_variance[c];
    }
  } else if (count == 0) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (int64_t c = 0; c < n; ++c) batch_mean[c] = batch_variance[c] = mean[c] = variance[c] = nan;
  } else {
    // Sums are taken around the first value of each channel, which keeps the variance exact.
    double* totals = reinterpret_cast<double*>(a + 4 * n);
    for (int64_t c = 0; c < n; ++c) a[c] = x[c * p.inner];
    reduce(
        ctx, p, totals,
        [&](int64_t first, int64_t rows, double* s, double* q) {
          batch_norm::sums(x + first * n, rows, n, a, s, q);
        },
        [&](int64_t plane, double* s, double* q) {
          const float shift = a[plane % n];
          for (int64_t i = plane * p.inner; i < (plane + 1) * p.inner; ++i) {
            const double d = double(x[i]) - shift;
            *s += d;
            *q += d * d;
          }
        });
    for (int64_t c = 0; c < n; ++c) {
      const double d = totals[c] / double(count);
      mean[c] = float(a[c] + d);
      const double v = totals[n + c] / double(count) - d * d;
      variance[c] = float(v < 0 ? 0 : v);  // a NaN stays one
      const double unbiased = count > 1 ? v * double(count) / double(count - 1) : v;
      const float known = p.factor == 1.0f ? 0.0f : 1.0f - p.factor;
      batch_mean[c] = known != 0 ? known * old_mean[c] + p.factor * mean[c] : mean[c];
      batch_variance[c] =
          known != 0 ? float(known * old_variance[c] + p.factor * unbiased) : float(unbiased);
    }
  }
  for (int64_t c = 0; c < n; ++c) {
    a[c] = scale[c] / std::sqrt(variance[c] + p.epsilon);
    b[c] = offset[c] - mean[c] * a[c];
  }
  affine(ctx, p, x, write<float>(outputs[0]), a, b);
  return HR_OK;
}

// V3's sixth output means nothing here; it holds a zero.
hr_code compute_forward_v3(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                           hr_tensor* const* outputs, void* workspace) {
  std::fill_n(write<float>(outputs[5]), hr_elements(outputs[5]), 0.0f);
  return compute_forward(ctx, state, plan, inputs, outputs, workspace);
}

hr_code compute_backward(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void* workspace) {
  const Plan& p = *static_cast<Plan*>(plan);
  const int64_t n = p.channels, count = p.count();
  const float *dy = read<float>(inputs[0]), *x = read<float>(inputs[1]),
              *scale = read<float>(inputs[2]);
  const float *mean = read<float>(inputs[3]), *variance = read<float>(inputs[4]);
  float *dx = write<float>(outputs[0]), *dscale = write<float>(outputs[1]),
        *doffset = write<float>(outputs[2]);
  *write<float>(outputs[3]) = *write<float>(outputs[4]) = 0.0f;  // what another device would keep
  float *a = static_cast<float*>(workspace), *b = a + n, *c = b + n;
  double* totals = reinterpret_cast<double*>(a + 4 * n);
  reduce(
      ctx, p, totals,
      [&](int64_t first, int64_t rows, double* s, double* q) {
        batch_norm::gradient_sums(dy + first * n, x + first * n, rows, n, mean, s, q);
      },
      [&](int64_t plane, double* s, double* q) {
        const float m = mean[plane % n];
        for (int64_t i = plane * p.inner; i < (plane + 1) * p.inner; ++i) {
          *s += dy[i];
          *q += double(dy[i]) * (double(x[i]) - m);
        }
      });
  for (int64_t j = 0; j < n; ++j) {
    const double inverse = 1.0 / std::sqrt(double(variance[j]) + p.epsilon);
    dscale[j] = float(totals[n + j] * inverse);
    doffset[j] = float(totals[j]);
    a[j] = float(scale[j] * inverse);
    b[j] = c[j] = 0.0f;
    if (p.training && count) {
      const double along = totals[n + j] / double(count) * inverse * inverse;
      b[j] = float(-scale[j] * inverse * along);
      c[j] = float(scale[j] * inverse * (mean[j] * along - totals[j] / double(count)));
    }
  }
  over(
      ctx, p,
      [&](int64_t first, int64_t rows) {
        batch_norm::combine(dy + first * n, x + first * n, dx + first * n, rows, n, a, b, c);
      },
      [&](int64_t plane) {
        const int64_t j = plane % n;
        for (int64_t i = plane * p.inner; i < (plane + 1) * p.inner; ++i)
          dx[i] = dy[i] * a[j] + x[i] * b[j] + c[j];
      });
  return HR_OK;
}

hr_code check_channels(hr_request* r, const Plan& p, int first, int last) {
  for (int i = first; i <= last; ++i) {
    if (hr_elements(r->inputs[i]) != p.channels)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "input %d is %s, but there are %lld channels",
                             i, ShapeText(r->inputs[i]).text, (long long)p.channels);
  }
  return HR_OK;
}

hr_code prepare_forward(void*, hr_request* r) {
  hr_code code = hr_shape_fused_batch_norm(r);
  if (code != HR_OK) return code;
  const Plan p = read_plan(r, r->inputs[0]);
  // A first step of a moving average may come with empty statistics.
  const bool needs_old = !p.training || p.factor != 1.0f;
  code = check_channels(r, p, 1, needs_old ? 4 : 2);
  if (code != HR_OK) return code;
  keep_plan(r, new Plan(p));
  r->workspace =
      size_t(p.channels + 1) * (4 * sizeof(float) + 2 * sizeof(double) * std::max(1, r->threads));
  r->compute = r->node->n_outputs > 5 ? compute_forward_v3 : compute_forward;
  return HR_OK;
}

hr_code prepare_backward(void*, hr_request* r) {
  hr_code code = hr_shape_fused_batch_norm_grad(r);
  if (code != HR_OK) return code;
  const Plan p = read_plan(r, r->inputs[1]);
  code = check_channels(r, p, 2, 4);
  if (code == HR_OK && !same_shape(r->inputs[0], r->inputs[1]))
    code = hr_request_fail(r, HR_INVALID_ARGUMENT, "y_backprop is %s, x is %s",
                           ShapeText(r->inputs[0]).text, ShapeText(r->inputs[1]).text);
  if (code != HR_OK) return code;
  keep_plan(r, new Plan(p));
  r->workspace =
      size_t(p.channels + 1) * (4 * sizeof(float) + 2 * sizeof(double) * std::max(1, r->threads));
  r->compute = compute_backward;
  return HR_OK;
}

// ---- by given statistics, of rank 4 (ops of the first release) ----------------------------------

hr_code compute_global(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void* workspace) {
  const Plan& p = *static_cast<Plan*>(plan);
  const float *m = read<float>(inputs[1]), *v = read<float>(inputs[2]);
  const float *beta = read<float>(inputs[3]), *gamma = read<float>(inputs[4]);
  float *a = static_cast<float*>(workspace), *b = a + p.channels;
  for (int64_t c = 0; c < p.channels; ++c) {
    a[c] = (p.training ? gamma[c] : 1.0f) / std::sqrt(v[c] + p.epsilon);
    b[c] = beta[c] - m[c] * a[c];
  }
  affine(ctx, p, read<float>(inputs[0]), write<float>(outputs[0]), a, b);
  return HR_OK;
}

hr_code compute_global_grad(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                            hr_tensor* const* outputs, void* workspace) {
  const Plan& p = *static_cast<Plan*>(plan);
  const int64_t n = p.channels;
  const float *x = read<float>(inputs[0]), *m = read<float>(inputs[1]), *v = read<float>(inputs[2]);
  const float *gamma = read<float>(inputs[3]), *dy = read<float>(inputs[4]);
  float *a = static_cast<float*>(workspace), *zero = a + n;
  double* totals = reinterpret_cast<double*>(a + 4 * n);
  reduce(
      ctx, p, totals,
      [&](int64_t first, int64_t rows, double* s, double* q) {
        batch_norm::gradient_sums(dy + first * n, x + first * n, rows, n, m, s, q);
      },
      [&](int64_t, double*, double*) {});
  for (int64_t c = 0; c < n; ++c) {
    const double inverse = 1.0 / std::sqrt(double(v[c]) + p.epsilon),
                 g = p.training ? gamma[c] : 1.0;
    a[c] = float(g * inverse);
    zero[c] = 0.0f;
    write<float>(outputs[1])[c] = float(-totals[c] * g * inverse);
    write<float>(outputs[2])[c] = float(totals[n + c] * g * -0.5 * inverse * inverse * inverse);
    write<float>(outputs[3])[c] = float(totals[c]);
    write<float>(outputs[4])[c] = p.training ? float(totals[n + c] * inverse) : 0.0f;
  }
  affine(ctx, p, dy, write<float>(outputs[0]), a, zero);
  return HR_OK;
}

template <bool gradient>
hr_code prepare_global(void*, hr_request* r) {
  const hr_tensor* x = r->inputs[0];
  if (x->rank != 4)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "t must have 4 dimensions: t is %s",
                           ShapeText(x).text);
  Plan p{product(x->dims, 0, 3),
         x->dims[3],
         1,
         hr_attr_float(r->node, "variance_epsilon", 1e-3f),
         1.0f,
         hr_attr_bool(r->node, "scale_after_normalization", 0) != 0};
  hr_code code = check_channels(r, p, 1, gradient ? 3 : 4);
  if (code != HR_OK) return code;
  if (gradient && !same_shape(r->inputs[4], x))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "the gradient must have the shape of t, %s: it is %s", ShapeText(x).text,
                           ShapeText(r->inputs[4]).text);
  copy_shape(x, r->outputs[0]);
  for (int i = 1; i < r->node->n_outputs; ++i) set_shape(r->outputs[i], {p.channels});
  keep_plan(r, new Plan(p));
  r->workspace =
      size_t(p.channels + 1) * (4 * sizeof(float) + 2 * sizeof(double) * std::max(1, r->threads));
  r->compute = gradient ? compute_global_grad : compute_global;
  return HR_OK;
}

// ---- local response -----------------------------------------------------------------------------

hr_code compute_lrn(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                    hr_tensor* const* outputs, void* workspace) {
  const auto& rule = *static_cast<response::Rule*>(plan);
  const int64_t n = inputs[0]->dims[3], rows = product(inputs[0]->dims, 0, 3);
  const float* x = read<float>(inputs[0]);
  float* y = write<float>(outputs[0]);
  parallel_ranges(ctx, rows, grain_of(n * 32), [&](int64_t begin, int64_t end) {
    float* mine = static_cast<float*>(workspace) + this_thread() * response::scratch(rule, n);
    response::forward(rule, x + begin * n, y + begin * n, end - begin, n, mine);
  });
  return HR_OK;
}

hr_code compute_lrn_grad(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void* workspace) {
  const auto& rule = *static_cast<response::Rule*>(plan);
  const int64_t n = inputs[1]->dims[3], rows = product(inputs[1]->dims, 0, 3);
  const float *dy = read<float>(inputs[0]), *x = read<float>(inputs[1]),
              *y = read<float>(inputs[2]);
  float* dx = write<float>(outputs[0]);
  parallel_ranges(ctx, rows, grain_of(n * 64), [&](int64_t begin, int64_t end) {
    float* mine = static_cast<float*>(workspace) + this_thread() * response::scratch(rule, n);
    response::backward(rule, dy + begin * n, x + begin * n, y + begin * n, dx + begin * n,
                       end - begin, n, mine);
  });
  return HR_OK;
}

template <bool gradient>
hr_code prepare_lrn(void*, hr_request* r) {
  for (int i = 0; i < r->node->n_inputs; ++i) {
    if (r->inputs[i]->rank != 4 || !same_shape(r->inputs[i], r->inputs[0]))
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "inputs must have one shape of 4 dimensions: %s and %s",
                             ShapeText(r->inputs[0]).text, ShapeText(r->inputs[i]).text);
  }
  copy_shape(r->inputs[0], r->outputs[0]);
  const int64_t n = r->inputs[0]->dims[3];
  const int64_t radius = std::min(hr_attr_int(r->node, "depth_radius", 5), n);
  auto* rule = keep_plan(r, new response::Rule{radius, hr_attr_float(r->node, "bias", 1),
                                               hr_attr_float(r->node, "alpha", 1),
                                               hr_attr_float(r->node, "beta", 0.5f)});
  r->workspace = sizeof(float) * size_t(response::scratch(*rule, n)) * std::max(1, r->threads);
  r->compute = gradient ? compute_lrn_grad : compute_lrn;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("FusedBatchNorm", nullptr, prepare_forward).reuses(0),
    kernel("FusedBatchNormV2", nullptr, widened<prepare_forward>).reuses(0),
    kernel("FusedBatchNormV3", nullptr, widened<prepare_forward>).reuses(0),
    kernel("FusedBatchNormGrad", nullptr, prepare_backward).reuses(0),
    kernel("FusedBatchNormGradV2", nullptr, widened<prepare_backward>).reuses(0),
    kernel("FusedBatchNormGradV3", nullptr, widened<prepare_backward>).reuses(0),
    kernel("BatchNormWithGlobalNormalization", "T=float|half|bfloat16",
           widened<prepare_global<false>>),
    kernel("BatchNormWithGlobalNormalizationGrad", "T=float|half|bfloat16",
           widened<prepare_global<true>>),
    kernel("LRN", nullptr, widened<prepare_lrn<false>>),
    kernel("LRNGrad", nullptr, widened<prepare_lrn<true>>),
};

}  // namespace hr
