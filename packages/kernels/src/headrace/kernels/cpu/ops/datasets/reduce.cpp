// ReduceDataset and DatasetToSingleElement: all elements of a dataset in one step.
#include "ops/datasets/stages.hpp"
#include "ops/datasets/whole_request.hpp"

namespace hr::data {
namespace {

struct Reduce : WholeRequest {
  Reduce(hr_ctx* c, hr_done d, void* a, Captured f) : WholeRequest(c, d, a), f(std::move(f)) {}
  void serve(Server& server) override {
    Element element;
    while (server.next(&element)) {
      server.pipeline().poll();
      results.insert(results.end(), std::make_move_iterator(element.begin()),
                     std::make_move_iterator(element.end()));
      results = f(server.pipeline(), results);
      element.clear();
    }
  }
  const Captured f;
};

void reduce(hr_ctx* ctx, const hr_node* node, const hr_tensor* const* inputs,
            hr_tensor* const* outputs, hr_done done, void* argument) {
  const Arguments arguments(ctx, node, inputs);
  DatasetRef dataset = arguments.dataset(0);
  Element state = arguments.list(1);
  std::vector<hr_dtype> types;
  for (const Tensor& t : state) types.push_back(t.dtype());
  std::vector<hr_dtype> taken = types;
  taken.insert(taken.end(), dataset->spec.types.begin(), dataset->spec.types.end());
  Captured f = Captured::of(arguments, "f", 2, taken);
  check_results(f.function, types);
  auto request = std::make_unique<Reduce>(ctx, done, argument, std::move(f));
  request->spec = arguments.spec();
  request->results = std::move(state);
  request->outputs = outputs;
  begin(std::move(request), ctx, dataset);
}

struct Single : WholeRequest {
  using WholeRequest::WholeRequest;
  void serve(Server& server) override {
    if (!server.next(&results)) invalid("Dataset was empty.");
    Element second;
    if (server.next(&second)) invalid("Dataset had more than one element.");
  }
  bool ready(Pipeline& pipeline) override { return pipeline.root().ready(2); }
};

void single(hr_ctx* ctx, const hr_node* node, const hr_tensor* const* inputs,
            hr_tensor* const* outputs, hr_done done, void* argument) {
  const Arguments arguments(ctx, node, inputs);
  auto request = std::make_unique<Single>(ctx, done, argument);
  request->spec = arguments.spec();
  request->outputs = outputs;
  begin(std::move(request), ctx, arguments.dataset(0));
}

}  // namespace

HR_KERNELS = {
    async_kernel<reduce>("ReduceDataset"),
    async_kernel<single>("DatasetToSingleElement"),
};

}  // namespace hr::data
