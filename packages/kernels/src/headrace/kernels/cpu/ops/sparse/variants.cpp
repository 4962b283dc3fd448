// Sparse tensors as variants, in which the elements of datasets hold them: SerializeSparse,
// SerializeManySparse and DeserializeSparse. A sparse tensor is three variants, one for each of its
// tensors.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "library/dtype_names.hpp"
#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

// Indices, values or the dense shape of a sparse tensor.
struct Part {
  hr_dtype dtype = HR_INT64;
  int32_t rank = 1;
  int64_t dims[2] = {0, 0};
  std::vector<char> bytes;  // of numbers
  std::vector<std::string> texts;

  // Appends elements [begin, end) of a tensor.
  void append(const hr_tensor* t, int64_t begin, int64_t end) {
    if (t->dtype == HR_STRING) {
      const hr_string* from = read<hr_string>(t);
      for (int64_t i = begin; i < end; ++i)
        texts.emplace_back(from[i].data ? from[i].data : "", from[i].size);
      return;
    }
    const int64_t size = hr_dtype_size(t->dtype);
    const char* from = read<char>(t);
    bytes.insert(bytes.end(), from + begin * size, from + end * size);
  }
  const int64_t* numbers() const { return reinterpret_cast<const int64_t*>(bytes.data()); }
};

using SharedPart = std::shared_ptr<const Part>;

const hr_variant_type part_type = {sizeof(hr_variant_type), "tensorflow::Tensor",
                                   [](const void* value) -> void* {
                                     return new SharedPart(*static_cast<const SharedPart*>(value));
                                   },
                                   [](void* value) { delete static_cast<SharedPart*>(value); }};

void put(hr_variant* to, const SharedPart& part) {
  auto value = std::make_unique<SharedPart>(part);
  if (to->type) to->type->destroy(to->value);
  *to = {&part_type, value.release()};
}

SharedPart part_of(const hr_tensor* t) {
  auto part = std::make_shared<Part>();
  part->dtype = t->dtype;
  part->rank = t->rank;
  std::copy(t->dims, t->dims + t->rank, part->dims);
  part->append(t, 0, hr_elements(t));
  return part;
}

// ---- SerializeSparse ---------------------------------------------------------------------------

hr_code check_parts(hr_request* r) {
  const hr_tensor *indices = r->inputs[0], *values = r->inputs[1], *shape = r->inputs[2];
  if (indices->rank != 2)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Input indices should be a matrix but received shape %s",
                           (const char*)ShapeText(indices));
  if (values->rank != 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Input values should be a vector but received shape %s",
                           (const char*)ShapeText(values));
  if (shape->rank != 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Input shape should be a vector but received shape %s",
                           (const char*)ShapeText(shape));
  if (indices->dims[0] != values->dims[0])
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Number of values must match first dimension of indices. Got %lld "
                           "values, indices shape: %s",
                           (long long)values->dims[0], (const char*)ShapeText(indices));
  if (indices->dims[1] != shape->dims[0])
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Number of dimensions must match second dimension of indices. Got %lld "
                           "dimensions, indices shape: %s",
                           (long long)shape->dims[0], (const char*)ShapeText(indices));
  return HR_OK;
}

hr_code prepare_one(void*, hr_request* r) {
  if (hr_code code = check_parts(r)) return code;
  set_shape(r->outputs[0], {3});
  return HR_OK;
}

hr_code compute_one(hr_ctx*, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                    void*) {
  for (int32_t i = 0; i < 3; ++i) put(write<hr_variant>(out[0]) + i, part_of(in[i]));
  return HR_OK;
}

// ---- SerializeManySparse -----------------------------------------------------------------------

hr_code prepare_many(void*, hr_request* r) {
  if (hr_code code = check_parts(r)) return code;
  if (r->inputs[2]->dims[0] < 2)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Rank of input SparseTensor should be > 1, but saw rank: %lld",
                           (long long)r->inputs[2]->dims[0]);
  r->shape_depends_on_data = 1;
  return HR_OK;
}

hr_code compute_many(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  const int64_t n = in[0]->dims[0], rank = in[0]->dims[1];
  const int64_t *indices = read<int64_t>(in[0]), rows = read<int64_t>(in[2])[0];
  if (rows < 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Dimension 0 must be >= 0, is %lld",
                       (long long)rows);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = indices[i * rank];
    if (row < 0 || row >= rows)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "Received unexpected column 0 value in input SparseTensor: %lld not in "
                         "[0, %lld)",
                         (long long)row, (long long)rows);
    if (i && row < indices[(i - 1) * rank])
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "indices[%lld] is out of order. Many sparse ops require sorted indices.",
                         (long long)i);
  }
  set_shape(out[0], {rows, 3});
  if (hr_code code = ctx->api->allocate(ctx, out[0])) return code;
  auto shape = std::make_shared<Part>();
  shape->dims[0] = rank - 1;
  shape->append(in[2], 1, rank);
  int64_t at = 0;
  for (int64_t row = 0; row < rows; ++row) {
    poll(ctx);
    auto cells = std::make_shared<Part>(), values = std::make_shared<Part>();
    values->dtype = in[1]->dtype;
    const int64_t begin = at;
    for (; at < n && indices[at * rank] == row; ++at)
      cells->append(in[0], at * rank + 1, (at + 1) * rank);
    values->append(in[1], begin, at);
    cells->rank = 2;
    cells->dims[0] = values->dims[0] = at - begin;
    cells->dims[1] = rank - 1;
    hr_variant* to = write<hr_variant>(out[0]) + 3 * row;
    put(to, cells);
    put(to + 1, values);
    put(to + 2, shape);
  }
  return HR_OK;
}

