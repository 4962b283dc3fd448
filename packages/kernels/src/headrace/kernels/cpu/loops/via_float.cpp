#include "loops/via_float.hpp"

#include <vector>

#include "loops/narrow_floats.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

struct Converted {
  int index;
  hr_tensor as_float;  // data is set for each call
  int64_t n;
  size_t offset;
};

struct FloatPlan {
  void* inner = nullptr;
  void (*destroy_inner)(void*) = nullptr;
  hr_compute compute = nullptr;
  std::vector<Converted> inputs, outputs;
  ~FloatPlan() {
    if (destroy_inner) destroy_inner(inner);
  }
};

constexpr int kMostTensors = 20;

hr_code compute_via_float(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                          hr_tensor* const* outputs, void* workspace) {
  const FloatPlan& p = *static_cast<FloatPlan*>(plan);
  char* base = static_cast<char*>(workspace);
  const hr_tensor* in[kMostTensors];
  hr_tensor* out[kMostTensors];
  hr_tensor shadow_in[kMostTensors], shadow_out[kMostTensors];
  for (int i = 0; i < kMostTensors; ++i) in[i] = nullptr, out[i] = nullptr;
  // The arrays are as long as the node's lists; p.inputs holds every index up to the last.
  for (const Converted& c : p.inputs) {
    if (!c.n && c.offset == SIZE_MAX) {
      in[c.index] = inputs[c.index];
      continue;
    }
    shadow_in[c.index] = c.as_float;
    float* to = reinterpret_cast<float*>(base + c.offset);
    shadow_in[c.index].data = to;
    in[c.index] = &shadow_in[c.index];
    const char* from = static_cast<const char*>(inputs[c.index]->data);
    hr_dtype dtype = inputs[c.index]->dtype;
    parallel_ranges(ctx, c.n, 32768, [&](int64_t begin, int64_t end) {
      narrow_to_float(dtype, from + 2 * begin, to + begin, end - begin);
    });
  }
  for (const Converted& c : p.outputs) {
    if (!c.n && c.offset == SIZE_MAX) {
      out[c.index] = outputs[c.index];
      continue;
    }
    shadow_out[c.index] = c.as_float;
    shadow_out[c.index].data = base + c.offset;
    out[c.index] = &shadow_out[c.index];
  }
  hr_code code = p.compute(ctx, state, p.inner, in, out, workspace);
  if (code != HR_OK) return code;
  for (const Converted& c : p.outputs) {
    if (c.offset == SIZE_MAX) continue;
    const float* from = reinterpret_cast<const float*>(base + c.offset);
    char* to = static_cast<char*>(outputs[c.index]->data);
    hr_dtype dtype = outputs[c.index]->dtype;
    parallel_ranges(ctx, c.n, 32768, [&](int64_t begin, int64_t end) {
      float_to_narrow(dtype, from + begin, to + 2 * begin, end - begin);
    });
  }
  return HR_OK;
}

size_t rounded(size_t bytes) { return (bytes + 63) & ~size_t(63); }

}  // namespace

void narrow_to_float(hr_dtype dtype, const void* from, float* to, int64_t n) {
  if (dtype == HR_HALF) widen(static_cast<const half*>(from), to, n);
  else widen(static_cast<const bfloat16*>(from), to, n);
}

void float_to_narrow(hr_dtype dtype, const float* from, void* to, int64_t n) {
  if (dtype == HR_HALF) narrow(from, static_cast<half*>(to), n);
  else narrow(from, static_cast<bfloat16*>(to), n);
}

bool has_narrow(const hr_request* r) {
  for (int i = 0; i < r->node->n_inputs; ++i)
    if (is_narrow(r->inputs[i]->dtype)) return true;
  for (int i = 0; i < r->node->n_outputs; ++i)
    if (is_narrow(r->outputs[i]->dtype)) return true;
  return false;
}

hr_code prepare_via_float(void* state, hr_request* r, Prepare prepare) {
  const int n_in = r->node->n_inputs, n_out = r->node->n_outputs;
  if (n_in > kMostTensors || n_out > kMostTensors)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "half and bfloat16 with %d inputs: at most %d",
                           n_in, kMostTensors);
  std::vector<hr_tensor> in(n_in), out(n_out);
  std::vector<const hr_tensor*> in_at(n_in);
  std::vector<hr_tensor*> out_at(n_out);
  for (int i = 0; i < n_in; ++i) {
    in[i] = *r->inputs[i];
    if (is_narrow(in[i].dtype)) {
      in[i].dtype = HR_FLOAT;
      in[i].bytes *= 2;
      in[i].data = nullptr;
    }
    in_at[i] = &in[i];
  }
  for (int i = 0; i < n_out; ++i) {
    out[i] = *r->outputs[i];
    if (is_narrow(out[i].dtype)) out[i].dtype = HR_FLOAT;
    out_at[i] = &out[i];
  }
  hr_request inner = *r;
  inner.inputs = in_at.data();
  inner.outputs = out_at.data();
  inner.private_layout = 0;
  hr_code code = prepare(state, &inner);
  if (code != HR_OK) return code;
  auto plan = new FloatPlan;
  plan->inner = inner.plan;
  plan->destroy_inner = inner.plan ? inner.destroy_plan : nullptr;
  plan->compute = inner.compute;
  size_t at = rounded(inner.workspace);
  auto place = [&](int i, const hr_tensor& real, const hr_tensor& shadow,
                   std::vector<Converted>& list) {
    if (!is_narrow(real.dtype)) {
      list.push_back({i, {}, 0, SIZE_MAX});
      return;
    }
    const int64_t n = hr_elements(&shadow);
    hr_tensor t = shadow;
    t.bytes = n * 4;
    list.push_back({i, t, n, at});
    at += rounded(size_t(n) * 4);
  };
  for (int i = 0; i < n_in; ++i) place(i, *r->inputs[i], in[i], plan->inputs);
  for (int i = 0; i < n_out; ++i) {
    r->outputs[i]->rank = out[i].rank;
    for (int d = 0; d < out[i].rank; ++d) r->outputs[i]->dims[d] = out[i].dims[d];
    place(i, *r->outputs[i], out[i], plan->outputs);
  }
  keep_plan(r, plan);
  r->compute = compute_via_float;
  r->workspace = at;
  r->flops = inner.flops;
  r->bytes_moved = inner.bytes_moved;
  return HR_OK;
}

}  // namespace hr
