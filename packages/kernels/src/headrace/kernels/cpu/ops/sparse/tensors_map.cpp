// AddSparseToTensorsMap, AddManySparseToTensorsMap and TakeManySparseFromTensorsMap: sparse tensors
// that wait in a resource under numbers, which queues can hold.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "files/disk.hpp"
#include "library/dtype_names.hpp"
#include "library/memory_needs.hpp"
#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "loops/elements.hpp"
#include "processor/parallel.hpp"
#include "table/resources.hpp"

namespace hr {
namespace {

constexpr const char* kKind = "SparseTensorsMap";

struct SparseValue {
  hr_dtype dtype;
  std::vector<int64_t> indices, shape;  // [values, rank], [rank]
  std::vector<char> plain;
  std::vector<std::string> texts;  // instead of `plain`

  int64_t rank() const { return int64_t(shape.size()); }
  int64_t values() const {
    return dtype == HR_STRING ? int64_t(texts.size())
                              : int64_t(plain.size()) / hr_dtype_size(dtype);
  }
};

class TensorsMap {
 public:
  hr_object object =
      object_of_kind(kKind, [](hr_object* self) { delete reinterpret_cast<TensorsMap*>(self); });

  int64_t add(SparseValue value) {
    const std::lock_guard<std::mutex> hold(lock_);
    kept_.emplace(next_, std::move(value));
    return next_++;
  }

  // Removes the values of all handles, or none of them and throws Failure.
  std::vector<SparseValue> take(const int64_t* handles, int64_t n, hr_dtype dtype,
                                const std::string& name) {
    const std::lock_guard<std::mutex> hold(lock_);
    std::vector<int64_t> seen(handles, handles + n);
    std::sort(seen.begin(), seen.end());
    int64_t rank = -1;
    for (int64_t i = 0; i < n; ++i) {
      const auto found = kept_.find(handles[i]);
      const auto same = std::equal_range(seen.begin(), seen.end(), handles[i]);
      if (found == kept_.end() || same.second - same.first > 1)
        fail("Unable to find SparseTensor: " + std::to_string(handles[i]) + " in map: " + name);
      const SparseValue& value = found->second;
      const std::string at = "SparseTensor[" + std::to_string(i) + "]";
      if (value.dtype != dtype)
        fail(std::string("Requested SparseTensor of type ") + dtype_name(dtype) + " but " + at +
             ".values.dtype() == " + dtype_name(value.dtype));
      if (rank >= 0 && value.rank() != rank)
        fail("Inconsistent rank across SparseTensors: rank prior to " + at +
             " was: " + std::to_string(rank + 1) + " but rank of " + at +
             " is: " + std::to_string(value.rank() + 1));
      rank = value.rank();
    }
    std::vector<SparseValue> taken;
    taken.reserve(size_t(n));
    for (int64_t i = 0; i < n; ++i) taken.push_back(std::move(kept_.extract(handles[i]).mapped()));
    return taken;
  }

  [[noreturn]] static void fail(const std::string& what) {
    throw Failure{HR_INVALID_ARGUMENT, what};
  }

