// Asynchronous kernels that read a whole dataset in one step.
#pragma once

#include <memory>
#include <utility>

#include "ops/datasets/iterators.hpp"

namespace hr::data {

// Reads a dataset on a thread of its own, which ends with the request.
struct WholeRequest : Request {
  using Request::Request;
  void deliver() override { give_element(spec, results, outputs); }
  Spec spec;
  Element results;
  hr_tensor* const* outputs = nullptr;
};

template <class R>
void begin(std::unique_ptr<R> request, hr_ctx* ctx, const DatasetRef& dataset) {
  auto server = std::make_shared<Server>();
  server->serve_one_only();
  server->set_dataset(ctx, nullptr, dataset);
  server->enter(std::move(request));
}

}  // namespace hr::data
