// SpaceToBatch, BatchToSpace, Roll, ReverseSequence and permutations of data formats.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "loops/strided_copy.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

// Several copies between the same two tensors.
struct CopiesPlan {
  std::vector<StridedCopy> copies;
  bool covers;  // the whole output is written
};

hr_code compute_copies(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const auto& plan = *static_cast<const CopiesPlan*>(plan_);
  if (!plan.covers && is_plain(out[0]->dtype)) zero_polled(ctx, out[0]);
  for (const StridedCopy& copy : plan.copies) copy.run(ctx, out[0]->data, in[0]->data);
  return HR_OK;
}

// space: [batch, s..., rest]; blocked: [blocks * batch, s / block..., rest]. before: padding or
// crop in front of each space dimension. One copy for each place in a block.
hr_code deal(hr_request* r, const hr_tensor* space, const hr_tensor* blocked, int32_t m,
             const int64_t* block, const int64_t* before, bool to_blocked) {
  int64_t space_strides[HR_MAX_RANK], blocked_strides[HR_MAX_RANK];
  row_major(space->rank, space->dims, space_strides);
  row_major(blocked->rank, blocked->dims, blocked_strides);
  auto* plan = keep_plan(r, new CopiesPlan{{}, true});
  const int64_t batch = space->dims[0], places = product(block, 0, m);
  int64_t moved = 0;
  for (int64_t place = 0; place < places; ++place) {
    int64_t dims[HR_MAX_RANK], ours[HR_MAX_RANK], theirs[HR_MAX_RANK];
    int64_t space_offset = 0, blocked_offset = place * batch * blocked_strides[0];
    dims[0] = batch;
    ours[0] = space_strides[0];
    theirs[0] = blocked_strides[0];
    int64_t rest = place;
    for (int32_t d = m; d >= 1; --d) {
      const int64_t b = block[d - 1], o = rest % b;
      rest /= b;
      // Position j of the blocked dimension is position j * b + first of space.
      const int64_t first = o - before[d - 1];
      const int64_t low = first < 0 ? (-first + b - 1) / b : 0;
      const int64_t high =
          std::min(blocked->dims[d],
                   space->dims[d] > first ? (space->dims[d] - first + b - 1) / b : int64_t(0));
      dims[d] = std::max<int64_t>(0, high - low);
      ours[d] = space_strides[d] * b;
      theirs[d] = blocked_strides[d];
      space_offset += (low * b + first) * space_strides[d];
      blocked_offset += low * blocked_strides[d];
    }
    for (int32_t d = m + 1; d < space->rank; ++d) {
      dims[d] = space->dims[d];
      ours[d] = space_strides[d];
      theirs[d] = blocked_strides[d];
    }
    const int64_t n = product(dims, 0, space->rank);
    if (n == 0) continue;
    moved += n;
    plan->copies.push_back(to_blocked ? StridedCopy(space->dtype, space->rank, dims, theirs, ours,
                                                    blocked_offset, space_offset)
                                      : StridedCopy(space->dtype, space->rank, dims, ours, theirs,
                                                    space_offset, blocked_offset));
  }
  plan->covers = moved == hr_elements(r->outputs[0]);
  r->compute = compute_copies;
  return HR_OK;
}

hr_code deal_nd(hr_request* r, bool to_blocked) {
  const hr_tensor *x = r->inputs[0], *y = r->outputs[0];
  const int32_t m = int32_t(hr_elements(r->inputs[1]));
  int64_t block[HR_MAX_RANK], before[HR_MAX_RANK];
  for (int32_t d = 0; d < m; ++d) {
    block[d] = int_at(r->inputs[1], d);
    before[d] = int_at(r->inputs[2], 2 * d);
  }
  return deal(r, to_blocked ? x : y, to_blocked ? y : x, m, block, before, to_blocked);
}

hr_code deal_2d(hr_request* r, bool to_blocked) {
  const hr_tensor *x = r->inputs[0], *y = r->outputs[0];
  const int64_t b = hr_attr_int(r->node, "block_size", 2), block[] = {b, b};
  const int64_t before[] = {int_at(r->inputs[1], 0), int_at(r->inputs[1], 2)};
  return deal(r, to_blocked ? x : y, to_blocked ? y : x, 2, block, before, to_blocked);
}

hr_code need_vector_of_blocks(hr_request* r) {
  if (r->inputs[1]->rank == 1) return HR_OK;
  return hr_request_fail(r, HR_INVALID_ARGUMENT, "block_shape must have rank 1: it is %s",
                         ShapeText(r->inputs[1]).text);
}

