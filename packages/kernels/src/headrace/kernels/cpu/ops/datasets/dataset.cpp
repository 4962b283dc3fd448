#include "ops/datasets/dataset.hpp"

#include <utility>

#include "library/dtype_names.hpp"
#include "library/text.hpp"

namespace hr::data {

// ---- what elements are --------------------------------------------------------------------------

bool Shape::allows(const hr_tensor* t) const {
  if (rank < 0) return true;
  if (t->rank != rank) return false;
  for (int32_t i = 0; i < rank; ++i)
    if (dims[size_t(i)] >= 0 && dims[size_t(i)] != t->dims[i]) return false;
  return true;
}

bool Shape::compatible(const Shape& other) const {
  if (rank < 0 || other.rank < 0) return true;
  if (rank != other.rank) return false;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] >= 0 && other.dims[i] >= 0 && dims[i] != other.dims[i]) return false;
  return true;
}

Spec spec_of(const hr_node* node, const char* types) {
  Spec spec;
  const hr_dtype* dtypes = nullptr;
  size_t n = 0;
  if (node->api->attr_types(node, types, &dtypes, &n) == HR_OK)
    spec.types.assign(dtypes, dtypes + n);
  const int32_t* ranks = nullptr;
  const int64_t* const* dims = nullptr;
  if (node->api->attr_shapes(node, "output_shapes", &ranks, &dims, &n) != HR_OK) n = 0;
  for (size_t i = 0; i < n; ++i) {
    Shape shape;
    shape.rank = ranks[i];
    if (ranks[i] > 0) shape.dims.assign(dims[i], dims[i] + ranks[i]);
    spec.shapes.push_back(std::move(shape));
  }
  return spec;
}

void check_types(const std::vector<hr_dtype>& expected, const std::vector<hr_dtype>& actual) {
  if (expected.size() != actual.size())
    invalid("Number of components does not match: expected " + std::to_string(expected.size()) +
            " types but got " + std::to_string(actual.size()) + ".");
  for (size_t i = 0; i < expected.size(); ++i)
    if (expected[i] != actual[i])
      invalid("Data type mismatch at component " + std::to_string(i) + ": expected " +
              dtype_name(expected[i]) + " but got " + dtype_name(actual[i]) + ".");
}

void check_shapes(const std::vector<Shape>& expected, const std::vector<Shape>& actual) {
  if (expected.size() != actual.size())
    invalid("Number of components does not match: expected " + std::to_string(expected.size()) +
            " shapes but got " + std::to_string(actual.size()) + ".");
  for (size_t i = 0; i < expected.size(); ++i)
    if (!expected[i].compatible(actual[i]))
      invalid("Incompatible shapes at component " + std::to_string(i) + ": expected " +
              expected[i].text() + " but got " + actual[i].text() + ".");
}

void check_element(const Spec& spec, const Element& element) {
  if (spec.types.size() != element.size())
    invalid("Number of components does not match: expected " + std::to_string(spec.types.size()) +
            " types but got " + std::to_string(element.size()) + ".");
  for (size_t i = 0; i < element.size(); ++i) {
    const hr_tensor* t = element[i].get();
    if (spec.types[i] != t->dtype)
      invalid("Data type mismatch at component " + std::to_string(i) + ": expected " +
              dtype_name(spec.types[i]) + " but got " + dtype_name(t->dtype) + ".");
    if (i < spec.shapes.size() && !spec.shapes[i].allows(t))
      invalid("Incompatible shapes at component " + std::to_string(i) + ": expected " +
              spec.shapes[i].text() + " but got " + shape_text(t) + ".");
  }
}

// ---- variants -----------------------------------------------------------------------------------

namespace {

const hr_variant_type dataset_type = {
    sizeof(hr_variant_type), "tensorflow::DatasetVariantWrapper",
    [](const void* value) -> void* {
      return new DatasetRef(*static_cast<const DatasetRef*>(value));
    },
    [](void* value) { delete static_cast<DatasetRef*>(value); }};

}  // namespace

DatasetRef dataset_in(const hr_tensor* variant) {
  if (variant->dtype == HR_VARIANT && variant->rank == 0) {
    const auto* held = static_cast<const hr_variant*>(variant->data);
    if (held->type == &dataset_type) return *static_cast<const DatasetRef*>(held->value);
    if (!held->type) invalid("The input dataset is empty: its variant tensor has no value.");
    invalid(std::string("Tensor must be a Dataset object: it holds a ") + held->type->name);
  }
  invalid("Dataset tensor must be a scalar of dtype DT_VARIANT.");
}

