// Einsum: packs each operand as matrices, multiplies them and permutes the result.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/gemm.hpp"
#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/via_float.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

// Labels are characters; the dimensions under an ellipsis are numbered from 128 on, from the right.
using Labels = std::vector<int>;
constexpr int kEllipsis = 128, kLabels = kEllipsis + HR_MAX_RANK;

// How to walk a tensor: one stride per label of a list, 0 where it does not have the label.
struct Walk {
  std::vector<int64_t> sizes, strides;
  int64_t count() const {
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    return n;
  }
};

// Offsets of all positions of a walk, in row-major order: f(offset).
template <class F>
void walk_over(const Walk& w, F&& f) {
  const size_t rank = w.sizes.size();
  if (w.count() == 0) return;
  int64_t at[2 * HR_MAX_RANK + 1] = {}, offset = 0;
  for (;;) {
    f(offset);
    size_t d = rank;
    for (;;) {
      if (d-- == 0) return;
      offset += w.strides[d];
      if (++at[d] < w.sizes[d]) break;
      offset -= w.strides[d] * w.sizes[d];
      at[d] = 0;
    }
  }
}

struct Operand {
  Walk kept, summed;  // positions of the packed matrices; what is added up in each
};

struct Plan {
  int n;  // operands
  Operand operands[2];
  int64_t batch = 1, rows = 1, inner = 1, columns = 1;
  Walk out;  // strides of the output by the labels of [batch, rows, columns]
  gemm::Cut cut;
};

bool has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

hr_code read_labels(hr_request* r, std::string_view text, int64_t rank, Labels* labels) {
  const size_t dots = text.find("...");
  int64_t named = 0;
  for (char c : text) named += std::isalpha(static_cast<unsigned char>(c)) != 0;
  const int64_t under = dots == std::string_view::npos ? 0 : rank < 0 ? -rank - 1 : rank - named;
  if (rank >= 0 && (under < 0 || named + under != rank))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "\"%.*s\" names %lld dimensions, the input has %lld", int(text.size()),
                           text.data(), (long long)named, (long long)rank);
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == dots) {
      for (int64_t k = under; k-- > 0;) labels->push_back(kEllipsis + int(k));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      labels->push_back(text[i]);
    } else {
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "equation has '%c': labels are letters",
                             text[i]);
    }
  }
  return HR_OK;
}

Walk make_walk(const Labels& order, const Labels& own, const hr_tensor* t, const int64_t* sizes) {
  Walk w;
  for (int label : order) {
    int64_t stride = 0;
    for (int32_t d = 0; d < t->rank; ++d) {
      if (own[d] == label && t->dims[d] != 1) stride += product(t->dims, d + 1, t->rank);
    }
    w.sizes.push_back(sizes[label]);
    w.strides.push_back(stride);
  }
  return w;
}

hr_code read_plan(hr_request* r, Plan* p) {
  std::string equation;
  for (char c : attr_text(r->node, "equation")) {
    if (c != ' ') equation.push_back(c);
  }
  const size_t arrow = equation.find("->"), comma = equation.find(',');
  p->n = r->node->n_inputs;
  if (arrow == std::string::npos || p->n > 2 || (comma != std::string::npos) != (p->n == 2))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "equation \"%s\" does not fit %d inputs: it is \"a->b\" or \"a,b->c\"",
                           equation.c_str(), p->n);
  const std::string_view all = equation;
  Labels own[2], out;
  const std::string_view texts[2] = {all.substr(0, std::min(arrow, comma)),
                                     p->n == 2 ? all.substr(comma + 1, arrow - comma - 1) : ""};
  int64_t sizes[kLabels];
  std::fill_n(sizes, kLabels, int64_t(1));
  int64_t most_under = 0;
  for (int i = 0; i < p->n; ++i) {
    hr_code code = read_labels(r, texts[i], r->inputs[i]->rank, &own[i]);
    if (code != HR_OK) return code;
    for (size_t d = 0; d < own[i].size(); ++d) {
      const int label = own[i][d];
      const int64_t size = r->inputs[i]->dims[d];
      if (label >= kEllipsis) most_under = std::max<int64_t>(most_under, label - kEllipsis + 1);
      if (size != 1 && sizes[label] != 1 && sizes[label] != size)
        return hr_request_fail(r, HR_INVALID_ARGUMENT,
                               "a label has sizes %lld and %lld: inputs are %s and %s",
                               (long long)sizes[label], (long long)size,
                               ShapeText(r->inputs[0]).text, ShapeText(r->inputs[p->n - 1]).text);
      if (size != 1) sizes[label] = size;
    }
  }
  hr_code code = read_labels(r, all.substr(arrow + 2), -most_under - 1, &out);
  if (code != HR_OK) return code;

  Labels batch, rows, inner, columns;
  for (int label : out) {
    const bool a = has(own[0], label), b = p->n == 2 && has(own[1], label);
    if (!a && !b)
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "equation \"%s\": an output label is in no input", equation.c_str());
    Labels& group = a && b ? batch : a ? rows : columns;
    if (!has(group, label)) group.push_back(label);
  }
  for (int label : own[0]) {
    if (p->n == 2 && has(own[1], label) && !has(out, label) && !has(inner, label))
      inner.push_back(label);
  }
  auto size_of = [&](const Labels& labels) {
    int64_t n = 1;
    for (int label : labels) n *= sizes[label];
    return n;
  };
  p->batch = size_of(batch), p->rows = size_of(rows), p->inner = size_of(inner),
  p->columns = size_of(columns);
  auto joined = [](Labels a, const Labels& b, const Labels& c) {
    a.insert(a.end(), b.begin(), b.end());
    a.insert(a.end(), c.begin(), c.end());
    return a;
  };
  const Labels orders[2] = {joined(batch, rows, inner), joined(batch, inner, columns)};
  for (int i = 0; i < p->n; ++i) {
    Labels summed;
    for (int label : own[i]) {
      if (!has(orders[i], label) && !has(summed, label)) summed.push_back(label);
    }
    p->operands[i] = {make_walk(orders[i], own[i], r->inputs[i], sizes),
                      make_walk(summed, own[i], r->inputs[i], sizes)};
  }
  hr_tensor* y = r->outputs[0];
  if (out.size() > HR_MAX_RANK)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "the output has %zu dimensions: at most %d",
                           out.size(), HR_MAX_RANK);
  y->rank = int32_t(out.size());
  for (int32_t d = 0; d < y->rank; ++d) y->dims[d] = sizes[out[d]];
  // A label that comes twice in the output writes its diagonal.
  for (int label : joined(batch, rows, columns)) {
    int64_t stride = 0;
    for (int32_t d = 0; d < y->rank; ++d) {
      if (out[d] == label) stride += product(y->dims, d + 1, y->rank);
    }
    p->out.sizes.push_back(sizes[label]);
    p->out.strides.push_back(stride);
  }
  return HR_OK;
}

