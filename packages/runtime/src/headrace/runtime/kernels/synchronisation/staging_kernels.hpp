// Kernels of staging areas, with and without keys.
#pragma once
#include <string>
#include <vector>

#include "kernels/synchronisation/named_objects.hpp"
#include "state/synchronisation/staging_area.hpp"
#include "state/synchronisation/staging_map.hpp"

namespace headrace::staging {

inline StagingLimits limits_of(const hr_node* node) {
  return {hr_attr_int(node, "capacity", 0), hr_attr_int(node, "memory_limit", 0)};
}

inline hr_object* make_area(void* argument) {
  auto* node = static_cast<hr_node*>(argument);
  auto* created = new StagingArea();
  created->limits = limits_of(node);
  created->name = shared_name_of(node);
  return as_new_object(created, "StagingArea");
}
inline hr_code create_area(hr_node* node, void** state) {
  return create_node_object<make_area>(node, state, "StagingArea");
}

inline hr_object* make_map(void* argument) {
  auto* node = static_cast<hr_node*>(argument);
  auto* created = new StagingMap();
  created->limits = limits_of(node);
  created->name = shared_name_of(node);
  return as_new_object(created, "StagingMap");
}
inline hr_code create_map(hr_node* node, void** state) {
  return create_node_object<make_map>(node, state, "StagingMap");
}
// Of an op that puts tuples: it knows the dtypes of all their tensors.
inline hr_code create_putting(hr_node* node, void** state) {
  const hr_code code = create_map(node, state);
  const hr_dtype* types = nullptr;
  size_t n = 0;
  if (code == HR_OK && node->api->attr_types(node, "dtypes", &types, &n) == HR_OK)
    object_of_state<StagingMap>(*state)->declare(types, n);
  return code;
}

inline hr_code fail_text(hr_ctx* ctx, hr_code code, const std::string& text) {
  return hr_ctx_fail(ctx, code, "%s", text.c_str());
}

// ---- without keys ------------------------------------------------------------------------------

inline StagingArea::Waiters waiter(hr_ctx* ctx, void* state, StageWaiter::Kind kind,
                                   hr_tensor* const* outputs, hr_done done, void* argument) {
  const hr_node* node = static_cast<NodeObject*>(state)->node;
  StagingArea::Waiters one = object_of_state<StagingArea>(state)->new_waiter(
      ctx, outputs, node->n_outputs, done, argument);
  one.front()->kind = kind;
  one.front()->tuple.emplace_back();
  return one;
}

inline void stage(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                  hr_tensor* const* outputs, void*, hr_done done, void* argument) {
  const hr_node* node = static_cast<NodeObject*>(state)->node;
  StagingArea::Waiters one = waiter(ctx, state, StageWaiter::kPut, outputs, done, argument);
  StagedTuple& tuple = one.front()->tuple.front();
  tuple.parts.resize(static_cast<size_t>(node->n_inputs));
  for (int32_t i = 0; i < node->n_inputs; ++i) {
    const hr_code code = keep_input(ctx, inputs[i], &tuple.parts[static_cast<size_t>(i)]);
    if (code != HR_OK) return done(argument, code);
    tuple.bytes += staged_bytes(inputs[i]);
  }
  const std::string rejection = object_of_state<StagingArea>(state)->limits.rejection(tuple.bytes);
  if (!rejection.empty()) return done(argument, fail_text(ctx, HR_RESOURCE_EXHAUSTED, rejection));
  StagingArea::submit(std::move(one));
}

inline void unstage(hr_ctx* ctx, void* state, void*, const hr_tensor* const*,
                    hr_tensor* const* outputs, void*, hr_done done, void* argument) {
  StagingArea::submit(waiter(ctx, state, StageWaiter::kGet, outputs, done, argument));
}

inline void peek(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                 hr_tensor* const* outputs, void*, hr_done done, void* argument) {
  if (inputs[0]->rank != 0)
    return done(argument, fail_text(ctx, HR_INVALID_ARGUMENT, "index must be scalar"));
  const int32_t index = *static_cast<const int32_t*>(inputs[0]->data);
  if (index < 0)  // TensorFlow would wait for ever
    return done(argument,
                fail_text(ctx, HR_INVALID_ARGUMENT,
                          "index must not be negative, but was " + std::to_string(index)));
  StagingArea::Waiters one = waiter(ctx, state, StageWaiter::kPeek, outputs, done, argument);
  one.front()->index = static_cast<size_t>(index);
  one.front()->tuple.front().parts.resize(static_cast<size_t>(one.front()->n_outputs));
  StagingArea::submit(std::move(one));
}

template <class Area>
hr_code clear(hr_ctx*, void* state, void*, const hr_tensor* const*, hr_tensor* const*, void*) {
  object_of_state<Area>(state)->clear();
  return HR_OK;
}

template <class Area>
hr_code size(hr_ctx*, void* state, void*, const hr_tensor* const*, hr_tensor* const* outputs,
             void*) {
  const int64_t n = object_of_state<Area>(state)->size();
  *static_cast<int32_t*>(outputs[0]->data) = static_cast<int32_t>(n);
  return HR_OK;
}

// ---- with keys ---------------------------------------------------------------------------------

inline hr_code incomplete_size(hr_ctx*, void* state, void*, const hr_tensor* const*,
                               hr_tensor* const* outputs, void*) {
  const int64_t n = object_of_state<StagingMap>(state)->incomplete_size();
  *static_cast<int32_t*>(outputs[0]->data) = static_cast<int32_t>(n);
  return HR_OK;
}

// Reads the indices of `expected` tensors of a tuple.
inline hr_code read_indices(hr_ctx* ctx, const hr_tensor* input, size_t expected, MapWaiter* w) {
  const auto* values = static_cast<const int32_t*>(input->data);
  const int64_t n = hr_elements(input);
  if (input->rank != 1 || static_cast<size_t>(n) != expected)
    return fail_text(ctx, HR_INVALID_ARGUMENT,
                     "expected a vector of " + std::to_string(expected) + " indices, got shape " +
                         sizes_text(input->rank, input->dims));
  const StagingMap* map = static_cast<StagingMap*>(w->object);
  for (int64_t i = 0; i < n; ++i) {
    if (values[i] < 0)
      return fail_text(ctx, HR_INVALID_ARGUMENT, map->out_of_bounds(values[i], w->key, expected));
    if (i > 0 && values[i] <= values[i - 1])
      return fail_text(ctx, HR_INVALID_ARGUMENT, "Indices are not strictly ordered");
  }
  w->indices.assign(values, values + n);
  return HR_OK;
}

inline StagingMap::Waiters map_waiter(hr_ctx* ctx, void* state, MapWaiter::Kind kind,
                                      hr_tensor* const* outputs, hr_done done, void* argument) {
  const hr_node* node = static_cast<NodeObject*>(state)->node;
  StagingMap::Waiters one =
      object_of_state<StagingMap>(state)->new_waiter(ctx, outputs, node->n_outputs, done, argument);
  one.front()->kind = kind;
  return one;
}

// Fills the tuple to put. values: one for each index.
inline hr_code fill_tuple(hr_ctx* ctx, const StagingMap* map, const hr_tensor* const* values,
                          MapWaiter* w) {
  const std::vector<hr_dtype>& types = map->types();
  KeyedTuple& tuple = w->tuple[w->key];
  tuple.parts.resize(types.size());
  tuple.present.resize(types.size());
  for (size_t i = 0; i < w->indices.size(); ++i) {
    const auto index = static_cast<size_t>(w->indices[i]);
    if (index >= types.size())
      return fail_text(ctx, HR_INVALID_ARGUMENT,
                       map->out_of_bounds(w->indices[i], w->key, types.size()));
    if (values[i]->dtype != types[index])
      return fail_text(ctx, HR_INVALID_ARGUMENT,
                       map->other_type(w->indices[i], types[index], values[i]->dtype));
    const hr_code code = keep_input(ctx, values[i], &tuple.parts[index]);
    if (code != HR_OK) return code;
    tuple.present[index] = 1;
    w->bytes += staged_bytes(values[i]);
  }
  const std::string rejection = map->limits.rejection(w->bytes);
  return rejection.empty() ? HR_OK : fail_text(ctx, HR_RESOURCE_EXHAUSTED, rejection);
}

inline hr_code check_key(hr_ctx* ctx, const hr_tensor* key) {
  if (key->rank == 0) return HR_OK;
  return fail_text(ctx, HR_INVALID_ARGUMENT,
                   "key must be an int64 scalar, got shape " + sizes_text(key->rank, key->dims));
}

inline void map_stage(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                      hr_tensor* const* outputs, void*, hr_done done, void* argument) {
  auto* map = object_of_state<StagingMap>(state);
  const hr_node* node = static_cast<NodeObject*>(state)->node;
  hr_code code = check_key(ctx, inputs[0]);
  if (code != HR_OK) return done(argument, code);
  StagingMap::Waiters one = map_waiter(ctx, state, MapWaiter::kPut, outputs, done, argument);
  MapWaiter* w = one.front().get();
  w->key = *static_cast<const int64_t*>(inputs[0]->data);
  code = read_indices(ctx, inputs[1], static_cast<size_t>(node->n_inputs - 2), w);
  if (code == HR_OK) code = fill_tuple(ctx, map, inputs + 2, w);
  if (code != HR_OK) return done(argument, code);
  StagingMap::submit(std::move(one));
}

// Submits a get or a peek of the tensors at `indices`.
inline void take(hr_ctx* ctx, void* state, MapWaiter::Kind kind, int64_t key,
                 const hr_tensor* indices, hr_tensor* const* outputs, hr_done done,
                 void* argument) {
  const hr_node* node = static_cast<NodeObject*>(state)->node;
  StagingMap::Waiters one = map_waiter(ctx, state, kind, outputs, done, argument);
  MapWaiter* w = one.front().get();
  w->key = key;
  const int32_t first = kind == MapWaiter::kGetAny ? 1 : 0;  // the output before is the key
  w->types = node->output_dtypes + first;
  const hr_code code = read_indices(ctx, indices, static_cast<size_t>(node->n_outputs - first), w);
  if (code != HR_OK) return done(argument, code);
  w->taken.resize(w->indices.size());
  StagingMap::submit(std::move(one));
}

template <MapWaiter::Kind kind>
void map_take(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
              hr_tensor* const* outputs, void*, hr_done done, void* argument) {
  const hr_code code = check_key(ctx, inputs[0]);
  if (code != HR_OK) return done(argument, code);
  take(ctx, state, kind, *static_cast<const int64_t*>(inputs[0]->data), inputs[1], outputs, done,
       argument);
}

inline void map_take_any(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void*, hr_done done, void* argument) {
  take(ctx, state, MapWaiter::kGetAny, 0, inputs[0], outputs, done, argument);
}

inline void add_kernels(std::vector<hr_kernel>* table) {
  const auto add = [table](hr_code (*create)(hr_node*, void**), const hr_kernel& kernel) {
    table->push_back(with_object(kernel, create));
  };
  add(create_area, async_kernel("Stage", stage));
  add(create_area, async_kernel("Unstage", unstage));
  add(create_area, async_kernel("StagePeek", peek));
  add(create_area, plain_kernel("StageSize", size<StagingArea>));
  add(create_area, plain_kernel("StageClear", clear<StagingArea>));
  // An ordered area returns the least key first; an area without order may do so as well.
  add(create_putting, async_kernel("MapStage", map_stage));
  add(create_putting, async_kernel("OrderedMapStage", map_stage));
  add(create_map, async_kernel("MapUnstage", map_take<MapWaiter::kGet>));
  add(create_map, async_kernel("OrderedMapUnstage", map_take<MapWaiter::kGet>));
  add(create_map, async_kernel("MapPeek", map_take<MapWaiter::kPeek>));
  add(create_map, async_kernel("OrderedMapPeek", map_take<MapWaiter::kPeek>));
  add(create_map, async_kernel("MapUnstageNoKey", map_take_any));
  add(create_map, async_kernel("OrderedMapUnstageNoKey", map_take_any));
  add(create_map, plain_kernel("MapSize", size<StagingMap>));
  add(create_map, plain_kernel("OrderedMapSize", size<StagingMap>));
  add(create_map, plain_kernel("MapIncompleteSize", incomplete_size));
  add(create_map, plain_kernel("OrderedMapIncompleteSize", incomplete_size));
  add(create_map, plain_kernel("MapClear", clear<StagingMap>));
  add(create_map, plain_kernel("OrderedMapClear", clear<StagingMap>));
}

}  // namespace headrace::staging
