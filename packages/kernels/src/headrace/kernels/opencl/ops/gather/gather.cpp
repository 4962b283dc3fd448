// Gathers rows by index: Gather, GatherV2, GatherNd, ResourceGather.
//
// Indices are in memory of the device, so none can be reported as out of range: such rows are
// zeros.
#include <algorithm>

#include "codegen/copied_types.hpp"
#include "codegen/element.hpp"
#include "launch/launch.hpp"
#include "library/constraints.hpp"
#include "library/dtype_names.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/slots.hpp"

namespace hr::cl {
namespace {

constexpr size_t kGroup = 256;

struct GatherShape {
  int64_t batch, outer, limit, picks, inner;  // params are [batch, outer, limit, inner]
  int64_t rows() const { return batch * outer * picks; }
};

GatherShape shape_of(const hr_tensor* params, const hr_tensor* indices, int64_t axis,
                     int64_t batch_dims) {
  const int32_t a = int32_t(axis), b = int32_t(batch_dims);
  return {product(params->dims, 0, b), product(params->dims, b, a), params->dims[a],
          product(indices->dims, b, indices->rank), product(params->dims, a + 1, params->rank)};
}

// How the rows are shared among items.
struct RowGrid {
  Grid grid;
  int64_t per_item;
};

RowGrid grid_of(const Traits& traits, int64_t rows, int64_t inner) {
  if (!traits.is_cpu) return {Grid::of(size_t(rows * inner), kGroup), 1};
  const int64_t per_item =
      std::max<int64_t>({1, 8192 / std::max<int64_t>(1, inner), rows / (8 * traits.compute_units)});
  return {Grid::of(size_t((rows + per_item - 1) / per_item), 1), per_item};
}

std::string options_of(hr_dtype dtype, hr_dtype indices, bool wide) {
  return std::string("-DE=") + storage_type(copied_as(dtype)) + " -DI=" + storage_type(indices) +
         " -DIndex=" + (wide ? "long" : "int");
}

const Kernel* gather_kernel(Device& device, hr_dtype dtype, hr_dtype indices, bool wide,
                            std::string* error) {
  return find_kernel(device, "gather.cl", options_of(dtype, indices, wide), "gather", error);
}

bool is_wide(const Device& device, int64_t elements, int64_t from) {
  return device.traits.is_cpu || !is_narrow(std::max(elements, from));
}

template <class Index>
hr_code launch_gather(hr_ctx* ctx, const Kernel& kernel, const GatherShape& s, const void* params,
                      const void* indices, void* y) {
  const RowGrid rows = grid_of(device_of(ctx).traits, s.rows(), s.inner);
  return launch(ctx, kernel, rows.grid, In{params}, In{indices}, Out{y}, Index(s.rows()),
                Index(s.outer), Index(s.limit), Index(s.picks), Index(s.inner),
                Index(rows.per_item));
}

struct GatherPlan {
  const Kernel* kernel;
  GatherShape shape;
  bool wide;
};

hr_code run_gather(hr_ctx* ctx, const GatherPlan& p, const hr_tensor* params,
                   const hr_tensor* indices, const hr_tensor* y) {
  if (y->bytes == 0) return HR_OK;
  return p.wide
             ? launch_gather<int64_t>(ctx, *p.kernel, p.shape, params->data, indices->data, y->data)
             : launch_gather<int32_t>(ctx, *p.kernel, p.shape, params->data, indices->data,
                                      y->data);
}

hr_code compute_gather(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  return run_gather(ctx, *static_cast<const GatherPlan*>(plan), in[0], in[1], out[0]);
}

hr_code fill_request(hr_request* r, int64_t axis, int64_t batch_dims) {
  if (batch_dims < 0) batch_dims += r->inputs[1]->rank;
  const hr_tensor* x = r->inputs[0];
  const bool wide = is_wide(device_of(r), hr_elements(r->outputs[0]), hr_elements(x));
  std::string error;
  const Kernel* kernel = gather_kernel(device_of(r), x->dtype, r->inputs[1]->dtype, wide, &error);
  if (!kernel) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  keep_plan(r, new GatherPlan{kernel, shape_of(x, r->inputs[1], axis, batch_dims), wide});
  r->bytes_moved = 2.0 * double(hr_elements(r->outputs[0]) * hr_dtype_size(x->dtype));
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

// ---- from a variable: its shape is known when it is read ----------------------------------------

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
  const bool wide = is_wide(device_of(ctx), hr_elements(out[0]), hr_elements(params));
  std::string error;
  const Kernel* kernel = gather_kernel(device_of(ctx), params->dtype, indices->dtype, wide, &error);
  if (!kernel) return hr_ctx_fail(ctx, HR_INTERNAL, "%s", error.c_str());
  return run_gather(ctx, {kernel, shape_of(params, indices, batch, batch), wide}, params, indices,
                    out[0]);
}

hr_code prepare_resource_gather(void*, hr_request* r) {
  int64_t batch = hr_attr_int(r->node, "batch_dims", 0);
  if (batch < 0) batch += r->inputs[1]->rank;
  r->plan = reinterpret_cast<void*>(intptr_t(batch));
  r->shape_depends_on_data = 1;
  r->compute = compute_resource_gather;
  // Compiled now, not in a step.
  std::string error;
  if (!gather_kernel(device_of(r), r->outputs[0]->dtype, r->inputs[1]->dtype,
                     device_of(r).traits.is_cpu, &error))
    return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  return HR_OK;
}

// ---- slices -------------------------------------------------------------------------------------

template <class Index> struct Dims {
  Index dims[HR_MAX_RANK + 1];
};

struct SlicesPlan {
  const Kernel* kernel;
  int64_t rows, inner, depth;
  int64_t dims[HR_MAX_RANK + 1];
  bool wide;
};

template <class Index>
hr_code launch_gather_nd(hr_ctx* ctx, const SlicesPlan& p, const hr_tensor* const* in,
                         hr_tensor* const* out) {
  const RowGrid rows = grid_of(device_of(ctx).traits, p.rows, p.inner);
  Index dims[HR_MAX_RANK + 1] = {};
  std::copy_n(p.dims, p.depth, dims);
  const Index n = Index(p.rows), inner = Index(p.inner), per_item = Index(rows.per_item);
  const Argument arguments[] = {argument(In{in[0]->data}),
                                argument(In{in[1]->data}),
                                argument(Out{out[0]->data}),
                                argument(n),
                                argument(inner),
                                argument(per_item),
                                {Argument::kValue, sizeof(Index) * size_t(p.depth + 1), dims}};
  return launch_arguments(ctx, *p.kernel, rows.grid, arguments, 7);
}

hr_code compute_gather_nd(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const SlicesPlan*>(plan);
  if (out[0]->bytes == 0) return HR_OK;
  return p.wide ? launch_gather_nd<int64_t>(ctx, p, in, out)
                : launch_gather_nd<int32_t>(ctx, p, in, out);
}

hr_code prepare_gather_nd(void*, hr_request* r) {
  HR_APPLY_RULE(gather_nd, r);
  const hr_tensor *x = r->inputs[0], *indices = r->inputs[1];
  SlicesPlan p{};
  p.depth = indices->dims[indices->rank - 1];
  p.rows = product(indices->dims, 0, indices->rank - 1);
  p.inner = product(x->dims, int32_t(p.depth), x->rank);
  std::copy_n(x->dims, p.depth, p.dims);
  p.wide = is_wide(device_of(r), hr_elements(r->outputs[0]), hr_elements(x));
  std::string error;
  p.kernel = find_kernel(
      device_of(r), "gather.cl",
      options_of(x->dtype, indices->dtype, p.wide) + " -DDEPTH=" + std::to_string(p.depth),
      "gather_nd", &error);
  if (!p.kernel) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  keep_plan(r, new SlicesPlan(p));
  r->compute = compute_gather_nd;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("GatherV2", "Tparams=" HR_COPIED ";Tindices=" HR_INDICES, prepare_gather_v2).constant(2),
    kernel("Gather", "Tparams=" HR_COPIED ";Tindices=" HR_INDICES, prepare_gather),
    kernel("ResourceGather", "dtype=" HR_COPIED ";Tindices=" HR_INDICES, prepare_resource_gather)
        .is(HR_KERNEL_DATA_SHAPE),
    kernel("GatherNd", "Tparams=" HR_COPIED ";Tindices=" HR_INDICES, prepare_gather_nd),
};

}  // namespace hr::cl
