// Kernels of session handles: tensors that stay in the session between runs.
#pragma once
#include <string>
#include <vector>

#include "kernels/synchronisation/named_objects.hpp"
#include "state/synchronisation/session_tensors.hpp"

namespace headrace::session_tensors {

inline const char* const kHere = "/job:localhost/replica:0/task:0/device:CPU:0";

inline hr_object* make(void*) { return as_new_object(new SessionTensors(), "SessionTensors"); }

// The session's store, counted for the caller.
inline hr_code store_of(hr_ctx* ctx, ObjectRef* store) {
  hr_object* found = nullptr;
  // Nodes cannot have this name.
  const hr_code code = ctx->api->lookup_or_create(ctx, "", "_session_tensors;", "SessionTensors",
                                                  make, nullptr, &found);
  if (code != HR_OK) return code;
  *store = ObjectRef(found);
  object_release(found);
  return HR_OK;
}

inline SessionTensors* tensors(const ObjectRef& store) {
  return reinterpret_cast<SessionTensors*>(store.get());
}

inline hr_code get_handle(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                          hr_tensor* const* outputs, void*) {
  const auto* node = static_cast<const hr_node*>(state);
  ObjectRef store;
  OwnedTensor value;
  hr_code code = store_of(ctx, &store);
  if (code == HR_OK) code = keep_input(ctx, inputs[0], &value);
  if (code != HR_OK) return code;
  const std::string device = node->device && node->device[0] ? node->device : kHere;
  const std::string handle = tensors(store)->add(node->name, device, std::move(value));
  return ctx->api->set_string(ctx, static_cast<hr_string*>(outputs[0]->data), handle.data(),
                              handle.size());
}

// The tensor of a resource handle lives as long as the handle.
struct HeldTensor {
  hr_object object;  // first
  OwnedTensor value;
};

inline hr_code get_resource_handle(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                                   hr_tensor* const* outputs, void*) {
  auto* held = new HeldTensor();
  auto* handle = static_cast<hr_resource*>(outputs[0]->data);
  handle->object = as_new_object(held, "SessionTensor");  // the output owns it
  return keep_input(ctx, inputs[0], &held->value);
}

inline std::string text_of(const hr_tensor* handle) {
  const auto* text = static_cast<const hr_string*>(handle->data);
  return text->data ? std::string(text->data, text->size) : std::string();
}

inline hr_code get_tensor(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                          hr_tensor* const* outputs, void*) {
  ObjectRef store;
  OwnedTensor value;
  const hr_code code = store_of(ctx, &store);
  if (code != HR_OK) return code;
  const std::string handle = text_of(inputs[0]);
  if (!tensors(store)->find(handle, &value))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "The tensor with handle '%s' is not in the session store.", handle.c_str());
  const hr_dtype declared = static_cast<const hr_node*>(state)->output_dtypes[0];
  if (value.get()->dtype != declared)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "The tensor with handle '%s' is %s, the node declares %s", handle.c_str(),
                       dtype_name(value.get()->dtype), dtype_name(declared));
  return ctx->api->forward(ctx, value.get(), outputs[0]);
}

inline hr_code delete_tensor(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                             hr_tensor* const*, void*) {
  ObjectRef store;
  const hr_code code = store_of(ctx, &store);
  if (code != HR_OK) return code;
  const std::string handle = text_of(inputs[0]);
  if (tensors(store)->erase(handle)) return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                     "Failed to delete a tensor with handle '%s' in the session store.",
                     handle.c_str());
}

inline hr_code prepare_tensor(void*, hr_request* request) {
  request->shape_depends_on_data = 1;
  return HR_OK;
}

inline void add_kernels(std::vector<hr_kernel>* table) {
  hr_kernel read = plain_kernel("GetSessionTensor", get_tensor);
  read.prepare = prepare_tensor;
  read.flags = HR_KERNEL_DATA_SHAPE;
  table->insert(table->end(), {plain_kernel("GetSessionHandle", get_handle),
                               plain_kernel("GetSessionHandleV2", get_resource_handle), read,
                               plain_kernel("DeleteSessionTensor", delete_tensor)});
}

}  // namespace headrace::session_tensors
