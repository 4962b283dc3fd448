// Batch normalisation and its gradient: FusedBatchNorm, V2, V3.
//
// The statistics of each channel are a reduction of the input to two sums, whose end also computes
// what every element of the channel is multiplied by and what is added.
#include <algorithm>
#include <cstdio>

#include "codegen/elementwise.hpp"
#include "codegen/reduction.hpp"
#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

struct Image {
  int32_t axis;
  int64_t channels, inner;  // inner: elements from one channel to the next
  float epsilon, factor;
  bool training;
  std::string value;  // the type in which few numbers are computed
  hr_dtype dtype;     // of the elements
};

Image image_of(const hr_request* r, const hr_tensor* x) {
  const auto format = attr_text(r->node, "data_format", "NHWC");
  const int32_t axis = format == "NCHW" || format == "NCDHW" ? 1 : x->rank - 1;
  return {axis,
          x->dims[axis],
          product(x->dims, axis + 1, x->rank),
          hr_attr_float(r->node, "epsilon", 1e-4f),
          hr_attr_float(r->node, "exponential_avg_factor", 1.0f),
          hr_attr_bool(r->node, "is_training", 1) != 0,
          device_of(r).traits.has_double ? "double" : "float",
          x->dtype};
}

// ---- the statistics -----------------------------------------------------------------------------

// Two sums, of what `value` adds to them.
Folding two_sums(const Image& image) {
  Folding f;
  f.functions =
      "typedef struct { float s, q; } Acc;\n"
      "typedef struct { " +
      image.value +
      " s, q; } Total;\n"
      "static inline Acc hr_start(void) { Acc a; a.s = a.q = 0; return a; }\n"
      "static inline Acc hr_fold(Acc a, Acc b) { a.s += b.s; a.q += b.q; return a; }\n"
      "static inline Total hr_total(Acc a) { Total t; t.s = a.s; t.q = a.q; return t; }\n"
      "static inline Total hr_fold_totals(Total a, Total b) { a.s += b.s; a.q += b.q; return a; }\n"
      "typedef " +
      image.value + " V;\n";
  f.total_size = image.value == "double" ? 16 : 8;
  f.number = image.inner;
  return f;
}

std::string number(float value) { return literal(HR_FLOAT, value); }

Memory input(int32_t i, const char* type, const char* name) {
  return {Memory::kInput, i, 0, type, name};
}
Memory output(int32_t i, const char* name) { return {Memory::kOutput, i, 0, "float", name}; }
// Row `row` of the channels' numbers at the workspace's beginning.
Memory channels_row(const Image& image, int64_t row, const char* name) {
  return {Memory::kWorkspace, 0, row * image.channels * 4, "float", name};
}

// From mean and variance: y = x * multiplier + addend.
const char* const kFactors =
    "multiplier[k] = scale[k] / sqrt(variance + epsilon);\n"
    "addend[k] = offset[k] - mean * multiplier[k];\n";

Folding statistics(const Image& image) {
  Folding f = two_sums(image);
  const std::string x = loaded(image.dtype, "x[at]"),
                    first = loaded(image.dtype, "x[k * s.number]");
  // Around the first value of each channel, which keeps the variance exact.
  f.value = "const float d = " + x + " - " + first + "; Acc v; v.s = d; v.q = d * d; ";
  f.memory = {input(0, storage_type(image.dtype), "x"),
              input(1, "float", "scale"),
              input(2, "float", "offset"),
              output(1, "batch_mean"),
              output(2, "batch_variance"),
              output(3, "saved_mean"),
              output(4, "saved_variance"),
              channels_row(image, 0, "multiplier"),
              channels_row(image, 1, "addend")};
  f.finish = "const float epsilon = " + number(image.epsilon) + ", first = s.folded ? " + first +
             " : 0.0f;\nconst V count = s.folded, d = total.s / count;\n"
             "const float mean = (float)(first + d);\nV v = total.q / count - d * d;\n"
             "v = v < 0 ? 0 : v;\nconst float variance = (float)v;\n"
             "const V unbiased = count > 1 ? v * count / (count - 1) : v;\n"
             "saved_mean[k] = mean;\nsaved_variance[k] = variance;\n";
  if (image.factor == 1.0f) {
    f.finish += "batch_mean[k] = mean;\nbatch_variance[k] = (float)unbiased;\n";
  } else {
    f.memory.push_back(input(3, "float", "old_mean"));
    f.memory.push_back(input(4, "float", "old_variance"));
    f.finish += "const float known = " + number(1.0f - image.factor) +
                ", fresh = " + number(image.factor) +
                ";\nbatch_mean[k] = known * old_mean[k] + fresh * mean;\n"
                "batch_variance[k] = (float)(known * old_variance[k] + fresh * unbiased);\n";
  }
  f.finish += kFactors;
  return f;
}

