// Fractional pooling, with random or pseudo-random window sizes (Graham 2014), and its gradients.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "library/attributes.hpp"
#include "library/random/random_state.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "math/philox.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

// Borders of the windows: [0, ..., in], one more than there are windows.
std::vector<int64_t> borders(int64_t in, int64_t out, bool pseudo, SinglePhilox& single) {
  std::vector<int64_t> at{0};
  const int64_t least = in / out, longer = in % out;
  if (longer == 0) {
    for (int64_t i = 1; i <= out; ++i) at.push_back(i * least);
    return at;
  }
  if (pseudo) {
    const double alpha = double(in) / double(out);
    const double most =
        std::min(double(least + 2) / alpha - 1, double(in + 1 - least) / alpha - double(out - 1));
    const double u = single.uniform() * most;
    for (int64_t i = 1; i < out; ++i) at.push_back(int64_t(alpha * (double(i) + u)));
    at.push_back(in);
    return at;
  }
  std::vector<int64_t> lengths(size_t(out), least);
  std::fill_n(lengths.begin(), longer, least + 1);
  for (int64_t i = out - 1; i > 0; --i) std::swap(lengths[i], lengths[single() % uint32_t(i + 1)]);
  for (int64_t length : lengths) at.push_back(at.back() + length);
  return at;
}

struct Plan {
  bool pseudo, overlapping;
};

// f(window's output position, input position) for one image; all positions in space.
template <class F>
void over_windows(const int64_t* rows, int64_t n_rows, const int64_t* columns, int64_t n_columns,
                  bool overlapping, F&& f) {
  const int64_t height = rows[n_rows], width = columns[n_columns];
  for (int64_t i = 0; i < n_rows; ++i) {
    const int64_t bottom = std::min(height, rows[i + 1] + (overlapping ? 1 : 0));
    for (int64_t j = 0; j < n_columns; ++j) {
      const int64_t right = std::min(width, columns[j + 1] + (overlapping ? 1 : 0));
      for (int64_t a = rows[i]; a < bottom; ++a) {
        for (int64_t b = columns[j]; b < right; ++b) f(i * n_columns + j, a * width + b);
      }
    }
  }
}

template <class T, bool is_max>
hr_code compute_forward(hr_ctx*, void* state, void* plan, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const hr_tensor *x = inputs[0], *y = outputs[0];
  SinglePhilox single(
      static_cast<RandomState*>(state)->reserve(uint64_t(y->dims[1] + y->dims[2] + 8)));
  const auto rows = borders(x->dims[1], y->dims[1], p.pseudo, single);
  const auto columns = borders(x->dims[2], y->dims[2], p.pseudo, single);
  std::copy(rows.begin(), rows.end(), write<int64_t>(outputs[1]));
  std::copy(columns.begin(), columns.end(), write<int64_t>(outputs[2]));
  const int64_t c = x->dims[3], outs = y->dims[1] * y->dims[2], ins = x->dims[1] * x->dims[2];
  std::vector<int64_t> count(static_cast<size_t>(outs));
  for (int64_t n = 0; n < x->dims[0]; ++n) {
    const T* from = read<T>(x) + n * ins * c;
    T* to = write<T>(y) + n * outs * c;
    std::fill(count.begin(), count.end(), 0);
    over_windows(rows.data(), y->dims[1], columns.data(), y->dims[2], p.overlapping,
                 [&](int64_t o, int64_t i) {
                   const bool first = count[o]++ == 0;
                   for (int64_t k = 0; k < c; ++k) {
                     T& v = to[o * c + k];
                     const T w = from[i * c + k];
                     v = first ? w : is_max ? std::max(v, w) : T(v + w);
                   }
                 });
    for (int64_t o = 0; o < outs && !is_max; ++o) {
      for (int64_t k = 0; k < c; ++k) to[o * c + k] = T(to[o * c + k] / T(count[o]));
    }
  }
  return HR_OK;
}

template <bool is_max>
hr_code prepare_forward(void*, hr_request* r) {
  const AttrList<float> ratio = attr_floats(r->node, "pooling_ratio");
  if (r->inputs[0]->rank != 4 || ratio.size != 4 || ratio[0] != 1.0f || ratio[3] != 1.0f ||
      !(ratio[1] >= 1) || !(ratio[2] >= 1))
    return hr_request_fail(
        r, HR_INVALID_ARGUMENT,
        "value must have 4 dimensions and pooling_ratio be [1, above 1, above 1, 1]: value is %s",
        ShapeText(r->inputs[0]).text);
  if (!hr_attr_bool(r->node, "deterministic", 0) &&
      (hr_attr_int(r->node, "seed", 0) || hr_attr_int(r->node, "seed2", 0)))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Both seed and seed2 should be 0 if deterministic is false.");
  hr_code code = hr_shape_fractional_pool(r);
  if (code != HR_OK) return code;
  if (r->outputs[0]->dims[1] < 1 || r->outputs[0]->dims[2] < 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "nothing is left of %s",
                           ShapeText(r->inputs[0]).text);
  keep_plan(r, new Plan{hr_attr_bool(r->node, "pseudo_random", 0) != 0,
                        hr_attr_bool(r->node, "overlapping", 0) != 0});
  r->compute = with_type(r->inputs[0]->dtype, Types<float, double, int32_t, int64_t>{},
                         [](auto type) -> hr_compute {
                           return compute_forward<typename decltype(type)::type, is_max>;
                         });
  return HR_OK;
}

// ---- backward -----------------------------------------------------------------------------------

