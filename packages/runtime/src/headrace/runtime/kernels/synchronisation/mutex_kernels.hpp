// Kernels of mutexes, on which critical sections are built.
#pragma once
#include <string>
#include <vector>

#include "kernels/synchronisation/named_objects.hpp"
#include "state/synchronisation/graph_mutex.hpp"

namespace headrace::mutexes {

inline const hr_variant_type kLockType = {
    sizeof(hr_variant_type), "headrace::MutexLock",
    [](const void* value) {
      auto* lock = static_cast<MutexLockValue*>(const_cast<void*>(value));
      lock->holders.fetch_add(1, std::memory_order_relaxed);
      return static_cast<void*>(lock);
    },
    [](void* value) { static_cast<MutexLockValue*>(value)->release(); }};

inline hr_code give_lock(GraphMutex* mutex, Waiting* w) {
  auto* lock = new (std::nothrow) MutexLockValue(&mutex->object);
  hr_tensor* output = w->outputs[0];
  output->rank = 0;
  const hr_code code = lock ? w->ctx->api->allocate(w->ctx, output) : HR_RESOURCE_EXHAUSTED;
  if (code == HR_OK) {
    *static_cast<hr_variant*>(output->data) = hr_variant{&kLockType, lock};
  } else if (lock) {
    lock->release();
  } else {
    mutex->unlock();
  }
  return code;
}

inline hr_object* make(void* node) {
  auto* created = new GraphMutex();
  created->name = shared_name_of(static_cast<hr_node*>(node));
  created->give_lock = give_lock;
  return as_new_object(created, "Mutex");
}
inline hr_code create(hr_node* node, void** state) {
  return create_node_object<make>(node, state, "Mutex");
}

inline void lock(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                 hr_tensor* const* outputs, void*, hr_done done, void* argument) {
  auto* mutex = reinterpret_cast<GraphMutex*>(object_of(inputs[0], "Mutex"));
  if (!mutex)
    return done(argument,
                hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "the handle does not point at a mutex"));
  GraphMutex::submit(mutex->new_waiter(ctx, outputs, 1, done, argument));
}

// Ends the lock, which others must not hold as well. The executor may keep the value until the step
// ends, so the op does not wait for its release.
inline hr_code consume(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs, hr_tensor* const*,
                       void*) {
  const hr_tensor* input = inputs[0];
  if (input->rank != 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Expected input to be a scalar, saw shape: %s",
                       sizes_text(input->rank, input->dims).c_str());
  const auto* variant = static_cast<const hr_variant*>(input->data);
  if (variant->type != &kLockType)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Expected input to contain a SharedLockReleaser object, but saw variant of "
                       "type '%s'",
                       variant->type ? variant->type->name : "");
  auto* lock = static_cast<MutexLockValue*>(variant->value);
  const int32_t holders = lock->holders.load();
  if (holders != 1)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Expected use count of lock to be 1, but saw: %d",
                       static_cast<int>(holders));
  if (lock->unlock()) return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "the lock was consumed before");
}

inline void add_kernels(std::vector<hr_kernel>* table) {
  table->insert(table->end(), {handle_kernel("MutexV2", create), async_kernel("MutexLock", lock),
                               plain_kernel("ConsumeMutexLock", consume)});
}

}  // namespace headrace::mutexes
