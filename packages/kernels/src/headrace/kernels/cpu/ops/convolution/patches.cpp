// Patches of images and volumes, and Dilation2D (maximum of window plus filter) with its gradients.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "library/window.hpp"
#include "loops/elements.hpp"
#include "loops/via_float.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

struct Plan {
  Window w;
};

// Window positions of output o: f(q, input position or -1).
template <class F>
void over_window(const Window& w, int64_t o, F&& f) {
  for (int64_t q = 0; q < w.window_positions(); ++q) {
    int64_t at = 0, step = 1, oo = o, qq = q;
    for (int32_t i = w.nd; i-- > 0;) {
      const int64_t p = oo % w.out[i] * w.stride[i] - w.low[i] + qq % w.size[i] * w.dilation[i];
      if (p < 0 || p >= w.in[i]) {
        at = -1;
        break;
      }
      at += p * step;
      step *= w.in[i];
      oo /= w.out[i];
      qq /= w.size[i];
    }
    f(q, at);
  }
}

hr_code compute_patches(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void*) {
  const Window& w = static_cast<Plan*>(plan)->w;
  const int64_t pixel = w.channels * hr_dtype_size(inputs[0]->dtype), outs = w.out_positions();
  const int64_t image = w.in_positions() * pixel, patch = w.window_positions() * pixel;
  const char* x = static_cast<const char*>(inputs[0]->data);
  char* y = static_cast<char*>(outputs[0]->data);
  parallel_ranges(ctx, w.batch * outs, grain_of(patch + 16 * w.window_positions()),
                  [&](int64_t i, int64_t end) {
                    for (; i < end; ++i) {
                      over_window(w, i % outs, [&](int64_t q, int64_t p) {
                        char* to = y + i * patch + q * pixel;
                        if (p < 0) std::memset(to, 0, size_t(pixel));
                        else std::memcpy(to, x + i / outs * image + p * pixel, size_t(pixel));
                      });
                    }
                  });
  return HR_OK;
}

hr_code prepare_patches(void*, hr_request* r) {
  const hr_tensor* x = r->inputs[0];
  const PerDimension sizes = dimension_list(r->node, "ksizes");
  if (sizes.n != x->rank || sizes.n < 4)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "ksizes has %d values, the input is %s", sizes.n,
                           ShapeText(x).text);
  for (const char* name : {"ksizes", "strides", "rates"}) {
    const PerDimension each = dimension_list(r->node, name);
    if (each.n == x->rank && (each.value[0] != 1 || each.value[each.n - 1] != 1))
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "Only support %s across space.", name);
  }
  for (int32_t d = 1; d + 1 < sizes.n; ++d)
    if (sizes.value[d] < 1)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "ksizes is out of range.");
  auto plan = std::make_unique<Plan>();
  hr_code code =
      read_window(r, x->rank, x->dims, sizes.value + 1, dimension_list(r->node, "strides"),
                  dimension_list(r->node, "rates"), &plan->w);
  if (code != HR_OK) return code;
  set_window_shape(plan->w, plan->w.channels * plan->w.window_positions(), r->outputs[0]);
  keep_plan(r, plan.release());
  return HR_OK;
}

// ---- dilation -----------------------------------------------------------------------------------

// The position of the largest sum in the window of output o, channel c.
template <class T>
void largest(const Window& w, const T* image, const T* filter, int64_t o, int64_t c,
             Compute<T>* best, int64_t* at, int64_t* in_window) {
  bool any = false;
  *best = Compute<T>(std::numeric_limits<Compute<T>>::lowest());
  *at = *in_window = -1;
  over_window(w, o, [&](int64_t q, int64_t p) {
    if (p < 0) return;
    const Compute<T> sum =
        Compute<T>(image[p * w.channels + c]) + Compute<T>(filter[q * w.channels + c]);
    if (!any || sum > *best) {
      any = true;
      *best = sum;
      *at = p;
      *in_window = q;
    }
  });
}

