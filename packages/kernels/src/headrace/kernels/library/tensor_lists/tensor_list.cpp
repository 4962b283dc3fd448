#include "library/tensor_lists/tensor_list.hpp"

#include <algorithm>
#include <cstring>

#include "library/dtype_names.hpp"
#include "library/poll.hpp"
#include "library/shapes.hpp"
#include "library/tensor_lists/list_storage.hpp"

namespace hr {
namespace {

void* copy_list(const void* value) {
  const auto* list = static_cast<const TensorList*>(value);
  return list->prefix(list->length()).release();
}
void destroy_list(void* value) { delete static_cast<TensorList*>(value); }

const hr_variant_type kListType = {sizeof(hr_variant_type), "tensorflow::TensorList", copy_list,
                                   destroy_list};

}  // namespace

const TensorList* TensorList::of(hr_ctx* ctx, const hr_tensor* variant, hr_dtype dtype) {
  if (variant->rank != 0) {
    hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Input list must be a scalar. Saw: %s",
                (const char*)ShapeText(variant));
    return nullptr;
  }
  const hr_variant* value = static_cast<const hr_variant*>(variant->data);
  if (value->type != &kListType) {  // one of another library may have the name, not the layout
    hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Input handle is not a list. Saw: '%s'",
                value->type ? value->type->name : "<empty>");
    return nullptr;
  }
  const TensorList* list = static_cast<const TensorList*>(value->value);
  if (dtype != HR_INVALID && list->dtype() != dtype) {
    hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Invalid data types; op elements %s but list elements %s",
                dtype_name(dtype), dtype_name(list->dtype()));
    return nullptr;
  }
  return list;
}

int32_t nesting_of(const hr_tensor& item) {
  int32_t deepest = 0;
  if (item.dtype != HR_VARIANT || !item.data) return deepest;
  const auto* values = static_cast<const hr_variant*>(item.data);
  for (int64_t i = 0, n = hr_elements(&item); i < n && deepest < kUnknownNesting; ++i) {
    if (!values[i].type) continue;
    if (values[i].type != &kListType) return kUnknownNesting;
    const int32_t inner = static_cast<const TensorList*>(values[i].value)->nesting();
    deepest = std::max(deepest, inner == kUnknownNesting ? inner : inner + 1);
  }
  return deepest;
}

namespace {

// What a storage needs beforehand to take an item: nothing for one that packs, else the item with a
// buffer. That of a variant may belong to a larger tensor, with lists of the storage itself in it.
HeldTensor keep(hr_ctx* ctx, const hr_tensor& item, hr_code* code) {
  *code = HR_OK;
  if (ListStorage::packs(item)) return {};
  hr_tensor value = item;
  if (value.dtype == HR_VARIANT) value.owner = nullptr;  // to get a copy
  return hold(ctx, &value, code);
}

}  // namespace

// Requires the lock of a storage that other lists share.
void TensorList::join(ListStorage* storage) {
  storage_ = storage;
  storage->add(this);
}

OwnedList TensorList::made(std::unique_ptr<ListStorage> storage, int64_t length) {
  OwnedList list(new TensorList(length));
  list->join(storage.release());
  return list;
}

OwnedList TensorList::empty(hr_dtype dtype, const PartialShape& shape, int64_t most) {
  return made(std::make_unique<ListStorage>(dtype, shape, most, 0), 0);
}

OwnedList TensorList::prefix(int64_t length) const {
  OwnedList list(new TensorList(length));
  std::lock_guard<std::mutex> held(storage_->lock);
  list->join(storage_);
  return list;
}

TensorList::~TensorList() {
  if (!storage_) return;
  for (bool more = true; more;) {
    HeldTensor item;  // released without the lock: it may hold lists
    std::lock_guard<std::mutex> held(storage_->lock);
    more = storage_->take_unreachable(this, &item);
  }
  bool last;
  {
    std::lock_guard<std::mutex> held(storage_->lock);
    storage_->remove(this);
    last = storage_->is_unused();
  }
  if (last) delete storage_;
}

hr_dtype TensorList::dtype() const { return storage_->dtype; }
const PartialShape& TensorList::element_shape() const { return storage_->element_shape; }
int64_t TensorList::most() const { return storage_->most; }
int32_t TensorList::nesting() const { return storage_->nesting(); }

OwnedList TensorList::with(hr_ctx* ctx, const hr_tensor* item) const {
  if (!element_shape().allows(item)) {
    hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                "Tried to append a tensor with incompatible shape to a list. Op element shape: %s "
                "list shape: %s",
                (const char*)PartialShapeText(shape_of(item)),
                (const char*)PartialShapeText(element_shape()));
    return nullptr;
  }
  const int32_t nesting = nesting_of(*item);
  hr_code code;
  HeldTensor kept = keep(ctx, *item, &code);
  if (code) return nullptr;
  if (storage_->takes(nesting)) {
    OwnedList list(new TensorList(length_ + 1));
    std::lock_guard<std::mutex> held(storage_->lock);
    if (storage_->size() == length_) {
      if (storage_->append(ctx, *item, &kept)) return nullptr;
      list->join(storage_);
      return list;
    }
  }
  OwnedList list = resized(ctx, length_);
  if (!list || list->storage_->append(ctx, *item, &kept)) return nullptr;
  ++list->length_;
  return list;
}

