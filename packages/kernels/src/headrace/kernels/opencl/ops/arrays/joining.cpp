// Joins and splits tensors along a dimension: Concat, Pack, Split, Unpack.
#include <vector>

#include "codegen/copied_types.hpp"
#include "codegen/part_moves.hpp"
#include "launch/launch.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

struct PartsPlan {
  PartMoves moves;
  bool join;
  int32_t first;  // the input that is part 0, or the whole of a split
  size_t parts;
};

hr_code compute_parts(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const PartsPlan*>(plan);
  std::vector<void*> parts(p.parts);
  for (size_t i = 0; i < p.parts; ++i)
    parts[i] = p.join ? in[size_t(p.first) + i]->data : out[i]->data;
  return p.moves.launch(ctx, parts.data(), p.join ? out[0]->data : in[p.first]->data);
}

hr_code plan_parts(hr_request* r, const Parts& parts, int32_t first) {
  auto* plan = keep_plan(r, new PartsPlan{{}, parts.join, first, parts.counts.size()});
  const hr_dtype dtype = r->outputs[0]->dtype;
  r->compute = compute_parts;
  r->bytes_moved = 2.0 * double(parts.outer * parts.row * hr_dtype_size(dtype));
  const std::string error = plan->moves.plan(device_of(r), parts, dtype);
  return error.empty() ? HR_OK : hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
}

// ---- ops ----------------------------------------------------------------------------------------

// Tensors whose dimension `axis` makes up the whole's.
Parts parts_along(bool join, const hr_tensor* const* tensors, int32_t n, int64_t axis) {
  Parts parts{join, product(tensors[0]->dims, 0, int32_t(axis)), 0, {}};
  for (int32_t i = 0; i < n; ++i) {
    parts.counts.push_back(product(tensors[i]->dims, int32_t(axis), tensors[i]->rank));
    parts.row += parts.counts.back();
  }
  return parts;
}

// A part of Pack has the elements of one step along the new axis.
Parts layers(bool join, const hr_tensor* layer, int32_t n, int64_t axis) {
  const int64_t count = product(layer->dims, int32_t(axis), layer->rank);
  return {join, product(layer->dims, 0, int32_t(axis)), n * count,
          std::vector<int64_t>(size_t(n), count)};
}

hr_code prepare_concat(void*, hr_request* r) {
  const bool v2 = r->node->op[6] == 'V';  // ConcatV2 has its axis last, Concat first
  if (v2) HR_APPLY_RULE(concat_v2, r);
  else HR_APPLY_RULE(concat, r);
  const int32_t n = r->node->n_inputs - 1, first = v2 ? 0 : 1;
  const int64_t axis = axis_of(int_at(r->inputs[v2 ? n : 0], 0), r->outputs[0]->rank);
  return plan_parts(r, parts_along(true, r->inputs + first, n, axis), first);
}

hr_code prepare_pack(void*, hr_request* r) {
  HR_APPLY_RULE(pack, r);
  const int64_t axis = axis_of(hr_attr_int(r->node, "axis", 0), r->outputs[0]->rank);
  return plan_parts(r, layers(true, r->inputs[0], r->node->n_inputs, axis), 0);
}

hr_code compute_nothing(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*, void*) {
  return HR_OK;
}

hr_code prepare_unpack(void*, hr_request* r) {
  HR_APPLY_RULE(unpack, r);
  const int64_t axis = axis_of(hr_attr_int(r->node, "axis", 0), r->inputs[0]->rank);
  if (r->node->n_outputs == 0) {
    r->compute = compute_nothing;
    return HR_OK;
  }
  return plan_parts(r, layers(false, r->outputs[0], r->node->n_outputs, axis), 0);
}

hr_code prepare_split(void*, hr_request* r) {
  HR_APPLY_RULE(split, r);
  const int64_t axis = axis_of(int_at(r->inputs[0], 0), r->inputs[1]->rank);
  return plan_parts(r, parts_along(false, r->outputs, r->node->n_outputs, axis), 1);
}

hr_code prepare_split_v(void*, hr_request* r) {
  HR_APPLY_RULE(split_v, r);
  const int64_t axis = axis_of(int_at(r->inputs[2], 0), r->inputs[0]->rank);
  return plan_parts(r, parts_along(false, r->outputs, r->node->n_outputs, axis), 0);
}

}  // namespace

HR_KERNELS = {
    kernel("ConcatV2", "T=" HR_COPIED, prepare_concat).constant(1),
    kernel("Concat", "T=" HR_COPIED, prepare_concat).constant(0),
    kernel("Pack", "T=" HR_COPIED, prepare_pack),
    kernel("Unpack", "T=" HR_COPIED, prepare_unpack),
    kernel("Split", "T=" HR_COPIED, prepare_split).constant(0),
    kernel("SplitV", "T=" HR_COPIED, prepare_split_v).constant(1, 2),
};

}  // namespace hr::cl
