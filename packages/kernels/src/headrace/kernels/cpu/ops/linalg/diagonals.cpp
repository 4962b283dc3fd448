// Diagonals of matrices: MatrixDiag, MatrixDiagPart, MatrixSetDiag and MatrixBandPart.
#include <algorithm>
#include <cstring>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "loops/elements.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

// A band of diagonals of [..., rows, columns], and where its elements lie in their tensor
// [..., count, longest] (or [..., longest] for one diagonal).
struct BandPlan {
  int64_t matrices, rows, columns;
  int64_t low, high;  // k of the lowest and of the highest diagonal
  int64_t longest;
  bool right_super, right_sub;  // short diagonals end at the right

  int64_t count() const { return high - low + 1; }
  int64_t length(int64_t k) const {
    return std::max<int64_t>(
        0, std::min(rows + std::min<int64_t>(k, 0), columns - std::max<int64_t>(k, 0)));
  }
  int64_t shift(int64_t k) const {
    return (k >= 0 ? right_super : right_sub) ? longest - length(k) : 0;
  }
  // f(element of the matrix, element of the diagonals) for each element of the band.
  template <class F> void each(int64_t matrix, F&& f) const {
    for (int64_t k = high; k >= low; --k) {
      const int64_t n = length(k);
      const int64_t row0 = std::max<int64_t>(0, -k), column0 = std::max<int64_t>(0, k);
      const int64_t to = (matrix * count() + high - k) * longest + shift(k);
      for (int64_t i = 0; i < n; ++i) f((matrix * rows + row0 + i) * columns + column0 + i, to + i);
    }
  }
};

hr_code read_band(hr_request* r, const hr_tensor* matrix, int32_t k_input, bool aligned,
                  BandPlan* p) {
  p->rows = matrix->dims[matrix->rank - 2];
  p->columns = matrix->dims[matrix->rank - 1];
  p->matrices = product(matrix->dims, 0, matrix->rank - 2);
  p->low = p->high = 0;
  if (k_input > 0) {
    const hr_tensor* k = r->inputs[k_input];
    p->low = int_at(k, 0);
    p->high = int_at(k, hr_elements(k) > 1 ? 1 : 0);
    if (p->low > p->high || p->low <= -p->rows - (p->rows == 0) ||
        p->high >= p->columns + (p->columns == 0))
      return hr_request_fail(
          r, HR_INVALID_ARGUMENT, "diagonals %lld to %lld are not in a matrix of %lld x %lld",
          (long long)p->low, (long long)p->high, (long long)p->rows, (long long)p->columns);
  }
  p->longest =
      std::min(p->rows + std::min<int64_t>(p->high, 0), p->columns - std::max<int64_t>(p->low, 0));
  const auto align = aligned ? attr_text(r->node, "align", "RIGHT_LEFT") : "LEFT_LEFT";
  p->right_super = align.substr(0, 5) == "RIGHT";
  p->right_sub = align.size() > 6 && align.substr(align.find('_') + 1) == "RIGHT";
  return HR_OK;
}

bool is_v3(const hr_request* r) {
  const size_t n = std::strlen(r->node->op);
  return r->node->op[n - 1] == '3';
}

void blank(hr_ctx* ctx, hr_tensor* out, const hr_tensor* padding) {
  static const char zero[16] = {};
  if (padding) fill_elements(ctx, out->dtype, out->data, padding->data, hr_elements(out));
  else if (is_plain(out->dtype)) fill_elements(ctx, out->dtype, out->data, zero, hr_elements(out));
}

void copy_one(hr_ctx* ctx, const hr_tensor* to, int64_t i, const hr_tensor* from, int64_t j) {
  const int64_t size = hr_dtype_size(to->dtype);
  copy_elements(ctx, to->dtype, size, write<char>(to) + i * size, read<char>(from) + j * size, 1);
}

template <int padding>
hr_code compute_diag(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                     hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const BandPlan*>(plan_);
  blank(ctx, out[0], padding ? in[padding] : nullptr);
  for (int64_t m = 0; m < p.matrices; ++m)
    p.each(m, [&](int64_t at, int64_t d) { copy_one(ctx, out[0], at, in[0], d); });
  return HR_OK;
}

template <int padding>
hr_code compute_diag_part(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const BandPlan*>(plan_);
  blank(ctx, out[0], padding ? in[padding] : nullptr);
  for (int64_t m = 0; m < p.matrices; ++m)
    p.each(m, [&](int64_t at, int64_t d) { copy_one(ctx, out[0], d, in[0], at); });
  return HR_OK;
}

hr_code compute_set_diag(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const BandPlan*>(plan_);
  if (out[0]->data != in[0]->data)
    copy_elements(ctx, in[0]->dtype, hr_dtype_size(in[0]->dtype), out[0]->data, in[0]->data,
                  hr_elements(in[0]));
  for (int64_t m = 0; m < p.matrices; ++m)
    p.each(m, [&](int64_t at, int64_t d) { copy_one(ctx, out[0], at, in[1], d); });
  return HR_OK;
}

