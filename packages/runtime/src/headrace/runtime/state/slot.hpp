// Variables: the targets of references and resource scalars.
#pragma once
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "headrace/kernel.h"
#include "memory/buffer.hpp"

namespace headrace {

// A counted reference to an object.
class ObjectRef {
 public:
  ObjectRef() = default;
  explicit ObjectRef(hr_object* o) : object_(o) {
    if (o) object_retain(o);
  }
  ObjectRef(const ObjectRef& other) : ObjectRef(other.object_) {}
  ObjectRef(ObjectRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ObjectRef& operator=(ObjectRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~ObjectRef() { object_release(object_); }
  hr_object* get() const { return object_; }

 private:
  hr_object* object_ = nullptr;
};

inline bool is_kind(const hr_object* object, const char* kind) {
  return object && (object->kind == kind || std::strcmp(object->kind, kind) == 0);
}

// The object that a reference or a resource scalar refers to; null: another kind, or none.
inline hr_object* object_of(const hr_tensor* handle, const char* kind) {
  if (!handle->data) return nullptr;
  hr_object* object = nullptr;
  if (handle->dtype >= HR_REF) object = static_cast<hr_object*>(handle->data);
  else if (handle->dtype == HR_RESOURCE && handle->bytes >= (int64_t)sizeof(hr_resource))
    object = static_cast<hr_resource*>(handle->data)->object;
  return is_kind(object, kind) ? object : nullptr;
}

inline bool same_shape(const hr_tensor* a, const hr_tensor* b) {
  return a->rank == b->rank &&
         (a->rank <= 0 || std::memcmp(a->dims, b->dims, a->rank * sizeof(int64_t)) == 0);
}

// "[2, 3]".
inline std::string shape_text(const hr_tensor* t) {
  std::string text = "[";
  for (int32_t i = 0; i < t->rank; ++i) text += (i ? ", " : "") + std::to_string(t->dims[i]);
  return text + "]";
}

// "[2,?]", as TensorFlow writes partial shapes; rank -1: unknown.
inline std::string sizes_text(int32_t rank, const int64_t* dims) {
  if (rank < 0) return "<unknown>";
  std::string text = "[";
  for (int32_t i = 0; i < rank; ++i)
    text += (i ? "," : "") + (dims[i] < 0 ? "?" : std::to_string(dims[i]));
  return text + "]";
}

// A variable of either kind.
struct Slot {
  hr_object object;  // first; kind "Variable"
  std::mutex lock;
  OwnedTensor value;
  bool initialised = false;
  int64_t version = 0;
  // The shape of the value has its own lock: planning reads it while holding the GIL, and an update
  // may hold `lock` for long. It is written under both locks.
  SpinLock shape_lock;
  int32_t rank = -1;  // -1: no value
  int64_t dims[HR_MAX_RANK];
  std::atomic<int64_t> shape_version{0};  // grows with every change of the shape
  hr_dtype dtype = HR_INVALID;
  int32_t declared_rank = -1;  // -1: not fully declared
  int64_t declared_dims[HR_MAX_RANK];
  std::string name;

  // shape: null for no value.
  void set_shape(const hr_tensor* shape) {
    std::lock_guard<SpinLock> hold(shape_lock);
    rank = shape ? shape->rank : -1;
    if (rank > 0) std::memcpy(dims, shape->dims, rank * sizeof(int64_t));
    shape_version.store(shape_version.load(std::memory_order_relaxed) + 1);
  }
};

inline Slot* slot_of(const hr_tensor* handle) {
  return reinterpret_cast<Slot*>(object_of(handle, "Variable"));
}

}  // namespace headrace
