// Iterator ops: their handles, their datasets, their elements.
#include "ops/datasets/iterators.hpp"

#include <utility>

#include "files/protobuf_writer.hpp"
#include "headrace/wire.h"
#include "library/attributes.hpp"
#include "library/dtype_names.hpp"
#include "library/text.hpp"

namespace hr::data {
namespace {

void destroy_iterator(hr_object* object) {
  auto* iterator = reinterpret_cast<IteratorObject*>(object);
  if (iterator->server->forked()) return;
  iterator->server->shut_down();
  delete iterator;
}

// The fields of ResourceHandleProto.
enum Field : uint32_t { kDevice = 1, kContainer = 2, kName = 3, kHash = 4, kType = 5 };

}  // namespace

IteratorObject* new_iterator(Spec spec) {
  auto* made = new IteratorObject{object_of_kind(kIteratorKind, destroy_iterator), {}, {}, {}};
  made->spec = std::move(spec);
  return made;
}

std::string IteratorObject::handle() const {
  protobuf::Message message;
  message.text(kDevice, "/job:localhost/replica:0/task:0/device:CPU:0");
  message.text(kContainer, container).text(kName, name).text(kType, "IteratorResource");
  return message.bytes();
}

IteratorObject* iterator_of(const hr_tensor* handle) {
  if (handle->rank != 0) invalid("resource_handle must be a scalar");
  hr_object* object = object_of(handle, kIteratorKind);
  if (!object) invalid("the handle does not point at an iterator");
  return reinterpret_cast<IteratorObject*>(object);
}

void NextRequest::abandon(Server& server, Failure failure) {
  server.kept().push_back({end, std::move(element), std::move(failure)});
}

void give_element(const Spec& spec, Element& element, hr_tensor* const* outputs) {
  check_element(spec, element);
  for (size_t i = 0; i < element.size(); ++i) *outputs[i] = element[i].take();
}

hr_code prepare_any_shape(void*, hr_request* request) {
  request->shape_depends_on_data = 1;
  return HR_OK;
}

namespace {

// ---- handles ------------------------------------------------------------------------------------

struct IteratorNode : ResourceNode {
  explicit IteratorNode(const hr_node* node) : ResourceNode(node, kIteratorKind) {}
};

hr_code create_node(hr_node* node, void** state) {
  *state = new IteratorNode(node);
  return HR_OK;
}
void destroy_node(void* state) { delete static_cast<IteratorNode*>(state); }

hr_object* make_named(void* argument) {
  const auto* node = static_cast<const IteratorNode*>(argument);
  Failure failure;
  IteratorObject* made = nullptr;
  failed(&failure, [&] {
    made = new_iterator(spec_of(node->node));
    made->container = std::string(attr_text(node->node, "container"));
    made->name = node->name();
  });
  return made ? &made->object : nullptr;
}

IteratorObject* find_iterator(hr_ctx* ctx, IteratorNode* node, hr_object** found) {
  const Spec spec = spec_of(node->node);
  check(node->find(ctx, make_named, node, found));
  auto* iterator = reinterpret_cast<IteratorObject*>(*found);
  Failure failure;
  if (failed(&failure, [&] {
        check_types(spec.types, iterator->spec.types);
        check_shapes(spec.shapes, iterator->spec.shapes);
      })) {
    ctx->api->release_object(std::exchange(*found, nullptr));
    throw failure;
  }
  return iterator;
}

hr_code give_iterator(hr_ctx* ctx, void* state, void*, const hr_tensor* const*,
                      hr_tensor* const* outputs, void*) {
  use_api(ctx);
  auto* node = static_cast<IteratorNode*>(state);
  return error_boundary(ctx, [&] {
    hr_object* found = nullptr;
    find_iterator(ctx, node, &found);
    node->give(ctx, found, outputs[0]);
  });
}

hr_code give_one_shot(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                      hr_tensor* const* outputs, void*) {
  use_api(ctx);
  auto* node = static_cast<IteratorNode*>(state);
  return error_boundary(ctx, [&] {
    auto factory = std::make_shared<Function>(
        Arguments(ctx, node->node, inputs).function("dataset_factory", {}, {}));
    check_results(*factory, {HR_VARIANT});
    hr_object* found = nullptr;
    IteratorObject* iterator = find_iterator(ctx, node, &found);
    Failure failure;
    if (failed(&failure, [&] {
          iterator->server->set_factory(ctx, found,
                                        [factory, spec = iterator->spec](Pipeline& pipeline) {
                                          const Element made = call(pipeline, *factory, {}, {});
                                          DatasetRef dataset = dataset_in(made[0].get());
                                          check_types(spec.types, dataset->spec.types);
                                          check_shapes(spec.shapes, dataset->spec.shapes);
                                          return dataset;
                                        });
        })) {
      ctx->api->release_object(found);
      throw failure;
    }
    node->give(ctx, found, outputs[0]);
  });
}

hr_code give_anonymous(hr_ctx* ctx, void* state, void*, const hr_tensor* const*,
                       hr_tensor* const* outputs, void*) {
  use_api(ctx);
  return error_boundary(ctx, [&] {
    IteratorObject* made = new_iterator(spec_of(static_cast<const hr_node*>(state)));
    static_cast<hr_resource*>(outputs[0]->data)->object = &made->object;
  });
}

hr_code handle_to_string(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void*) {
  use_api(ctx);
  return error_boundary(
      ctx, [&] { check(set_text(ctx, outputs[0], 0, iterator_of(inputs[0])->handle())); });
}

hr_code handle_from_string(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                           hr_tensor* const* outputs, void*) {
  use_api(ctx);
  return error_boundary(ctx, [&] {
    if (inputs[0]->rank != 0) invalid("string_handle must be a scalar");
    const std::string_view text = text_at(inputs[0], 0);
    std::string container, name;
    hr_wire_field field;
    uint64_t at = 0;
    int more;
    while ((more = hr_wire_next(reinterpret_cast<const uint8_t*>(text.data()), text.size(), &at,
                                &field)) > 0) {
      if (field.wire != HR_WIRE_BYTES) continue;
      const std::string value(reinterpret_cast<const char*>(field.data), size_t(field.size));
      if (field.number == kContainer) container = value;
      if (field.number == kName) name = value;
    }
    if (more < 0 || name.empty())
      invalid("Could not parse string_handle as a valid ResourceHandle");
    hr_object* found = nullptr;
    check(ctx->api->lookup_or_create(ctx, container.c_str(), name.c_str(), kIteratorKind, nullptr,
                                     nullptr, &found));
    const auto* iterator = reinterpret_cast<IteratorObject*>(found);
    const Spec spec = spec_of(static_cast<const hr_node*>(state));
    Failure failure;
    if (failed(&failure, [&] {
          if (!spec.types.empty()) check_types(spec.types, iterator->spec.types);
          if (!spec.shapes.empty()) check_shapes(spec.shapes, iterator->spec.shapes);
        })) {
      ctx->api->release_object(found);
      throw failure;
    }
    static_cast<hr_resource*>(outputs[0]->data)->object = found;
  });
}

// ---- datasets and elements ----------------------------------------------------------------------

hr_code set_dataset(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs, hr_tensor* const*,
                    void*) {
  use_api(ctx);
  return error_boundary(ctx, [&] {
    const DatasetRef dataset = dataset_in(inputs[0]);
    IteratorObject* iterator = iterator_of(inputs[1]);
    if (!iterator->spec.types.empty()) {
      check_types(iterator->spec.types, dataset->spec.types);
      check_shapes(iterator->spec.shapes, dataset->spec.shapes);
    }
    iterator->server->set_dataset(ctx, &iterator->object, dataset);
  });
}

struct GetNext : NextRequest {
  using NextRequest::NextRequest;
  void deliver() override {
    if (end) throw Failure{HR_OUT_OF_RANGE, "End of sequence"};
    give_element(spec_of(node), element, outputs);
  }
  const hr_node* node = nullptr;
  hr_tensor* const* outputs = nullptr;
};

void get_next(hr_ctx* ctx, const hr_node* node, const hr_tensor* const* inputs,
              hr_tensor* const* outputs, hr_done done, void* argument) {
  IteratorObject* iterator = iterator_of(inputs[0]);
  auto request = std::make_unique<GetNext>(ctx, done, argument);
  request->node = node;
  request->outputs = outputs;
  iterator->server->enter(std::move(request));
}

// ---- saved positions ----------------------------------------------------------------------------

const char* const kStateTag = "headrace iterator 1";

struct SaveState : Request {
  using Request::Request;
  void serve(Server& server) override {
    StateWriter state;
    state.text(kStateTag);
    state.number(int64_t(server.kept().size()));
    for (const Server::Kept& kept : server.kept()) {
      state.number(kept.end);
      state.number(kept.failure.code);
      state.text(kept.failure.text);
      state.element_unless(kept.end || kept.failure.code != HR_OK, kept.element);
    }
    server.pipeline().root().save(state);
    bytes = state.bytes();
  }
  void deliver() override;
  std::string bytes;
  hr_tensor* output = nullptr;
};

void SaveState::deliver() {
  output->rank = 0;
  check(ctx->api->allocate(ctx, output));
  set_saved_position(output, std::move(bytes));
}

void save_state(hr_ctx* ctx, const hr_node*, const hr_tensor* const* inputs,
                hr_tensor* const* outputs, hr_done done, void* argument) {
  auto request = std::make_unique<SaveState>(ctx, done, argument);
  request->output = outputs[0];
  iterator_of(inputs[0])->server->enter(std::move(request));
}

struct RestoreState : Request {
  using Request::Request;
  void serve(Server& server) override {
    StateReader state(server.pipeline().ctx(), bytes);
    state.expect(kStateTag);
    std::deque<Server::Kept> kept;
    for (int64_t n = state.number(0, 1 << 20); n > 0; --n) {
      Server::Kept one;
      one.end = state.number(0, 1) != 0;
      one.failure.code = hr_code(state.number(HR_OK, HR_UNAUTHENTICATED));
      one.failure.text = std::string(state.text());
      one.element = state.element_unless(one.end || one.failure.code != HR_OK,
                                         server.pipeline().dataset().spec);
      kept.push_back(std::move(one));
    }
    server.pipeline().restart();
    server.pipeline().root().restore(state);
    server.kept().swap(kept);
  }
  std::string bytes;
};

void restore_state(hr_ctx* ctx, const hr_node*, const hr_tensor* const* inputs, hr_tensor* const*,
                   hr_done done, void* argument) {
  auto request = std::make_unique<RestoreState>(ctx, done, argument);
  const std::string* position = saved_position(inputs[1]);
  if (!position) invalid("DeserializeIterator takes what SerializeIterator returned");
  request->bytes = *position;
  iterator_of(inputs[0])->server->enter(std::move(request));
}

hr_code prepare_nothing(void*, hr_request*) { return HR_OK; }

KernelRegistration handle_kernel(const char* op, hr_compute compute) {
  return kernel(op, nullptr, prepare_handle, compute).with_state(create_node, destroy_node);
}

KernelRegistration node_kernel(const char* op, Prepare prepare, hr_compute compute) {
  return kernel(op, nullptr, prepare, compute).with_state(create_with_node, [](void*) {});
}

}  // namespace

HR_KERNELS = {
    handle_kernel("Iterator", give_iterator),
    handle_kernel("IteratorV2", give_iterator),
    handle_kernel("OneShotIterator", give_one_shot),
    node_kernel("AnonymousIterator", prepare_handle, give_anonymous),
    node_kernel("IteratorToStringHandle", prepare_handle, handle_to_string),
    node_kernel("IteratorFromStringHandle", prepare_handle, handle_from_string),
    node_kernel("IteratorFromStringHandleV2", prepare_handle, handle_from_string),
    node_kernel("MakeIterator", prepare_nothing, set_dataset),
    async_kernel<get_next>("IteratorGetNext"),
    async_kernel<get_next>("IteratorGetNextSync"),
    async_kernel<save_state>("SerializeIterator"),
    async_kernel<restore_state>("DeserializeIterator"),
};

}  // namespace hr::data
