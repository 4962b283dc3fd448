// ZerosLike and AddN of lists, item by item: the gradients of what is kept in lists.
#include <vector>

#include "library/poll.hpp"
#include "library/shapes.hpp"
#include "library/tensor_lists/tensor_list.hpp"

namespace hr {
namespace {

hr_tensor scalar_at(const hr_tensor* t, int64_t i) {
  hr_tensor one = *t;
  one.rank = 0;
  one.bytes = int64_t(sizeof(hr_variant));
  one.data = static_cast<hr_variant*>(t->data) + i;
  return one;
}

hr_code zeros_like_list(hr_ctx* ctx, const hr_tensor* from, const hr_tensor* to) {
  const TensorList* list = TensorList::of(ctx, from, HR_INVALID);
  if (!list) return HR_INVALID_ARGUMENT;
  OwnedList made = TensorList::empty(list->dtype(), list->element_shape());
  alignas(16) char room[kMostPacked];
  for (int64_t i = 0; i < list->length(); ++i) {
    poll_at(ctx, i);
    const PartialShape shape = list->item_shape(i);
    if (!list->is_set(i)) {
      if (hr_code code = made->append_unset(ctx, 1)) return code;
      continue;
    }
    hr_code code;
    HeldTensor item = zeros(ctx, list->dtype(), shape, &code);
    if (!code && list->dtype() == HR_VARIANT) {
      const HeldTensor like = list->held_item(ctx, i, room);
      code = zeros_like_lists(ctx, &like.get(), item.writable());
    }
    if (!code) code = made->append(ctx, &item.get());
    if (code) return code;
  }
  return finish_list(to, std::move(made));
}

hr_code add_list_scalars(hr_ctx* ctx, int32_t n, const hr_tensor* in, const hr_tensor* to) {
  std::vector<const TensorList*> lists;
  for (int32_t i = 0; i < n; ++i) {
    lists.push_back(TensorList::of(ctx, &in[i], i ? lists[0]->dtype() : HR_INVALID));
    if (!lists.back()) return HR_INVALID_ARGUMENT;
    if (lists[size_t(i)]->length() != lists[0]->length())
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "Trying to add two lists of tensors with different lengths. One is %lld "
                         "and other is %lld",
                         (long long)lists[0]->length(), (long long)lists[size_t(i)]->length());
  }
  OwnedList total = TensorList::empty(lists[0]->dtype(), lists[0]->element_shape());
  alignas(16) char room[kMostPacked];
  for (int64_t at = 0; at < lists[0]->length(); ++at) {
    poll_at(ctx, at);
    PartialShape shape = lists[0]->item_shape(at);
    bool set = false;
    for (const TensorList* list : lists) {
      set |= list->is_set(at);
      if (!shape.merge(list->item_shape(at)))
        return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                           "Trying to add two tensors with incompatible element shapes. One is %s "
                           "and other is %s",
                           (const char*)PartialShapeText(shape),
                           (const char*)PartialShapeText(list->item_shape(at)));
    }
    if (!set) {
      if (hr_code code = total->append_unset(ctx, 1)) return code;
      continue;
    }
    hr_code code;
    HeldTensor sum = zeros(ctx, total->dtype(), shape, &code);
    bool first = true;
    for (const TensorList* list : lists) {
      if (code) return code;
      if (!list->is_set(at)) continue;
      const HeldTensor item = list->held_item(ctx, at, room);
      if (first && total->dtype() == HR_VARIANT) {
        hr_tensor lists_of_item = item.get();
        lists_of_item.owner = nullptr;  // to get a copy
        sum = hold(ctx, &lists_of_item, &code);
      } else {
        code = add_to_tensor(ctx, item.get(), sum.writable());
      }
      first = false;
    }
    if (!code) code = total->append(ctx, &sum.get());
    if (code) return code;
  }
  return finish_list(to, std::move(total));
}

}  // namespace

hr_code zeros_like_lists(hr_ctx* ctx, const hr_tensor* from, const hr_tensor* to) {
  for (int64_t i = 0; i < hr_elements(from); ++i) {
    const hr_tensor one = scalar_at(from, i), zero = scalar_at(to, i);
    if (!static_cast<const hr_variant*>(one.data)->type) continue;
    if (hr_code code = zeros_like_list(ctx, &one, &zero)) return code;
  }
  return HR_OK;
}

hr_code add_lists(hr_ctx* ctx, int32_t n, const hr_tensor* const* in, const hr_tensor* to) {
  std::vector<hr_tensor> scalars(static_cast<size_t>(n));
  for (int64_t i = 0; i < hr_elements(to); ++i) {
    for (int32_t k = 0; k < n; ++k) scalars[size_t(k)] = scalar_at(in[k], i);
    const hr_tensor sum = scalar_at(to, i);
    if (hr_code code = add_list_scalars(ctx, n, scalars.data(), &sum)) return code;
  }
  return HR_OK;
}

}  // namespace hr
