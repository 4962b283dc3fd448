// Datasets: descriptions of pipelines, as values of variant tensors, and the kernels that make
// them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "library/registration.hpp"
#include "ops/datasets/pipeline.hpp"

namespace hr::data {

// A shape of which the rank (-1) or single sizes (-1) may be unknown.
struct Shape {
  int32_t rank = -1;
  std::vector<int64_t> dims;
  bool allows(const hr_tensor* t) const;
  bool compatible(const Shape& other) const;
  std::string text() const { return shape_text(rank, dims.data()); }
};

// What the elements of a dataset or an iterator are.
struct Spec {
  std::vector<hr_dtype> types;
  std::vector<Shape> shapes;
};
Spec spec_of(const hr_node* node, const char* types = "output_types");
// Throw InvalidArgument, in TensorFlow's words, where `actual` is not of the expected kind.
void check_types(const std::vector<hr_dtype>& expected, const std::vector<hr_dtype>& actual);
void check_shapes(const std::vector<Shape>& expected, const std::vector<Shape>& actual);
// The components of one element.
void check_element(const Spec& spec, const Element& element);

// How many elements a dataset has, where it is not a number.
constexpr int64_t kInfinite = -1, kUnknown = -2;

// Immutable, except for the caches of some.
class Dataset {
 public:
  explicit Dataset(Spec s) : spec(std::move(s)) {}
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  virtual std::unique_ptr<Stage> iterate(Pipeline& pipeline) const = 0;
  // The number of elements, as far as it follows from the description.
  virtual int64_t cardinality() const { return kUnknown; }
  // Its input, if it passes that on unchanged: take(-1), repeat(1). Otherwise null.
  virtual const Dataset* same_as() const { return nullptr; }
  const Spec spec;
};

// The dataset that a variant scalar holds. Throws InvalidArgument if it holds none.
DatasetRef dataset_in(const hr_tensor* variant);
Tensor variant_of(hr_ctx* ctx, DatasetRef dataset);
void put_dataset(const hr_tensor* variant, DatasetRef dataset);

// The inputs and attributes of a node that makes a dataset. Arguments are counted as in the
// signature.
class Arguments {
 public:
  Arguments(hr_ctx* ctx, const hr_node* node, const hr_tensor* const* inputs)
      : ctx(ctx), node(node), inputs_(inputs) {}

  hr_ctx* const ctx;
  const hr_node* const node;
  const hr_tensor* input(int32_t i) const { return inputs_[i]; }
  const hr_tensor* tensor(int32_t argument) const;
  DatasetRef dataset(int32_t argument) const { return dataset_in(tensor(argument)); }
  int64_t integer(int32_t argument, const char* name) const;
  bool boolean(int32_t argument, const char* name) const;
  std::string text(int32_t argument, const char* name) const;
  std::vector<std::string> texts(int32_t argument) const;  // of a scalar or vector
  Element list(int32_t argument) const;                    // the tensors of a list argument
  // The function of an attribute, which must take the types of an element and then the captured
  // ones.
  Function function(const char* attribute, const std::vector<hr_dtype>& element,
                    const Element& captured) const;
  Spec spec(const char* types = "output_types") const { return spec_of(node, types); }
  // That of a dataset whose elements have these types, whatever the node declares: later datasets
  // rely on it.
  Spec spec_over(const std::vector<hr_dtype>& types) const;
  Spec spec_over(int32_t argument) const { return spec_over(dataset(argument)->spec.types); }

 private:
  const hr_tensor* const* inputs_;
};

// Checks that a function returns these types.
void check_results(const Function& function, const std::vector<hr_dtype>& types);
// The scalar that a function returned. Throws InvalidArgument with that text if it is none.
const hr_tensor* scalar_result(const Element& results, hr_dtype dtype, const char* wrong);

using MakeDataset = DatasetRef (*)(const Arguments& arguments);

hr_code create_with_node(hr_node* node, void** state);
hr_code prepare_handle(void*, hr_request* request);
hr_code make_dataset(hr_ctx* ctx, void* state, const hr_tensor* const* inputs,
                     hr_tensor* const* outputs, MakeDataset make);

template <MakeDataset make>
hr_code compute_dataset(hr_ctx* ctx, void* state, void*, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void*) {
  return make_dataset(ctx, state, inputs, outputs, make);
}

template <MakeDataset make> KernelRegistration dataset_kernel(const char* op) {
  return kernel(op, nullptr, prepare_handle, compute_dataset<make>)
      .with_state(create_with_node, [](void*) {});
}

}  // namespace hr::data
