// The storage of lists of tensors.
#include "ops/tensor_lists/tensor_list.hpp"

#include <cstdio>
#include <cstring>

#include "loops/elements.hpp"
#include "table/dtype_names.hpp"

namespace hr {
// ---- shapes ------------------------------------------------------------------------------------

bool PartialShape::allows(const hr_tensor* t) const {
  if (rank < 0) return true;
  if (rank != t->rank) return false;
  for (int32_t i = 0; i < rank; ++i)
    if (dims[i] >= 0 && dims[i] != t->dims[i]) return false;
  return true;
}

bool PartialShape::merge(const PartialShape& other) {
  if (other.rank < 0) return true;
  if (rank < 0) {
    *this = other;
    return true;
  }
  if (rank != other.rank) return false;
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] >= 0 && other.dims[i] >= 0 && dims[i] != other.dims[i]) return false;
    if (dims[i] < 0) dims[i] = other.dims[i];
  }
  return true;
}

PartialShapeText::PartialShapeText(const PartialShape& shape) {
  if (shape.rank < 0) {
    std::snprintf(text, sizeof text, "<unknown>");
    return;
  }
  char* to = text;
  *to++ = '[';
  for (int32_t i = 0; i < shape.rank; ++i) {
    if (i) *to++ = ',';
    to += shape.dims[i] < 0 ? std::snprintf(to, 24, "?")
                            : std::snprintf(to, 24, "%lld", (long long)shape.dims[i]);
  }
  *to++ = ']';
  *to = 0;
}

PartialShape shape_of(const hr_tensor* t) {
  PartialShape shape;
  shape.rank = t->rank;
  std::copy(t->dims, t->dims + t->rank, shape.dims);
  return shape;
}

hr_code read_partial_shape(hr_ctx* ctx, const hr_tensor* value, PartialShape* shape) {
  shape->rank = -1;
  if (value->rank == 0) {
    if (int_at(value, 0) == -1) return HR_OK;
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "The only valid scalar shape tensor is the fully unknown shape specified "
                       "as -1.");
  }
  const int64_t rank = hr_elements(value);
  if (value->rank != 1 || rank > HR_MAX_RANK)
    return hr_ctx_fail(ctx, HR_UNIMPLEMENTED,
                       "element_shape must be a vector of at most %d dimensions, its shape is %s",
                       HR_MAX_RANK, (const char*)ShapeText(value));
  for (int64_t i = 0; i < rank; ++i) {
    shape->dims[i] = int_at(value, i);
    if (shape->dims[i] < -1)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Dimension %lld must be >= -1", (long long)i);
  }
  shape->rank = int32_t(rank);
  return HR_OK;
}

bool known_complete_shape(const hr_tensor* value, PartialShape* shape) {
  if (!value->data || value->rank != 1 || hr_elements(value) > HR_MAX_RANK) return false;
  shape->rank = int32_t(hr_elements(value));
  for (int32_t i = 0; i < shape->rank; ++i) shape->dims[i] = int_at(value, i);
  return shape->complete();
}

// ---- storage -----------------------------------------------------------------------------------

// Items are either packed (all of one shape, plain and small) or tensors with a buffer each.
class ListStorage {
 public:
  ListStorage(hr_ctx* ctx, hr_dtype dtype, const PartialShape& shape)
      : dtype_(dtype), element_shape_(shape), release_(ctx->api->release),
        retain_(ctx->api->retain) {}
  ~ListStorage() { truncate(0); }

  hr_dtype dtype() const { return dtype_; }
  const PartialShape& element_shape() const { return element_shape_; }
  int64_t size() const { return packed_ ? count_ : int64_t(items_.size()); }

  void add(TensorList* list) {
    list->before_ = nullptr;
    list->after_ = first_;
    if (first_) first_->before_ = list;
    first_ = list;
  }

  // Returns whether it was the last list.
  bool remove(TensorList* list) {
    (list->before_ ? list->before_->after_ : first_) = list->after_;
    if (list->after_) list->after_->before_ = list->before_;
    // What no list can reach any more is freed where that takes no search.
    if (first_ && !first_->after_) truncate(first_->length_);
    return !first_;
  }

  hr_code append(hr_ctx* ctx, const hr_tensor* item) {
    if (packs(item)) {
      if (!packed_ && items_.empty()) {
        packed_ = true;
        shape_ = *item;
      }
      if (packed_ && same_shape(item, &shape_)) {
        const auto* bytes = static_cast<const char*>(item->data);
        bytes_.insert(bytes_.end(), bytes, bytes + item->bytes);
        ++count_;
        return HR_OK;
      }
    }
    if (hr_code code = unpack(ctx)) return code;
    hr_tensor kept;
    if (hr_code code = keep(ctx, item, &kept)) return code;
    items_.push_back(kept);
    return HR_OK;
  }

  hr_code append_unset(hr_ctx* ctx, int64_t n) {
    if (n <= 0) return HR_OK;
    if (hr_code code = unpack(ctx)) return code;
    items_.resize(items_.size() + size_t(n), hr_tensor{});
    return HR_OK;
  }

