// EditDistance: the Levenshtein distance between the sequences of two sparse tensors.
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

struct LabelRow {
  std::vector<int64_t> group;  // all indices but the last
  std::vector<std::string> values;
};

// Equal numbers have equal bytes, and a NaN equals nothing.
template <class T> void make_comparable(std::vector<LabelRow>* sequences) {
  int64_t unequal = 0;
  for (LabelRow& sequence : *sequences)
    for (std::string& bytes : sequence.values) {
      T number;
      std::memcpy(&number, bytes.data(), sizeof number);
      const auto x = Compute<T>(number);
      if (x != x) bytes = "NaN " + std::to_string(++unequal);
      else if (x == Compute<T>(0)) bytes.assign(sizeof number, '\0');
    }
}

// Each run of rows of one group, in order, with its values as bytes.
std::vector<LabelRow> sequences_of(const hr_tensor* indices, const hr_tensor* values) {
  std::vector<LabelRow> result;
  const int64_t n = indices->dims[0], rank = indices->dims[1], size = hr_dtype_size(values->dtype);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t* row = read<int64_t>(indices) + i * rank;
    if (result.empty() || !std::equal(row, row + rank - 1, result.back().group.begin()))
      result.push_back({std::vector<int64_t>(row, row + rank - 1), {}});
    auto& sequence = result.back().values;
    if (values->dtype == HR_STRING) {
      const hr_string& text = read<hr_string>(values)[i];
      sequence.emplace_back(text.data ? text.data : "", text.size);
    } else {
      sequence.emplace_back(read<char>(values) + i * size, size_t(size));
    }
  }
  if (values->dtype == HR_FLOAT) make_comparable<float>(&result);
  if (values->dtype == HR_DOUBLE) make_comparable<double>(&result);
  if (values->dtype == HR_HALF) make_comparable<half>(&result);
  if (values->dtype == HR_BFLOAT16) make_comparable<bfloat16>(&result);
  return result;
}

int64_t distance(const hr_ctx* ctx, const std::vector<std::string>& a,
                 const std::vector<std::string>& b) {
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = int64_t(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    poll(ctx);
    int64_t diagonal = row[0];
    row[0] = int64_t(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

hr_code compute_distance(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                         hr_tensor* const* out, void*) {
  const bool normalize = plan != nullptr;
  const int64_t rank = in[0]->dims[1];
  for (int64_t d = 0; d < rank; ++d)
    if (const int64_t least = std::min(int_at(in[2], d), int_at(in[5], d)); least < 0)
      return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Dimension %lld must be >= 0", (long long)least);
  out[0]->rank = int32_t(rank - 1);
  for (int64_t d = 0; d + 1 < rank; ++d)
    out[0]->dims[d] = std::max(int_at(in[2], d), int_at(in[5], d));
  if (hr_elements(out[0]) == 0)
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Got output shape %s which has 0 elements",
                       (const char*)ShapeText(out[0]));
  if (hr_code code = ctx->api->allocate(ctx, out[0])) return code;
  const auto hypotheses = sequences_of(in[0], in[1]), truths = sequences_of(in[3], in[4]);
  static const std::vector<std::string> empty;
  std::fill_n(write<float>(out[0]), hr_elements(out[0]), 0.0f);
  // Two sorted lists, walked together.
  for (size_t i = 0, j = 0; i < hypotheses.size() || j < truths.size();) {
    poll(ctx);
    const bool has_guess =
        j == truths.size() || (i < hypotheses.size() && hypotheses[i].group <= truths[j].group);
    const auto& group = has_guess ? hypotheses[i].group : truths[j].group;
    const bool has_truth = j < truths.size() && truths[j].group == group;
    const auto& guess = has_guess ? hypotheses[i++].values : empty;
    const auto& right = has_truth ? truths[j++].values : empty;
    int64_t at = 0;
    for (int64_t d = 0; d + 1 < rank; ++d) {
      if (group[size_t(d)] < 0 || group[size_t(d)] >= out[0]->dims[d])
        return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "an index lies outside of the shape %s",
                           (const char*)ShapeText(out[0]));
      at = at * out[0]->dims[d] + group[size_t(d)];
    }
    float value = float(distance(ctx, guess, right));
    if (normalize)
      value = right.empty() ? std::numeric_limits<float>::infinity() : value / float(right.size());
    write<float>(out[0])[at] = value;
  }
  return HR_OK;
}

hr_code prepare_distance(void*, hr_request* r) {
  static char yes;
  const hr_tensor *h = r->inputs[0], *t = r->inputs[3];
  if (h->rank != 2 || t->rank != 2 || h->dims[1] != t->dims[1] || h->dims[1] < 1 ||
      h->dims[1] > HR_MAX_RANK || hr_elements(r->inputs[2]) != h->dims[1] ||
      hr_elements(r->inputs[5]) != h->dims[1] || hr_elements(r->inputs[1]) != h->dims[0] ||
      hr_elements(r->inputs[4]) != t->dims[0])
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "hypothesis %s and truth %s are not sparse tensors of one rank",
                           (const char*)ShapeText(h), (const char*)ShapeText(t));
  r->plan = hr_attr_bool(r->node, "normalize", 1) ? &yes : nullptr;
  r->shape_depends_on_data = 1;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("EditDistance", "T=" HR_NUMBERS "|bool|string", prepare_distance, compute_distance)
        .is(HR_KERNEL_DATA_SHAPE),
};

}  // namespace hr