// The windows [begin, end) of an axis, as TensorFlow reads a sequence: it may skip elements, go
// back (an empty window) or past the end, which cuts it off.
hr_code read_windows(hr_ctx* ctx, const hr_tensor* at, int64_t windows, int64_t size,
                     bool overlapping, std::vector<std::pair<int64_t, int64_t>>* found) {
  const int64_t* b = read<int64_t>(at);
  if (at->rank != 1 || at->dims[0] <= windows)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "a pooling sequence of %lld elements is too short for %lld windows",
                       (long long)hr_elements(at), (long long)windows);
  for (int64_t i = 0; i < windows; ++i) {
    const int64_t last = std::min(overlapping ? b[i + 1] : b[i + 1] - 1, size - 1);
    if (b[i] < 0 || last < 0)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                         "a pooling sequence must not be negative: window %lld is [%lld, %lld]",
                         (long long)i, (long long)b[i], (long long)last);
    found->emplace_back(b[i], last + 1);
  }
  return HR_OK;
}

using Windows = std::vector<std::pair<int64_t, int64_t>>;

// f(window, input position) for one image of this width.
template <class F>
void over_cells(const Windows& rows, const Windows& columns, int64_t width, F&& f) {
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < columns.size(); ++j) {
      for (int64_t a = rows[i].first; a < rows[i].second; ++a) {
        for (int64_t b = columns[j].first; b < columns[j].second; ++b)
          f(int64_t(i * columns.size() + j), a * width + b);
      }
    }
  }
}

template <class T, bool is_max>
hr_code compute_backward(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void*) {
  const Plan& p = *static_cast<Plan*>(plan);
  const hr_tensor *dy = inputs[is_max ? 2 : 1], *dx = outputs[0];
  const hr_tensor *rows = inputs[is_max ? 3 : 2], *columns = inputs[is_max ? 4 : 3];
  Windows row_windows, column_windows;
  hr_code code = read_windows(ctx, rows, dy->dims[1], dx->dims[1], p.overlapping, &row_windows);
  if (code == HR_OK)
    code = read_windows(ctx, columns, dy->dims[2], dx->dims[2], p.overlapping, &column_windows);
  if (code != HR_OK) return code;
  const int64_t c = dx->dims[3], outs = dy->dims[1] * dy->dims[2], ins = dx->dims[1] * dx->dims[2];
  std::vector<int64_t> at(static_cast<size_t>(outs * c));  // of the maximum, or how many
  T* to = write<T>(dx);
  std::fill_n(to, hr_elements(dx), T(0));
  auto over = [&](auto&& f) { over_cells(row_windows, column_windows, dx->dims[2], f); };
  for (int64_t n = 0; n < dx->dims[0]; ++n, to += ins * c) {
    const T* g = read<T>(dy) + n * outs * c;
    if (is_max) {
      const T* x = read<T>(inputs[0]) + n * ins * c;
      std::fill(at.begin(), at.end(), -1);
      over([&](int64_t o, int64_t i) {
        for (int64_t k = 0; k < c; ++k) {
          int64_t& best = at[o * c + k];
          if (best < 0 || x[i * c + k] > x[best * c + k]) best = i;
        }
      });
      const T* y = read<T>(inputs[1]) + n * outs * c;
      for (int64_t o = 0; o < outs * c; ++o) {
        if (at[o] < 0 || !(x[at[o] * c + o % c] == y[o]))
          return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                             "tensor_out_dup is not the same as tensor_out: orig_output is not "
                             "what pooling gives, at element %lld",
                             (long long)(n * outs * c + o));
      }
      for (int64_t o = 0; o < outs * c; ++o) {
        if (at[o] >= 0) to[at[o] * c + o % c] = T(to[at[o] * c + o % c] + g[o]);
      }
    } else {
      std::fill(at.begin(), at.end(), 0);
      over([&](int64_t o, int64_t) { ++at[o]; });
      over([&](int64_t o, int64_t i) {
        for (int64_t k = 0; k < c; ++k) to[i * c + k] = T(to[i * c + k] + g[o * c + k] / T(at[o]));
      });
    }
  }
  return HR_OK;
}

template <bool is_max>
hr_code prepare_backward(void*, hr_request* r) {
  hr_code code = is_max ? hr_shape_unchanged(r) : hr_shape_shape_from_input_0(r);
  if (code != HR_OK) return code;
  const hr_tensor *dx = r->outputs[0], *dy = r->inputs[is_max ? 2 : 1];
  if (is_max && !same_shape(r->inputs[1], dy))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "out_backprop should be of the shape of orig_output: %s, %s",
                           ShapeText(dy).text, ShapeText(r->inputs[1]).text);
  if (dx->rank != 4 || dy->rank != 4 || dx->dims[0] != dy->dims[0] || dx->dims[3] != dy->dims[3])
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "out_backprop is %s, the input %s",
                           ShapeText(dy).text, ShapeText(dx).text);
  keep_plan(r, new Plan{false, hr_attr_bool(r->node, "overlapping", 0) != 0});
  r->compute =
      with_type(dx->dtype, Types<float, double, int32_t, int64_t>{}, [](auto type) -> hr_compute {
        return compute_backward<typename decltype(type)::type, is_max>;
      });
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("FractionalMaxPool", nullptr, prepare_forward<true>)
        .with_state(make_random_state, end_random_state),
    kernel("FractionalAvgPool", nullptr, prepare_forward<false>)
        .with_state(make_random_state, end_random_state),
    kernel("FractionalMaxPoolGrad", nullptr, prepare_backward<true>),
    kernel("FractionalAvgPoolGrad", nullptr, prepare_backward<false>).constant(0),
};

}  // namespace hr
