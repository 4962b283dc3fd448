// Items of TensorArrays, stacks and lists, in memory of the device; those of integers and
// conditions, which loops and branches read, in memory of the host.
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "codegen/copied_types.hpp"
#include "codegen/elementwise.hpp"
#include "codegen/op_program.hpp"
#include "codegen/part_moves.hpp"
#include "launch/launch.hpp"
#include "library/dtype_names.hpp"
#include "library/held_tensor.hpp"
#include "library/shapes.hpp"
#include "library/tensor_lists/tensor_list.hpp"
#include "ops/tensor_arrays/item_types.hpp"

namespace hr {
namespace {

using namespace hr::cl;

constexpr size_t kMostSums = 64;

hr_code allocate_item(hr_ctx* ctx, hr_tensor* item) {
  return is_host_item(item->dtype) ? ctx->api->allocate_host(ctx, item)
                                   : ctx->api->allocate(ctx, item);
}

// An item that is not in memory of the device, or is empty, needs no kernel.
template <class T> void add_on_host(const hr_tensor& item, hr_tensor* sum) {
  const T* from = hr::read<T>(&item);
  T* to = hr::write<T>(sum);
  for (int64_t i = 0, n = hr_elements(sum); i < n; ++i)
    to[i] = T(uint64_t(to[i]) + uint64_t(from[i]));
}

// The kernel that adds two tensors like `sum`. The last ones are kept: writing the text of one
// takes longer than enqueuing it.
std::shared_ptr<const ElementwiseKernel> sum_kernel(Device& device, const hr_tensor& sum,
                                                    std::string* error) {
  using Key = std::tuple<Device*, hr_dtype, int64_t>;
  static std::mutex lock;
  static auto* kept = new std::map<Key, std::shared_ptr<const ElementwiseKernel>>();
  const Key key{&device, sum.dtype, hr_elements(&sum)};
  {
    std::lock_guard<std::mutex> held(lock);
    const auto found = kept->find(key);
    if (found != kept->end()) return found->second;
  }
  const hr_dtype dtypes[] = {sum.dtype, sum.dtype};
  Walk walk(&sum);
  walk.add(&sum);
  walk.add(&sum);
  auto made = std::make_shared<ElementwiseKernel>();
  *error = made->prepare(device, element_of(program_of("Add", sum.dtype), dtypes, 2), walk);
  if (!error->empty()) return nullptr;
  std::lock_guard<std::mutex> held(lock);
  if (kept->size() >= kMostSums) kept->clear();
  return kept->emplace(key, std::move(made)).first->second;
}

}  // namespace

HeldTensor hold(hr_ctx* ctx, const hr_tensor* value, hr_code* code) {
  hr_tensor kept = *value;
  *code = HR_OK;
  if (value->owner) {
    ctx->api->retain(value->owner);
    return {kept, ctx->api->release};
  }
  *code = allocate_item(ctx, &kept);
  if (*code) return {};
  HeldTensor held(kept, ctx->api->release);
  if (kept.bytes == 0) return held;
  if (is_host_item(kept.dtype)) std::memcpy(kept.data, value->data, size_t(kept.bytes));
  else *code = copy(ctx, Out{kept.data}, In{value->data}, kept.bytes);
  return held;
}

HeldTensor zeros(hr_ctx* ctx, hr_dtype dtype, const PartialShape& shape, hr_code* code) {
  hr_tensor made{};
  made.dtype = dtype;
  set_shape(&made, shape.rank, shape.dims);
  *code = allocate_item(ctx, &made);
  if (*code) return {};
  HeldTensor held(made, ctx->api->release);
  if (made.bytes == 0) return held;
  if (is_host_item(dtype)) {
    std::memset(made.data, 0, size_t(made.bytes));
  } else {
    const char zero = 0;
    *code = fill(ctx, Out{made.data}, &zero, 1, made.bytes);
  }
  return held;
}

hr_code add_to_tensor(hr_ctx* ctx, const hr_tensor& item, hr_tensor* sum) {
  if (sum->dtype == HR_BOOL)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Trying to add unsupported dtype: %s",
                       dtype_name(sum->dtype));
  if (sum->bytes == 0) return HR_OK;
  if (sum->dtype == HR_INT32) add_on_host<int32_t>(item, sum);
  else if (sum->dtype == HR_INT64) add_on_host<int64_t>(item, sum);
  if (is_host_item(sum->dtype)) return HR_OK;
  std::string error;
  const auto kernel = sum_kernel(device_of(ctx), *sum, &error);
  if (!kernel) return hr_ctx_fail(ctx, HR_UNIMPLEMENTED, "%s", error.c_str());
  const void* inputs[] = {sum->data, item.data};
  return kernel->launch(ctx, inputs, sum->data);
}

bool may_be_packed(const hr_tensor& item) { return is_host_item(item.dtype); }

hr_code join_tensors(hr_ctx* ctx, const HeldTensor* tensors, int64_t n, hr_tensor* output) {
  if (hr_code code = allocate_item(ctx, output)) return code;
  if (output->bytes == 0) return HR_OK;
  if (is_host_item(output->dtype)) {
    char* to = static_cast<char*>(output->data);
    for (int64_t i = 0; i < n; ++i) {
      const hr_tensor& item = tensors[i].get();
      if (item.bytes) std::memcpy(to, item.data, size_t(item.bytes));
      to += item.bytes;
    }
    return HR_OK;
  }
  Parts parts{true, 1, hr_elements(output), {}};
  std::vector<void*> places;
  for (int64_t i = 0; i < n; ++i) {
    parts.counts.push_back(hr_elements(&tensors[i].get()));
    places.push_back(tensors[i].get().data);
  }
  PartMoves moves;
  const std::string error = moves.plan(device_of(ctx), parts, output->dtype, true);
  if (!error.empty()) return hr_ctx_fail(ctx, HR_INTERNAL, "%s", error.c_str());
  return moves.launch(ctx, places.data(), output->data);
}

hr_code join_items(hr_ctx* ctx, const TensorList& list, const hr_tensor* indices,
                   const int64_t* rows, hr_tensor* output) {
  alignas(16) char room[kMostPacked];
  const int64_t n = indices ? hr_elements(indices) : list.length();
  std::vector<HeldTensor> items;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = indices ? int_at(indices, i) : i;
    HeldTensor item = list.held_item(ctx, at, room);
    hr_code code = HR_OK;
    if (!item.is_set() && item.get().data) {
      item = hold(ctx, &item.get(), &code);
    } else if (!item.is_set()) {
      PartialShape shape;
      shape.rank = 1;
      shape.dims[0] = product(output->dims, 1, output->rank) * (rows ? rows[i] : 1);
      item = zeros(ctx, list.dtype(), shape, &code);
    }
    if (code) return code;
    items.push_back(std::move(item));
  }
  return join_tensors(ctx, items.data(), n, output);
}

hr_code start_flow(hr_ctx* ctx, hr_tensor* output) {
  const float zero = 0;
  return fill(ctx, Out{output->data}, &zero, sizeof zero, sizeof zero);
}

hr_code pass_flow(hr_ctx* ctx, const hr_tensor* flow, hr_tensor* output) {
  return ctx->api->forward(ctx, flow, output);
}

}  // namespace hr
