// Float convolutions and their gradients as oneDNN programs.
#if HR_WITH_ONEDNN
#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <vector>

#include "library/registration.hpp"
#include "ops/convolution/convolution_plan.hpp"
#include "processor/simd.hpp"

namespace hr::convolution {
namespace {

HR_CLONES uint32_t largest_bits(const uint32_t* x, int64_t n) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t magnitude = x[i] & 0x7fffffffu;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}

// The largest magnitude; infinite where there is a NaN, whose bits are above infinity's.
double largest_magnitude(hr_ctx* ctx, const void* data, int64_t n) {
  const auto* x = static_cast<const uint32_t*>(data);
  std::atomic<uint32_t> largest{0};
  parallel_ranges(ctx, n, kGrainBytes / 4, [&](int64_t begin, int64_t end) {
    const uint32_t mine = largest_bits(x + begin, end - begin);
    uint32_t seen = largest;
    while (seen < mine && !largest.compare_exchange_weak(seen, mine)) {}
  });
  const uint32_t bits = largest;
  return bits >= 0x7f800000u ? double(INFINITY) : double(bits_as<float>(bits));
}

// Whether no sum of a convolution can overflow, and so none can be NaN; nor its product with
// scale, nor its sum with shift. Both are null or by channel.
bool stays_finite(hr_ctx* ctx, const Plan& p, const hr_tensor* const* inputs, const void* scale,
                  const void* shift) {
  const int64_t n = p.c.out_channels;
  const double terms = double(p.c.w.window_positions()) * double(p.c.in_group);
  const double product = largest_magnitude(ctx, inputs[0]->data, hr_elements(inputs[0])) *
                         largest_magnitude(ctx, inputs[1]->data, hr_elements(inputs[1]));
  const double factor = scale ? largest_magnitude(ctx, scale, n) : 1.0;
  const double bias = shift ? largest_magnitude(ctx, shift, n) : 0.0;
  // False also where infinity times zero makes NaN.
  return terms * product < 1e38 && terms * product * factor + bias < 1e38;
}

hr_code compute_onednn(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void* workspace) {
  const Plan& p = *static_cast<Plan*>(plan);
  Ends e = ends(p, inputs, outputs);
  float *scale = nullptr, *shift = nullptr;
  if (p.epilogue.bias && !p.epilogue_apart) shift = static_cast<float*>(inputs[2]->data);
  if (p.epilogue.batch_norm && !p.epilogue_apart) {
    scale = reinterpret_cast<float*>(static_cast<char*>(workspace) + p.factors);
    shift = scale + p.c.out_channels;
    normalising_factors(p.epilogue, inputs, p.c.out_channels, scale, shift);
  }
  void* external[5] = {e.x, e.filter, e.y, shift, scale};
  const bool cheaper = p.for_finite && stays_finite(ctx, p, inputs, scale, shift);
  hr_code code = (cheaper ? p.for_finite : p.program)->run(ctx, external, workspace);
  if (code == HR_OK && p.epilogue_apart)
    finish<float>(ctx, p, inputs, static_cast<float*>(outputs[0]->data));
  else if (code == HR_OK && p.activation_apart)
    activate(ctx, p, static_cast<float*>(outputs[0]->data));
  return code;
}

using dnnl::memory;

memory::desc activations(const Window& w, const int64_t* extent, int64_t channels) {
  memory::dims dims = {w.batch, channels};
  for (int32_t i = 0; i < w.nd; ++i) dims.push_back(extent[i]);
  using tag = memory::format_tag;
  const tag last = w.nd == 2 ? tag::nhwc : tag::ndhwc, first = w.nd == 2 ? tag::nchw : tag::ncdhw;
  return {dims, memory::data_type::f32, w.channels_first ? first : last};
}

memory::desc free_layout(const memory::desc& d) {
  return {d.get_dims(), d.get_data_type(), memory::format_tag::any};
}

memory::desc filter_desc(const Convolution& c) {
  memory::dims dims, strides;
  if (c.groups > 1) {
    dims.push_back(c.groups);
    strides.push_back(c.filter_group);
  }
  dims.insert(dims.end(), {c.out_group, c.in_group});
  strides.insert(strides.end(), {1, c.filter_in});
  for (int32_t i = 0; i < c.w.nd; ++i) {
    dims.push_back(c.w.size[i]);
    int64_t step = c.filter_position;
    for (int32_t j = i + 1; j < c.w.nd; ++j) step *= c.w.size[j];
    strides.push_back(step);
  }
  return {dims, memory::data_type::f32, strides};
}

// Appends the activation, or returns false where oneDNN's own does not keep a NaN: its relu and
// clip take the larger of it and zero, which is zero. `finite`: no NaN comes.
bool append_activation(const Epilogue& e, bool finite, dnnl::post_ops& ops) {
  using alg = dnnl::algorithm;
  switch (e.activation) {
    case Activation::none: return true;
    case Activation::relu:  // an elu whose lower branch is -0; adding 0 makes that 0
      if (finite) {
        ops.append_eltwise(alg::eltwise_relu, 0, 0);
        break;
      }
      ops.append_eltwise(alg::eltwise_elu, 0, 0);
      ops.append_eltwise(alg::eltwise_linear, 1, 0);
      break;
    // oneDNN's differ from the ops' own kernels in the last digits (elu near zero by more).
    case Activation::relu6:
    case Activation::elu:
    case Activation::tanh:
    case Activation::sigmoid: return false;
    case Activation::leaky_relu: ops.append_eltwise(alg::eltwise_relu, e.leaky_alpha, 0); break;
  }
  return true;
}

// The filter times a batch normalisation's scale, where both are constants; empty where they are
// not, or where a product leaves the normal numbers and the result would differ by more than
// rounding.
std::vector<float> scaled_filter(hr_request* r, const Plan& p) {
  if (!p.epilogue.batch_norm || p.epilogue_apart || !r->inputs[1]->data || !r->inputs[2]->data ||
      !r->inputs[5]->data)
    return {};
  const int64_t channels = p.c.out_channels, n = hr_elements(r->inputs[1]);
  const float *filter = read<float>(r->inputs[1]), *gamma = read<float>(r->inputs[2]),
              *variance = read<float>(r->inputs[5]);
  std::vector<float> scale(channels), scaled(filter, filter + n);
  for (int64_t c = 0; c < channels; ++c) {
    scale[c] = normalising_scale(gamma[c], variance[c], p.epilogue);
    if (!std::isfinite(scale[c])) return {};
  }
  for (int64_t i = 0; i < n; i += channels) {
    for (int64_t c = 0; c < channels; ++c) {
      float& product = scaled[i + c];
      const bool zero = product == 0.0f || scale[c] == 0.0f;
      if (!std::isfinite(product)) return {};
      product *= scale[c];
      if (!zero && !std::isnormal(product)) return {};
    }
  }
  return scaled;
}

// `scaled`: as above.
std::unique_ptr<onednn::Program> onednn_program(hr_request* r, Plan* p, bool finite,
                                                const std::vector<float>& scaled) {
  const Window& w = p->c.w;
  onednn::PoolSize pool(r->threads);
  auto program = std::make_unique<onednn::Program>(r->threads);
  const memory::desc x = activations(w, w.in, w.channels),
                     y = activations(w, w.out, p->c.out_channels);
  const memory::desc filter = filter_desc(p->c);
  // NHWC is fast as it stands; from NCHW a blocked layout is worth the reorder.
  const memory::desc xw = w.channels_first ? free_layout(x) : x;
  const memory::desc yw = w.channels_first ? free_layout(y) : y;
  memory::dims stride(w.stride, w.stride + w.nd), low(w.low, w.low + w.nd),
      high(w.high, w.high + w.nd);
  memory::dims dilation(w.dilation, w.dilation + w.nd);
  for (auto& d : dilation) --d;
  const auto direct = dnnl::algorithm::convolution_direct;
  // With the scale in the filter, what a normalisation adds is a bias.
  const bool bias = (p->epilogue.bias && !p->epilogue_apart) || !scaled.empty();
  const memory::desc bias_desc =
      bias ? memory::desc({p->c.out_channels}, memory::data_type::f32, memory::format_tag::a)
           : memory::desc();
  const bool normalises = p->epilogue.batch_norm && !p->epilogue_apart && scaled.empty();
  memory::dims by_channel(size_t(w.nd) + 2, 1);
  by_channel[1] = p->c.out_channels;
  const memory::desc factor(by_channel, memory::data_type::f32,
                            w.nd == 2 ? memory::format_tag::nchw : memory::format_tag::ncdhw);
  dnnl::post_ops ops;
  if (normalises) {
    ops.append_binary(dnnl::algorithm::binary_mul, factor);
    ops.append_binary(dnnl::algorithm::binary_add, factor);
  }
  if (!p->epilogue_apart) p->activation_apart = !append_activation(p->epilogue, finite, ops);
  dnnl::primitive_attr attr = onednn::attributes();
  attr.set_post_ops(ops);
  const auto kind = p->direction == Direction::forward ? dnnl::prop_kind::forward_inference
                                                       : dnnl::prop_kind::forward_training;
  dnnl::convolution_forward::primitive_desc fwd(onednn::engine(), kind, direct, xw,
                                                free_layout(filter), bias_desc, yw, stride,
                                                dilation, low, high, attr);
  const int xe = program->external(0, x), fe = program->external(1, filter),
            ye = program->external(2, y);
  auto result = [&](int to, const memory::desc& created) {
    return program->at(to) == created ? to : program->scratch(created);
  };
  if (p->direction == Direction::forward) {
    const int out = result(ye, fwd.dst_desc());
    // A constant filter is put in oneDNN's order here, once; others in every run.
    auto weights = [&] {
      const memory::desc preferred = fwd.weights_desc();
      const void* known = r->inputs[1]->data;
      if (!scaled.empty())
        return program->constant(onednn::packed(filter, scaled.data(), preferred));
      if (!known || preferred == filter) return program->reordered(fe, preferred);
      return program->constant(onednn::packed(filter, known, preferred));
    };
    std::vector<std::pair<int, int>> args = {{DNNL_ARG_SRC, program->reordered(xe, fwd.src_desc())},
                                             {DNNL_ARG_WEIGHTS, weights()},
                                             {DNNL_ARG_DST, out}};
    if (bias) args.push_back({DNNL_ARG_BIAS, program->external(3, bias_desc)});
    for (int i = 0; normalises && i < 2; ++i)
      args.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(i) | DNNL_ARG_SRC_1,
                      program->external(i ? 3 : 4, factor)});
    program->add<dnnl::convolution_forward>(fwd, args);
    if (out != ye) program->copy(out, ye);
  } else if (p->direction == Direction::to_input) {
    dnnl::convolution_backward_data::primitive_desc pd(onednn::engine(), direct, xw,
                                                       free_layout(filter), yw, stride, dilation,
                                                       low, high, fwd, onednn::attributes());
    const int out = result(xe, pd.diff_src_desc());
    program->add<dnnl::convolution_backward_data>(
        pd, {{DNNL_ARG_DIFF_DST, program->reordered(ye, pd.diff_dst_desc())},
             {DNNL_ARG_WEIGHTS, program->reordered(fe, pd.weights_desc())},
             {DNNL_ARG_DIFF_SRC, out}});
    if (out != xe) program->copy(out, xe);
  } else {
    dnnl::convolution_backward_weights::primitive_desc pd(onednn::engine(), direct, xw,
                                                          free_layout(filter), yw, stride, dilation,
                                                          low, high, fwd, onednn::attributes());
    const int out = result(fe, pd.diff_weights_desc());
    program->add<dnnl::convolution_backward_weights>(
        pd, {{DNNL_ARG_SRC, program->reordered(xe, pd.src_desc())},
             {DNNL_ARG_DIFF_DST, program->reordered(ye, pd.diff_dst_desc())},
             {DNNL_ARG_DIFF_WEIGHTS, out}});
    if (out != fe) program->copy(out, fe);
  }
  return program;
}

}  // namespace

