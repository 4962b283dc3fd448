// DynamicPartition distributes rows to several outputs; DynamicStitch merges them again.
#include <algorithm>
#include <limits>
#include <vector>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "processor/parallel.hpp"
#include "table/indices.hpp"

namespace hr {
namespace {

hr_code compute_partition(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  const auto n_parts = int64_t(reinterpret_cast<intptr_t>(plan));
  const hr_tensor *data = in[0], *parts = in[1];
  const int64_t n = hr_elements(parts), size = hr_dtype_size(data->dtype);
  const int64_t inner = product(data->dims, parts->rank, data->rank), bytes = inner * size;
  std::vector<int64_t> counts(static_cast<size_t>(n_parts), 0);
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    const int32_t part = read<int32_t>(parts)[i];
    if (part < 0 || part >= n_parts)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s = %d is not in [0, %lld)",
                         element_name("partitions", parts, i).c_str(), int(part),
                         (long long)n_parts);
    ++counts[size_t(part)];
  }
  std::vector<char*> at;
  for (int64_t p = 0; p < n_parts; ++p) {
    out[p]->rank = 1 + data->rank - parts->rank;
    out[p]->dims[0] = counts[size_t(p)];
    std::copy(data->dims + parts->rank, data->dims + data->rank, out[p]->dims + 1);
    if (hr_code code = ctx->api->allocate(ctx, out[p])) return code;
    at.push_back(write<char>(out[p]));
  }
  if (bytes == 0) return HR_OK;
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    char*& to = at[size_t(read<int32_t>(parts)[i])];
    copy_elements(ctx, data->dtype, size, to, read<char>(data) + i * bytes, inner);
    to += bytes;
  }
  return HR_OK;
}

hr_code prepare_partition(void*, hr_request* r) {
  HR_APPLY_DATA_RULE(dynamic_partition, r);
  r->plan = reinterpret_cast<void*>(intptr_t(r->node->n_outputs));
  r->shape_depends_on_data = 1;
  r->compute = compute_partition;
  return HR_OK;
}

hr_code compute_stitch(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                       hr_tensor* const* out, void*) {
  const auto n = reinterpret_cast<intptr_t>(plan);
  int64_t rows = 0;
  for (intptr_t k = 0; k < n; ++k)
    for (int64_t i = 0, m = hr_elements(in[k]); i < m; ++i) {
      const int64_t at = int_at(in[k], i);
      if (at < 0 || at == std::numeric_limits<int64_t>::max())
        return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "indices[%d]: %lld is not a row", int(k),
                           (long long)at);
      rows = std::max(rows, at + 1);
    }
  const hr_tensor* first = in[n];
  out[0]->rank = 1 + first->rank - in[0]->rank;
  out[0]->dims[0] = rows;
  std::copy(first->dims + in[0]->rank, first->dims + first->rank, out[0]->dims + 1);
  if (hr_code code = ctx->api->allocate(ctx, out[0])) return code;
  const int64_t size = hr_dtype_size(first->dtype);
  const int64_t inner = product(out[0]->dims, 1, out[0]->rank), bytes = inner * size;
  if (is_plain(first->dtype)) zero_polled(ctx, out[0]);
  if (bytes == 0) return HR_OK;
  for (intptr_t k = 0; k < n; ++k)
    for (int64_t i = 0, m = hr_elements(in[k]); i < m; ++i) {
      poll_at(ctx, i);
      copy_elements(ctx, first->dtype, size, write<char>(out[0]) + int_at(in[k], i) * bytes,
                    read<char>(in[n + k]) + i * bytes, inner);
    }
  return HR_OK;
}

hr_code prepare_stitch(void*, hr_request* r) {
  HR_APPLY_DATA_RULE(dynamic_stitch, r);
  r->plan = reinterpret_cast<void*>(intptr_t(r->node->n_inputs / 2));
  r->shape_depends_on_data = 1;
  r->compute = compute_stitch;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("DynamicPartition", nullptr, prepare_partition).is(HR_KERNEL_DATA_SHAPE),
    kernel("DynamicStitch", nullptr, prepare_stitch).is(HR_KERNEL_DATA_SHAPE),
    kernel("ParallelDynamicStitch", nullptr, prepare_stitch).is(HR_KERNEL_DATA_SHAPE),
};

}  // namespace hr