void put_dataset(const hr_tensor* variant, DatasetRef dataset) {
  auto* held = static_cast<hr_variant*>(variant->data);
  const hr_variant before = *held;
  held->value = new DatasetRef(std::move(dataset));
  held->type = &dataset_type;
  if (before.type) before.type->destroy(before.value);
}

Tensor variant_of(hr_ctx* ctx, DatasetRef dataset) {
  Tensor made = new_tensor(ctx, HR_VARIANT, {});
  put_dataset(made.get(), std::move(dataset));
  return made;
}

// ---- the inputs of a node -----------------------------------------------------------------------

const hr_tensor* Arguments::tensor(int32_t argument) const {
  int32_t first = 0, count = 0;
  node->api->input_range(node, argument, &first, &count);
  if (count != 1) invalid("an argument of the op is missing");
  return inputs_[first];
}

int64_t Arguments::integer(int32_t argument, const char* name) const {
  const hr_tensor* t = tensor(argument);
  if (t->rank != 0) invalid(std::string(name) + " must be a scalar");
  return int_at(t, 0);
}

bool Arguments::boolean(int32_t argument, const char* name) const {
  const hr_tensor* t = tensor(argument);
  if (t->rank != 0) invalid(std::string(name) + " must be a scalar");
  return *static_cast<const bool*>(t->data);
}

std::string Arguments::text(int32_t argument, const char* name) const {
  const hr_tensor* t = tensor(argument);
  if (t->rank != 0) invalid(std::string(name) + " must be a scalar");
  return std::string(text_at(t, 0));
}

std::vector<std::string> Arguments::texts(int32_t argument) const {
  const hr_tensor* t = tensor(argument);
  if (t->rank > 1) invalid("`filenames` must be a scalar or a vector.");
  std::vector<std::string> found;
  for (int64_t i = 0; i < hr_elements(t); ++i) found.emplace_back(text_at(t, i));
  return found;
}

Element Arguments::list(int32_t argument) const {
  int32_t first = 0, count = 0;
  node->api->input_range(node, argument, &first, &count);
  Element found;
  for (int32_t i = first; i < first + count; ++i) found.push_back(kept(ctx, inputs_[i]));
  return found;
}

Spec Arguments::spec_over(const std::vector<hr_dtype>& types) const {
  Spec declared = spec();
  if (declared.types == types && declared.shapes.size() == types.size()) return declared;
  return {types, std::vector<Shape>(types.size())};
}

Function Arguments::function(const char* attribute, const std::vector<hr_dtype>& element,
                             const Element& captured) const {
  const hr_function_api* functions = ctx->api->functions;
  if (!functions)
    throw Failure{HR_FAILED_PRECONDITION, "this runtime has no functions, which datasets need"};
  hr_function* found = nullptr;
  check(functions->find(ctx, node, attribute, &found));
  Function function(found);
  std::vector<hr_dtype> given = element;
  for (const Tensor& t : captured) given.push_back(t.dtype());
  const hr_dtype* takes = functions->input_dtypes(found);
  const std::vector<hr_dtype> taken(takes, takes + functions->n_inputs(found));
  if (taken != given) {
    std::string text = "Function '" + function.name() + "' takes (";
    for (size_t i = 0; i < taken.size(); ++i)
      text += (i ? ", " : "") + std::string(dtype_name(taken[i]));
    text += "), but is called with (";
    for (size_t i = 0; i < given.size(); ++i)
      text += (i ? ", " : "") + std::string(dtype_name(given[i]));
    invalid(text + ")");
  }
  return function;
}

void check_results(const Function& function, const std::vector<hr_dtype>& types) {
  const hr_dtype* gives = api()->functions->output_dtypes(function.get());
  check_types(types, std::vector<hr_dtype>(gives, gives + function.n_outputs()));
}

const hr_tensor* scalar_result(const Element& results, hr_dtype dtype, const char* wrong) {
  if (results.size() != 1 || results[0].dtype() != dtype || results[0].get()->rank != 0)
    invalid(wrong);
  return results[0].get();
}

// ---- kernels ------------------------------------------------------------------------------------

hr_code create_with_node(hr_node* node, void** state) {
  *state = node;
  return HR_OK;
}

hr_code prepare_handle(void*, hr_request* request) {
  set_shape(request->outputs[0], {});
  return HR_OK;
}

hr_code make_dataset(hr_ctx* ctx, void* state, const hr_tensor* const* inputs,
                     hr_tensor* const* outputs, MakeDataset make) {
  use_api(ctx);
  return error_boundary(ctx, [&] {
    put_dataset(outputs[0], make(Arguments(ctx, static_cast<const hr_node*>(state), inputs)));
  });
}

}  // namespace hr::data
