// Stacks of tensors that exist during one step: what older graphs keep for the gradients of loops.
//
// A stack holds the tensors that were pushed by reference. The handle of version 2 is a resource;
// that of version 1 is a reference.
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "library/attributes.hpp"
#include "library/dtype_names.hpp"
#include "library/held_tensor.hpp"
#include "library/shapes.hpp"
#include "library/stacks.hpp"

namespace hr {
namespace {

class Stack : public hr_object {
 public:
  Stack(hr_ctx* ctx, hr_dtype element, int64_t most, std::string name)
      : dtype(element), most_(most), name_(std::move(name)), release_(ctx->api->release) {
    size = sizeof(hr_object);
    references = 1;
    kind = kKind;
    destroy = [](hr_object* self) { delete static_cast<Stack*>(self); };
  }
  ~Stack() { clear(); }

  // Null and an error recorded where the handle refers to no stack.
  static Stack* of(hr_ctx* ctx, const hr_tensor* handle) {
    hr_object* object = nullptr;
    if (handle->dtype >= HR_REF) object = static_cast<hr_object*>(handle->data);
    else if (hr_elements(handle) >= 1) object = static_cast<hr_resource*>(handle->data)->object;
    // By address: another library may have a kind of that name.
    if (object && object->kind == kKind) return static_cast<Stack*>(object);
    hr_ctx_fail(ctx, HR_NOT_FOUND,
                "Resource of the stack does not exist: the handle is not one "
                "that a Stack of this step made");
    return nullptr;
  }

  hr_code push(hr_ctx* ctx, const hr_tensor& value) {
    std::lock_guard<std::mutex> held(lock_);
    if (hr_code code = check_open(ctx)) return code;
    if (int64_t(items_.size()) >= most_)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Stack[%s] overflowed its max_size (%lld)",
                         name_.c_str(), (long long)most_);
    items_.push_back(value);
    ctx->api->retain(value.owner);
    return HR_OK;
  }

  // The caller owns the reference.
  hr_code pop(hr_ctx* ctx, hr_tensor* counted) {
    std::lock_guard<std::mutex> held(lock_);
    if (hr_code code = check_open(ctx)) return code;
    if (items_.empty())
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Stack[%s] is empty when calling Pop().",
                         name_.c_str());
    *counted = items_.back();
    items_.pop_back();
    return HR_OK;
  }

  void close() {
    std::lock_guard<std::mutex> held(lock_);
    clear();
    closed_ = true;
  }

  const hr_dtype dtype;

 private:
  static const char kKind[];

  hr_code check_open(hr_ctx* ctx) const {
    if (!closed_) return HR_OK;
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Stack[%s] has already been closed.",
                       name_.c_str());
  }
  void clear() {
    for (const hr_tensor& item : items_) release_(item.owner);
    items_.clear();
  }

  std::mutex lock_;
  const int64_t most_;
  const std::string name_;
  bool closed_ = false;
  std::vector<hr_tensor> items_;
  void (*release_)(hr_buffer*);
};

const char Stack::kKind[] = "Stack";

struct Declaration {
  hr_dtype dtype;
  std::string name;
};

}  // namespace

// ---- kernels -----------------------------------------------------------------------------------

namespace stacks {

hr_code create_declaration(hr_node* node, void** state) {
  auto declared = std::make_unique<Declaration>();
  declared->dtype = hr_attr_type(node, "elem_type");
  declared->name = attr_text(node, "stack_name");
  if (declared->name.empty()) declared->name = node->name;
  *state = declared.release();
  return HR_OK;
}

void destroy_declaration(void* state) { delete static_cast<Declaration*>(state); }

hr_code compute_stack(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  const auto* declared = static_cast<const Declaration*>(state);
  if (in[0]->rank != 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Stack size must be a scalar, but had shape: %s",
                       (const char*)ShapeText(in[0]));
  const int64_t size = int_at(in[0], 0);
  auto* resource = static_cast<hr_resource*>(out[0]->data);
  if (resource->object) ctx->api->release_object(std::exchange(resource->object, nullptr));
  resource->object = new Stack(
      ctx, declared->dtype, size >= 0 ? size : std::numeric_limits<int32_t>::max(), declared->name);
  return HR_OK;
}

// Of version 1: a reference counts nothing, so the step keeps the stack.
hr_code compute_reference(hr_ctx* ctx, void* state, void*, const hr_tensor* const*,
                          hr_tensor* const* out, void*) {
  const auto* declared = static_cast<const Declaration*>(state);
  auto* made = new Stack(ctx, declared->dtype, std::numeric_limits<int32_t>::max(), declared->name);
  if (hr_code code = ctx->api->keep_for_step(ctx, made)) return code;
  out[0]->data = static_cast<hr_object*>(made);
  return HR_OK;
}

hr_code prepare_stack(void*, hr_request* r) {
  set_shape(r->outputs[0], {2});
  return HR_OK;
}

hr_code compute_push(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  Stack* stack = Stack::of(ctx, in[0]);
  if (!stack) return HR_NOT_FOUND;
  if (stack->dtype != in[1]->dtype)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Must have type %s but got %s",
                       dtype_name(stack->dtype), dtype_name(in[1]->dtype));
  hr_code code;
  const HeldTensor kept = hold(ctx, in[1], &code);
  if (code) return code;
  if ((code = stack->push(ctx, kept.get()))) return code;
  return ctx->api->forward(ctx, &kept.get(), out[0]);
}

hr_code prepare_data_shape(void*, hr_request* r) {
  r->shape_depends_on_data = 1;
  return HR_OK;
}

hr_code compute_pop(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                    void*) {
  Stack* stack = Stack::of(ctx, in[0]);
  if (!stack) return HR_NOT_FOUND;
  if (stack->dtype != out[0]->dtype)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Must have type %s but got %s",
                       dtype_name(stack->dtype), dtype_name(out[0]->dtype));
  return stack->pop(ctx, out[0]);
}

hr_code compute_close(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const*,
                      void*) {
  Stack* stack = Stack::of(ctx, in[0]);
  if (!stack) return HR_NOT_FOUND;
  stack->close();
  return HR_OK;
}

hr_code prepare_close(void*, hr_request*) { return HR_OK; }

}  // namespace stacks
}  // namespace hr