// oneDNN 3.2 gathers the input of strided 1x1 windows (jit_1x1) into scratch that is too small
// where the channels fill less than one block: it writes past its end, and into the next thread's.
bool overruns_scratch(const Convolution& c) {
  const bool strided =
      std::any_of(c.w.stride, c.w.stride + c.w.nd, [](int64_t s) { return s > 1; });
  return strided && c.w.window_positions() == 1 && (c.in_group < 16 || c.out_channels < 16);
}

void build_onednn(hr_request* r, Plan* p) {
  const std::vector<float> scaled = scaled_filter(r, *p);
  p->program = onednn_program(r, p, false, scaled);
  r->workspace = p->program->workspace();
  // The Relu that keeps NaN costs an exponential per result, to look for one a comparison per
  // operand: it pays where an image of few channels becomes one of many.
  const int64_t operands = hr_elements(r->inputs[0]) + hr_elements(r->inputs[1]);
  if (p->direction == Direction::forward && p->epilogue.activation == Activation::relu &&
      !p->epilogue_apart && hr_elements(r->outputs[0]) >= 4 * operands) {
    p->for_finite = onednn_program(r, p, true, scaled);
    r->workspace = std::max(r->workspace, p->for_finite->workspace());
  }
  if (p->epilogue.batch_norm && !p->epilogue_apart) {
    p->factors = (r->workspace + 63) & ~size_t(63);
    r->workspace = p->factors + size_t(2 * p->c.out_channels) * sizeof(float);
  }
  r->compute = compute_onednn;
}

}  // namespace hr::convolution
#endif
