// The items of a TensorArray: who holds them, and which reads and writes are allowed.
#include "library/tensor_arrays/tensor_array.hpp"

#include <algorithm>
#include <atomic>

#include "library/dtype_names.hpp"
#include "library/memory_needs.hpp"
#include "library/shapes.hpp"

namespace hr {
namespace {

std::string unique_name(std::string_view name) {
  static std::atomic<int64_t> count{0};
  return std::string(name) + "_" + std::to_string(count++);
}

}  // namespace

// ---- the array itself --------------------------------------------------------------------------

const char TensorArray::kKind[] = "TensorArray";

TensorArray::TensorArray(hr_ctx* ctx, const TensorArrayOptions& options, std::string name)
    : options_(options), name_(std::move(name)), retain_(ctx->api->retain),
      release_(ctx->api->release), retain_object_(ctx->api->retain_object),
      release_object_(ctx->api->release_object) {
  hr_object::size = sizeof(hr_object);
  references = 1;
  kind = kKind;
  destroy = [](hr_object* self) { delete static_cast<TensorArray*>(self); };
}

TensorArray::~TensorArray() {
  release(items_);
  for (auto& entry : gradients_) release_object_(entry.second);
}

TensorArray* TensorArray::create(hr_ctx* ctx, const TensorArrayOptions& options, int64_t size,
                                 std::string_view name) {
  auto* array = new TensorArray(ctx, options, unique_name(name));
  try {
    array->resize(size);
  } catch (...) {
    delete array;
    throw;
  }
  return array;
}

void TensorArray::resize(int64_t n) {
  need_memory(n, int64_t(sizeof(Item)));
  if (size_t(n) > items_.capacity()) items_.reserve(std::max(size_t(n), 2 * items_.size()));
  items_.resize(size_t(n));
}

void TensorArray::release(const std::vector<Item>& items) const {
  for (const Item& item : items)
    if (item.value.owner) release_(item.value.owner);
}

hr_code TensorArray::gradient(hr_ctx* ctx, std::string_view source, const PartialShape& prepend,
                              TensorArray** found) {
  std::lock_guard<std::mutex> held(lock_);
  if (hr_code code = check_open(ctx)) return code;
  options_.dynamic_size = false;  // the gradient has the size that this array has now
  auto known = gradients_.find(source);
  if (known != gradients_.end()) {
    *found = known->second;
    return HR_OK;
  }
  const int32_t more = prepend.rank;
  auto longer = [&](int32_t* rank, int64_t* dims) {
    if (*rank < 0) return true;
    if (*rank + more > HR_MAX_RANK) return false;
    std::copy_backward(dims, dims + *rank, dims + *rank + more);
    std::copy(prepend.dims, prepend.dims + more, dims);
    *rank += more;
    return true;
  };
  TensorArrayOptions options = options_;
  // The gradient of a gradient reads each sum once for each of its terms.
  options.clear_after_read = !is_gradient_;
  bool fits = longer(&options.element_shape.rank, options.element_shape.dims);
  auto* made = new TensorArray(ctx, options, name_ + "@" + std::string(source));
  try {
    made->is_gradient_ = true;
    made->size_to_concat_ = size_to_concat_;
    made->resize(int64_t(items_.size()));
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!items_[i].written) continue;
      Item& item = made->items_[i];
      set_shape(&item.value, items_[i].value.rank, items_[i].value.dims);
      fits = fits && longer(&item.value.rank, item.value.dims);
      item.written = true;
    }
    if (fits) gradients_.emplace(source, made);
  } catch (...) {
    delete made;
    throw;
  }
  if (!fits) {
    delete made;
    return hr_ctx_fail(ctx, HR_UNIMPLEMENTED, "a tensor of more than %d dimensions", HR_MAX_RANK);
  }
  *found = made;
  return HR_OK;
}

hr_code TensorArray::check_open(hr_ctx* ctx) const {
  if (!closed_) return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "TensorArray %s has already been closed.",
                     name_.c_str());
}

