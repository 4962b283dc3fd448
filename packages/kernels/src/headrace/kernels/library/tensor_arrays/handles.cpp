// Creates TensorArrays and their handles; their sizes and ends.
//
// The handle of version 3 is a resource. That of version 2 is two strings, which only the array's
// own handle can give: the second string holds a reference to the array, and is found by it.
#include <limits>
#include <memory>
#include <unordered_map>

#include "library/attributes.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/tensor_arrays/kernels.hpp"
#include "library/tensor_arrays/tensor_array.hpp"

namespace hr {
namespace {

// ---- handles of version 2 ----------------------------------------------------------------------

// The arrays of strings, by the buffer that the second string holds.
struct NamedArrays {
  std::mutex lock;
  std::unordered_map<const hr_buffer*, TensorArray*> by_owner;
};

NamedArrays& named_arrays() {
  static auto* arrays = new NamedArrays();  // never freed: threads outlive destructors
  return *arrays;
}

// What a second string holds; its end removes the string from the table.
struct NamedHandle : hr_object {
  TensorArray* array;
  const hr_buffer* owner = nullptr;
  void (*release)(hr_object*);

  NamedHandle(hr_ctx* ctx, TensorArray* counted)
      : array(counted), release(ctx->api->release_object) {
    size = sizeof(hr_object);
    references = 1;
    kind = "TensorArrayName";
    destroy = [](hr_object* self) { delete static_cast<NamedHandle*>(self); };
  }
  ~NamedHandle() {
    if (owner) {
      std::lock_guard<std::mutex> held(named_arrays().lock);
      named_arrays().by_owner.erase(owner);
    }
    release(array);
  }
};

hr_code give_strings(hr_ctx* ctx, std::unique_ptr<NamedHandle> handle, hr_tensor* output) {
  hr_tensor holder{};
  holder.dtype = HR_RESOURCE;
  if (hr_code code = allocate_on_host(ctx, &holder)) return code;
  HeldTensor held(holder, ctx->api->release);
  TensorArray* array = handle->array;
  {
    std::lock_guard<std::mutex> locked(named_arrays().lock);
    named_arrays().by_owner.emplace(holder.owner, array);
  }
  handle->owner = holder.owner;
  static_cast<hr_resource*>(holder.data)->object = handle.release();
  static const char container[] = "_tensor_arrays", gradients[] = "_tensor_array_grads";
  const bool is_gradient = array->is_gradient();
  auto* strings = static_cast<hr_string*>(output->data);
  for (int i = 0; i < 2; ++i)
    if (strings[i].owner) ctx->api->release(strings[i].owner);
  strings[0] = {is_gradient ? gradients : container,
                (is_gradient ? sizeof gradients : sizeof container) - 1, nullptr};
  strings[1] = {array->name().data(), array->name().size(), holder.owner};
  *held.writable() = hr_tensor{};  // the string owns it now
  return HR_OK;
}

TensorArray* array_of_strings(const hr_tensor* handle) {
  const auto* strings = static_cast<const hr_string*>(handle->data);
  std::lock_guard<std::mutex> held(named_arrays().lock);
  const auto found = named_arrays().by_owner.find(strings[1].owner);
  return found == named_arrays().by_owner.end() ? nullptr : found->second;
}

}  // namespace

TensorArray* TensorArray::of(hr_ctx* ctx, const hr_tensor* handle) {
  TensorArray* array = nullptr;
  if (handle->dtype == HR_STRING) {
    if (hr_elements(handle) != 2) {
      hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                  "Tensor array handle must be 2-element vector, but had shape: %s",
                  (const char*)PartialShapeText(shape_of(handle)));
      return nullptr;
    }
    array = array_of_strings(handle);
  } else if (hr_elements(handle) >= 1) {
    hr_object* object = static_cast<const hr_resource*>(handle->data)->object;
    // By address: another library may have a kind of that name.
    if (object && object->kind == kKind) array = static_cast<TensorArray*>(object);
  }
  if (!array)
    hr_ctx_fail(ctx, HR_NOT_FOUND,
                "Resource of the TensorArray does not exist: the handle is not one that a "
                "TensorArray of this step made");
  return array;
}

hr_code give_handle(hr_ctx* ctx, TensorArray* array, hr_tensor* output) {
  if (output->dtype == HR_STRING)
    return give_strings(ctx, std::unique_ptr<NamedHandle>(new NamedHandle(ctx, array)), output);
  auto* resource = static_cast<hr_resource*>(output->data);
  if (resource->object) ctx->api->release_object(resource->object);
  resource->object = array;
  return HR_OK;
}