 private:
  std::mutex lock_;
  int64_t next_ = 0;
  std::map<int64_t, SparseValue> kept_;
};

hr_object* make_map(void*) {
  auto* made = new (std::nothrow) TensorsMap;
  return made ? &made->object : nullptr;
}

// Calls body(map) and releases the map.
template <class Body> hr_code with_map(hr_ctx* ctx, void* state, Body&& body) {
  hr_object* found = nullptr;
  if (hr_code code = static_cast<ResourceNode*>(state)->find(ctx, make_map, nullptr, &found))
    return code;
  const struct Release {
    hr_ctx* ctx;
    hr_object* object;
    ~Release() { ctx->api->release_object(object); }
  } release{ctx, found};
  return error_boundary(ctx, [&] { body(reinterpret_cast<TensorsMap*>(found)); });
}

hr_code create_node(hr_node* node, void** state) {
  *state = new ResourceNode(node, kKind);
  return HR_OK;
}
void destroy_node(void* state) { delete static_cast<ResourceNode*>(state); }

// Rows [begin, end) of a sparse tensor, without its first `dropped` dimensions.
SparseValue rows_of(const hr_tensor* const* in, int64_t begin, int64_t end, int64_t dropped) {
  const int64_t rank = in[2]->dims[0], *indices = read<int64_t>(in[0]),
                *shape = read<int64_t>(in[2]);
  SparseValue value{in[1]->dtype, {}, {shape + dropped, shape + rank}, {}, {}};
  value.indices.reserve(size_t((end - begin) * (rank - dropped)));
  for (int64_t i = begin; i < end; ++i)
    value.indices.insert(value.indices.end(), indices + i * rank + dropped,
                         indices + (i + 1) * rank);
  if (value.dtype == HR_STRING) {
    for (int64_t i = begin; i < end; ++i) value.texts.emplace_back(text_at(in[1], i));
  } else {
    const int64_t size = hr_dtype_size(value.dtype);
    const char* values = read<char>(in[1]);
    value.plain.assign(values + begin * size, values + end * size);
  }
  return value;
}

void check_shape(const hr_tensor* shape) {
  for (int64_t i = 0; i < shape->dims[0]; ++i)
    if (read<int64_t>(shape)[i] < 0)
      TensorsMap::fail("Expected shape dimensions to be non-negative, got " +
                       std::to_string(read<int64_t>(shape)[i]));
}

hr_code add_one(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in, hr_tensor* const* out,
                void*) {
  return with_map(ctx, state, [&](TensorsMap* map) {
    check_shape(in[2]);
    *write<int64_t>(out[0]) = map->add(rows_of(in, 0, in[0]->dims[0], 0));
  });
}

std::string row_text(const int64_t* row, int64_t rank) {
  std::string text = "[";
  for (int64_t d = 0; d < rank; ++d) text += (d ? "," : "") + std::to_string(row[d]);
  return text + "]";
}

// Indices must be in the shape, and each after the one before it.
void check_indices(hr_ctx* ctx, const hr_tensor* const* in) {
  const int64_t n = in[0]->dims[0], rank = in[0]->dims[1];
  const int64_t *row = read<int64_t>(in[0]), *shape = read<int64_t>(in[2]);
  for (int64_t i = 0; i < n; ++i, row += rank) {
    poll_at(ctx, i);
    const auto where = [&] {
      return "indices[" + std::to_string(i) + "] = " + row_text(row, rank);
    };
    for (int64_t d = 0; d < rank; ++d)
      if (row[d] < 0 || row[d] >= shape[d])
        TensorsMap::fail(where() + " is out of bounds: need 0 <= index < " + row_text(shape, rank));
    if (!i || std::lexicographical_compare(row - rank, row, row, row + rank)) continue;
    if (std::equal(row - rank, row, row)) TensorsMap::fail(where() + " is repeated");
    TensorsMap::fail(
        where() + " is out of order. Many sparse ops require sorted indices: use sparse.reorder");
  }
}

hr_code add_many(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in, hr_tensor* const* out,
                 void*) {
  return with_map(ctx, state, [&](TensorsMap* map) {
    check_shape(in[2]);
    check_indices(ctx, in);
    const int64_t n = in[0]->dims[0], rank = in[0]->dims[1], rows = *read<int64_t>(in[2]);
    set_shape(out[0], {rows});
    need_memory(rows, sizeof(SparseValue) + 64);
    check(ctx->api->allocate(ctx, out[0]));
    int64_t* handles = write<int64_t>(out[0]);
    std::fill_n(handles, rows, int64_t(-1));
    const int64_t* indices = read<int64_t>(in[0]);
    for (int64_t begin = 0, end; begin < n; begin = end) {
      const int64_t row = indices[begin * rank];
      for (end = begin; end < n && indices[end * rank] == row; ++end) {}
      handles[row] = map->add(rows_of(in, begin, end, 1));
    }
    for (int64_t row = 0; row < rows; ++row) {
      poll_at(ctx, row);
      if (handles[row] < 0) handles[row] = map->add(rows_of(in, 0, 0, 1));
    }
  });
}

hr_code take_many(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in,
                  hr_tensor* const* out, void*) {
  return with_map(ctx, state, [&](TensorsMap* map) {
    const int64_t n = in[0]->dims[0];
    const std::string& name = static_cast<ResourceNode*>(state)->name();
    std::vector<SparseValue> taken = map->take(read<int64_t>(in[0]), n, out[1]->dtype, name);
    const int64_t rank = taken[0].rank();
    int64_t total = 0;
    for (const SparseValue& value : taken) total += value.values();
    set_shape(out[0], {total, rank + 1});
    set_shape(out[1], {total});
    set_shape(out[2], {rank + 1});
    for (int i = 0; i < 3; ++i) check(ctx->api->allocate(ctx, out[i]));
    int64_t *indices = write<int64_t>(out[0]), *shape = write<int64_t>(out[2]), at = 0;
    std::fill_n(shape, rank + 1, int64_t(0));
    shape[0] = n;
    for (int64_t i = 0; i < n; ++i) {
      const SparseValue& value = taken[size_t(i)];
      for (int64_t d = 0; d < rank; ++d)
        shape[d + 1] = std::max(shape[d + 1], value.shape[size_t(d)]);
      for (int64_t v = 0; v < value.values(); ++v) {
        *indices++ = i;
        indices = std::copy_n(value.indices.begin() + v * rank, rank, indices);
        if (value.dtype == HR_STRING) check(set_text(ctx, out[1], at + v, value.texts[size_t(v)]));
      }
      if (!value.plain.empty())
        std::memcpy(write<char>(out[1]) + at * hr_dtype_size(value.dtype), value.plain.data(),
                    value.plain.size());
      at += value.values();
    }
  });
}

hr_code check_parts(hr_request* r) {
  const hr_tensor *indices = r->inputs[0], *values = r->inputs[1], *shape = r->inputs[2];
  if (indices->rank != 2 || values->rank != 1 || shape->rank != 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Input indices, values and shape should be a matrix and two vectors but "
                           "received shapes %s, %s and %s",
                           ShapeText(indices).text, ShapeText(values).text, ShapeText(shape).text);
  if (!is_plain(values->dtype) && values->dtype != HR_STRING)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "no map of sparse tensors of %s",
                           dtype_name(values->dtype));
  if (indices->dims[0] != values->dims[0])
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Number of values must match first dimension of indices. Got %lld "
                           "values, indices shape: %s",
                           (long long)values->dims[0], ShapeText(indices).text);
  if (indices->dims[1] != shape->dims[0])
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Number of dimensions must match second dimension of indices. Got %lld "
                           "dimensions, indices shape: %s",
                           (long long)shape->dims[0], ShapeText(indices).text);
  return HR_OK;
}

