// SparseCross: the combinations of the features that a row has in several columns.
#include <algorithm>
#include <string>
#include <vector>

#include "files/disk.hpp"
#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "library/text.hpp"
#include "math/string_hashes.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

[[noreturn]] void invalid(const std::string& text) { throw Failure{HR_INVALID_ARGUMENT, text}; }

// Where the features of a row lie among the values of a column.
struct Run {
  int64_t row, begin, end;
};

struct Column {
  const hr_tensor* values;
  std::vector<Run> runs;  // by row; of a dense column none
  int64_t width = -1;     // of a dense column
  size_t at = 0;          // the run to look at next

  // The features of a row; rows are asked for in ascending order.
  Run row(int64_t number) {
    if (width >= 0) return {number, number * width, (number + 1) * width};
    while (at < runs.size() && runs[at].row < number) ++at;
    return at < runs.size() && runs[at].row == number ? runs[at] : Run{number, 0, 0};
  }
  uint64_t fingerprint(int64_t i) const {
    if (values->dtype == HR_STRING) return fingerprint64(text_at(values, i));
    return uint64_t(read<int64_t>(values)[i]);
  }
  void append(int64_t i, std::string* text) const {
    if (values->dtype == HR_STRING) *text += text_at(values, i);
    else *text += std::to_string(read<int64_t>(values)[i]);
  }
};

struct Inputs {
  int32_t first[4], count[4];
  Inputs(const hr_node* node) {
    for (int32_t k = 0; k < 4; ++k) node->api->input_range(node, k, first + k, count + k);
  }
};

// The rows are read in order: what stands out of order, or beyond the batch, is not seen.
std::vector<Run> runs_of(const hr_tensor* indices, int64_t batch) {
  std::vector<Run> runs;
  const int64_t n = indices->dims[0], rank = indices->dims[1], *rows = read<int64_t>(indices);
  int64_t last = -1;
  for (int64_t i = 0; i < n;) {
    const int64_t row = rows[i * rank], begin = i;
    while (i < n && rows[i * rank] == row) ++i;
    if (row <= last || row >= batch) break;
    runs.push_back({row, begin, i});
    last = row;
  }
  return runs;
}

std::vector<Column> columns_of(const Inputs& at, const hr_tensor* const* in, int64_t* batch) {
  std::vector<Column> columns;
  const int32_t n = at.count[0];
  std::vector<int64_t> sizes;
  for (int32_t i = 0; i < n; ++i) {
    const hr_tensor *indices = in[at.first[0] + i], *values = in[at.first[1] + i],
                    *shape = in[at.first[2] + i];
    if (indices->rank != 2)
      invalid(std::string("Input indices should be a matrix but received shape ") +
              (const char*)ShapeText(indices) + " at position " + std::to_string(i));
    if (values->rank != 1)
      invalid(std::string("Input values should be a std::vector but received shape ") +
              (const char*)ShapeText(values) + " at position " + std::to_string(i));
    if (shape->rank != 1 || shape->dims[0] != 2)
      invalid("shape should imply a 2D tensor, but got " + std::to_string(hr_elements(shape)) +
              " sizes at position " + std::to_string(i));
    if (indices->dims[0] != values->dims[0] || indices->dims[1] != 2)
      invalid("Expected size of values to be " + std::to_string(indices->dims[0]) + " got " +
              std::to_string(values->dims[0]) + " at position " + std::to_string(i));
    sizes.push_back(read<int64_t>(shape)[0]);
    columns.push_back({values, {}, -1, 0});
  }
  for (int32_t i = 0; i < at.count[3]; ++i) {
    const hr_tensor* dense = in[at.first[3] + i];
    if (dense->rank != 2)
      invalid(std::string("Dense inputs should be a matrix but received shape ") +
              (const char*)ShapeText(dense) + " at position " + std::to_string(i));
    sizes.push_back(dense->dims[0]);
    columns.push_back({dense, {}, dense->dims[1], 0});
  }
  if (sizes.empty()) invalid("there must be at least one feature column");
  *batch = sizes[0];
  for (const int64_t size : sizes)
    if (size != *batch)
      invalid("Expected batch size " + std::to_string(*batch) + " got " + std::to_string(size));
  for (int32_t i = 0; i < n; ++i) columns[size_t(i)].runs = runs_of(in[at.first[0] + i], *batch);
  return columns;
}

// The rows in which every column has features, and how many crosses each has.
struct Crossing {
  std::vector<Run> features;  // one for each column
  int64_t row = 0, count = 0;
};

