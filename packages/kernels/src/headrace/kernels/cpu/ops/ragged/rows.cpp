// RaggedGather and RaggedRange.
#include <cmath>

#include "library/registration.hpp"
#include "math/arithmetic.hpp"
#include "ops/ragged/splits.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr::ragged {
namespace {

using Numbers = std::vector<int64_t>;

void give_splits(hr_ctx* ctx, hr_tensor* out, const Numbers& splits) {
  set_shape(out, {int64_t(splits.size())});
  check(ctx->api->allocate(ctx, out));
  for (size_t i = 0; i < splits.size(); ++i) put_number(out, int64_t(i), splits[i]);
}

std::string place_text(const hr_tensor* indices, int64_t i) {
  std::string text;
  for (int32_t d = indices->rank; d-- > 0; i /= indices->dims[d])
    text = std::to_string(i % indices->dims[d]) + (text.empty() ? "" : ", ") + text;
  return "indices[" + text + "]";
}

void gather(hr_ctx* ctx, const hr_node* node, const hr_tensor* const* in, hr_tensor* const* out) {
  const Range at(node, 0);
  const hr_tensor *values = in[at.first + at.count], *indices = in[at.first + at.count + 1];
  const std::vector<Numbers> nested = nested_splits(in, at, values);
  const int64_t n = hr_elements(indices), rows = int64_t(nested[0].size()) - 1;
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = number_at(indices, i);
    if (row < 0 || row >= rows)
      invalid(place_text(indices, i) + " = " + std::to_string(row) + " is not in [0, " +
              std::to_string(rows) + ")");
    spans.emplace_back(row, row + 1);
  }
  std::vector<Numbers> found;
  int64_t count = 1;
  for (int32_t d = 1; d < indices->rank; ++d) {
    count *= indices->dims[d - 1];
    Numbers splits;
    for (int64_t i = 0; i <= count; ++i) splits.push_back(i * indices->dims[d]);
    found.push_back(std::move(splits));
  }
  for (const Numbers& splits : nested) {
    Numbers ends{0};
    for (auto& [begin, end] : spans) {
      poll_at(ctx, int64_t(ends.size()));
      const int64_t base = ends.back() - splits[size_t(begin)];
      for (int64_t k = begin; k < end; ++k) ends.push_back(base + splits[size_t(k) + 1]);
      begin = splits[size_t(begin)];
      end = splits[size_t(end)];
    }
    found.push_back(std::move(ends));
  }
  if (indices->rank == 0) found.erase(found.begin());  // the row, without a dimension of rows
  const auto given = int64_t(hr_attr_int(node, "OUTPUT_RAGGED_RANK", 0));
  if (given != int64_t(found.size()))
    invalid("OUTPUT_RAGGED_RANK must be " + std::to_string(found.size()) + ", is " +
            std::to_string(given));
  for (size_t k = 0; k < found.size(); ++k) give_splits(ctx, out[k], found[k]);
  hr_tensor* to = out[given];
  int64_t total = 0;
  for (const auto& [begin, end] : spans) total += end - begin;
  to->rank = values->rank;
  std::copy(values->dims, values->dims + values->rank, to->dims);
  to->dims[0] = total;
  check(ctx->api->allocate(ctx, to));
  const int64_t size = row_size(values);
  int64_t written = 0;
  for (const auto& [begin, end] : spans) {
    copy_values(ctx, values, begin * size, to, written * size, (end - begin) * size);
    written += end - begin;
    poll_at(ctx, written);
  }
}

// How many numbers a range has. Throws for a step of 0.
template <class C> int64_t range_size(C start, C limit, C delta) {
  if (delta == C(0)) invalid("Requires delta != 0");
  if ((delta > C(0) && limit < start) || (delta < C(0) && limit > start)) return 0;
  if constexpr (std::is_integral_v<C>) {
    const uint64_t distance =
        delta > 0 ? uint64_t(limit) - uint64_t(start) : uint64_t(start) - uint64_t(limit);
    const uint64_t step = delta > 0 ? uint64_t(delta) : 0 - uint64_t(delta);
    const uint64_t size = distance ? (distance - 1) / step + 1 : 0;
    return int64_t(std::min<uint64_t>(size, INT64_MAX));
  } else {
    const double size = std::ceil(std::abs((double(limit) - double(start)) / double(delta)));
    if (!(size < 9e18)) throw Failure{HR_RESOURCE_EXHAUSTED, "a range is too long"};
    return int64_t(size);
  }
}

template <class T>
void range(hr_ctx* ctx, const hr_tensor* const* in, hr_tensor* const* out) {
  using C = std::conditional_t<std::is_integral_v<T>, int64_t, double>;
  int64_t rows = 1;
  bool vectors = false;
  for (int k = 0; k < 3; ++k) {
    if (in[k]->rank > 1) invalid("starts, limits and deltas must be scalars or vectors");
    if (in[k]->rank == 0) continue;
    if (vectors && in[k]->dims[0] != rows)
      invalid("starts, limits, and deltas must have the same shape");
    rows = in[k]->dims[0];
    vectors = true;
  }
  const auto at = [&](int k, int64_t i) {
    return C(Compute<T>(read<T>(in[k])[in[k]->rank ? i : 0]));
  };
  Numbers ends{0};
  for (int64_t i = 0; i < rows; ++i) {
    int64_t end;
    if (__builtin_add_overflow(ends.back(), range_size(at(0, i), at(1, i), at(2, i)), &end))
      throw Failure{HR_RESOURCE_EXHAUSTED, "the ranges are too long"};
    ends.push_back(end);
  }
  give_splits(ctx, out[0], ends);
  set_shape(out[1], {ends.back()});
  check(ctx->api->allocate(ctx, out[1]));
  T* to = write<T>(out[1]);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t n = ends[size_t(i) + 1] - ends[size_t(i)];
    T value = T(Compute<T>(at(0, i)));
    const T delta = T(Compute<T>(at(2, i)));
    for (int64_t k = 0; k < n; ++k) {
      poll_at(ctx, k);
      *to++ = value;
      // As in TensorFlow, each number is the one before plus the step, rounded.
      value = T(plus(Compute<T>(value), Compute<T>(delta)));
    }
  }
}

void ranges(hr_ctx* ctx, const hr_node*, const hr_tensor* const* in, hr_tensor* const* out) {
  switch (in[0]->dtype) {
    case HR_FLOAT: return range<float>(ctx, in, out);
    case HR_DOUBLE: return range<double>(ctx, in, out);
    case HR_INT32: return range<int32_t>(ctx, in, out);
    case HR_BFLOAT16: return range<bfloat16>(ctx, in, out);
    default: return range<int64_t>(ctx, in, out);
  }
}

}  // namespace

HR_KERNELS = {
    kernel("RaggedGather", "Tvalues=" HR_NUMBERS "|bool|string", prepare_of_data, compute<gather>)
        .with_state(create_with_node, [](void*) {}),
    kernel("RaggedRange", nullptr, prepare_of_data, compute<ranges>)
        .with_state(create_with_node, [](void*) {}),
};

}  // namespace hr::ragged