hr_code prepare_space_to_batch_nd(void*, hr_request* r) {
  if (hr_code code = need_vector_of_blocks(r)) return code;
  HR_APPLY_RULE(space_to_batch_nd, r);
  return deal_nd(r, true);
}
hr_code prepare_batch_to_space_nd(void*, hr_request* r) {
  if (hr_code code = need_vector_of_blocks(r)) return code;
  HR_APPLY_RULE(batch_to_space_nd, r);
  return deal_nd(r, false);
}
hr_code prepare_space_to_batch(void*, hr_request* r) {
  HR_APPLY_RULE(space_to_batch, r);
  return deal_2d(r, true);
}
hr_code prepare_batch_to_space(void*, hr_request* r) {
  HR_APPLY_RULE(batch_to_space, r);
  return deal_2d(r, false);
}

// ---- Roll: along each axis the tensor is cut in two pieces that change places
// --------------------

// The copies of one roll; null, or what is wrong with the axes.
const char* roll_copies(const hr_tensor* x, const hr_tensor* shifts, const hr_tensor* axes,
                        bool once, std::vector<StridedCopy>* copies) {
  int64_t shift[HR_MAX_RANK] = {};
  for (int64_t i = 0, n = hr_elements(axes); i < n; ++i) {
    const int64_t axis = axis_of(int_at(axes, i), x->rank);
    if (axis < 0) return "axis is out of range";
    if (x->dims[axis]) shift[axis] = (shift[axis] + int_at(shifts, i) % x->dims[axis]);
  }
  if (hr_elements(x) == 0) return nullptr;
  int64_t strides[HR_MAX_RANK];
  row_major(x->rank, x->dims, strides);
  for (int32_t d = 0; d < x->rank; ++d)
    shift[d] = (shift[d] % x->dims[d] + x->dims[d]) % x->dims[d];
  for (uint32_t piece = 0; piece < (1u << x->rank); ++piece) {
    int64_t dims[HR_MAX_RANK], to = 0, from = 0;
    for (int32_t d = 0; d < x->rank; ++d) {
      const bool wraps = piece >> d & 1;
      dims[d] = wraps ? shift[d] : x->dims[d] - shift[d];
      to += wraps ? 0 : shift[d] * strides[d];
      from += wraps ? (x->dims[d] - shift[d]) * strides[d] : 0;
    }
    if (product(dims, 0, x->rank))
      copies->emplace_back(x->dtype, x->rank, dims, strides, strides, to, from, once);
  }
  return nullptr;
}

hr_code compute_roll(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  std::vector<StridedCopy> copies;
  if (const char* problem = roll_copies(in[0], in[1], in[2], true, &copies))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s for rank %d", problem, int(in[0]->rank));
  for (const StridedCopy& copy : copies) copy.run(ctx, out[0]->data, in[0]->data);
  return HR_OK;
}

hr_code prepare_roll(void*, hr_request* r) {
  HR_APPLY_RULE(unchanged, r);
  const hr_tensor *x = r->inputs[0], *shifts = r->inputs[1], *axes = r->inputs[2];
  if (hr_elements(shifts) != hr_elements(axes))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "shift is %s, axis is %s",
                           (const char*)ShapeText(shifts), (const char*)ShapeText(axes));
  if (!shifts->data || !axes->data) {
    r->compute = compute_roll;
    return HR_OK;
  }
  auto* plan = keep_plan(r, new CopiesPlan{{}, true});
  r->compute = compute_copies;
  if (const char* problem = roll_copies(x, shifts, axes, false, &plan->copies))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "%s for rank %d", problem, int(x->rank));
  return HR_OK;
}

// ---- ReverseSequence
// --------------------------------------------------------------------------------

struct SequencePlan {
  int64_t chunk, sequence, sequence_step, batch, batch_step;
};

hr_code compute_reverse_sequence(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                                 hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const SequencePlan*>(plan_);
  for (int64_t b = 0; b < p.batch; ++b) {
    const int64_t length = int_at(in[1], b);
    if (length < 0 || length > p.sequence)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "seq_lengths[%lld] = %lld is not in [0, %lld]",
                         (long long)b, (long long)length, (long long)p.sequence);
  }
  const int64_t size = hr_dtype_size(in[0]->dtype), n = hr_elements(in[0]);
  for (int64_t i = 0; i < n; i += p.chunk) {
    poll_at(ctx, i / p.chunk);
    const int64_t s = i / p.sequence_step % p.sequence, b = i / p.batch_step % p.batch;
    const int64_t length = int_at(in[1], b), from = s < length ? length - 1 - s : s;
    copy_elements(ctx, in[0]->dtype, size, write<char>(out[0]) + i * size,
                  read<char>(in[0]) + (i + (from - s) * p.sequence_step) * size, p.chunk);
  }
  return HR_OK;
}

