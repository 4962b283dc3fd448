// Gathers rows by index, from tensors and from variables: Gather, GatherV2, GatherNd, ...
#include <algorithm>
#include <cstring>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/slots.hpp"
#include "loops/elements.hpp"
#include "processor/parallel.hpp"
#include "table/indices.hpp"

namespace hr {
namespace {

struct GatherPlan {
  int64_t batch, outer, limit, picks, inner;  // params are [batch, outer, limit, inner]
};

inline void copy_row(char* to, const char* from, int64_t bytes) {
  switch (bytes) {
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    default: std::memcpy(to, from, size_t(bytes));
  }
}

template <class I>
void gather(hr_ctx* ctx, const GatherPlan& p, const hr_tensor* params, const I* indices,
            hr_tensor* out) {
  const int64_t size = hr_dtype_size(params->dtype), bytes = p.inner * size;
  const char* from = read<char>(params);
  char* to = write<char>(out);
  const bool plain = is_plain(params->dtype);
  const auto some = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t block = i / p.picks, pick = i % p.picks;
      const int64_t row = block * p.limit + int64_t(indices[block / p.outer * p.picks + pick]);
      if (plain) copy_row(to + i * bytes, from + row * bytes, bytes);
      else copy_elements(ctx, params->dtype, size, to + i * bytes, from + row * bytes, p.inner);
    }
  };
  const int64_t n = p.batch * p.outer * p.picks;
  if (plain) parallel_ranges(ctx, n, grain_of(2 * bytes), some);
  else some(0, n);
}

hr_code run_gather(hr_ctx* ctx, const GatherPlan& p, const hr_tensor* params,
                   const hr_tensor* indices, hr_tensor* out) {
  if (hr_elements(out) == 0) return HR_OK;
  const int64_t bad = first_outside(indices, p.limit);
  if (bad >= 0) return index_error(ctx, indices, bad, p.limit);
  with_type(indices->dtype, IndexTypes{}, [&](auto t) -> int {
    gather(ctx, p, params, read<typename decltype(t)::type>(indices), out);
    return 0;
  });
  return HR_OK;
}

GatherPlan plan_of(const hr_tensor* params, const hr_tensor* indices, int64_t axis,
                   int64_t batch_dims) {
  const int32_t a = int32_t(axis), b = int32_t(batch_dims);
  return {product(params->dims, 0, b), product(params->dims, b, a), params->dims[a],
          product(indices->dims, b, indices->rank), product(params->dims, a + 1, params->rank)};
}

hr_code compute_gather(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  return run_gather(ctx, *static_cast<const GatherPlan*>(plan), in[0], in[1], out[0]);
}

hr_code fill_request(hr_request* r, int64_t axis, int64_t batch_dims) {
  if (batch_dims < 0) batch_dims += r->inputs[1]->rank;
  keep_plan(r, new GatherPlan(plan_of(r->inputs[0], r->inputs[1], axis, batch_dims)));
  r->bytes_moved = 2.0 * double(hr_elements(r->outputs[0]) * hr_dtype_size(r->inputs[0]->dtype));
  r->compute = compute_gather;
  return HR_OK;
}

hr_code prepare_gather(void*, hr_request* r) {
  HR_APPLY_RULE(gather, r);
  return fill_request(r, 0, 0);
}

hr_code prepare_gather_v2(void*, hr_request* r) {
  HR_APPLY_RULE(gather_v2, r);
  return fill_request(r, axis_of(int_at(r->inputs[2], 0), r->inputs[0]->rank),
                      hr_attr_int(r->node, "batch_dims", 0));
}

// ---- GatherNd -----------------------------------------------------------------------------------

hr_code run_gather_nd(hr_ctx* ctx, const hr_tensor* params, const hr_tensor* indices,
                      hr_tensor* out, bool ignore) {
  const int64_t depth = indices->dims[indices->rank - 1], size = hr_dtype_size(params->dtype);
  const int64_t inner = product(params->dims, int32_t(depth), params->rank);
  if (hr_elements(params) == 0 && product(indices->dims, 0, indices->rank - 1) > 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Requested more than 0 entries, but params is empty.  Params shape: %s",
                       (const char*)ShapeText(params));
  int64_t bad;
  const auto offsets = slice_offsets(indices, params->dims, &bad);
  if (bad >= 0 && !ignore) return slice_error(ctx, indices, bad, params->rank, params->dims);
  if (inner == 0) return HR_OK;
  const int64_t bytes = inner * size;
  for (size_t i = 0; i < offsets.size(); ++i) {
    char* to = write<char>(out) + int64_t(i) * bytes;
    if (offsets[i] >= 0)
      copy_elements(ctx, params->dtype, size, to, read<char>(params) + offsets[i] * bytes, inner);
    else if (is_plain(params->dtype)) std::memset(to, 0, size_t(bytes));
  }
  return HR_OK;
}