// ---- kernels -----------------------------------------------------------------------------------

namespace tensor_arrays {
namespace {

struct Declaration {
  TensorArrayOptions options;
  std::string name;
};

// Version 2 has no flow here.
hr_code start_flow_of(hr_ctx* ctx, hr_tensor* const* out) {
  return out[0]->dtype == HR_RESOURCE ? start_flow(ctx, out[1]) : HR_OK;
}

hr_code give_gradient(hr_ctx* ctx, void* state, const hr_tensor* handle,
                      const PartialShape& prepend, hr_tensor* const* out) {
  TensorArray* array = TensorArray::of(ctx, handle);
  if (!array) return HR_NOT_FOUND;
  TensorArray* gradient;
  if (hr_code code = array->gradient(ctx, *static_cast<std::string*>(state), prepend, &gradient))
    return code;
  if (hr_code code = start_flow_of(ctx, out)) return code;
  gradient->retain();
  return give_handle(ctx, gradient, out[0]);
}

}  // namespace

hr_code create_declaration(hr_node* node, void** state) {
  auto declared = std::make_unique<Declaration>();
  TensorArrayOptions& options = declared->options;
  options.dtype = hr_attr_type(node, "dtype");
  options.identical_element_shapes = hr_attr_bool(node, "identical_element_shapes", 0);
  options.dynamic_size = hr_attr_bool(node, "dynamic_size", 0);
  options.clear_after_read = hr_attr_bool(node, "clear_after_read", 1);
  if (hr_code code = read_shape_attribute(node, "element_shape", &options.element_shape))
    return code;
  declared->name = attr_text(node, "tensor_array_name");
  if (declared->name.empty()) declared->name = node->name;
  *state = declared.release();
  return HR_OK;
}

void destroy_declaration(void* state) { delete static_cast<Declaration*>(state); }

hr_code create_source(hr_node* node, void** state) {
  *state = new std::string(attr_text(node, "source"));
  return HR_OK;
}

void destroy_source(void* state) { delete static_cast<std::string*>(state); }

// Output 1, which version 2 lacks, is the flow.
hr_code prepare_creation(void*, hr_request* r) {
  set_shape(r->outputs[0], {2});
  if (r->node->n_outputs > 1) set_shape(r->outputs[1], {});
  return HR_OK;
}

hr_code compute_array(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  const auto* declared = static_cast<const Declaration*>(state);
  if (in[0]->rank != 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "TensorArray size must be scalar, but had shape: %s",
                       (const char*)PartialShapeText(shape_of(in[0])));
  const int64_t size = int_at(in[0], 0);
  if (size < 0) return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Size should be >= 0.");
  if (hr_code code = start_flow_of(ctx, out)) return code;
  return give_handle(ctx, TensorArray::create(ctx, declared->options, size, declared->name),
                     out[0]);
}

hr_code compute_grad(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                     hr_tensor* const* out, void*) {
  PartialShape nothing;
  nothing.rank = 0;
  return give_gradient(ctx, state, in[0], nothing, out);
}

hr_code compute_grad_with_shape(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                                hr_tensor* const* out, void*) {
  PartialShape prepend;
  if (in[2]->rank != 1)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "shape must be a vector of {int32,int64}, got shape %s",
                       (const char*)PartialShapeText(shape_of(in[2])));
  if (hr_code code = read_partial_shape(ctx, in[2], &prepend)) return code;
  if (!prepend.complete())
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Dimension sizes of shape_to_prepend must be >= 0: %s",
                       (const char*)PartialShapeText(prepend));
  return give_gradient(ctx, state, in[0], prepend, out);
}

hr_code compute_size(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  TensorArray* array = TensorArray::of(ctx, in[0]);
  if (!array) return HR_NOT_FOUND;
  int64_t n;
  if (hr_code code = array->size(ctx, &n)) return code;
  *write<int32_t>(out[0]) = int32_t(n);
  return HR_OK;
}

hr_code prepare_size(void*, hr_request* r) {
  set_shape(r->outputs[0], {});
  return HR_OK;
}

hr_code compute_close(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const*,
                      void*) {
  TensorArray* array = TensorArray::of(ctx, in[0]);
  if (!array) return HR_NOT_FOUND;
  array->close();
  return HR_OK;
}

hr_code prepare_close(void*, hr_request*) { return HR_OK; }

}  // namespace tensor_arrays

}  // namespace hr