std::vector<Crossing> crossings_of(std::vector<Column>& columns, int64_t batch, hr_ctx* ctx) {
  // The column of the fewest rows says which rows to look at.
  const Column* shortest = nullptr;
  for (const Column& column : columns)
    if (column.width < 0 && (!shortest || column.runs.size() < shortest->runs.size()))
      shortest = &column;
  std::vector<Crossing> found;
  const int64_t n = shortest ? int64_t(shortest->runs.size()) : batch;
  for (int64_t i = 0; i < n; ++i) {
    poll_at(ctx, i);
    Crossing crossing;
    crossing.row = shortest ? shortest->runs[size_t(i)].row : i;
    crossing.count = 1;
    for (Column& column : columns) {
      crossing.features.push_back(column.row(crossing.row));
      const Run& run = crossing.features.back();
      if (__builtin_mul_overflow(crossing.count, run.end - run.begin, &crossing.count))
        throw Failure{HR_RESOURCE_EXHAUSTED, "the crosses of a row are too many"};
    }
    if (crossing.count) found.push_back(std::move(crossing));
  }
  return found;
}

// The last column changes fastest.
bool advance(const std::vector<Run>& features, std::vector<int64_t>& at) {
  for (size_t c = at.size(); c-- > 0;) {
    if (++at[c] < features[c].end) return true;
    at[c] = features[c].begin;
  }
  return false;
}

struct Attributes {
  bool hashed;
  uint64_t buckets, key;
};

hr_code put_cross(hr_ctx* ctx, const Attributes& attrs, const std::vector<Column>& columns,
                  const std::vector<int64_t>& at, hr_tensor* values, int64_t i) {
  if (attrs.hashed) {
    uint64_t total = attrs.key;
    for (size_t c = 0; c < columns.size(); ++c)
      total = fingerprint_cat64(total, columns[c].fingerprint(at[c]));
    write<int64_t>(values)[i] = int64_t(total % attrs.buckets);
    return HR_OK;
  }
  std::string text;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (c) text += "_X_";
    columns[c].append(at[c], &text);
  }
  return set_text(ctx, values, i, text);
}

void cross(hr_ctx* ctx, const hr_node* node, const hr_tensor* const* in, hr_tensor* const* out) {
  Attributes attrs{hr_attr_bool(node, "hashed_output", 0) != 0,
                   uint64_t(hr_attr_int(node, "num_buckets", 0)),
                   uint64_t(hr_attr_int(node, "hash_key", 0))};
  if (!attrs.buckets) attrs.buckets = INT64_MAX;
  int64_t batch = 0;
  std::vector<Column> columns = columns_of(Inputs(node), in, &batch);
  const std::vector<Crossing> crossings = crossings_of(columns, batch, ctx);
  int64_t n = 0, longest = 0;
  for (const Crossing& crossing : crossings) {
    if (__builtin_add_overflow(n, crossing.count, &n))
      throw Failure{HR_RESOURCE_EXHAUSTED, "the crosses are too many"};
    longest = std::max(longest, crossing.count);
  }
  set_shape(out[0], {n, 2});
  set_shape(out[1], {n});
  set_shape(out[2], {2});
  for (int k = 0; k < 3; ++k) check(ctx->api->allocate(ctx, out[k]));
  int64_t i = 0;
  for (const Crossing& crossing : crossings) {
    std::vector<int64_t> at;
    for (const Run& run : crossing.features) at.push_back(run.begin);
    int64_t place = 0;
    do {
      poll_at(ctx, i);
      write<int64_t>(out[0])[2 * i] = crossing.row;
      write<int64_t>(out[0])[2 * i + 1] = place++;
      check(put_cross(ctx, attrs, columns, at, out[1], i++));
    } while (advance(crossing.features, at));
  }
  write<int64_t>(out[2])[0] = batch;
  write<int64_t>(out[2])[1] = longest;
}

hr_code compute(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in, hr_tensor* const* out,
                void*) {
  return error_boundary(ctx, [&] { cross(ctx, static_cast<const hr_node*>(state), in, out); });
}

hr_code prepare(void*, hr_request* r) {
  r->shape_depends_on_data = 1;
  return HR_OK;
}

hr_code create(hr_node* node, void** state) {
  const bool hashed = hr_attr_bool(node, "hashed_output", 0) != 0;
  if (hashed != (hr_attr_type(node, "out_type") == HR_INT64))
    return node->api->fail(node, HR_INVALID_ARGUMENT,
                           "out_type must be int64 where hashed_output is true, and string "
                           "otherwise");
  *state = node;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("SparseCross", nullptr, prepare, compute).with_state(create, [](void*) {}),
};

}  // namespace hr