template <class T>
void pack(const hr_ctx* ctx, const Operand& o, const T* x, T* to) {
  if (o.summed.count() == 1) {
    walk_over(o.kept, [&](int64_t at) { *to++ = x[at]; });
    return;
  }
  walk_over(o.kept, [&](int64_t at) {
    poll(ctx);
    T sum = T(0);
    walk_over(o.summed, [&](int64_t more) { sum = T(sum + x[at + more]); });
    *to++ = sum;
  });
}

template <class T>
hr_code multiply(hr_ctx* ctx, const Plan& p, const T* a, const T* b, T* c, T* packed) {
  for (int64_t i = 0; i < p.batch;
       ++i, a += p.rows * p.inner, b += p.inner * p.columns, c += p.rows * p.columns) {
    poll(ctx);
    if constexpr (std::is_floating_point_v<T>) {
      const gemm::Problem<T> one{p.rows, p.columns, p.inner, a, p.inner,  false,
                                 b,      p.columns, false,   c, p.columns};
      if (gemm::is_small(p.rows, p.columns, p.inner)) gemm::small(one);
      else if (hr_code code = gemm::blocked(ctx, one, p.cut, packed, nullptr); code != HR_OK)
        return code;
    } else {
      for (int64_t j = 0; j < p.rows; ++j) {
        poll(ctx);
        std::fill_n(c + j * p.columns, p.columns, T(0));
        for (int64_t q = 0; q < p.inner; ++q) {
          for (int64_t k = 0; k < p.columns; ++k)
            c[j * p.columns + k] =
                T(c[j * p.columns + k] + a[j * p.inner + q] * b[q * p.columns + k]);
        }
      }
    }
  }
  return HR_OK;
}

template <class T>
hr_code compute_einsum(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void* workspace) {
  const Plan& p = *static_cast<Plan*>(plan);
  T* y = write<T>(outputs[0]);
  T* a = static_cast<T*>(workspace);
  T* b = a + p.batch * p.rows * p.inner;
  T* c = b + (p.n == 2 ? p.batch * p.inner * p.columns : 0);
  pack(ctx, p.operands[0], read<T>(inputs[0]), a);
  const T* result = a;
  if (p.n == 2) {
    pack(ctx, p.operands[1], read<T>(inputs[1]), b);
    const int64_t n = p.batch * p.rows * p.columns;
    if (p.inner == 0) std::fill_n(c, n, T(0));
    else if (hr_code code = n ? multiply(ctx, p, a, b, c, c + n) : HR_OK; code != HR_OK)
      return code;
    result = c;
  }
  std::fill_n(y, hr_elements(outputs[0]), T(0));
  walk_over(p.out, [&](int64_t at) { y[at] = *result++; });
  return HR_OK;
}

hr_code prepare_einsum(void*, hr_request* r) {
  hr_code code = hr_shape_einsum(r);
  if (code != HR_OK) return code;
  auto plan = std::make_unique<Plan>();
  code = read_plan(r, plan.get());
  if (code != HR_OK) return code;
  const Plan& p = *plan;
  const int64_t elements = p.batch * (p.rows * p.inner + p.inner * p.columns + p.rows * p.columns);
  r->workspace = size_t(elements * hr_dtype_size(r->inputs[0]->dtype));
  if (p.inner && p.rows * p.columns) {
    const bool wide = r->inputs[0]->dtype == HR_DOUBLE;
    const auto cut = wide ? gemm::cut_of<double> : gemm::cut_of<float>;
    plan->cut = cut(p.rows, p.columns, p.inner, false, false, r->threads);
    const auto workspace = wide ? gemm::workspace_of<double> : gemm::workspace_of<float>;
    r->workspace += workspace(plan->cut);
  }
  r->flops = 2.0 * double(p.batch) * double(p.rows) * double(p.inner) * double(p.columns);
  r->compute = with_type(
      r->inputs[0]->dtype, Join<WideFloats, Join<Integers, Complexes>>{},
      [](auto type) -> hr_compute { return compute_einsum<typename decltype(type)::type>; });
  if (!r->compute)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "no einsum of dtype %d", r->inputs[0]->dtype);
  keep_plan(r, plan.release());
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("Einsum", "T=" HR_NUMBERS, widened<prepare_einsum>),
};

}  // namespace hr