hr_code prepare_reverse_sequence(void*, hr_request* r) {
  HR_APPLY_RULE(unchanged, r);
  const hr_tensor *x = r->inputs[0], *lengths = r->inputs[1];
  const int64_t s = hr_attr_int(r->node, "seq_dim", 0), b = hr_attr_int(r->node, "batch_dim", 0);
  if (s < 0 || s >= x->rank || b < 0 || b >= x->rank || s == b || lengths->rank != 1 ||
      lengths->dims[0] != x->dims[b])
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "seq_dim %lld, batch_dim %lld and seq_lengths %s do not fit input %s",
                           (long long)s, (long long)b, (const char*)ShapeText(lengths),
                           (const char*)ShapeText(x));
  int64_t strides[HR_MAX_RANK];
  row_major(x->rank, x->dims, strides);
  keep_plan(r, new SequencePlan{std::max<int64_t>(1, strides[std::max(s, b)]), x->dims[s],
                                strides[s], x->dims[b], strides[b]});
  r->compute = compute_reverse_sequence;
  return HR_OK;
}

// ---- data formats
// ------------------------------------------------------------------------------------

// target[i]: where letter i of the source format stands in the target format.
struct FormatPlan {
  int64_t target[8];
  bool spatial[8];  // by letter of the source: neither N nor C
  int64_t rank;
};

hr_code compute_dim_map(hr_ctx*, void*, void* plan_, const hr_tensor* const* in,
                        hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const FormatPlan*>(plan_);
  for (int64_t i = 0, n = hr_elements(in[0]); i < n; ++i) {
    const int64_t d = (int_at(in[0], i) % p.rank + p.rank) % p.rank;  // as TensorFlow does
    if (out[0]->dtype == HR_INT32) write<int32_t>(out[0])[i] = int32_t(p.target[d]);
    else write<int64_t>(out[0])[i] = p.target[d];
  }
  return HR_OK;
}

hr_code compute_vec_permute(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                            hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const FormatPlan*>(plan_);
  const int64_t n = in[0]->dims[0], pair = in[0]->rank == 2 ? in[0]->dims[1] : 1;
  const int64_t size = hr_dtype_size(in[0]->dtype) * pair;
  const bool whole = n == p.rank;  // else the spatial axes alone
  if (!whole && n != p.rank - 2)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "x has %lld rows, the formats %lld letters",
                       (long long)n, (long long)p.rank);
  for (int64_t i = 0, from = 0; i < p.rank; ++i) {
    if (!whole && !p.spatial[i]) continue;
    int64_t to = 0;
    for (int64_t j = 0; j < p.rank; ++j)
      if (p.target[j] < p.target[i] && (whole || p.spatial[j])) ++to;
    std::memcpy(write<char>(out[0]) + to * size, read<char>(in[0]) + from++ * size, size_t(size));
  }
  return HR_OK;
}

hr_code prepare_format(void*, hr_request* r) {
  HR_APPLY_RULE(unchanged, r);
  std::string source(attr_text(r->node, "src_format")), target(attr_text(r->node, "dst_format"));
  const hr_tensor* x = r->inputs[0];
  if (r->node->op[10] == 'V' && x->rank == 2 && x->dims[1] != 2)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Second dimension of 2D input must be of size 2, but got shape %s",
                           ShapeText(x).text);
  if (r->node->op[10] == 'V' && x->rank && x->dims[0] == int64_t(source.size()) - 2)
    for (std::string* format : {&source, &target})  // the space dimensions alone
      format->erase(std::remove_if(format->begin(), format->end(),
                                   [](char c) { return c == 'N' || c == 'C'; }),
                    format->end());
  auto* plan = keep_plan(r, new FormatPlan{});
  plan->rank = int64_t(source.size());
  bool fits = source.size() == target.size() && source.size() <= 8;
  for (size_t i = 0; fits && i < source.size(); ++i) {
    const size_t at = target.find(source[i]);
    fits = at != std::string::npos;
    plan->target[i] = int64_t(at);
    plan->spatial[i] = source[i] != 'N' && source[i] != 'C';
  }
  if (!fits)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "src_format %s and dst_format %s differ",
                           source.c_str(), target.c_str());
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("SpaceToBatchND", nullptr, prepare_space_to_batch_nd).constant(1, 2),
    kernel("BatchToSpaceND", nullptr, prepare_batch_to_space_nd).constant(1, 2),
    kernel("SpaceToBatch", nullptr, prepare_space_to_batch).constant(1),
    kernel("BatchToSpace", nullptr, prepare_batch_to_space).constant(1),
    kernel("Roll", nullptr, prepare_roll).values(1, 2),
    kernel("ReverseSequence", nullptr, prepare_reverse_sequence),
    kernel("DataFormatDimMap", nullptr, prepare_format, compute_dim_map),
    kernel("DataFormatVecPermute", nullptr, prepare_format, compute_vec_permute),
};

}  // namespace hr
