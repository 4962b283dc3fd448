// SparseDenseCwiseAdd, Mul, Div: the values of a sparse tensor with the elements of a dense one
// that they meet.
#include <algorithm>

#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "math/arithmetic.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

enum class Operation { kAdd, kMul, kDiv };

// The distance in the dense tensor for each dimension of the sparse one; 0: it is broadcast.
hr_code dense_strides(hr_ctx* ctx, const hr_tensor* shape, const hr_tensor* dense,
                      int64_t* strides) {
  const int64_t rank = shape->dims[0], *sizes = read<int64_t>(shape);
  bool fits = dense->rank <= rank;
  int64_t stride = 1;
  for (int64_t d = rank - 1, k = dense->rank - 1; d >= 0 && fits; --d, --k) {
    const int64_t size = k >= 0 ? dense->dims[k] : 1;
    fits = size == 1 || size == sizes[d];
    strides[d] = size == 1 ? 0 : stride;
    stride *= size;
  }
  if (fits) return HR_OK;
  hr_tensor whole{};
  whole.rank = int32_t(std::min<int64_t>(rank, HR_MAX_RANK));
  std::copy(sizes, sizes + whole.rank, whole.dims);
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                     "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible "
                     "shapes: %s vs. %s",
                     (const char*)ShapeText(&whole), (const char*)ShapeText(dense));
}

template <class T, Operation operation>
hr_code compute(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                void*) {
  using C = Compute<T>;
  const int64_t n = in[0]->dims[0], rank = in[0]->dims[1];
  const int64_t *indices = read<int64_t>(in[0]), *sizes = read<int64_t>(in[2]);
  int64_t strides[HR_MAX_RANK] = {};
  if (hr_code code = dense_strides(ctx, in[2], in[3], strides)) return code;
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    int64_t at = 0;
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t index = indices[i * rank + d];
      if (index < 0 || index >= sizes[d])
        return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                           "Provided indices are out-of-bounds w.r.t. dense side with broadcasted "
                           "shape");
      at += index * strides[d];
    }
    const C x = C(read<T>(in[1])[i]), y = C(read<T>(in[3])[at]);
    if constexpr (operation == Operation::kAdd) write<T>(out[0])[i] = T(plus(x, y));
    else if constexpr (operation == Operation::kMul) write<T>(out[0])[i] = T(times(x, y));
    else write<T>(out[0])[i] = T(x / y);
  }
  return HR_OK;
}

template <Operation operation> hr_code prepare(void*, hr_request* r) {
  const hr_tensor *indices = r->inputs[0], *values = r->inputs[1], *shape = r->inputs[2];
  if (indices->rank != 2)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Input sp_indices should be a matrix but received shape: %s",
                           (const char*)ShapeText(indices));
  if (values->rank != 1 || shape->rank != 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Inputs sp_values and sp_shape should be vectors but received shapes: "
                           "%s and %s",
                           (const char*)ShapeText(values), (const char*)ShapeText(shape));
  if (indices->dims[0] != values->dims[0])
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "indices and values rows (indexing dimension) must match. (indices = "
                           "%lld, values = %lld)",
                           (long long)indices->dims[0], (long long)values->dims[0]);
  if (indices->dims[1] != shape->dims[0] || shape->dims[0] > HR_MAX_RANK)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Index rank (%lld) and shape rank (%lld) do not match",
                           (long long)indices->dims[1], (long long)shape->dims[0]);
  set_shape(r->outputs[0], {values->dims[0]});
  const auto choose = [](auto type) -> hr_compute {
    return compute<typename decltype(type)::type, operation>;
  };
  if constexpr (operation == Operation::kDiv)
    r->compute = with_type(values->dtype, Join<Floats, Complexes>{}, choose);
  else r->compute = with_type(as_unsigned(values->dtype), Signless<Numbers>{}, choose);
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("SparseDenseCwiseAdd", "T=" HR_NUMBERS, prepare<Operation::kAdd>),
    kernel("SparseDenseCwiseMul", "T=" HR_NUMBERS, prepare<Operation::kMul>),
    kernel("SparseDenseCwiseDiv", "T=" HR_FLOATS "|" HR_COMPLEXES, prepare<Operation::kDiv>),
};

}  // namespace hr
