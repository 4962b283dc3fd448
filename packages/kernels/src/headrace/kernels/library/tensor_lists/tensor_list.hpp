// A list of tensors: the value of a variant element of the type "tensorflow::TensorList".
//
// A list is a prefix of a storage that several lists share: a push appends to the storage, so it
// copies no earlier item, and the shorter list stays valid. A list that branches off (a push on a
// prefix, a changed item) gets a storage of its own.
#ifndef HEADRACE_LIBRARY_TENSOR_LISTS_TENSOR_LIST_HPP
#define HEADRACE_LIBRARY_TENSOR_LISTS_TENSOR_LIST_HPP

#include <cstdint>
#include <memory>

#include "headrace/kernel.h"
#include "library/held_tensor.hpp"
#include "library/partial_shape.hpp"

namespace hr {

// Items up to this size lie packed in one block, as long as all have one shape.
constexpr int64_t kMostPacked = 256;

class ListStorage;
class TensorList;
using OwnedList = std::unique_ptr<TensorList>;

class TensorList {
 public:
  // Null and an error recorded where the variant holds no list, or one of another dtype
  // (HR_INVALID: any).
  static const TensorList* of(hr_ctx* ctx, const hr_tensor* variant, hr_dtype dtype);

  // `most`: items that pushes may lead to, of this list and of those made from it; negative: any
  // number.
  static OwnedList empty(hr_dtype dtype, const PartialShape& shape, int64_t most = -1);
  ~TensorList();

  int64_t length() const { return length_; }
  hr_dtype dtype() const;
  const PartialShape& element_shape() const;
  int64_t most() const;
  int32_t nesting() const;  // see nesting_of

  // The list of the first `length` items.
  OwnedList prefix(int64_t length) const;
  // The list with one item more. Null: an error is recorded in ctx.
  OwnedList with(hr_ctx* ctx, const hr_tensor* item) const;
  // A list of n items with a storage of its own, whose new items are unset; null as above.
  OwnedList resized(hr_ctx* ctx, int64_t n) const;

  // These change a list that shares its storage with no other.
  hr_code set(hr_ctx* ctx, int64_t index, const hr_tensor* item);
  hr_code append(hr_ctx* ctx, const hr_tensor* item);
  hr_code append_unset(hr_ctx* ctx, int64_t n);
  hr_code extend(hr_ctx* ctx, const TensorList& other);

  // Whether item i was set; its shape, or the element shape where it was not.
  bool is_set(int64_t i) const;
  PartialShape item_shape(int64_t i) const;
  // The item, or a copy in `room` (kMostPacked bytes) where it has no buffer; without data and
  // owner where it is unset.
  HeldTensor held_item(hr_ctx* ctx, int64_t i, char* room) const;
  // Makes output the item, without a copy where it has a buffer of its own. Requires a set item.
  hr_code forward_item(hr_ctx* ctx, int64_t i, hr_tensor* output) const;

 private:
  friend class ListStorage;
  explicit TensorList(int64_t length) : length_(length) {}
  void join(ListStorage* storage);
  static OwnedList made(std::unique_ptr<ListStorage> storage, int64_t length);
  hr_code check_shape(hr_ctx* ctx, const hr_tensor* item) const;

  ListStorage* storage_ = nullptr;
  int64_t length_;
  TensorList *before_ = nullptr, *after_ = nullptr;  // the lists of the same storage
};

// The kernels' state: the attribute element_dtype, read once.
hr_code create_list_kernel(hr_node* node, void** dtype);
void destroy_list_kernel(void* dtype);
inline hr_dtype list_dtype(void* state) { return *static_cast<hr_dtype*>(state); }

// Puts `list` into a variant scalar; a null list means that an error is recorded.
hr_code finish_list(const hr_tensor* output, OwnedList list);
hr_code prepare_list(void*, hr_request* r);  // a kernel whose output 0 is one list

// Merges the requested element shape with that of item i, which must give a complete shape.
hr_code shape_of_item(hr_ctx* ctx, const TensorList* list, int64_t i, const hr_tensor* requested,
                      PartialShape* shape);

// Makes output, whose shape is set, the items one after the other, in the order of `indices` (null:
// that of the list); zeros where an item is unset. An item has rows[i] rows of the output; null:
// one. Each library defines it.
hr_code join_items(hr_ctx* ctx, const TensorList& list, const hr_tensor* indices,
                   const int64_t* rows, hr_tensor* output);

// For ZerosLike and AddN of variants, element by element.
hr_code zeros_like_lists(hr_ctx* ctx, const hr_tensor* from, const hr_tensor* to);
hr_code add_lists(hr_ctx* ctx, int32_t n, const hr_tensor* const* in, const hr_tensor* to);

// Puts a list into a variant scalar, and destroys what was there.
void put_list(const hr_tensor* variant, OwnedList list);

}  // namespace hr

#endif