// ---- DeserializeSparse -------------------------------------------------------------------------

hr_code prepare_back(void*, hr_request* r) {
  const hr_tensor* in = r->inputs[0];
  if (in->rank < 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "Serialized sparse should have non-zero rank %s",
                           (const char*)ShapeText(in));
  if (in->dims[in->rank - 1] != 3)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Serialized sparse should have 3 as the last dimension %s",
                           (const char*)ShapeText(in));
  r->shape_depends_on_data = 1;
  return HR_OK;
}

const Part* read_part(const hr_variant& held) {
  return held.type == &part_type ? static_cast<const SharedPart*>(held.value)->get() : nullptr;
}

// Checks the three parts of sparse tensor `number`.
hr_code check_held(hr_ctx* ctx, const Part* const* parts, hr_dtype dtype, int64_t rank,
                   int64_t number) {
  if (!parts[0] || !parts[1] || !parts[2] || parts[0]->rank != 2 || parts[0]->dtype != HR_INT64 ||
      parts[2]->dtype != HR_INT64)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "DeserializeSparse takes what SerializeSparse and SerializeManySparse made");
  if (parts[1]->dtype != dtype)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Requested SparseTensor of type %s but SparseTensor[%lld].values.dtype() == "
                       "%s",
                       dtype_name(dtype), (long long)number, dtype_name(parts[1]->dtype));
  if (parts[2]->dims[0] != rank)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Inconsistent shape across SparseTensors: rank prior to SparseTensor[%lld] "
                       "was: %lld but rank of SparseTensor[%lld] is: %lld",
                       (long long)number, (long long)rank, (long long)number,
                       (long long)parts[2]->dims[0]);
  return HR_OK;
}

hr_code copy_values(hr_ctx* ctx, const Part& values, hr_tensor* to, int64_t at) {
  if (values.dtype != HR_STRING) {
    const int64_t size = hr_dtype_size(values.dtype);
    if (!values.bytes.empty())
      std::memcpy(write<char>(to) + at * size, values.bytes.data(), values.bytes.size());
    return HR_OK;
  }
  for (const std::string& text : values.texts)
    if (hr_code code =
            ctx->api->set_string(ctx, write<hr_string>(to) + at++, text.data(), text.size()))
      return code;
  return HR_OK;
}

hr_code compute_back(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                     void*) {
  const hr_variant* held = read<hr_variant>(in[0]);
  const int64_t n = hr_elements(in[0]) / 3, outer = in[0]->rank - 1;
  if (n == 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "Serialized sparse should have at least one sparse tensor, its shape is %s",
                       (const char*)ShapeText(in[0]));
  std::vector<const Part*> parts(size_t(3 * n));
  for (int64_t i = 0; i < 3 * n; ++i) parts[size_t(i)] = read_part(held[i]);
  const int64_t rank = parts[2] ? parts[2]->dims[0] : 0;
  std::vector<int64_t> sizes(size_t(rank), 0);
  int64_t total = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Part* const* one = parts.data() + 3 * i;
    if (hr_code code = check_held(ctx, one, out[1]->dtype, rank, i)) return code;
    total += one[1]->dims[0];
    for (int64_t d = 0; d < rank; ++d)
      sizes[size_t(d)] = std::max(sizes[size_t(d)], one[2]->numbers()[d]);
  }
  set_shape(out[0], {total, outer + rank});
  set_shape(out[1], {total});
  set_shape(out[2], {outer + rank});
  for (int32_t i = 0; i < 3; ++i)
    if (hr_code code = ctx->api->allocate(ctx, out[i])) return code;
  int64_t* shape = write<int64_t>(out[2]);
  std::copy(in[0]->dims, in[0]->dims + outer, shape);
  std::copy(sizes.begin(), sizes.end(), shape + outer);
  int64_t* to = write<int64_t>(out[0]);
  int64_t at = 0;
  for (int64_t i = 0; i < n; ++i) {
    poll(ctx);
    const Part* const* one = parts.data() + 3 * i;
    int64_t place[HR_MAX_RANK];
    for (int64_t d = outer, rest = i; d-- > 0; rest /= in[0]->dims[d])
      place[d] = rest % in[0]->dims[d];
    const int64_t count = one[1]->dims[0];
    for (int64_t k = 0; k < count; ++k) {
      to = std::copy(place, place + outer, to);
      to = std::copy(one[0]->numbers() + k * rank, one[0]->numbers() + (k + 1) * rank, to);
    }
    if (hr_code code = copy_values(ctx, *one[1], out[1], at)) return code;
    at += count;
  }
  return HR_OK;
}

#define HR_HELD HR_NUMBERS "|bool|string"

HR_KERNELS = {
    kernel("SerializeSparse", "T=" HR_HELD ";out_type=variant", prepare_one, compute_one),
    kernel("SerializeManySparse", "T=" HR_HELD ";out_type=variant", prepare_many, compute_many)
        .is(HR_KERNEL_DATA_SHAPE),
    kernel("DeserializeSparse", "dtype=" HR_HELD ";Tserialized=variant", prepare_back, compute_back)
        .is(HR_KERNEL_DATA_SHAPE),
};

}  // namespace
}  // namespace hr