hr_code compute_gather_nd(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  return run_gather_nd(ctx, in[0], in[1], out[0], plan != nullptr);
}

void* ignores(hr_request* r) {
  static char yes;
  return attr_text(r->node, "bad_indices_policy") == "IGNORE" ? &yes : nullptr;
}

hr_code prepare_gather_nd(void*, hr_request* r) {
  if (hr_code code = check_bad_indices_policy(r)) return code;
  HR_APPLY_RULE(gather_nd, r);
  r->plan = ignores(r);
  r->compute = compute_gather_nd;
  return HR_OK;
}

// ---- from variables: their shape is known when they are read -----------------------------------

hr_code compute_resource_gather(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                                hr_tensor* const* out, void*) {
  ReadSlot variable(ctx, in[0], out[0]->dtype);
  if (variable.code) return variable.code;
  const hr_tensor *params = &variable.value, *indices = in[1];
  const int64_t batch = reinterpret_cast<intptr_t>(plan);
  if (batch < 0 || params->rank <= batch || indices->rank < batch ||
      !std::equal(params->dims, params->dims + batch, indices->dims))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "the variable is %s, indices are %s",
                       (const char*)ShapeText(params), (const char*)ShapeText(indices));
  if (indices->rank + params->rank - 1 - batch > HR_MAX_RANK)
    return hr_ctx_fail(ctx, HR_UNIMPLEMENTED, "a result of more than %d dimensions", HR_MAX_RANK);
  out[0]->rank = 0;
  for (int32_t d = 0; d < indices->rank; ++d) out[0]->dims[out[0]->rank++] = indices->dims[d];
  for (int32_t d = int32_t(batch) + 1; d < params->rank; ++d)
    out[0]->dims[out[0]->rank++] = params->dims[d];
  if (hr_code code = ctx->api->allocate(ctx, out[0])) return code;
  return run_gather(ctx, plan_of(params, indices, batch, batch), params, indices, out[0]);
}

hr_code prepare_resource_gather(void*, hr_request* r) {
  int64_t batch = hr_attr_int(r->node, "batch_dims", 0);
  if (batch < 0) batch += r->inputs[1]->rank;
  r->plan = reinterpret_cast<void*>(intptr_t(batch));
  r->shape_depends_on_data = 1;
  r->compute = compute_resource_gather;
  return HR_OK;
}

hr_code compute_resource_gather_nd(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                                   hr_tensor* const* out, void*) {
  ReadSlot variable(ctx, in[0], out[0]->dtype);
  if (variable.code) return variable.code;
  const hr_tensor *params = &variable.value, *indices = in[1];
  const int64_t depth = indices->rank ? indices->dims[indices->rank - 1] : 0;
  if (indices->rank == 0 || depth > params->rank)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "the variable is %s, indices are %s",
                       (const char*)ShapeText(params), (const char*)ShapeText(indices));
  if (indices->rank - 1 + params->rank - depth > HR_MAX_RANK)
    return hr_ctx_fail(ctx, HR_UNIMPLEMENTED, "a result of more than %d dimensions", HR_MAX_RANK);
  out[0]->rank = 0;
  for (int32_t d = 0; d + 1 < indices->rank; ++d) out[0]->dims[out[0]->rank++] = indices->dims[d];
  for (int32_t d = int32_t(depth); d < params->rank; ++d)
    out[0]->dims[out[0]->rank++] = params->dims[d];
  if (hr_code code = ctx->api->allocate(ctx, out[0])) return code;
  return run_gather_nd(ctx, params, indices, out[0], plan != nullptr);
}

hr_code prepare_resource_gather_nd(void*, hr_request* r) {
  r->plan = ignores(r);
  r->shape_depends_on_data = 1;
  r->compute = compute_resource_gather_nd;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("GatherV2", nullptr, prepare_gather_v2).constant(2),
    kernel("Gather", nullptr, prepare_gather),
    kernel("GatherNd", nullptr, prepare_gather_nd),
    kernel("ResourceGather", nullptr, prepare_resource_gather).is(HR_KERNEL_DATA_SHAPE),
    kernel("ResourceGatherNd", nullptr, prepare_resource_gather_nd).is(HR_KERNEL_DATA_SHAPE),
};

}  // namespace hr
