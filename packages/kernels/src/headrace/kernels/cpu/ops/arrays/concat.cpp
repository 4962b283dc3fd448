// Joins and splits tensors along a dimension: Concat, Pack, Split, Unpack.
#include <vector>

#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/elements.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

// The whole is `outer` rows; each part holds `counts[i]` elements of every row.
struct Parts {
  hr_dtype dtype;
  int64_t size;
  int64_t outer;
  int64_t row;    // elements of the whole in a row
  int32_t first;  // the input (or output) that is part 0
  std::vector<int64_t> counts;
};

// Small pieces without the call that memcpy of unknown length is.
inline void copy_bytes(char* to, const char* from, int64_t n) {
  switch (n) {
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    case 16: std::memcpy(to, from, 16); break;
    default: std::memcpy(to, from, size_t(n));
  }
}

template <bool join>
hr_code compute_parts(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const Parts*>(plan_);
  char* whole = static_cast<char*>(join ? out[0]->data : in[p.first]->data);
  const bool plain = is_plain(p.dtype);
  const auto part = [&](size_t i) {
    return static_cast<char*>(join ? in[p.first + int32_t(i)]->data : out[i]->data);
  };
  if (p.outer == 1 || !plain) {
    for (int64_t r = 0; r < p.outer; ++r) {
      char* at = whole + r * p.row * p.size;
      for (size_t i = 0; i < p.counts.size(); ++i) {
        char* piece = part(i) + r * p.counts[i] * p.size;
        if (p.counts[i])
          copy_elements(ctx, p.dtype, p.size, join ? at : piece, join ? piece : at, p.counts[i]);
        at += p.counts[i] * p.size;
      }
    }
    return HR_OK;
  }
  parallel_ranges(ctx, p.outer, grain_of(2 * p.row * p.size), [&](int64_t begin, int64_t end) {
    int64_t offset = 0;
    for (size_t i = 0; i < p.counts.size(); ++i) {
      const int64_t bytes = p.counts[i] * p.size, step = p.row * p.size;
      if (bytes == 0) continue;
      char* piece = part(i) + begin * bytes;
      char* at = whole + begin * step + offset;
      for (int64_t r = begin; r < end; ++r, piece += bytes, at += step)
        copy_bytes(join ? at : piece, join ? piece : at, bytes);
      offset += bytes;
    }
  });
  return HR_OK;
}

// parts: tensors whose dimension `axis` makes up the whole's.
Parts* parts_along(hr_dtype dtype, const hr_tensor* const* parts, int32_t n, int64_t axis,
                   int32_t first) {
  auto* p = new Parts{dtype, hr_dtype_size(dtype), 1, 0, first, {}};
  const hr_tensor* t = parts[0];
  p->outer = product(t->dims, 0, int32_t(axis));
  for (int32_t i = 0; i < n; ++i) {
    p->counts.push_back(product(parts[i]->dims, int32_t(axis), parts[i]->rank));
    p->row += p->counts.back();
  }
  return p;
}

hr_code fill_request(hr_request* r, Parts* parts, bool join) {
  keep_plan(r, parts);
  r->compute = join ? compute_parts<true> : compute_parts<false>;
  r->bytes_moved = 2.0 * double(parts->outer * parts->row * parts->size);
  return HR_OK;
}

hr_code prepare_concat(void*, hr_request* r) {
  const bool v2 = r->node->op[6] == 'V';  // ConcatV2 has its axis last, Concat first
  if (hr_code code = v2 ? hr_shape_concat_v2(r) : hr_shape_concat(r)) return code;
  const int32_t n = r->node->n_inputs - 1, first = v2 ? 0 : 1;
  const int64_t axis = axis_of(int_at(r->inputs[v2 ? n : 0], 0), r->outputs[0]->rank);
  return fill_request(r, parts_along(r->outputs[0]->dtype, r->inputs + first, n, axis, first),
                      true);
}

// A part of Pack has the elements of one step along the new axis.
Parts* layers(hr_request* r, const hr_tensor* layer, int32_t n, int64_t axis) {
  auto* p = new Parts{layer->dtype, hr_dtype_size(layer->dtype), 1, 0, 0, {}};
  p->outer = product(layer->dims, 0, int32_t(axis));
  const int64_t count = product(layer->dims, int32_t(axis), layer->rank);
  p->counts.assign(size_t(n), count);
  p->row = n * count;
  (void)r;
  return p;
}

hr_code prepare_pack(void*, hr_request* r) {
  if (hr_code code = hr_shape_pack(r)) return code;
  const int64_t axis = axis_of(hr_attr_int(r->node, "axis", 0), r->outputs[0]->rank);
  return fill_request(r, layers(r, r->inputs[0], r->node->n_inputs, axis), true);
}

hr_code prepare_unpack(void*, hr_request* r) {
  if (hr_code code = hr_shape_unpack(r)) return code;
  const int64_t axis = axis_of(hr_attr_int(r->node, "axis", 0), r->inputs[0]->rank);
  if (r->node->n_outputs == 0) {
    r->compute = [](hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*,
                    void*) -> hr_code { return HR_OK; };
    return HR_OK;
  }
  return fill_request(r, layers(r, r->outputs[0], r->node->n_outputs, axis), false);
}

hr_code prepare_split(void*, hr_request* r) {
  if (hr_code code = hr_shape_split(r)) return code;
  const int64_t axis = axis_of(int_at(r->inputs[0], 0), r->inputs[1]->rank);
  return fill_request(r, parts_along(r->inputs[1]->dtype, r->outputs, r->node->n_outputs, axis, 1),
                      false);
}

hr_code prepare_split_v(void*, hr_request* r) {
  if (hr_code code = hr_shape_split_v(r)) return code;
  const int64_t axis = axis_of(int_at(r->inputs[2], 0), r->inputs[0]->rank);
  return fill_request(r, parts_along(r->inputs[0]->dtype, r->outputs, r->node->n_outputs, axis, 0),
                      false);
}

hr_code prepare_parallel_concat(void*, hr_request* r) {
  HR_APPLY_RULE(attr_shape, r);
  const hr_tensor* out = r->outputs[0];
  if (out->rank == 0 || out->dims[0] != r->node->n_inputs)
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "shape must have %d (the number of inputs) as its first dimension: %s",
                           int(r->node->n_inputs), (const char*)ShapeText(out));
  for (int32_t i = 0; i < r->node->n_inputs; ++i) {
    const hr_tensor* x = r->inputs[i];
    if (x->rank != out->rank || x->dims[0] != 1 ||
        !std::equal(x->dims + 1, x->dims + x->rank, out->dims + 1))
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "input %d must be one slice of shape %s along the first dimension, "
                             "is %s",
                             int(i), (const char*)ShapeText(out), (const char*)ShapeText(x));
  }
  return fill_request(r, parts_along(r->outputs[0]->dtype, r->inputs, r->node->n_inputs, 0, 0),
                      true);
}

}  // namespace

HR_KERNELS = {
    kernel("ConcatV2", nullptr, prepare_concat).constant(1),
    kernel("Concat", nullptr, prepare_concat).constant(0),
    kernel("ParallelConcat", nullptr, prepare_parallel_concat),
    kernel("Pack", nullptr, prepare_pack),
    kernel("Unpack", nullptr, prepare_unpack),
    kernel("Split", nullptr, prepare_split).constant(0),
    kernel("SplitV", nullptr, prepare_split_v).constant(1, 2),
};

}  // namespace hr