// dx = dy * of_dy + x * of_x + rest.
Folding gradient_sums(const Image& image) {
  Folding f = two_sums(image);
  const std::string dy = loaded(image.dtype, "dy[at]"), x = loaded(image.dtype, "x[at]");
  f.value = "const float g = " + dy + "; Acc v; v.s = g; v.q = g * (" + x + " - mean[k]); ";
  f.memory = {input(0, storage_type(image.dtype), "dy"),
              input(1, storage_type(image.dtype), "x"),
              input(2, "float", "scale"),
              input(3, "float", "mean"),
              input(4, "float", "variance"),
              output(1, "dscale"),
              output(2, "doffset"),
              output(3, "no_mean"),
              output(4, "no_variance"),
              channels_row(image, 0, "of_dy"),
              channels_row(image, 1, "of_x"),
              channels_row(image, 2, "rest")};
  f.finish = "const V inverse = 1 / sqrt((V)variance[k] + " + number(image.epsilon) +
             ");\nconst V count = s.folded;\n"
             "dscale[k] = (float)(total.q * inverse);\ndoffset[k] = (float)total.s;\n"
             "of_dy[k] = (float)(scale[k] * inverse);\n"
             "if (k == 0) no_mean[0] = no_variance[0] = 0;\n";
  f.finish += image.training
                  ? "const V along = total.q / count * inverse * inverse;\n"
                    "of_x[k] = (float)(-scale[k] * inverse * along);\n"
                    "rest[k] = (float)(scale[k] * inverse * (mean[k] * along - total.s / count));\n"
                  : "of_x[k] = rest[k] = 0;\n";
  return f;
}

// ---- the elements -------------------------------------------------------------------------------

// Elements of one dtype, and numbers of the channels.
Element by_channel(const Image& image, int elements, int numbers, const char* expression) {
  Element e;
  e.inputs.assign(size_t(elements), image.dtype);
  e.inputs.insert(e.inputs.end(), size_t(numbers), HR_FLOAT);
  e.statements = std::string("const float t = ") + expression + ";\n";
  e.result = "t";
  e.output = image.dtype;
  return e;
}

Walk walk_by_channel(const Image& image, const hr_tensor* x, int elements, int numbers) {
  Walk walk(x);
  Walk::Strides channels{};
  channels[size_t(image.axis)] = 1;
  for (int i = 0; i < elements; ++i) walk.add(x);
  for (int i = 0; i < numbers; ++i) walk.strides.push_back(channels);
  return walk;
}

struct NormPlan {
  ReductionStages statistics;
  ElementwiseKernel elements;
  bool has_elements = false, gradient = false, training = false;
  int64_t row = 0;  // bytes of the channels' numbers
  // Of known statistics: what writes the channels' numbers.
  const Kernel* channels = nullptr;
  int64_t n = 0;
};

hr_code launch_elements(hr_ctx* ctx, const NormPlan& p, const hr_tensor* const* in,
                        hr_tensor* const* out, void* workspace) {
  if (!p.has_elements) return HR_OK;
  const char* rows = static_cast<const char*>(workspace);
  const void* inputs[5] = {in[0]->data};
  int n = 1;
  if (p.gradient && p.training) inputs[n++] = in[1]->data;
  inputs[n++] = rows;
  if (!p.gradient || p.training) inputs[n++] = rows + p.row;
  if (p.gradient && p.training) inputs[n++] = rows + 2 * p.row;
  return p.elements.launch(ctx, inputs, out[0]->data);
}

hr_code compute_by_statistics(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                              hr_tensor* const* out, void* workspace) {
  const auto& p = *static_cast<const NormPlan*>(plan);
  if (hr_code code = launch_stages(ctx, p.statistics, in, out, workspace)) return code;
  return launch_elements(ctx, p, in, out, workspace);
}

hr_code compute_inference(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                          hr_tensor* const* out, void* workspace) {
  const auto& p = *static_cast<const NormPlan*>(plan);
  char* rows = static_cast<char*>(workspace);
  if (hr_code code =
          launch(ctx, *p.channels, Grid::of(size_t(p.n), 1), In{in[1]->data}, In{in[2]->data},
                 In{in[3]->data}, In{in[4]->data}, Out{out[1]->data}, Out{out[2]->data},
                 Out{out[3]->data}, Out{out[4]->data}, Out{rows}, Out{rows + p.row}))
    return code;
  return launch_elements(ctx, p, in, out, workspace);
}