hr_code TensorArray::size(hr_ctx* ctx, int64_t* n) {
  std::lock_guard<std::mutex> held(lock_);
  *n = int64_t(items_.size());
  return check_open(ctx);
}

hr_code TensorArray::size_to_concat(hr_ctx* ctx, int64_t* n) {
  std::lock_guard<std::mutex> held(lock_);
  *n = is_gradient_ && size_to_concat_ >= 0 ? size_to_concat_ : int64_t(items_.size());
  return check_open(ctx);
}

hr_code TensorArray::set_size_to_concat(hr_ctx* ctx, int64_t n) {
  std::lock_guard<std::mutex> held(lock_);
  if (!is_gradient_) size_to_concat_ = n;
  return check_open(ctx);
}

bool TensorArray::is_dynamic() {
  std::lock_guard<std::mutex> held(lock_);
  return options_.dynamic_size;
}

hr_code TensorArray::narrow(hr_ctx* ctx, const PartialShape& element_shape) {
  std::lock_guard<std::mutex> held(lock_);
  PartialShape merged = options_.element_shape;
  if (!merged.merge(element_shape))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "TensorArray %s: Incompatible shapes during merge: %s vs. %s", name_.c_str(),
                       (const char*)PartialShapeText(options_.element_shape),
                       (const char*)PartialShapeText(element_shape));
  options_.element_shape = merged;
  return HR_OK;
}

void TensorArray::close() {
  std::vector<Item> closed;
  {
    std::lock_guard<std::mutex> held(lock_);
    closed.swap(items_);
    closed_ = true;
  }
  release(closed);  // without the lock: an item may hold another array
}

// ---- writes ------------------------------------------------------------------------------------

hr_code TensorArray::check_write(hr_ctx* ctx, int64_t index, const hr_tensor* value) {
  const long long at = index;
  if (hr_code code = check_open(ctx)) return code;
  if (index < 0 || (!options_.dynamic_size && index >= int64_t(items_.size())))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "TensorArray %s: Tried to write to index %lld but array is not resizeable "
                       "and size is: %zu",
                       name_.c_str(), at, items_.size());
  if (!options_.element_shape.allows(value))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "TensorArray %s: Could not write to TensorArray index %lld because the "
                       "value shape is %s which is incompatible with the TensorArray's inferred "
                       "element shape: %s (consider setting infer_shape=False).",
                       name_.c_str(), at, (const char*)PartialShapeText(shape_of(value)),
                       (const char*)PartialShapeText(options_.element_shape));
  if (index >= int64_t(items_.size())) resize(index + 1);
  const Item& item = items_[size_t(index)];
  if (item.read || (item.written && !is_gradient_))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "TensorArray %s: Could not write to TensorArray index %lld because it has "
                       "already been %s.",
                       name_.c_str(), at, item.read ? "read" : "written to");
  if (item.written && !same_shape(&item.value, value))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "TensorArray %s: Could not aggregate to TensorArray index %lld because the "
                       "existing shape is %s but the new input shape is %s.",
                       name_.c_str(), at, (const char*)PartialShapeText(shape_of(&item.value)),
                       (const char*)PartialShapeText(shape_of(value)));
  return HR_OK;
}

hr_code TensorArray::write(hr_ctx* ctx, int64_t index, const hr_tensor* value) {
  std::lock_guard<std::mutex> held(lock_);
  if (hr_code code = check_write(ctx, index, value)) return code;
  if (options_.identical_element_shapes && !options_.element_shape.complete())
    options_.element_shape = shape_of(value);
  Item& item = items_[size_t(index)];
  if (item.value.owner) return add(ctx, index, value);
  hr_code code;
  HeldTensor kept = hold(ctx, value, &code);
  if (code) return code;
  item.own = !value->owner;
  item.value = std::exchange(*kept.writable(), hr_tensor{});
  item.value.layout = 0;
  item.written = true;
  return HR_OK;
}

