// DecodeCSV.
#include <string>
#include <vector>

#include "ops/parsing/csv.hpp"

#include "library/attributes.hpp"
#include "library/dtype_names.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/text.hpp"
#include "loops/elements.hpp"
#include "math/parsed_number.hpp"
#include "ops/parsing/batch.hpp"

namespace hr::parsing {
namespace {

using Format = CsvFormat;

[[noreturn]] void invalid(const std::string& text) { throw Failure{HR_INVALID_ARGUMENT, text}; }

// The fields of a record, one after another.
class Record {
 public:
  Record(std::string_view text, const Format& format) : text_(text), format_(format) {}

  // Reads the next field. False: there are no more.
  bool next(std::string_view* field) {
    while (at_ < text_.size() && is_line_end(text_[at_])) ++at_;
    if (at_ >= text_.size()) {
      // A delimiter at the end has an empty field behind it.
      const bool more = !ended_ && !text_.empty() && text_.back() == format_.delimiter;
      ended_ = true;
      *field = {};
      return more;
    }
    *field = format_.quotes && text_[at_] == '"' ? quoted() : plain();
    return true;
  }

 private:
  std::string_view text_;
  const Format& format_;
  size_t at_ = 0;
  bool ended_ = false;
  std::string unescaped_;

  static bool is_line_end(char c) { return c == '\n' || c == '\r'; }

  std::string_view plain() {
    const size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] != format_.delimiter; ++at_)
      if (is_line_end(text_[at_]) || (format_.quotes && text_[at_] == '"'))
        invalid("Unquoted fields cannot have quotes/CRLFs inside");
    return text_.substr(begin, at_++ - begin);
  }

  std::string_view quoted() {
    unescaped_.clear();
    for (++at_;; ++at_) {
      if (at_ >= text_.size())
        invalid("Quoted field has to end with quote followed by delim or end");
      if (text_[at_] != '"') {
        unescaped_ += text_[at_];
      } else if (at_ + 1 == text_.size() || text_[at_ + 1] == format_.delimiter) {
        at_ += 2;
        ended_ = at_ > text_.size();
        return unescaped_;
      } else if (text_[at_ + 1] == '"') {
        unescaped_ += text_[at_++];
      } else {
        invalid("Quote inside a string has to be escaped by another quote");
      }
    }
  }
};

template <class T, class Parse>
void put_number(hr_tensor* out, int64_t i, std::string_view field, int64_t column, Parse&& parse) {
  if (!parse(field, write<T>(out) + i))
    invalid("Field " + std::to_string(column) + " in record " + std::to_string(i) +
            " is not a valid " + dtype_name(out->dtype) + ": " + std::string(field));
}

void put(hr_ctx* ctx, hr_tensor* out, int64_t i, std::string_view field, int64_t column) {
  switch (out->dtype) {
    case HR_INT32: return put_number<int32_t>(out, i, field, column, parsed_integer<int32_t>);
    case HR_INT64: return put_number<int64_t>(out, i, field, column, parsed_integer<int64_t>);
    case HR_FLOAT: return put_number<float>(out, i, field, column, parsed_float<float>);
    case HR_DOUBLE: return put_number<double>(out, i, field, column, parsed_float<double>);
    default: check(set_text(ctx, out, i, field));
  }
}

void put_default(hr_ctx* ctx, hr_tensor* out, int64_t i, const hr_tensor* value, int64_t column) {
  if (hr_elements(value) == 0)
    invalid("Field " + std::to_string(column) + " is required but missing in record " +
            std::to_string(i) + "!");
  const int64_t size = hr_dtype_size(out->dtype);
  copy_elements(ctx, out->dtype, size, write<char>(out) + i * size, value->data, 1);
}

}  // namespace

void decode_csv(hr_ctx* ctx, const CsvFormat& format, std::string_view text, int64_t i,
                const hr_tensor* const* defaults, hr_tensor* const* out) {
  const int64_t n = format.n;
  Record record(text, format);
  std::string_view field;
  int64_t column = 0;
  for (int64_t at = 0; column < n || format.columns.empty(); ++at) {
    if (!record.next(&field)) break;
    if (!format.columns.empty() && format.columns[size_t(column)] != at) continue;
    if (column < n) {
      if (field.empty() || field == format.missing)
        put_default(ctx, out[column], i, defaults[column], column);
      else put(ctx, out[column], i, field, column);
    }
    ++column;
  }
  if (column != n)
    invalid("Expect " + std::to_string(n) + " fields but have " + std::to_string(column) +
            " in record " + std::to_string(i));
}

namespace {

hr_code compute_csv(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                    hr_tensor* const* out, void*) {
  const auto& format = *static_cast<const Format*>(plan);
  return error_boundary(ctx, [&] {
    const auto* records = read<hr_string>(in[0]);
    const int64_t n = hr_elements(in[0]);
    FirstError error;
    parallel_ranges(ctx, n, grain_of_messages(records, n), [&](int64_t begin, int64_t end) {
      int64_t i = begin;
      try {
        for (; i < end; ++i) decode_csv(ctx, format, text_of(records[i]), i, in + 1, out);
      } catch (const Failure& failure) { error.keep(i, failure); }
    });
    error.rethrow();
  });
}

hr_code prepare_csv(void*, hr_request* r) {
  const hr_node* node = r->node;
  const std::string_view delimiter = attr_text(node, "field_delim", ",");
  if (delimiter.size() != 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "field_delim should be only 1 char");
  Format format;
  format.n = node->n_outputs;
  format.delimiter = delimiter[0];
  format.quotes = hr_attr_bool(node, "use_quote_delim", 1) != 0;
  format.missing = std::string(attr_text(node, "na_value"));
  for (const int64_t column : attr_ints(node, "select_cols")) {
    if (column < 0)
      return hr_request_fail(r, HR_INVALID_ARGUMENT, "select_cols should be non-negative indices");
    if (!format.columns.empty() && column <= format.columns.back())
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "select_cols should be strictly increasing indices");
    format.columns.push_back(column);
  }
  if (!format.columns.empty() && int64_t(format.columns.size()) != node->n_outputs)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "select_cols should match output size");
  for (int32_t i = 0; i < node->n_outputs; ++i) {
    const int64_t n = hr_elements(r->inputs[1 + i]);
    if (r->inputs[1 + i]->rank > 1)
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "Each record default should be at most rank 1, field %d has shape %s",
                             i, ShapeText(r->inputs[1 + i]).text);
    if (n > 1)
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "There should only be 1 default per field but field %d has %lld", i,
                             (long long)n);
  }
  HR_APPLY_RULE(decode_csv, r);
  keep_plan(r, new Format(std::move(format)));
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("DecodeCSV", nullptr, prepare_csv, compute_csv),
};

}  // namespace hr::parsing