  // Appends the first n items of another storage.
  hr_code append_from(hr_ctx* ctx, ListStorage* other, int64_t n) {
    if (other->packed_ && size() == 0) {
      packed_ = n > 0;
      shape_ = other->shape_;
      count_ = n;
      bytes_.assign(other->bytes_.begin(), other->bytes_.begin() + ptrdiff_t(n * shape_.bytes));
      return HR_OK;
    }
    if (hr_code code = unpack(ctx)) return code;
    if (hr_code code = other->unpack(ctx)) return code;
    for (int64_t i = 0; i < n; ++i) {
      items_.push_back(other->items_[size_t(i)]);
      if (items_.back().owner) retain_(items_.back().owner);
    }
    return HR_OK;
  }

  hr_code set(hr_ctx* ctx, int64_t i, const hr_tensor* item) {
    if (hr_code code = unpack(ctx)) return code;
    hr_tensor kept;
    if (hr_code code = keep(ctx, item, &kept)) return code;
    if (items_[size_t(i)].owner) release_(items_[size_t(i)].owner);
    items_[size_t(i)] = kept;
    return HR_OK;
  }

  // The item, valid as long as the lock is held; unset: data is null.
  hr_tensor item(int64_t i) const {
    if (!packed_) return items_[size_t(i)];
    hr_tensor t = shape_;
    t.data = const_cast<char*>(bytes_.data()) + i * shape_.bytes;
    t.owner = nullptr;
    return t;
  }

  void retain(const hr_tensor& t) const {
    if (t.owner) retain_(t.owner);
  }
  void release(const hr_tensor& t) const {
    if (t.owner) release_(t.owner);
  }

  std::mutex lock;

 private:
  static bool packs(const hr_tensor* item) {
    return is_plain(item->dtype) && item->bytes <= kMostPacked && item->bytes > 0;
  }

  void truncate(int64_t n) {
    if (packed_) {
      count_ = n;
      bytes_.resize(size_t(n * shape_.bytes));
      return;
    }
    for (int64_t i = n; i < size(); ++i) release(items_[size_t(i)]);
    items_.resize(size_t(n));
  }

  hr_code keep(hr_ctx* ctx, const hr_tensor* item, hr_tensor* kept) {
    *kept = *item;
    if (item->owner) {
      retain_(item->owner);
      return HR_OK;
    }
    if (hr_code code = ctx->api->allocate(ctx, kept)) return code;
    copy_elements(ctx, item->dtype, hr_dtype_size(item->dtype), kept->data, item->data,
                  hr_elements(item));
    return HR_OK;
  }

  hr_code unpack(hr_ctx* ctx) {
    if (!packed_) return HR_OK;
    std::vector<hr_tensor> items;
    items.reserve(size_t(count_));
    for (int64_t i = 0; i < count_; ++i) {
      const hr_tensor packed = item(i);
      hr_tensor kept;
      if (hr_code code = keep(ctx, &packed, &kept)) {
        for (const hr_tensor& t : items) release(t);
        return code;
      }
      items.push_back(kept);
    }
    items_ = std::move(items);
    packed_ = false;
    bytes_.clear();
    count_ = 0;
    return HR_OK;
  }

  const hr_dtype dtype_;
  const PartialShape element_shape_;
  void (*release_)(hr_buffer*);
  void (*retain_)(hr_buffer*);
  TensorList* first_ = nullptr;
  std::vector<hr_tensor> items_;
  bool packed_ = false;
  int64_t count_ = 0;
  hr_tensor shape_{};
  std::vector<char> bytes_;
};

// ---- lists -------------------------------------------------------------------------------------

