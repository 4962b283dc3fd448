// Kernels of barriers.
#pragma once
#include <string>
#include <vector>

#include "kernels/synchronisation/named_objects.hpp"
#include "state/synchronisation/barrier.hpp"

namespace headrace::barriers {

// Joins the tuples of a take to batches; set before the first kernel runs.
inline CompleteDequeue complete_take = nullptr;

inline QueueSpec declared(const hr_node* node) {
  QueueSpec spec;
  spec.order = QueueOrder::kLeast;
  spec.name = shared_name_of(node);
  spec.types = {HR_INT64, HR_STRING};
  spec.ranks = {0, 0};
  spec.dims.resize(2);
  const hr_dtype* types = nullptr;
  const int32_t* ranks = nullptr;
  const int64_t* const* dims = nullptr;
  size_t n = 0;
  if (node->api->attr_types(node, "component_types", &types, &n) == HR_OK)
    spec.types.insert(spec.types.end(), types, types + n);
  n = 0;
  if (node->api->attr_shapes(node, "shapes", &ranks, &dims, &n) == HR_OK)
    for (size_t i = 0; i < n; ++i) {
      spec.ranks.push_back(ranks[i]);
      spec.dims.emplace_back(dims[i], dims[i] + (ranks[i] > 0 ? ranks[i] : 0));
    }
  return spec;
}

inline hr_object* make(void* node) {
  auto* created = new Barrier();
  created->spec = declared(static_cast<hr_node*>(node));
  created->complete_take = complete_take;
  return as_new_object(created, "Barrier");
}

// The difference between two declarations, as TensorFlow words it; empty: none.
inline std::string difference(const QueueSpec& held, const QueueSpec& requested) {
  const auto components = [](QueueSpec spec) {
    spec.types.erase(spec.types.begin(), spec.types.begin() + Barrier::kFirstComponent);
    spec.ranks.erase(spec.ranks.begin(), spec.ranks.begin() + Barrier::kFirstComponent);
    spec.dims.erase(spec.dims.begin(), spec.dims.begin() + Barrier::kFirstComponent);
    return spec;
  };
  const QueueSpec one = components(held), other = components(requested);
  const std::string shared = "Shared barrier '" + held.name + "' has component ";
  if (one.types != other.types)
    return shared + "types " + one.types_text() + " but requested component types were " +
           other.types_text();
  if (one.ranks != other.ranks || one.dims != other.dims)
    return shared + "shapes " + one.shapes_text() + " but requested component shapes were " +
           other.shapes_text();
  return std::string();
}

inline hr_code create(hr_node* node, void** state) {
  const QueueSpec requested = declared(node);
  if (requested.ranks.size() != requested.types.size())
    return fail_node_text(node, HR_INVALID_ARGUMENT,
                          "All of the component shapes must be specified");
  if (hr_attr_int(node, "capacity", -1) != -1)
    return fail_node_text(node, HR_INVALID_ARGUMENT,
                          "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier "
                          "through a queue to enforce a limited capacity.");
  const hr_code code = create_node_object<make>(node, state, "Barrier");
  if (code != HR_OK) return code;
  const std::string text = difference(object_of_state<Barrier>(*state)->spec, requested);
  if (text.empty()) return HR_OK;
  destroy_node_object(*state);
  *state = nullptr;
  return fail_node_text(node, HR_INVALID_ARGUMENT, text);
}

inline Barrier* barrier_of(hr_ctx* ctx, const hr_tensor* handle) {
  auto* found = reinterpret_cast<Barrier*>(object_of(handle, "Barrier"));
  if (!found) hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "the handle does not point at a barrier");
  return found;
}

inline hr_code fail_type(hr_ctx* ctx, const Barrier* barrier, size_t component, hr_dtype actual) {
  return hr_ctx_fail(
      ctx, HR_INVALID_ARGUMENT, "Signature mismatch: component %zu of barrier '%s' is %s, got %s",
      component, barrier->spec.name.c_str(),
      dtype_name(barrier->spec.types[Barrier::kFirstComponent + component]), dtype_name(actual));
}

inline hr_code copy_view(hr_ctx* ctx, const hr_tensor* view, OwnedTensor* out) {
  return keep_input(ctx, view, out);  // views have no owner, so it copies
}

inline hr_code new_index(hr_ctx* ctx, int64_t value, OwnedTensor* out) {
  const hr_code code = new_tensor(ctx, HR_INT64, 0, nullptr, out);
  if (code == HR_OK) *static_cast<int64_t*>(out->get()->data) = value;
  return code;
}

