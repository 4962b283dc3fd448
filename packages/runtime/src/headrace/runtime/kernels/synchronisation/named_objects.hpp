// Objects that nodes share by container and name, and the ops that return handles of them.
#pragma once
#include <string>
#include <vector>

#include "graph/attributes.hpp"
#include "state/run.hpp"
#include "state/slot.hpp"

namespace headrace {

inline hr_code fail_node_text(hr_node* node, hr_code code, const std::string& text) {
  reinterpret_cast<GraphNode*>(node)->error.assign(text);
  return code;
}

// The name under which a node's object is shared: its shared_name, or the node's own.
inline std::string shared_name_of(const hr_node* node) {
  const std::string shared = text_attribute(node, "shared_name");
  return shared.empty() ? std::string(node->name) : shared;
}

// The object of that kind in the node's container, counted for the caller. `make` gets the node.
inline hr_code find_object(hr_node* node, const char* kind, hr_object* (*make)(void*),
                           hr_object** found) {
  const std::string container = text_attribute(node, "container");
  if (!is_container_name(container))
    return fail_node_text(node, HR_INVALID_ARGUMENT,
                          "container contains invalid characters: " + container);
  std::string error;
  auto* session = static_cast<SessionState*>(reinterpret_cast<GraphNode*>(node)->session);
  const hr_code code = session_lookup(session, container.c_str(), shared_name_of(node).c_str(),
                                      kind, make, node, found, &error);
  return code == HR_OK ? code : fail_node_text(node, code, error);
}

// The state of a kernel: an object, and the node with its attributes.
struct NodeObject {
  hr_node* node;
  ObjectRef object;
};

template <class Object>
Object* object_of_state(void* state) {
  return reinterpret_cast<Object*>(static_cast<NodeObject*>(state)->object.get());
}

// hr_kernel.create of an op that uses the object of its node.
template <hr_object* (*make)(void*)>
hr_code create_node_object(hr_node* node, void** state, const char* kind) {
  hr_object* found = nullptr;
  const hr_code code = find_object(node, kind, make, &found);
  if (code != HR_OK) return code;
  auto* created = new NodeObject{node, ObjectRef(found)};
  object_release(found);
  *state = created;
  return HR_OK;
}

inline void destroy_node_object(void* state) { delete static_cast<NodeObject*>(state); }

// hr_kernel.prepare and compute of an op that returns a handle of its node's object.
inline hr_code prepare_handle(void*, hr_request* request) {
  request->outputs[0]->rank = 0;
  return HR_OK;
}

inline hr_code give_handle(hr_ctx* ctx, void* state, void*, const hr_tensor* const*,
                           hr_tensor* const* outputs, void*) {
  hr_object* object = static_cast<NodeObject*>(state)->object.get();
  if (outputs[0]->dtype >= HR_REF) {  // the first version of the op: a reference to a name
    outputs[0]->data = object;
    outputs[0]->owner = nullptr;
    return HR_OK;
  }
  const hr_code code = ctx->api->allocate(ctx, outputs[0]);
  if (code != HR_OK) return code;
  ctx->api->retain_object(object);
  static_cast<hr_resource*>(outputs[0]->data)->object = object;
  return HR_OK;
}

// hr_kernel.create of an op whose kernel reads attributes when it runs.
inline hr_code create_node(hr_node* node, void** state) {
  *state = node;
  return HR_OK;
}

inline hr_code prepare_async(void*, hr_request* request) {
  request->shape_depends_on_data = 1;
  return HR_OK;
}

// hr_kernel.prepare of an op with one scalar output, or none.
inline hr_code prepare_scalar(void*, hr_request* request) {
  if (request->node->n_outputs) request->outputs[0]->rank = 0;
  return HR_OK;
}

// Shares the value of an input, which outlives the call; copies it if it is only lent.
inline hr_code keep_input(hr_ctx* ctx, const hr_tensor* input, OwnedTensor* kept) {
  hr_tensor value = *input;
  value.owner = nullptr;
  const hr_code code = ctx->api->forward(ctx, input, &value);
  if (code == HR_OK) kept->own(value);
  return code;
}

// A tensor of that dtype and shape with its own memory.
inline hr_code new_tensor(hr_ctx* ctx, hr_dtype dtype, int32_t rank, const int64_t* dims,
                          OwnedTensor* out) {
  hr_tensor created{};
  created.dtype = dtype;
  created.rank = rank;
  for (int32_t i = 0; i < rank; ++i) created.dims[i] = dims[i];
  const hr_code code = ctx->api->allocate(ctx, &created);
  if (code == HR_OK) out->own(created);
  return code;
}

using ComputeAsync = decltype(hr_kernel::compute_async);

inline hr_kernel kernel_of(const char* op) {
  hr_kernel kernel{};
  kernel.op = op;
  kernel.device_type = "CPU";
  kernel.create = create_node;
  kernel.prepare = prepare_scalar;
  return kernel;
}

inline hr_kernel plain_kernel(const char* op, hr_compute compute) {
  hr_kernel kernel = kernel_of(op);
  kernel.compute = compute;
  return kernel;
}

inline hr_kernel async_kernel(const char* op, ComputeAsync compute) {
  hr_kernel kernel = kernel_of(op);
  kernel.prepare = prepare_async;
  kernel.compute_async = compute;
  return kernel;
}

// A kernel whose state is the object that `create` finds.
inline hr_kernel with_object(hr_kernel kernel, hr_code (*create)(hr_node*, void**)) {
  kernel.create = create;
  kernel.destroy = destroy_node_object;
  return kernel;
}

inline hr_kernel handle_kernel(const char* op, hr_code (*create)(hr_node*, void**)) {
  hr_kernel kernel = with_object(plain_kernel(op, give_handle), create);
  kernel.prepare = prepare_handle;
  return kernel;
}

inline bool returns_handle(const hr_kernel& kernel) { return kernel.compute == give_handle; }

}  // namespace headrace