hr_code prepare_one(void*, hr_request* r) {
  if (hr_code code = check_parts(r)) return code;
  set_shape(r->outputs[0], {});
  return HR_OK;
}

hr_code prepare_many(void*, hr_request* r) {
  if (hr_code code = check_parts(r)) return code;
  if (r->inputs[0]->dims[1] < 2)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Rank of input SparseTensor should be > 1, but saw rank: %lld",
                           (long long)r->inputs[0]->dims[1]);
  r->shape_depends_on_data = 1;
  return HR_OK;
}

hr_code prepare_take(void*, hr_request* r) {
  const hr_tensor* handles = r->inputs[0];
  if (handles->rank != 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "sparse_handles should be a vector but received shape %s",
                           ShapeText(handles).text);
  if (!handles->dims[0])
    return hr_request_fail(
        r, HR_INVALID_ARGUMENT,
        "Must have at least 1 serialized SparseTensor, but input matrix has 0 rows");
  r->shape_depends_on_data = 1;
  return HR_OK;
}

constexpr KernelRegistration of_map(const char* op, Prepare prepare, hr_compute compute) {
  return kernel(op, nullptr, prepare, compute).with_state(create_node, destroy_node);
}

}  // namespace

HR_KERNELS = {
    of_map("AddSparseToTensorsMap", prepare_one, add_one),
    of_map("AddManySparseToTensorsMap", prepare_many, add_many).is(HR_KERNEL_DATA_SHAPE),
    of_map("TakeManySparseFromTensorsMap", prepare_take, take_many).is(HR_KERNEL_DATA_SHAPE),
};

}  // namespace hr
