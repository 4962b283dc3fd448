// Kernels that choose a reference, and of variables that exist during one step.
//
// Their consumers are planned when the reference is known (HR_KERNEL_DATA_SHAPE).
#pragma once
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "graph/attributes.hpp"
#include "headrace/kernel.h"
#include "state/run.hpp"
#include "state/slot.hpp"

namespace headrace::references {

// Of context.pyx, which knows how to lock a variable.
struct SlotFunctions {
  Slot* (*create)(hr_dtype, const char* name);  // null: no memory
  void (*clear)(Slot*);
  hr_code (*fail_uninitialised)(Run*, Slot*);
};
inline SlotFunctions slot_functions;

inline void pass(const hr_tensor* reference, hr_tensor* output) {
  output->rank = reference->rank;
  for (int32_t i = 0; i < reference->rank; ++i) output->dims[i] = reference->dims[i];
  output->data = reference->data;
  output->owner = nullptr;
}

inline hr_code prepare(void*, hr_request* request) {
  request->shape_depends_on_data = 1;
  return HR_OK;
}

// ---- RefSelect ----------------------------------------------------------------------------------

struct Count {
  int32_t n;
};

inline hr_code create_select(hr_node* node, void** state) {
  *state = new Count{node->n_inputs - 1};
  return HR_OK;
}

inline hr_code select(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                      hr_tensor* const* outputs, void*) {
  const int32_t n = static_cast<const Count*>(state)->n;
  for (int32_t i = 1; i <= n; ++i) {
    Slot* slot = slot_of(inputs[i]);
    if (!slot)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "the handle does not point at a variable");
    std::lock_guard<SpinLock> hold(slot->shape_lock);
    if (slot->rank < 0) return slot_functions.fail_uninitialised(reinterpret_cast<Run*>(ctx), slot);
  }
  const int32_t index = *static_cast<const int32_t*>(inputs[0]->data);
  if (index < 0 || index >= n)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Index must be in the range [0, %d) but got %d", n,
                       index);
  pass(inputs[1 + index], outputs[0]);
  return HR_OK;
}

// ---- TemporaryVariable and DestroyTemporaryVariable ---------------------------------------------

struct Declaration {
  std::string name;
  hr_dtype dtype;
  hr_tensor shape{};
};

inline std::string name_of(const hr_node* node) {
  std::string name = text_attribute(node, "var_name");
  return name.empty() ? node->name : name;
}

inline hr_code create_temporary(hr_node* node, void** state) {
  auto* declared = new Declaration();
  declared->name = name_of(node);
  declared->dtype = hr_attr_type(node, "dtype");
  int32_t rank = -1;
  const int64_t* dims = nullptr;
  bool complete = node->api->attr_shape(node, "shape", &rank, &dims) == HR_OK && rank >= 0 &&
                  rank <= HR_MAX_RANK;
  for (int32_t i = 0; complete && i < rank; ++i) complete = dims[i] >= 0;
  // As in TensorFlow, a variable of unknown shape starts as a scalar.
  declared->shape.rank = complete ? rank : 0;
  for (int32_t i = 0; i < declared->shape.rank; ++i) declared->shape.dims[i] = dims[i];
  *state = declared;
  return HR_OK;
}

// Its slot, from a variable of that name and dtype that was destroyed, or a new one.
inline hr_code find_slot(hr_ctx* ctx, const Declaration& declared, Slot** slot) {
  StepObjects* step = step_objects(reinterpret_cast<Run*>(ctx));
  std::lock_guard<std::mutex> hold(step->lock);
  StepObject* unused = nullptr;
  for (StepObject& held : step->objects) {
    if (held.name != declared.name) continue;
    // Iterations of a loop have variables of their own.
    if (held.alive && held.maker != &declared)
      return hr_ctx_fail(ctx, HR_ALREADY_EXISTS,
                         "Resource __per_step_%lld/%s/TemporaryVariable already exists",
                         static_cast<long long>(ctx->step), declared.name.c_str());
    if (!held.alive && reinterpret_cast<Slot*>(held.object)->dtype == declared.dtype)
      unused = &held;
  }
  if (!unused) {
    *slot = slot_functions.create(declared.dtype, declared.name.c_str());
    if (!*slot) return hr_ctx_fail(ctx, HR_RESOURCE_EXHAUSTED, "no memory for a variable");
    step->objects.push_back({&(*slot)->object, &declared, declared.name, true});
    return HR_OK;
  }
  *slot = reinterpret_cast<Slot*>(unused->object);
  unused->maker = &declared;
  unused->alive = true;
  return HR_OK;
}

