// A list of tensors: the value of a variant element of the type "tensorflow::TensorList".
//
// A list is a prefix of a storage that several lists share: a push appends to the storage, so it
// copies no earlier item, and the shorter list stays valid. A list that branches off (a push on a
// prefix, a changed item) gets a storage of its own.
#ifndef HEADRACE_CPU_OPS_TENSOR_LISTS_TENSOR_LIST_HPP
#define HEADRACE_CPU_OPS_TENSOR_LISTS_TENSOR_LIST_HPP

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "headrace/kernel.h"
#include "table/shapes.hpp"

namespace hr {

// A shape of which the rank (-1) or single dimensions (-1) may be unknown.
struct PartialShape {
  int32_t rank = -1;
  int64_t dims[HR_MAX_RANK];

  bool complete() const {
    for (int32_t i = 0; i < rank; ++i)
      if (dims[i] < 0) return false;
    return rank >= 0;
  }
  bool allows(const hr_tensor* t) const;
  // Narrows this shape by another; false where they contradict.
  bool merge(const PartialShape& other);
};

// "[2,?]" or "<unknown>", for messages.
struct PartialShapeText {
  char text[24 * HR_MAX_RANK + 12];
  explicit PartialShapeText(const PartialShape& shape);
  operator const char*() const { return text; }
};

// Reads an `element_shape` input: a vector of sizes, or the scalar -1 for an unknown rank.
hr_code read_partial_shape(hr_ctx* ctx, const hr_tensor* value, PartialShape* shape);
// The same in prepare: false where the value is not known or not complete.
bool known_complete_shape(const hr_tensor* value, PartialShape* shape);
PartialShape shape_of(const hr_tensor* t);

// Items up to this size lie packed in one block, as long as all have one shape.
constexpr int64_t kMostPacked = 256;

class ListStorage;

class TensorList {
 public:
  // Null and an error recorded where the variant holds no list, or one of another dtype
  // (HR_INVALID: any).
  static const TensorList* of(hr_ctx* ctx, const hr_tensor* variant, hr_dtype dtype);

  static TensorList* empty(hr_ctx* ctx, hr_dtype dtype, const PartialShape& shape);
  TensorList* shared() const;  // the same list once more
  ~TensorList();

  int64_t length() const { return length_; }
  hr_dtype dtype() const;
  const PartialShape& element_shape() const;

  // The list without its last item. Requires a length.
  TensorList* without_last() const;
  // Null: an error is recorded in ctx.
  TensorList* with(hr_ctx* ctx, const hr_tensor* item) const;
  // A list of its own with n items, whose new items are unset; changed by set.
  TensorList* resized(hr_ctx* ctx, int64_t n) const;
  hr_code set(hr_ctx* ctx, int64_t index, const hr_tensor* item);
  // Appends to a list that no other list shares its storage with.
  hr_code append(hr_ctx* ctx, const hr_tensor* item);
  hr_code append_unset(hr_ctx* ctx, int64_t n);
  hr_code extend(hr_ctx* ctx, const TensorList& other);

  // Whether item i was set; its shape, or the element shape where it was not.
  bool is_set(int64_t i) const;
  PartialShape item_shape(int64_t i) const;
  // Copies an item to `to`; zeros where the item is unset. The sizes must agree.
  void copy_item(hr_ctx* ctx, int64_t i, void* to, int64_t bytes) const;
  // The item with a reference of the caller, or a copy in `room` (kMostPacked bytes) where it has
  // no buffer; data is null where it is unset.
  hr_tensor retained_item(int64_t i, char* room) const;
  void release_item(const hr_tensor& item) const;
  // Makes output the item, without a copy where it has a buffer of its own. Requires a set item.
  hr_code forward_item(hr_ctx* ctx, int64_t i, hr_tensor* output) const;

 private:
  friend class ListStorage;
  TensorList(ListStorage* storage, int64_t length);

  ListStorage* storage_;
  int64_t length_;
  TensorList *before_ = nullptr, *after_ = nullptr;  // the lists of the same storage
};

// The kernels' state: the attribute element_dtype, read once.
hr_code create_list_kernel(hr_node* node, void** dtype);
void destroy_list_kernel(void* dtype);
inline hr_dtype list_dtype(void* state) { return *static_cast<hr_dtype*>(state); }

// Puts `list` into a variant scalar; a null list means that an error is recorded.
hr_code finish_list(const hr_tensor* output, TensorList* list);
using OwnedList = std::unique_ptr<TensorList>;
hr_code prepare_list(void*, hr_request* r);  // a kernel whose output 0 is one list

// Merges the requested element shape with that of item i, which must give a complete shape.
hr_code shape_of_item(hr_ctx* ctx, const TensorList* list, int64_t i, const hr_tensor* requested,
                      PartialShape* shape);

// For ZerosLike and AddN of variants, element by element.
hr_code zeros_like_lists(hr_ctx* ctx, const hr_tensor* from, const hr_tensor* to);
hr_code add_lists(hr_ctx* ctx, int32_t n, const hr_tensor* const* in, const hr_tensor* to);

// Adds a tensor of numbers or of lists to `sum`, which has its shape.
hr_code add_to_tensor(hr_ctx* ctx, const hr_tensor& item, hr_tensor* sum);

// Puts a list into a variant scalar, and destroys what was there.
void put_list(const hr_tensor* variant, TensorList* list);

}  // namespace hr

#endif