inline hr_code check_insertion(hr_ctx* ctx, const Barrier* barrier, int64_t component,
                               const hr_tensor* keys, const hr_tensor* values) {
  const auto n = static_cast<int64_t>(barrier->spec.types.size() - Barrier::kFirstComponent);
  if (component < 0 || component >= n)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "The component ID is out of range %lld > num_components (= %lld)",
                       static_cast<long long>(component), static_cast<long long>(n));
  const auto index = static_cast<size_t>(component);
  const size_t place = Barrier::kFirstComponent + index;
  if (values->dtype != barrier->spec.types[place])
    return fail_type(ctx, barrier, index, values->dtype);
  if (keys->rank != 1 || values->rank < 1 || values->dims[0] != keys->dims[0])
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "a barrier takes one value for each key: keys have shape %s, values %s",
                       sizes_text(keys->rank, keys->dims).c_str(),
                       sizes_text(values->rank, values->dims).c_str());
  if (keys->dims[0] > 0 && hr_elements(values) == 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Tensors with no elements are not supported %s: received shape %s",
                       barrier->spec.name.c_str(), sizes_text(values->rank, values->dims).c_str());
  if (!barrier->spec.fits(place, values, true))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s",
                       barrier->spec.shape_mismatch(place, values, true).c_str());
  return HR_OK;
}

inline hr_code insert_many(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                           hr_tensor* const*, void*) {
  Barrier* barrier = barrier_of(ctx, inputs[0]);
  if (!barrier) return HR_INVALID_ARGUMENT;
  const int64_t component = hr_attr_int(static_cast<hr_node*>(state), "component_index", 0);
  const hr_code code = check_insertion(ctx, barrier, component, inputs[1], inputs[2]);
  if (code != HR_OK) return code;
  return barrier->insert(
      ctx, {static_cast<size_t>(component), inputs[1], inputs[2], copy_view, new_index});
}

inline hr_code check_take(hr_ctx* ctx, const Barrier* barrier, const hr_node* node,
                          const hr_tensor* requested) {
  const std::vector<hr_dtype>& types = barrier->spec.types;
  if (requested->rank != 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "num_elements must be a scalar.");
  if (hr_attr_int(node, "timeout_ms", -1) != -1)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Timeout not supported yet.");
  if (static_cast<size_t>(node->n_outputs) != types.size())
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Signature mismatch: barrier '%s' has %zu components, the node takes %d",
                       barrier->spec.name.c_str(), types.size() - Barrier::kFirstComponent,
                       static_cast<int>(node->n_outputs) - 2);
  for (size_t i = Barrier::kFirstComponent; i < types.size(); ++i)
    if (node->output_dtypes[i] != types[i])
      return fail_type(ctx, barrier, i - Barrier::kFirstComponent, node->output_dtypes[i]);
  const int32_t n = *static_cast<const int32_t*>(requested->data);
  if (n < 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "num_elements must not be negative, but was %d",
                       static_cast<int>(n));
  return HR_OK;
}

inline void take_many(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                      hr_tensor* const* outputs, void*, hr_done done, void* argument) {
  auto* node = static_cast<hr_node*>(state);
  Barrier* barrier = barrier_of(ctx, inputs[0]);
  if (!barrier) return done(argument, HR_INVALID_ARGUMENT);
  const hr_code code = check_take(ctx, barrier, node, inputs[1]);
  if (code != HR_OK) return done(argument, code);
  Barrier::Waiters one = barrier->new_waiter(ctx, outputs, node->n_outputs, done, argument);
  Waiter* take = one.front().get();
  take->kind = Waiter::kDequeue;
  take->requested = *static_cast<const int32_t*>(inputs[1]->data);
  take->many = true;
  take->up_to = hr_attr_bool(node, "allow_small_batch", 0) != 0;
  Barrier::submit(std::move(one));
}

inline hr_code close(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                     hr_tensor* const*, void*) {
  Barrier* barrier = barrier_of(ctx, inputs[0]);
  if (!barrier) return HR_INVALID_ARGUMENT;
  return barrier->close(
      ctx, hr_attr_bool(static_cast<hr_node*>(state), "cancel_pending_enqueues", 0) != 0);
}

inline hr_code ready_size(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                          hr_tensor* const* outputs, void*) {
  Barrier* barrier = barrier_of(ctx, inputs[0]);
  if (!barrier) return HR_INVALID_ARGUMENT;
  *static_cast<int32_t*>(outputs[0]->data) = static_cast<int32_t>(barrier->ready_size());
  return HR_OK;
}

inline hr_code incomplete_size(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                               hr_tensor* const* outputs, void*) {
  Barrier* barrier = barrier_of(ctx, inputs[0]);
  if (!barrier) return HR_INVALID_ARGUMENT;
  *static_cast<int32_t*>(outputs[0]->data) = static_cast<int32_t>(barrier->incomplete_size());
  return HR_OK;
}

inline void add_kernels(std::vector<hr_kernel>* table, CompleteDequeue complete) {
  complete_take = complete;
  table->insert(table->end(),
                {handle_kernel("Barrier", create), plain_kernel("BarrierInsertMany", insert_many),
                 async_kernel("BarrierTakeMany", take_many), plain_kernel("BarrierClose", close),
                 plain_kernel("BarrierReadySize", ready_size),
                 plain_kernel("BarrierIncompleteSize", incomplete_size)});
}

}  // namespace headrace::barriers