namespace {

void* copy_list(const void* value) { return static_cast<const TensorList*>(value)->shared(); }
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
  if (!value->type || std::strcmp(value->type->name, kListType.name) != 0) {
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

TensorList::TensorList(ListStorage* storage, int64_t length) : storage_(storage), length_(length) {}

TensorList* TensorList::empty(hr_ctx* ctx, hr_dtype dtype, const PartialShape& shape) {
  auto* storage = new ListStorage(ctx, dtype, shape);
  auto* list = new TensorList(storage, 0);
  storage->add(list);
  return list;
}

TensorList* TensorList::shared() const {
  auto* list = new TensorList(storage_, length_);
  std::lock_guard<std::mutex> held(storage_->lock);
  storage_->add(list);
  return list;
}

TensorList::~TensorList() {
  bool last;
  {
    std::lock_guard<std::mutex> held(storage_->lock);
    last = storage_->remove(this);
  }
  if (last) delete storage_;
}

hr_dtype TensorList::dtype() const { return storage_->dtype(); }
const PartialShape& TensorList::element_shape() const { return storage_->element_shape(); }

TensorList* TensorList::without_last() const {
  auto* list = new TensorList(storage_, length_ - 1);
  std::lock_guard<std::mutex> held(storage_->lock);
  storage_->add(list);
  return list;
}

TensorList* TensorList::with(hr_ctx* ctx, const hr_tensor* item) const {
  if (!element_shape().allows(item)) {
    hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                "Tried to append a tensor with incompatible shape to a list. Op element shape: %s "
                "list shape: %s",
                (const char*)PartialShapeText(shape_of(item)),
                (const char*)PartialShapeText(element_shape()));
    return nullptr;
  }
  {
    std::lock_guard<std::mutex> held(storage_->lock);
    if (storage_->size() == length_) {
      if (storage_->append(ctx, item)) return nullptr;
      auto* list = new TensorList(storage_, length_ + 1);
      storage_->add(list);
      return list;
    }
  }
  TensorList* list = resized(ctx, length_);
  if (list && list->storage_->append(ctx, item)) {
    delete list;
    return nullptr;
  }
  if (list) ++list->length_;
  return list;
}

TensorList* TensorList::resized(hr_ctx* ctx, int64_t n) const {
  TensorList* list = empty(ctx, dtype(), element_shape());
  hr_code code;
  {
    std::lock_guard<std::mutex> held(storage_->lock);
    code = list->storage_->append_from(ctx, storage_, std::min(n, length_));
  }
  if (!code) code = list->storage_->append_unset(ctx, n - length_);
  if (code) {
    delete list;
    return nullptr;
  }
  list->length_ = n;
  return list;
}

hr_code TensorList::set(hr_ctx* ctx, int64_t index, const hr_tensor* item) {
  if (!element_shape().allows(item))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Tried to set a tensor with incompatible shape at a list index. Item "
                       "element shape: %s list shape: %s",
                       (const char*)PartialShapeText(shape_of(item)),
                       (const char*)PartialShapeText(element_shape()));
  std::lock_guard<std::mutex> held(storage_->lock);
  return storage_->set(ctx, index, item);
}

hr_code TensorList::append(hr_ctx* ctx, const hr_tensor* item) {
  if (!element_shape().allows(item))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Tried to set a tensor with incompatible shape at a list index. Item "
                       "element shape: %s list shape: %s",
                       (const char*)PartialShapeText(shape_of(item)),
                       (const char*)PartialShapeText(element_shape()));
  std::lock_guard<std::mutex> held(storage_->lock);
  if (hr_code code = storage_->append(ctx, item)) return code;
  ++length_;
  return HR_OK;
}

hr_code TensorList::append_unset(hr_ctx* ctx, int64_t n) {
  std::lock_guard<std::mutex> held(storage_->lock);
  if (hr_code code = storage_->append_unset(ctx, n)) return code;
  length_ += n;
  return HR_OK;
}

hr_code TensorList::extend(hr_ctx* ctx, const TensorList& other) {
  alignas(16) char room[kMostPacked];
  for (int64_t i = 0; i < other.length(); ++i) {
    const hr_tensor item = other.retained_item(i, room);
    const hr_code code = item.data || item.owner ? append(ctx, &item) : append_unset(ctx, 1);
    other.release_item(item);
    if (code) return code;
  }
  return HR_OK;
}

hr_tensor TensorList::retained_item(int64_t i, char* room) const {
  std::lock_guard<std::mutex> held(storage_->lock);
  hr_tensor t = storage_->item(i);
  if (t.data && !t.owner) {
    std::memcpy(room, t.data, size_t(t.bytes));
    t.data = room;
  }
  storage_->retain(t);
  return t;
}

void TensorList::release_item(const hr_tensor& item) const { storage_->release(item); }

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

void TensorList::copy_item(hr_ctx* ctx, int64_t i, void* to, int64_t bytes) const {
  hr_tensor t;
  {
    std::lock_guard<std::mutex> held(storage_->lock);
    t = storage_->item(i);
    if (t.data && !t.owner) {  // packed: it may move once the lock is given back
      std::memcpy(to, t.data, size_t(bytes));
      return;
    }
    storage_->retain(t);
  }
  if (t.data) copy_elements(ctx, dtype(), hr_dtype_size(dtype()), to, t.data, hr_elements(&t));
  else if (is_plain(dtype())) std::memset(to, 0, size_t(bytes));
  storage_->release(t);
}

hr_code TensorList::forward_item(hr_ctx* ctx, int64_t i, hr_tensor* output) const {
  hr_tensor t;
  {
    std::lock_guard<std::mutex> held(storage_->lock);
    t = storage_->item(i);
    if (!t.owner) return ctx->api->forward(ctx, &t, output);
    storage_->retain(t);
  }
  const hr_code code = ctx->api->forward(ctx, &t, output);
  storage_->release(t);
  return code;
}

void put_list(const hr_tensor* variant, TensorList* list) {
  auto* value = static_cast<hr_variant*>(variant->data);
  const hr_variant before = *value;
  *value = {&kListType, list};
  if (before.type) before.type->destroy(before.value);
}

// ---- what kernels share ------------------------------------------------------------------------

hr_code create_list_kernel(hr_node* node, void** dtype) {
  *dtype = new hr_dtype(hr_attr_type(node, "element_dtype"));
  return HR_OK;
}

void destroy_list_kernel(void* dtype) { delete static_cast<hr_dtype*>(dtype); }

hr_code finish_list(const hr_tensor* output, TensorList* list) {
  if (!list) return HR_INVALID_ARGUMENT;
  put_list(output, list);
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