inline hr_code temporary(hr_ctx* ctx, void* state, void*, const hr_tensor* const*,
                         hr_tensor* const* outputs, void*) {
  const auto& declared = *static_cast<const Declaration*>(state);
  Slot* slot = nullptr;
  if (const hr_code code = find_slot(ctx, declared, &slot)) return code;
  hr_tensor value = declared.shape;
  value.dtype = declared.dtype;
  if (const hr_code code = ctx->api->allocate(ctx, &value)) return code;
  OwnedTensor zeros(value);
  if (value.dtype != HR_STRING && value.dtype != HR_RESOURCE && value.dtype != HR_VARIANT)
    std::memset(value.data, 0, size_t(value.bytes));
  hr_tensor reference = declared.shape;
  reference.dtype = declared.dtype + HR_REF;
  reference.data = slot;
  pass(&reference, outputs[0]);
  return ctx->api->slot_assign(ctx, &reference, zeros.get());
}

// The variable keeps its slot, without a value, until the step ends: others may hold references.
inline hr_code destroy(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void*) {
  const auto& name = *static_cast<const std::string*>(state);
  Slot* slot = slot_of(inputs[0]);
  bool found = false;
  if (slot) {
    StepObjects* step = step_objects(reinterpret_cast<Run*>(ctx));
    std::lock_guard<std::mutex> hold(step->lock);
    for (StepObject& held : step->objects) {
      if (held.object != &slot->object || held.name != name || !held.alive) continue;
      found = true;
    }
  }
  if (!found)
    return hr_ctx_fail(ctx, HR_NOT_FOUND,
                       "Resource __per_step_%lld/%s/TemporaryVariable does not exist.",
                       static_cast<long long>(ctx->step), name.c_str());
  hr_tensor value{};
  if (const hr_code code = ctx->api->slot_read(ctx, inputs[0], &value)) return code;
  *outputs[0] = value;
  slot_functions.clear(slot);
  StepObjects* step = step_objects(reinterpret_cast<Run*>(ctx));
  std::lock_guard<std::mutex> hold(step->lock);
  for (StepObject& held : step->objects)
    if (held.object == &slot->object) held.alive = false;
  return HR_OK;
}

inline hr_code create_destroy(hr_node* node, void** state) {
  *state = new std::string(name_of(node));
  return HR_OK;
}

inline hr_kernel kernel_of(const char* op, hr_code (*create)(hr_node*, void**), void (*end)(void*),
                           hr_compute compute) {
  hr_kernel kernel{};
  kernel.op = op;
  kernel.device_type = "CPU";
  kernel.flags = HR_KERNEL_DATA_SHAPE;
  kernel.create = create;
  kernel.destroy = end;
  kernel.prepare = prepare;
  kernel.compute = compute;
  return kernel;
}

inline void add_kernels(std::vector<hr_kernel>* table, const SlotFunctions& functions) {
  slot_functions = functions;
  table->insert(table->end(),
                {kernel_of(
                     "RefSelect", create_select,
                     [](void* state) { delete static_cast<Count*>(state); }, select),
                 kernel_of(
                     "TemporaryVariable", create_temporary,
                     [](void* state) { delete static_cast<Declaration*>(state); }, temporary),
                 kernel_of(
                     "DestroyTemporaryVariable", create_destroy,
                     [](void* state) { delete static_cast<std::string*>(state); }, destroy)});
}

}  // namespace headrace::references
