// Losses: cross entropies of a softmax, and half the squared norm (L2Loss).
#include <algorithm>
#include <atomic>
#include <cmath>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/softmax_rows.hpp"
#include "loops/via_float.hpp"
#include "processor/parallel.hpp"
#include "processor/simd.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

// Logits or labels of at most two dimensions as rows of a matrix; one row stands for all.
struct BroadcastRows {
  explicit BroadcastRows(const hr_tensor* t)
      : rows(t->rank == 2 ? t->dims[0] : 1), classes(t->rank ? t->dims[t->rank - 1] : 1) {}
  int64_t rows, classes;
  int64_t step() const { return rows == 1 ? 0 : classes; }
};

// The rows with n classes each: as they are, or one class spread over all in `room`.
template <class T>
const T* spread(const hr_tensor* t, BroadcastRows* of, int64_t n, T** room) {
  const T* x = read<T>(t);
  if (of->classes == n) return x;
  T* wide = *room;
  for (int64_t i = 0; i < of->rows; ++i) std::fill_n(wide + i * n, n, x[i]);
  *room += of->rows * n;
  of->classes = n;
  return wide;
}

template <class T>
hr_code compute_cross_entropy(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                              hr_tensor* const* outputs, void* workspace) {
  const int64_t rows = outputs[1]->dims[0], n = outputs[1]->dims[1];
  if (rows == 0) return HR_OK;
  T *loss = write<T>(outputs[0]), *backprop = write<T>(outputs[1]);
  if (n == 0) {
    std::fill(loss, loss + rows, T(0));
    return HR_OK;
  }
  BroadcastRows of_x(inputs[0]), of_labels(inputs[1]);
  T* room = static_cast<T*>(workspace);
  const T* x = spread(inputs[0], &of_x, n, &room);
  const T* labels = spread(inputs[1], &of_labels, n, &room);
  const int64_t xs = of_x.step(), ls = of_labels.step();
  parallel_ranges(ctx, rows, grain_of(12 * n * int64_t(sizeof(T))), [&](int64_t i, int64_t end) {
    cross_entropy_of_rows(x + i * xs, xs, labels + i * ls, ls, loss + i, backprop + i * n, end - i,
                          n);
  });
  return HR_OK;
}

template <class T, class Index>
hr_code compute_sparse_cross_entropy(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                                     hr_tensor* const* outputs, void*) {
  const int64_t rows = outputs[1]->dims[0], n = outputs[1]->dims[1];
  const Index* labels = read<Index>(inputs[1]);
  for (int64_t i = 0; i < rows; ++i) {
    if (labels[i] < 0 || labels[i] >= n)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "label %lld at %lld is outside [0, %lld)",
                         (long long)labels[i], (long long)i, (long long)n);
  }
  const T* x = read<T>(inputs[0]);
  T *loss = write<T>(outputs[0]), *backprop = write<T>(outputs[1]);
  parallel_ranges(ctx, rows, grain_of(8 * n * int64_t(sizeof(T))), [&](int64_t i, int64_t end) {
    sparse_cross_entropy_of_rows(x + i * n, labels + i, loss + i, backprop + i * n, end - i, n);
  });
  return HR_OK;
}

hr_code prepare_cross_entropy(void*, hr_request* r) {
  hr_code code = hr_shape_softmax_cross_entropy(r);
  if (code != HR_OK) return code;
  const hr_tensor* y = r->outputs[1];
  for (int i = 0; i < 2; ++i) {
    const BroadcastRows input(r->inputs[i]);
    if (input.classes != y->dims[1])
      r->workspace += size_t(input.rows * y->dims[1]) * hr_dtype_size(y->dtype);
  }
  r->compute = r->inputs[0]->dtype == HR_DOUBLE ? compute_cross_entropy<double>
                                                : compute_cross_entropy<float>;
  return HR_OK;
}

hr_code prepare_sparse_cross_entropy(void*, hr_request* r) {
  hr_code code = hr_shape_sparse_softmax_cross_entropy(r);
  if (code != HR_OK) return code;
  if (r->inputs[0]->dims[1] == 0 && r->inputs[0]->dims[0] > 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "there must be a class: logits is %s",
                           ShapeText(r->inputs[0]).text);
  const bool wide = r->inputs[1]->dtype == HR_INT64;
  if (r->inputs[0]->dtype == HR_DOUBLE)
    r->compute = wide ? compute_sparse_cross_entropy<double, int64_t>
                      : compute_sparse_cross_entropy<double, int32_t>;
  else
    r->compute = wide ? compute_sparse_cross_entropy<float, int64_t>
                      : compute_sparse_cross_entropy<float, int32_t>;
  return HR_OK;
}

// ---- L2Loss ---------------------------------------------------------------------------------

template <class T>
HR_INLINE double squares(const T* x, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n;) {
    Compute<T> parts[16] = {};
    const int64_t stop = std::min(n, i + 1024);
    for (; i + 16 <= stop; i += 16) {
      for (int q = 0; q < 16; ++q) {
        const Compute<T> v = x[i + q];
        parts[q] += v * v;
      }
    }
    for (; i < stop; ++i) parts[0] += Compute<T>(x[i]) * Compute<T>(x[i]);
    for (int q = 0; q < 16; ++q) total += parts[q];
  }
  return total;
}
HR_CLONES double squares_float(const float* x, int64_t n) { return squares(x, n); }

template <class T>
hr_code compute_l2_loss(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void* workspace) {
  double* parts = static_cast<double*>(workspace);
  std::fill(parts, parts + most_threads(ctx), 0.0);
  const T* x = read<T>(inputs[0]);
  parallel_ranges(ctx, hr_elements(inputs[0]), grain_of(sizeof(T)),
                  [&](int64_t begin, int64_t end) {
                    double& mine = parts[most_threads(ctx) > 1 ? this_thread() : 0];
                    if constexpr (std::is_same_v<T, float>)
                      mine += squares_float(x + begin, end - begin);
                    else mine += squares(x + begin, end - begin);
                  });
  double sum = 0;
  for (int64_t t = 0; t < most_threads(ctx); ++t) sum += parts[t];
  *write<T>(outputs[0]) = T(Compute<T>(sum / 2));
  return HR_OK;
}

hr_code prepare_l2_loss(void*, hr_request* r) {
  hr_code code = hr_shape_scalar(r);
  r->workspace = sizeof(double) * size_t(std::max(1, r->threads));
  r->compute = with_type(r->inputs[0]->dtype, Floats{}, [](auto type) -> hr_compute {
    return compute_l2_loss<typename decltype(type)::type>;
  });
  return code;
}

}  // namespace

HR_KERNELS = {
    kernel("SoftmaxCrossEntropyWithLogits", "T=" HR_FLOATS, widened<prepare_cross_entropy>),
    kernel("SparseSoftmaxCrossEntropyWithLogits", "T=" HR_FLOATS,
           widened<prepare_sparse_cross_entropy>),
    kernel("L2Loss", "T=" HR_FLOATS, prepare_l2_loss),
};

}  // namespace hr