// Adds a value to an item that has one.
hr_code TensorArray::add(hr_ctx* ctx, int64_t index, const hr_tensor* value) {
  Item& item = items_[size_t(index)];
  if (!item.own) {
    hr_tensor borrowed = item.value;
    borrowed.owner = nullptr;  // to get a copy
    hr_code code;
    HeldTensor sum = hold(ctx, &borrowed, &code);
    if (code) return code;
    release_(item.value.owner);
    item.value = std::exchange(*sum.writable(), hr_tensor{});
    item.own = true;
  }
  return add_to_tensor(ctx, *value, &item.value);
}

// ---- reads -------------------------------------------------------------------------------------

// Makes an item that was not written zeros of the element shape.
hr_code TensorArray::declare_zeros(hr_ctx* ctx, int64_t index) {
  const PartialShape& shape = options_.element_shape;
  if (!shape.complete())
    return hr_ctx_fail(
        ctx, HR_INVALID_ARGUMENT,
        "TensorArray %s: Could not read from TensorArray index %lld.  Furthermore, the element "
        "shape is not fully defined: %s.  It is possible you are working with a resizeable "
        "TensorArray and stop_gradients is not allowing the gradients to be written.  If you set "
        "the full element_shape property on the forward TensorArray, the proper all-zeros tensor "
        "will be returned instead of incurring this error.",
        name_.c_str(), (long long)index, (const char*)PartialShapeText(shape));
  const int64_t before = int64_t(items_.size());
  if (index >= before) resize(index + 1);
  for (int64_t i = std::min(index, before); i <= index; ++i) {
    set_shape(&items_[size_t(i)].value, shape.rank, shape.dims);
    items_[size_t(i)].written = true;
  }
  return HR_OK;
}

hr_code TensorArray::read(hr_ctx* ctx, int64_t index, HeldTensor* value) {
  std::lock_guard<std::mutex> held(lock_);
  if (hr_code code = check_open(ctx)) return code;
  const int64_t n = int64_t(items_.size());
  if (index < 0 || (index >= n && !is_gradient_))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "TensorArray %s: Tried to read from index %lld but array size is: %lld",
                       name_.c_str(), (long long)index, (long long)n);
  if (index >= n || !items_[size_t(index)].written)
    if (hr_code code = declare_zeros(ctx, index)) return code;
  Item& item = items_[size_t(index)];
  if (item.cleared)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "TensorArray %s: Could not read index %lld twice because it was cleared "
                       "after a previous read (perhaps try setting clear_after_read = false?).",
                       name_.c_str(), (long long)index);
  if (!item.value.owner) {
    hr_code code;
    HeldTensor made = zeros(ctx, options_.dtype, shape_of(&item.value), &code);
    if (code) return code;
    item.value = std::exchange(*made.writable(), hr_tensor{});
  }
  item.read = true;
  item.own = false;
  if (options_.clear_after_read) {
    item.cleared = true;
    *value = HeldTensor(item.value, release_);
    item.value.owner = nullptr;
    return HR_OK;
  }
  retain_(item.value.owner);
  *value = HeldTensor(item.value, release_);
  return HR_OK;
}

// ---- what kernels share ------------------------------------------------------------------------

hr_code check_written_dtype(hr_ctx* ctx, const TensorArray* array, hr_dtype dtype) {
  if (array->dtype() == dtype) return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                     "TensorArray dtype is %s but Op is trying to write dtype %s.",
                     dtype_name(array->dtype()), dtype_name(dtype));
}

hr_code check_read_dtype(hr_ctx* ctx, const TensorArray* array, hr_dtype dtype) {
  if (array->dtype() == dtype) return HR_OK;
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "TensorArray dtype is %s but Op requested dtype %s.",
                     dtype_name(array->dtype()), dtype_name(dtype));
}

}  // namespace hr
