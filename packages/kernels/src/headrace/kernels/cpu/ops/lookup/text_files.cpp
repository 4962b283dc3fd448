// Tables from text files: InitializeTableFromTextFile.
#include <algorithm>
#include <memory>
#include <string>

#include "files/byte_source.hpp"
#include "library/attributes.hpp"
#include "library/dtype_names.hpp"
#include "library/registration.hpp"
#include "library/text.hpp"
#include "math/parsed_number.hpp"
#include "ops/lookup/lookup_table.hpp"
#include "processor/parallel.hpp"

namespace hr::lookup {
namespace {

[[noreturn]] void invalid(const std::string& text) { throw Failure{HR_INVALID_ARGUMENT, text}; }

// Field `index` of a line, if it has so many, and how many it has.
std::string_view field_of(std::string_view line, int64_t index, char delimiter, int64_t* fields) {
  std::string_view found;
  *fields = 0;
  for (size_t begin = 0;; ++*fields) {
    const size_t end = std::min(line.find(delimiter, begin), line.size());
    if (*fields == index) found = line.substr(begin, end - begin);
    if (end == line.size()) break;
    begin = end + 1;
  }
  ++*fields;
  return found;
}

// One key or value.
class Cell {
 public:
  Cell(hr_dtype dtype, int64_t index) : dtype_(dtype), index_(index) {}

  const void* read(const std::string& path, std::string_view line, int64_t number,
                   const TextFileFormat& format) {
    if (index_ == kLineNumber) {
      whole_ = number + format.offset;
      return &whole_;
    }
    std::string_view field = line;
    if (index_ != kWholeLine) {
      int64_t fields = 0;
      field = field_of(line, index_, format.delimiter, &fields);
      if (fields <= index_)
        invalid("Invalid number of columns in " + path + " line " + std::to_string(number) + " (" +
                std::string(line) + ") : expected at least " + std::to_string(index_ + 1) +
                " got " + std::to_string(fields));
    }
    bool fits = true;
    const void* result = &whole_;
    switch (dtype_) {
      case HR_INT32:
        fits = parsed_integer(field, &narrow_);
        narrow_ = int32_t(uint32_t(narrow_) + uint32_t(format.offset));
        result = &narrow_;
        break;
      case HR_INT64: fits = parsed_integer(field, &whole_); break;
      case HR_FLOAT: fits = parsed_float(field, &single_), result = &single_; break;
      case HR_DOUBLE: fits = parsed_float(field, &real_), result = &real_; break;
      case HR_STRING:
        text_ = hr_string{field.data(), field.size(), nullptr};
        result = &text_;
        break;
      default: invalid(std::string("Data type ") + dtype_name(dtype_) + " not supported.");
    }
    if (!fits)
      invalid("Field " + std::string(field) + " in line " + std::to_string(number) +
              " is not a valid " + dtype_name(dtype_) + ".");
    return result;
  }

 private:
  hr_dtype dtype_;
  int64_t index_;
  int64_t whole_ = 0;
  int32_t narrow_ = 0;
  float single_ = 0;
  double real_ = 0;
  hr_string text_{};
};

bool is_integer_dtype(hr_dtype dtype) { return dtype == HR_INT32 || dtype == HR_INT64; }

void check_dtypes(const TableSpec& spec, const TextFileFormat& format) {
  const std::string key = dtype_name(spec.key_dtype), value = dtype_name(spec.value_dtype);
  if (format.key_index == kLineNumber && spec.key_dtype != HR_INT64)
    invalid("Key index for line number requires table key dtype of int64, got " + key);
  if (format.key_index == kWholeLine && !is_integer_dtype(spec.key_dtype) &&
      spec.key_dtype != HR_STRING)
    invalid("Key index for whole line requires string or integer table key, got " + key);
  if (format.value_index == kLineNumber && spec.value_dtype != HR_INT64)
    invalid("Value index for line number requires table value dtype of int64, got " + value);
  if (format.value_index == kWholeLine && !is_integer_dtype(spec.value_dtype) &&
      spec.value_dtype != HR_STRING)
    invalid("Value index for whole line requires table value dtype of integer or string, got " +
            value);
}

}  // namespace

void read_text_file(hr_ctx* ctx, const std::string& path, const TextFileFormat& format,
                    Rows* rows) {
  BufferedInput lines(std::make_unique<FileSource>(path), path);
  Cell key(rows->keys.dtype(), format.key_index), value(rows->values.dtype(), format.value_index);
  std::string_view line;
  int64_t number = 0;
  for (; format.vocabulary_size < 0 || number < format.vocabulary_size; ++number) {
    poll_at(ctx, number);
    if (!lines.line(&line)) {
      if (format.vocabulary_size >= 0)
        invalid("Invalid vocab_size in " + path + ": expected " +
                std::to_string(format.vocabulary_size) + " but got " + std::to_string(number));
      break;
    }
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty())
      invalid("Invalid content in " + path + ": empty line found at position " +
              std::to_string(lines.position()) + ".");
    const void* k = key.read(path, line, number, format);
    const void* v = value.read(path, line, number, format);
    add_to_static(ctx, rows, k, v);
  }
}

namespace {

hr_code compute_from_file(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                          hr_tensor* const*, void*) {
  return error_boundary(ctx, [&] {
    Table& table = table_of(in[0]);
    const auto& format = *static_cast<const TextFileFormat*>(plan);
    if (table.spec.kind != Kind::kStatic) invalid("Table is not initializable");
    const std::string path(text_at(in[1], 0));
    if (path.empty()) invalid("filename cannot be empty.");
    check_dtypes(table.spec, format);
    Rows rows = table.new_rows();
    read_text_file(ctx, path, format, &rows);
    table.initialise(rows);  // the first file counts
  });
}

hr_code prepare_from_file(void*, hr_request* r) {
  if (r->inputs[1]->rank != 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "filename should be a single string, but got %s",
                           ShapeText(r->inputs[1]).text);
  const std::string_view delimiter = attr_text(r->node, "delimiter", "\t");
  if (delimiter.size() != 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "delimiter should be only 1 char");
  keep_plan(r, new TextFileFormat{hr_attr_int(r->node, "key_index", 0),
                                  hr_attr_int(r->node, "value_index", 0),
                                  hr_attr_int(r->node, "vocab_size", -1), delimiter[0],
                                  hr_attr_int(r->node, "offset", 0)});
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("InitializeTableFromTextFile", nullptr, prepare_from_file, compute_from_file),
    kernel("InitializeTableFromTextFileV2", nullptr, prepare_from_file, compute_from_file),
};

}  // namespace hr::lookup