template <class T>
hr_code compute_dilation(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void*) {
  const Window& w = static_cast<Plan*>(plan)->w;
  const int64_t outs = w.out_positions(), c = w.channels;
  parallel_ranges(ctx, w.batch * outs, grain_of(c * w.window_positions() * 8),
                  [&](int64_t i, int64_t end) {
                    for (; i < end; ++i) {
                      for (int64_t k = 0; k < c; ++k) {
                        Compute<T> best;
                        int64_t at, q;
                        largest(w, read<T>(inputs[0]) + i / outs * w.in_positions() * c,
                                read<T>(inputs[1]), i % outs, k, &best, &at, &q);
                        write<T>(outputs[0])[i * c + k] = T(best);
                      }
                    }
                  });
  return HR_OK;
}

template <class T, bool to_input>
hr_code compute_dilation_grad(hr_ctx*, void*, void* plan, const hr_tensor* const* inputs,
                              hr_tensor* const* outputs, void*) {
  const Window& w = static_cast<Plan*>(plan)->w;
  const int64_t outs = w.out_positions(), c = w.channels;
  const T* dy = read<T>(inputs[2]);
  T* to = write<T>(outputs[0]);
  std::fill_n(to, hr_elements(outputs[0]), T(0));
  for (int64_t i = 0; i < w.batch * outs; ++i) {
    const int64_t image = i / outs * w.in_positions() * c;
    for (int64_t k = 0; k < c; ++k) {
      Compute<T> best;
      int64_t at, q;
      largest(w, read<T>(inputs[0]) + image, read<T>(inputs[1]), i % outs, k, &best, &at, &q);
      if (at < 0) continue;
      T& sum = to[to_input ? image + at * c + k : q * c + k];
      sum = T(sum + dy[i * c + k]);
    }
  }
  return HR_OK;
}

enum class Dilation { forward, to_input, to_filter };

template <Dilation kind>
hr_code prepare_dilation(void*, hr_request* r) {
  const hr_tensor *x = r->inputs[0], *f = r->inputs[1];
  if (x->rank != 4 || f->rank != 3 || f->dims[2] != x->dims[3])
    return hr_request_fail(
        r, HR_INVALID_ARGUMENT,
        "input must have 4 dimensions and filter 3, of the same depth: input is %s, filter is %s",
        ShapeText(x).text, ShapeText(f).text);
  auto plan = std::make_unique<Plan>();
  hr_code code = read_window(r, x->rank, x->dims, f->dims, dimension_list(r->node, "strides"),
                             dimension_list(r->node, "rates"), &plan->w);
  if (code != HR_OK) return code;
  hr_tensor y{};
  set_window_shape(plan->w, x->dims[3], &y);
  if (kind != Dilation::forward && !same_shape(&y, r->inputs[2]))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "out_backprop is %s, but input and filter make %s",
                           ShapeText(r->inputs[2]).text, ShapeText(&y).text);
  copy_shape(kind == Dilation::forward ? &y : kind == Dilation::to_input ? x : f, r->outputs[0]);
  r->compute = with_type(x->dtype, Reals{}, [](auto type) -> hr_compute {
    using T = typename decltype(type)::type;
    if (kind == Dilation::forward) return compute_dilation<T>;
    return compute_dilation_grad<T, kind == Dilation::to_input>;
  });
  keep_plan(r, plan.release());
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("ExtractImagePatches", nullptr, prepare_patches, compute_patches),
    kernel("ExtractVolumePatches", nullptr, prepare_patches, compute_patches),
    kernel("Dilation2D", "T=" HR_REALS, prepare_dilation<Dilation::forward>),
    kernel("Dilation2DBackpropInput", "T=" HR_REALS, widened<prepare_dilation<Dilation::to_input>>),
    kernel("Dilation2DBackpropFilter", "T=" HR_REALS,
           widened<prepare_dilation<Dilation::to_filter>>),
};

}  // namespace hr
