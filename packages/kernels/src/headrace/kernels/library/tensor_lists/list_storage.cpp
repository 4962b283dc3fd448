#include "library/tensor_lists/list_storage.hpp"

#include <cstring>
#include <utility>

#include "library/memory_needs.hpp"
#include "library/poll.hpp"
#include "library/shapes.hpp"
#include "library/tensor_lists/tensor_list.hpp"

namespace hr {

// ---- the lists that share it --------------------------------------------------------------------

void ListStorage::add(TensorList* list) {
  list->before_ = nullptr;
  list->after_ = first_;
  if (first_) first_->before_ = list;
  first_ = list;
}

void ListStorage::remove(TensorList* list) {
  (list->before_ ? list->before_->after_ : first_) = list->after_;
  if (list->after_) list->after_->before_ = list->before_;
}

bool ListStorage::take_unreachable(const TensorList* leaving, HeldTensor* item) {
  const TensorList* other = first_ == leaving ? leaving->after_ : first_;
  if (!other || (other->after_ && other->after_ != leaving)) return false;
  if (other->after_ == leaving && leaving->after_) return false;
  const int64_t reached = other->length_;
  if (reached >= size()) return false;
  if (packed_) {
    count_ = reached;
    bytes_.resize(size_t(reached * shape_.bytes));
    return false;
  }
  *item = std::move(items_.back());
  items_.pop_back();
  return true;
}

// ---- the items ----------------------------------------------------------------------------------

bool ListStorage::packs(const hr_tensor& item) {
  return item.bytes <= kMostPacked && item.bytes > 0 && may_be_packed(item);
}

hr_code ListStorage::append(hr_ctx* ctx, const hr_tensor& item, HeldTensor* kept) {
  if (packs(item)) {
    if (!packed_ && items_.empty()) {
      packed_ = true;
      shape_ = item;
    }
    if (packed_ && same_shape(&item, &shape_)) {
      const auto* bytes = static_cast<const char*>(item.data);
      bytes_.insert(bytes_.end(), bytes, bytes + item.bytes);
      ++count_;
      return HR_OK;
    }
    hr_code code;
    *kept = hold(ctx, &item, &code);
    if (code) return code;
  }
  if (hr_code code = unpack(ctx)) return code;
  deepen(nesting_of(kept->get()));
  items_.push_back(std::move(*kept));
  return HR_OK;
}

hr_code ListStorage::append_unset(hr_ctx* ctx, int64_t n) {
  if (n <= 0) return HR_OK;
  need_memory(n, int64_t(sizeof(HeldTensor)));
  need_memory(size() + n, int64_t(sizeof(HeldTensor)));
  if (hr_code code = unpack(ctx)) return code;
  items_.resize(items_.size() + size_t(n));
  return HR_OK;
}

void ListStorage::append_from(hr_ctx* ctx, const ListStorage& other, int64_t n) {
  if (other.packed_) {
    packed_ = n > 0;
    shape_ = other.shape_;
    count_ = n;
    bytes_.assign(other.bytes_.begin(), other.bytes_.begin() + ptrdiff_t(n * shape_.bytes));
    return;
  }
  items_.reserve(size_t(n));
  for (int64_t i = 0; i < n; ++i) {
    const hr_tensor& item = other.items_[size_t(i)].get();
    if (item.owner) ctx->api->retain(item.owner);
    items_.emplace_back(item, ctx->api->release);
  }
}

hr_code ListStorage::set(hr_ctx* ctx, int64_t i, const hr_tensor& item, HeldTensor* kept) {
  if (packs(item)) {
    if (packed_ && same_shape(&item, &shape_)) {
      std::memcpy(bytes_.data() + i * shape_.bytes, item.data, size_t(item.bytes));
      return HR_OK;
    }
    hr_code code;
    *kept = hold(ctx, &item, &code);
    if (code) return code;
  }
  if (hr_code code = unpack(ctx)) return code;
  deepen(nesting_of(kept->get()));
  std::swap(items_[size_t(i)], *kept);
  return HR_OK;
}

hr_tensor ListStorage::item(int64_t i) const {
  if (!packed_) return items_[size_t(i)].get();
  hr_tensor t = shape_;
  t.data = const_cast<char*>(bytes_.data()) + i * shape_.bytes;
  t.owner = nullptr;
  return t;
}

hr_code ListStorage::unpack(hr_ctx* ctx) {
  if (!packed_) return HR_OK;
  std::vector<HeldTensor> items;
  items.reserve(size_t(count_));
  for (int64_t i = 0; i < count_; ++i) {
    poll_at(ctx, i);
    const hr_tensor packed = item(i);
    hr_code code;
    items.push_back(hold(ctx, &packed, &code));
    if (code) return code;
  }
  items_ = std::move(items);
  packed_ = false;
  bytes_.clear();
  count_ = 0;
  return HR_OK;
}

}  // namespace hr
