// The items that lists share.
#ifndef HEADRACE_LIBRARY_TENSOR_LISTS_LIST_STORAGE_HPP
#define HEADRACE_LIBRARY_TENSOR_LISTS_LIST_STORAGE_HPP

#include <cstdint>
#include <mutex>
#include <vector>

#include "headrace/kernel.h"
#include "library/held_tensor.hpp"
#include "library/partial_shape.hpp"

namespace hr {

class TensorList;

// How deep lists nest in a tensor: 0 where it holds none. Variants of other libraries may hold any.
constexpr int32_t kUnknownNesting = INT32_MAX;
int32_t nesting_of(const hr_tensor& item);

// Items are either packed (all of one shape, small, in host memory) or tensors with a buffer each.
//
// Its functions require the lock as soon as a second list shares the storage. No item is copied or
// released under the lock, except packed ones: an item may be a list of another storage.
class ListStorage {
 public:
  ListStorage(hr_dtype dtype, const PartialShape& shape, int64_t most, int32_t nesting)
      : dtype(dtype), element_shape(shape), most(most), nesting_(nesting) {}

  std::mutex lock;
  const hr_dtype dtype;
  const PartialShape element_shape;
  const int64_t most;  // items that a push may lead to; negative: any number

  int64_t size() const { return packed_ ? count_ : int64_t(items_.size()); }

  // Whether an item may be put in while several lists share the storage: a storage is deeper than
  // the lists in it, so it never comes to hold one of its own.
  bool takes(int32_t nesting) const { return nesting <= nesting_ && nesting != kUnknownNesting; }
  int32_t nesting() const { return nesting_; }

  void add(TensorList* list);
  void remove(TensorList* list);
  bool is_unused() const { return !first_; }
  // Takes out the last item if only `leaving` reaches it, where that takes no search: there is one
  // other list. False: there is nothing more to take.
  bool take_unreachable(const TensorList* leaving, HeldTensor* item);

  // Whether an item may lie in the block of small ones. Another one must have a buffer: `kept` of
  // the functions below is the item with it, and they take it.
  static bool packs(const hr_tensor& item);
  hr_code append(hr_ctx* ctx, const hr_tensor& item, HeldTensor* kept);
  hr_code append_unset(hr_ctx* ctx, int64_t n);
  // Appends the first n items of another storage to an empty one.
  void append_from(hr_ctx* ctx, const ListStorage& other, int64_t n);
  // `kept` is then what was there before.
  hr_code set(hr_ctx* ctx, int64_t i, const hr_tensor& item, HeldTensor* kept);

  // The item, valid as long as the lock is held; unset: without data and owner.
  hr_tensor item(int64_t i) const;

 private:
  hr_code unpack(hr_ctx* ctx);
  void deepen(int32_t nesting) {
    if (nesting > nesting_) nesting_ = nesting;  // other threads read it once it is shared
  }

  int32_t nesting_;
  TensorList* first_ = nullptr;
  std::vector<HeldTensor> items_;
  bool packed_ = false;
  int64_t count_ = 0;
  hr_tensor shape_{};
  std::vector<char> bytes_;
};

}  // namespace hr

#endif
