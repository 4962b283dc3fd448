// Iterators: resources that serve the elements of a dataset.
#pragma once

#include <memory>
#include <string>

#include "ops/datasets/server.hpp"
#include "table/resources.hpp"

namespace hr::data {

inline const char* const kIteratorKind = "Iterator";

struct IteratorObject {
  hr_object object;  // first
  std::string container, name;
  Spec spec;  // of its elements; an empty one allows all
  std::shared_ptr<Server> server = std::make_shared<Server>();

  // Its handle as a string, by which FromStringHandle finds it.
  std::string handle() const;
};

IteratorObject* new_iterator(Spec spec);
// The iterator of a handle. Throws InvalidArgument.
IteratorObject* iterator_of(const hr_tensor* handle);

// The next element.
struct NextRequest : Request {
  using Request::Request;
  void serve(Server& server) override { end = !server.next(&element); }
  void abandon(Server& server, Failure failure) override;
  bool ready(Pipeline& pipeline) override { return pipeline.root().ready(1); }
  bool end = false;
  Element element;
};

// Moves an element to the outputs of an asynchronous kernel. Throws Failure where they differ.
void give_element(const Spec& spec, Element& element, hr_tensor* const* outputs);

// An asynchronous kernel with a node as its state; `start` throws Failure before the call begins.
using StartAsync = void (*)(hr_ctx* ctx, const hr_node* node, const hr_tensor* const* inputs,
                            hr_tensor* const* outputs, hr_done done, void* argument);
hr_code prepare_any_shape(void*, hr_request* request);

template <StartAsync start>
void compute_async(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                   hr_tensor* const* outputs, void*, hr_done done, void* argument) {
  use_api(ctx);
  Failure failure{HR_OK, ""};
  if (!failed(&failure, [&] {
        start(ctx, static_cast<const hr_node*>(state), inputs, outputs, done, argument);
      }))
    return;
  const hr_code code = failure.code == HR_OK ? HR_INTERNAL : failure.code;
  done(argument, hr_ctx_fail(ctx, code, "%s", failure.text.c_str()));
}

template <StartAsync start> KernelRegistration async_kernel(const char* op) {
  KernelRegistration made = kernel(op, nullptr, prepare_any_shape, nullptr);
  made.create = create_with_node;
  made.compute_async = compute_async<start>;
  return made;
}

}  // namespace hr::data
