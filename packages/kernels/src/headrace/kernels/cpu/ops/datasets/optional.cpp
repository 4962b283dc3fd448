// Optionals: an element or none, as a value. IteratorGetNextAsOptional does not fail at the end.
#include "ops/datasets/iterators.hpp"

namespace hr::data {
namespace {

struct Optional {
  bool has_value = false;
  Element element;
};

const hr_variant_type optional_type = {
    sizeof(hr_variant_type), "tensorflow::data::Optional",
    [](const void* value) -> void* { return new Optional(*static_cast<const Optional*>(value)); },
    [](void* value) { delete static_cast<Optional*>(value); }};

void put(const hr_tensor* output, Optional value) {
  auto* held = static_cast<hr_variant*>(output->data);
  const hr_variant before = *held;
  held->value = new Optional(std::move(value));
  held->type = &optional_type;
  if (before.type) before.type->destroy(before.value);
}

const Optional& optional_in(const hr_tensor* variant) {
  if (variant->rank == 0) {
    const auto* held = static_cast<const hr_variant*>(variant->data);
    if (held->type == &optional_type) return *static_cast<const Optional*>(held->value);
  }
  invalid("Input is not an Optional.");
}

hr_code from_value(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                   hr_tensor* const* outputs, void*) {
  use_api(ctx);
  return error_boundary(ctx, [&] {
    put(outputs[0], {true, Arguments(ctx, static_cast<const hr_node*>(state), inputs).list(0)});
  });
}

hr_code none(hr_ctx* ctx, void*, void*, const hr_tensor* const*, hr_tensor* const* outputs, void*) {
  use_api(ctx);
  return error_boundary(ctx, [&] { put(outputs[0], {}); });
}

hr_code has_value(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                  hr_tensor* const* outputs, void*) {
  return error_boundary(ctx, [&] { *write<bool>(outputs[0]) = optional_in(inputs[0]).has_value; });
}

hr_code get_value(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                  hr_tensor* const* outputs, void*) {
  use_api(ctx);
  return error_boundary(ctx, [&] {
    const Optional& optional = optional_in(inputs[0]);
    if (!optional.has_value) invalid("The given optional does not have a value.");
    check_element(spec_of(static_cast<const hr_node*>(state)), optional.element);
    for (size_t i = 0; i < optional.element.size(); ++i)
      check(ctx->api->forward(ctx, optional.element[i].get(), outputs[i]));
  });
}

struct NextOptional : NextRequest {
  using NextRequest::NextRequest;
  void deliver() override {
    if (!end) check_element(spec, element);
    output->rank = 0;
    check(ctx->api->allocate(ctx, output));
    put(output, {!end, std::move(element)});
  }
  Spec spec;
  hr_tensor* output = nullptr;
};

void get_next_as_optional(hr_ctx* ctx, const hr_node* node, const hr_tensor* const* inputs,
                          hr_tensor* const* outputs, hr_done done, void* argument) {
  auto request = std::make_unique<NextOptional>(ctx, done, argument);
  request->spec = spec_of(node);
  request->output = outputs[0];
  iterator_of(inputs[0])->server->enter(std::move(request));
}

hr_code prepare_elements(void*, hr_request* request) {
  request->shape_depends_on_data = 1;
  return HR_OK;
}

KernelRegistration optional_kernel(const char* op, Prepare prepare, hr_compute compute) {
  return kernel(op, nullptr, prepare, compute).with_state(create_with_node, [](void*) {});
}

}  // namespace

HR_KERNELS = {
    optional_kernel("OptionalFromValue", prepare_handle, from_value),
    optional_kernel("OptionalNone", prepare_handle, none),
    optional_kernel("OptionalHasValue", prepare_handle, has_value),
    optional_kernel("OptionalGetValue", prepare_elements, get_value).is(HR_KERNEL_DATA_SHAPE),
    async_kernel<get_next_as_optional>("IteratorGetNextAsOptional"),
};

}  // namespace hr::data
