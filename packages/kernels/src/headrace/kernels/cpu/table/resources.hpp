// Kernels that give the handle of a resource: a table, a reader.
//
// `kind` is a constant of this library: its objects are told from others by the address of the
// text, since an object of another library may have the same text and another layout.
#ifndef HEADRACE_CPU_TABLE_RESOURCES_HPP
#define HEADRACE_CPU_TABLE_RESOURCES_HPP

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/kernel.h"
#include "library/attributes.hpp"

namespace hr {

// The state of a node that declares a resource. Nodes with equal names share it: `shared_name`, or
// that of the node.
class ResourceNode {
 public:
  ResourceNode(const hr_node* node, const char* kind)
      : node(node), kind_(kind), container_(attr_text(node, "container")),
        name_(attr_text(node, "shared_name")) {
    if (name_.empty()) name_ = node->name;
  }
  ResourceNode(const ResourceNode&) = delete;
  ~ResourceNode() {
    for (hr_object* object : given_) api_->release_object(object);
  }

  const hr_node* const node;
  const std::string& name() const { return name_; }

  // Finds the resource, or makes it: hr_object* make(void* argument). The caller owns a reference.
  hr_code find(hr_ctx* ctx, hr_object* (*make)(void*), void* argument, hr_object** found) {
    const hr_code code = ctx->api->lookup_or_create(ctx, container_.c_str(), name_.c_str(), kind_,
                                                    make, argument, found);
    if (code != HR_OK || (*found)->kind == kind_) return code;
    ctx->api->release_object(*found);
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "the %s '%s' belongs to another kernel library",
                       kind_, name_.c_str());
  }
  // Gives the handle; takes the reference.
  void give(hr_ctx* ctx, hr_object* object, hr_tensor* handle) {
    if (handle->dtype < HR_REF) {
      static_cast<hr_resource*>(handle->data)->object = object;
      return;
    }
    // A reference edge counts nothing, so the node keeps all objects that it has given.
    handle->data = object;
    const std::lock_guard<std::mutex> hold(lock_);
    if (std::find(given_.begin(), given_.end(), object) == given_.end()) {
      given_.push_back(object);
      api_ = ctx->api;
    } else {
      ctx->api->release_object(object);
    }
  }

 private:
  const char* kind_;
  std::string container_, name_;
  std::mutex lock_;
  std::vector<hr_object*> given_;
  const hr_ctx_api* api_ = nullptr;
};

inline hr_object object_of_kind(const char* kind, void (*destroy)(hr_object*)) {
  hr_object object{};
  object.size = sizeof object;
  object.references = 1;
  object.kind = kind;
  object.destroy = destroy;
  return object;
}

// The object of a handle; null: there is none, or it is of another kind.
inline hr_object* object_of(const hr_tensor* handle, const char* kind) {
  hr_object* object = nullptr;
  if (handle->dtype >= HR_REF) object = static_cast<hr_object*>(handle->data);
  else if (handle->dtype == HR_RESOURCE && handle->bytes >= int64_t(sizeof(hr_resource)))
    object = static_cast<const hr_resource*>(handle->data)->object;
  return object && object->kind == kind ? object : nullptr;
}

}  // namespace hr

#endif