hr_code prepare_diag(void*, hr_request* r) {
  const bool banded = r->node->n_inputs == 5;
  if (banded) HR_APPLY_RULE(matrix_diag_v2, r);
  else HR_APPLY_RULE(matrix_diag, r);
  auto* p = keep_plan(r, new BandPlan{});
  if (hr_code code = read_band(r, r->outputs[0], banded ? 1 : 0, is_v3(r), p)) return code;
  p->longest = r->inputs[0]->dims[r->inputs[0]->rank - 1];
  r->compute = banded ? compute_diag<4> : compute_diag<0>;
  return HR_OK;
}

hr_code prepare_diag_part(void*, hr_request* r) {
  const bool banded = r->node->n_inputs == 3;
  if (banded) HR_APPLY_RULE(matrix_diag_part_v2, r);
  else HR_APPLY_RULE(matrix_diag_part, r);
  auto* p = keep_plan(r, new BandPlan{});
  if (hr_code code = read_band(r, r->inputs[0], banded ? 1 : 0, is_v3(r), p)) return code;
  r->compute = banded ? compute_diag_part<2> : compute_diag_part<0>;
  return HR_OK;
}

hr_code prepare_set_diag(void*, hr_request* r) {
  HR_APPLY_RULE(unchanged, r);
  const hr_tensor *x = r->inputs[0], *d = r->inputs[1];
  if (x->rank < 2)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "input must be at least a matrix, is %s",
                           (const char*)ShapeText(x));
  auto* p = keep_plan(r, new BandPlan{});
  if (hr_code code = read_band(r, x, r->node->n_inputs == 3 ? 2 : 0, is_v3(r), p)) return code;
  hr_tensor requested = *x;  // [..., longest], or [..., count, longest] of several diagonals
  requested.rank = x->rank - 2;
  if (p->count() > 1) requested.dims[requested.rank++] = p->count();
  requested.dims[requested.rank++] = p->longest;
  if (!same_shape(d, &requested))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "diagonal %s does not fit input %s: expected %s",
                           (const char*)ShapeText(d), (const char*)ShapeText(x),
                           (const char*)ShapeText(&requested));
  r->compute = compute_set_diag;
  return HR_OK;
}

// ---- MatrixBandPart
// -----------------------------------------------------------------------------------

hr_code compute_band(hr_ctx* ctx, void*, void* plan_, const hr_tensor* const* in,
                     hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const BandPlan*>(plan_);
  const int64_t lower = int_at(in[1], 0), upper = int_at(in[2], 0);
  if (lower > p.rows || upper > p.columns)
    return hr_ctx_fail(
        ctx, HR_INVALID_ARGUMENT,
        "num_lower %lld and num_upper %lld are more than a matrix of %lld x %lld has",
        (long long)lower, (long long)upper, (long long)p.rows, (long long)p.columns);
  const int64_t size = hr_dtype_size(in[0]->dtype);
  char* to = write<char>(out[0]);
  const char* from = read<char>(in[0]);
  for (int64_t i = 0; i < p.matrices * p.rows; ++i) {
    poll(ctx);
    const int64_t row = i % p.rows;
    const int64_t begin = lower < 0 ? 0 : std::min(p.columns, std::max<int64_t>(0, row - lower));
    const int64_t end =
        std::max(begin, upper < 0 ? p.columns : std::min(p.columns, row + upper + 1));
    const int64_t at = i * p.columns * size;
    std::memset(to + at, 0, size_t(begin * size));
    if (to != from)
      std::memcpy(to + at + begin * size, from + at + begin * size, size_t((end - begin) * size));
    std::memset(to + at + end * size, 0, size_t((p.columns - end) * size));
  }
  return HR_OK;
}

hr_code prepare_band(void*, hr_request* r) {
  HR_APPLY_RULE(matrix, r);
  if (hr_code code = need_scalar(r, 1, "num_lower")) return code;
  if (hr_code code = need_scalar(r, 2, "num_upper")) return code;
  const hr_tensor* x = r->inputs[0];
  keep_plan(r, new BandPlan{product(x->dims, 0, x->rank - 2), x->dims[x->rank - 2],
                            x->dims[x->rank - 1], 0, 0, 0, false, false});
  r->compute = compute_band;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("MatrixDiag", nullptr, prepare_diag),
    kernel("MatrixDiagV2", nullptr, prepare_diag).constant(1, 2, 3),
    kernel("MatrixDiagV3", nullptr, prepare_diag).constant(1, 2, 3),
    kernel("MatrixDiagPart", nullptr, prepare_diag_part),
    kernel("MatrixDiagPartV2", nullptr, prepare_diag_part).constant(1),
    kernel("MatrixDiagPartV3", nullptr, prepare_diag_part).constant(1),
    kernel("MatrixSetDiag", nullptr, prepare_set_diag).reuses(0),
    kernel("MatrixSetDiagV2", nullptr, prepare_set_diag).constant(2).reuses(0),
    kernel("MatrixSetDiagV3", nullptr, prepare_set_diag).constant(2).reuses(0),
    kernel("MatrixBandPart", "T=" HR_NUMBERS "|bool", prepare_band).reuses(0),
};

}  // namespace hr