OwnedList TensorList::resized(hr_ctx* ctx, int64_t n) const {
  auto storage = std::make_unique<ListStorage>(dtype(), element_shape(), storage_->most, nesting());
  {
    std::lock_guard<std::mutex> held(storage_->lock);
    storage->append_from(ctx, *storage_, std::min(n, length_));
  }
  if (storage->append_unset(ctx, n - length_)) return nullptr;
  return made(std::move(storage), n);
}

hr_code TensorList::set(hr_ctx* ctx, int64_t index, const hr_tensor* item) {
  if (hr_code code = check_shape(ctx, item)) return code;
  hr_code code;
  HeldTensor kept = keep(ctx, *item, &code);
  return code ? code : storage_->set(ctx, index, *item, &kept);
}

hr_code TensorList::append(hr_ctx* ctx, const hr_tensor* item) {
  if (hr_code code = check_shape(ctx, item)) return code;
  hr_code code;
  HeldTensor kept = keep(ctx, *item, &code);
  if (!code) code = storage_->append(ctx, *item, &kept);
  if (!code) ++length_;
  return code;
}

hr_code TensorList::check_shape(hr_ctx* ctx, const hr_tensor* item) const {
  if (element_shape().allows(item)) return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                     "Tried to set a tensor with incompatible shape at a list index. Item "
                     "element shape: %s list shape: %s",
                     (const char*)PartialShapeText(shape_of(item)),
                     (const char*)PartialShapeText(element_shape()));
}

hr_code TensorList::append_unset(hr_ctx* ctx, int64_t n) {
  if (hr_code code = storage_->append_unset(ctx, n)) return code;
  length_ += n;
  return HR_OK;
}

hr_code TensorList::extend(hr_ctx* ctx, const TensorList& other) {
  alignas(16) char room[kMostPacked];
  for (int64_t i = 0; i < other.length(); ++i) {
    poll_at(ctx, i);
    const HeldTensor item = other.held_item(ctx, i, room);
    const bool set = item.get().data || item.is_set();
    if (hr_code code = set ? append(ctx, &item.get()) : append_unset(ctx, 1)) return code;
  }
  return HR_OK;
}

HeldTensor TensorList::held_item(hr_ctx* ctx, int64_t i, char* room) const {
  std::lock_guard<std::mutex> held(storage_->lock);
  hr_tensor t = storage_->item(i);
  if (t.owner) {
    ctx->api->retain(t.owner);
  } else if (t.data) {
    std::memcpy(room, t.data, size_t(t.bytes));
    t.data = room;
  }
  return {t, ctx->api->release};
}

bool TensorList::is_set(int64_t i) const {
  std::lock_guard<std::mutex> held(storage_->lock);
  const hr_tensor t = storage_->item(i);
  return t.data || t.owner;
}

PartialShape TensorList::item_shape(int64_t i) const {
  std::lock_guard<std::mutex> held(storage_->lock);
  const hr_tensor t = storage_->item(i);
  return t.data || t.owner ? shape_of(&t) : element_shape();
}

hr_code TensorList::forward_item(hr_ctx* ctx, int64_t i, hr_tensor* output) const {
  alignas(16) char room[kMostPacked];
  const HeldTensor item = held_item(ctx, i, room);
  if (item.is_set()) return ctx->api->forward(ctx, &item.get(), output);
  hr_code code;
  const HeldTensor copied = hold(ctx, &item.get(), &code);
  return code ? code : ctx->api->forward(ctx, &copied.get(), output);
}

void put_list(const hr_tensor* variant, OwnedList list) {
  auto* value = static_cast<hr_variant*>(variant->data);
  const hr_variant before = *value;
  *value = {&kListType, list.release()};
  if (before.type) before.type->destroy(before.value);
}

// ---- what kernels share ------------------------------------------------------------------------

hr_code create_list_kernel(hr_node* node, void** dtype) {
  *dtype = new hr_dtype(hr_attr_type(node, "element_dtype"));
  return HR_OK;
}

void destroy_list_kernel(void* dtype) { delete static_cast<hr_dtype*>(dtype); }

hr_code finish_list(const hr_tensor* output, OwnedList list) {
  if (!list) return HR_INVALID_ARGUMENT;
  put_list(output, std::move(list));
  return HR_OK;
}

hr_code prepare_list(void*, hr_request* r) {
  set_shape(r->outputs[0], {});
  return HR_OK;
}

hr_code shape_of_item(hr_ctx* ctx, const TensorList* list, int64_t i, const hr_tensor* requested,
                      PartialShape* shape) {
  if (hr_code code = read_partial_shape(ctx, requested, shape)) return code;
  const PartialShape asked = *shape, found = list->item_shape(i);
  if (!shape->merge(found))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Incompatible shapes during merge: %s vs. %s: item %lld of the list does "
                       "not have the requested element_shape",
                       (const char*)PartialShapeText(asked), (const char*)PartialShapeText(found),
                       (long long)i);
  if (!shape->complete())
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Trying to read an uninitialized tensor but element_shape is not fully "
                       "defined: %s",
                       (const char*)PartialShapeText(*shape));
  return HR_OK;
}

}  // namespace hr
