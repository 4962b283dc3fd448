// RaggedTensorToTensor and RaggedTensorToSparse.
#include <algorithm>

#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "ops/ragged/splits.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr::ragged {
namespace {

// Where the rows of a ragged dimension end among the elements of the next one.
using Ends = std::vector<int64_t>;

Ends ends_of_rows(const hr_tensor* ids, int64_t rows) {
  if (ids->rank != 1) invalid("row ids must be a vector");
  Ends ends(size_t(rows) + 1, 0);
  int64_t last = 0;
  for (int64_t i = 0; i < ids->dims[0]; ++i) {
    const int64_t row = number_at(ids, i);
    if (row < last || row >= rows)
      invalid("row ids must ascend from 0 to " + std::to_string(rows - 1));
    ++ends[size_t(row) + 1];
    last = row;
  }
  for (size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
  return ends;
}

std::vector<Ends> partitions_of(const hr_node* node, const hr_tensor* const* in, Range at) {
  const AttrList<hr_string> kinds = attr_strings(node, "row_partition_types");
  if (int32_t(kinds.size) != at.count || kinds.empty())
    invalid("there are " + std::to_string(at.count) + " partitions, but " +
            std::to_string(kinds.size) + " types of them");
  int32_t k = 0;
  int64_t rows = 0;
  if (text_of(kinds[0]) == "FIRST_DIM_SIZE") {
    const hr_tensor* first = in[at.first];
    if (first->rank != 0) invalid("the size of the first dimension must be a scalar");
    rows = number_at(first, 0);
    if (rows < 0) invalid("the size of the first dimension is negative: " + std::to_string(rows));
    k = 1;
  } else if (text_of(kinds[0]) == "ROW_SPLITS") {
    rows = std::max<int64_t>(0, hr_elements(in[at.first]) - 1);
  } else {
    invalid("Cannot handle " + std::string(text_of(kinds[0])) + " in first dimension");
  }
  std::vector<Ends> found;
  if (k == at.count) invalid("a ragged tensor has at least one ragged dimension");
  for (; k < at.count; ++k) {
    const std::string_view kind = text_of(kinds[size_t(k)]);
    const hr_tensor* part = in[at.first + k];
    if (kind == "ROW_SPLITS") {
      found.push_back(checked_splits(part, -1));
      if (int64_t(found.back().size()) != rows + 1)
        invalid("a partition has " + std::to_string(found.back().size() - 1) + " rows instead of " +
                std::to_string(rows));
    } else if (kind == "VALUE_ROWIDS") {
      // A row takes memory here before any value says that it is there.
      if (rows > (int64_t(1) << 40)) throw Failure{HR_RESOURCE_EXHAUSTED, "too many rows"};
      found.push_back(ends_of_rows(part, rows));
    } else {
      invalid("Cannot handle " + std::string(kind));
    }
    rows = found.back().back();
  }
  return found;
}

int64_t widest(const Ends& ends) {
  int64_t most = 0;
  for (size_t i = 1; i < ends.size(); ++i) most = std::max(most, ends[i] - ends[i - 1]);
  return most;
}

// Fills a tensor with a default that broadcasts to its last dimensions.
void fill(hr_ctx* ctx, const hr_tensor* with, hr_tensor* out) {
  const int64_t n = hr_elements(out);
  const int32_t offset = out->rank - with->rank;
  for (int32_t d = 0; d < with->rank; ++d)
    if (with->dims[d] != 1 && with->dims[d] != out->dims[offset + d])
      invalid(std::string("default_value of shape ") + (const char*)ShapeText(with) +
              " does not broadcast to " + (const char*)ShapeText(out));
  std::vector<int64_t> at(size_t(with->rank), 0);
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    int64_t from = 0;
    for (int32_t d = 0; d < with->rank; ++d)
      from = from * with->dims[d] + (with->dims[d] == 1 ? 0 : at[size_t(d)]);
    copy_values(ctx, with, from, out, i, 1);
    for (int32_t d = with->rank - 1; d >= 0 && ++at[size_t(d)] == out->dims[offset + d]; --d)
      at[size_t(d)] = 0;
  }
}

void set_sizes(const hr_tensor* shape, const hr_tensor* values, const std::vector<Ends>& parts,
               hr_tensor* out) {
  const auto ragged = int32_t(parts.size());
  const int32_t rank = ragged + values->rank;
  if (rank > HR_MAX_RANK) invalid("the dense tensor would have more than 8 dimensions");
  out->rank = rank;
  out->dims[0] = int64_t(parts[0].size()) - 1;
  for (int32_t d = 0; d < ragged; ++d) out->dims[d + 1] = widest(parts[size_t(d)]);
  std::copy(values->dims + 1, values->dims + values->rank, out->dims + ragged + 1);
  if (shape->rank == 0) return;
  if (shape->rank != 1 || shape->dims[0] != rank)
    invalid(std::string("shape has rank ") + std::to_string(hr_elements(shape)) +
            ", but the ragged tensor has " + std::to_string(rank));
  for (int32_t d = 0; d < rank; ++d) {
    const int64_t size = number_at(shape, d);
    if (size < 0) continue;
    if (d > ragged && size != out->dims[d])
      invalid(std::string("shape does not fit values of shape ") + (const char*)ShapeText(values));
    out->dims[d] = size;
  }
}

void to_tensor(hr_ctx* ctx, const hr_node* node, const hr_tensor* const* in,
               hr_tensor* const* out) {
  const hr_tensor* values = in[1];
  if (values->rank < 1) invalid("values must have at least one dimension");
  const std::vector<Ends> parts = partitions_of(node, in, Range(node, 3));
  if (parts.back().back() != values->dims[0])
    invalid("there are " + std::to_string(values->dims[0]) + " values, but the partitions have " +
            std::to_string(parts.back().back()));
  set_sizes(in[0], values, parts, out[0]);
  check(ctx->api->allocate(ctx, out[0]));
  fill(ctx, in[2], out[0]);
  const int64_t size = row_size(values);
  // Where the rows of a dimension go, in rows of values; -1: outside.
  std::vector<int64_t> places;
  for (int64_t row = 0; row + 1 < int64_t(parts[0].size()); ++row)
    places.push_back(row < out[0]->dims[0] ? row : -1);
  for (size_t d = 0; d < parts.size(); ++d) {
    const Ends& ends = parts[d];
    const int64_t width = out[0]->dims[d + 1];
    std::vector<int64_t> inner;
    inner.reserve(size_t(ends.back()));
    for (size_t row = 0; row + 1 < ends.size(); ++row)
      for (int64_t k = 0; k < ends[row + 1] - ends[row]; ++k)
        inner.push_back(places[row] >= 0 && k < width ? places[row] * width + k : -1);
    places = std::move(inner);
  }
  for (int64_t i = 0; i < values->dims[0]; ++i) {
    poll_at(ctx, i);
    if (places[size_t(i)] >= 0)
      copy_values(ctx, values, i * size, out[0], places[size_t(i)] * size, size);
  }
}

void to_sparse(hr_ctx* ctx, const hr_node* node, const hr_tensor* const* in,
               hr_tensor* const* out) {
  const Range at(node, 0);
  const hr_tensor* values = in[at.first + at.count];
  const std::vector<Ends> nested = nested_splits(in, at, values);
  const int64_t size = row_size(values), n = values->dims[0], ragged = int64_t(nested.size());
  const int64_t rank = ragged + values->rank;
  set_shape(out[0], {n * size, rank});
  set_shape(out[1], {n * size});
  set_shape(out[2], {rank});
  for (int k = 0; k < 3; ++k) check(ctx->api->allocate(ctx, out[k]));
  copy_values(ctx, values, 0, out[1], 0, n * size);
  int64_t* shape = write<int64_t>(out[2]);
  shape[0] = int64_t(nested[0].size()) - 1;
  for (int64_t d = 0; d < ragged; ++d) shape[d + 1] = widest(nested[size_t(d)]);
  std::copy(values->dims + 1, values->dims + values->rank, shape + ragged + 1);
  std::vector<size_t> row(size_t(ragged), 0);
  int64_t* indices = write<int64_t>(out[0]);
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    // From the inside: which row element `element` lies in, and where in it.
    std::vector<int64_t> place(size_t(ragged) + 1);
    int64_t element = i;
    for (int64_t d = ragged; d-- > 0;) {
      const Ends& ends = nested[size_t(d)];
      size_t& at_row = row[size_t(d)];
      while (ends[at_row + 1] <= element) ++at_row;
      place[size_t(d) + 1] = element - ends[at_row];
      element = int64_t(at_row);
    }
    place[0] = element;
    for (int64_t k = 0; k < size; ++k) {
      indices = std::copy(place.begin(), place.end(), indices);
      int64_t within = k, stride = size;
      for (int32_t d = 1; d < values->rank; ++d) {
        stride /= values->dims[d];
        *indices++ = within / stride;
        within %= stride;
      }
    }
  }
}

}  // namespace

HR_KERNELS = {
    kernel("RaggedTensorToTensor", "T=" HR_NUMBERS "|bool|string", prepare_of_data,
           compute<to_tensor>)
        .with_state(create_with_node, [](void*) {}),
    kernel("RaggedTensorToSparse", "T=" HR_NUMBERS "|bool|string", prepare_of_data,
           compute<to_sparse>)
        .with_state(create_with_node, [](void*) {}),
};

}  // namespace hr::ragged