// The numbers of the channels from known statistics, which are outputs too.
std::string inference_text(const Image& image) {
  return "kernel void channels(HR_IN(float, scale), HR_IN(float, offset), HR_IN(float, old_mean),\n"
         "HR_IN(float, old_variance), HR_OUT(float, batch_mean), HR_OUT(float, batch_variance),\n"
         "HR_OUT(float, saved_mean), HR_OUT(float, saved_variance), HR_OUT(float, multiplier),\n"
         "HR_OUT(float, addend)) {\n"
         "HR_INPUT(float, scale);\nHR_INPUT(float, offset);\nHR_INPUT(float, old_mean);\n"
         "HR_INPUT(float, old_variance);\nHR_OUTPUT(float, batch_mean);\n"
         "HR_OUTPUT(float, batch_variance);\nHR_OUTPUT(float, saved_mean);\n"
         "HR_OUTPUT(float, saved_variance);\nHR_OUTPUT(float, multiplier);\nHR_OUTPUT(float, "
         "addend);\n"
         "const size_t k = get_global_id(0);\nconst float epsilon = " +
         number(image.epsilon) +
         ", mean = old_mean[k], variance = old_variance[k];\n"
         "batch_mean[k] = saved_mean[k] = mean;\nbatch_variance[k] = saved_variance[k] = "
         "variance;\n" +
         kFactors + "}\n";
}

hr_code check_channels(hr_request* r, const Image& image, int first, int last) {
  for (int i = first; i <= last; ++i)
    if (hr_elements(r->inputs[i]) != image.channels)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "input %d is %s, but there are %lld channels",
                             i, ShapeText(r->inputs[i]).text, (long long)image.channels);
  return HR_OK;
}

hr_code compute_nothing(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*, void*) {
  return HR_OK;
}

Runs runs_by_channel(const Image& image, const hr_tensor* x) {
  if (hr_elements(x) == 0) {
    Runs runs;
    runs.inner = 0;
    runs.kept = image.channels;
    return runs;
  }
  bool reduced[HR_MAX_RANK];
  std::fill_n(reduced, HR_MAX_RANK, true);
  reduced[image.axis] = false;
  return runs_of(x->rank, x->dims, reduced);
}

hr_code plan_norm(hr_request* r, const Image& image, const hr_tensor* x, bool gradient) {
  if (image.channels == 0) {
    r->compute = compute_nothing;
    return HR_OK;
  }
  auto* plan = keep_plan(r, new NormPlan);
  plan->gradient = gradient;
  plan->training = image.training;
  plan->row = plan->n = image.channels;
  plan->row *= 4;
  r->workspace = size_t((3 * plan->row + 63) / 64 * 64);
  std::string error;
  if (gradient || image.training) {
    error = plan_stages(device_of(r), gradient ? gradient_sums(image) : statistics(image),
                        runs_by_channel(image, x), int64_t(r->workspace), &plan->statistics);
    r->workspace += size_t(plan->statistics.workspace);
    r->compute = compute_by_statistics;
  } else {
    plan->channels = generated_kernel(device_of(r), inference_text(image), "", "channels", &error);
    r->compute = compute_inference;
  }
  if (error.empty() && hr_elements(x) > 0) {
    plan->has_elements = true;
    const bool both = gradient && image.training;
    const int elements = both ? 2 : 1, numbers = both ? 3 : gradient ? 1 : 2;
    const char* expression = both       ? "x0 * x2 + x1 * x3 + x4"
                             : gradient ? "x0 * x1"
                                        : "x0 * x1 + x2";
    error = plan->elements.prepare(device_of(r), by_channel(image, elements, numbers, expression),
                                   walk_by_channel(image, x, elements, numbers));
  }
  return error.empty() ? HR_OK : hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
}

hr_code prepare_forward(void*, hr_request* r) {
  HR_APPLY_RULE(fused_batch_norm, r);
  const Image image = image_of(r, r->inputs[0]);
  // A first step of a moving average may come with empty statistics.
  const bool needs_old = !image.training || image.factor != 1.0f;
  if (hr_code code = check_channels(r, image, 1, needs_old ? 4 : 2)) return code;
  return plan_norm(r, image, r->inputs[0], false);
}

hr_code prepare_backward(void*, hr_request* r) {
  HR_APPLY_RULE(fused_batch_norm_grad, r);
  const Image image = image_of(r, r->inputs[1]);
  if (hr_code code = check_channels(r, image, 2, 4)) return code;
  return plan_norm(r, image, r->inputs[1], true);
}

}  // namespace

HR_KERNELS = {
    kernel("FusedBatchNorm", nullptr, prepare_forward).reuses(0),
    kernel("FusedBatchNormV2", nullptr, prepare_forward).reuses(0),
    kernel("FusedBatchNormV3", nullptr, prepare_forward).reuses(0),
    kernel("FusedBatchNormGrad", nullptr, prepare_backward).reuses(0),
    kernel("FusedBatchNormGradV2", nullptr, prepare_backward).reuses(0),
    kernel("FusedBatchNormGradV3", nullptr, prepare_backward).reuses(0),
};

}  // namespace hr::cl
