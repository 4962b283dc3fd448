#include <utility>

#include "files/byte_source.hpp"
#include "files/disk.hpp"
#include "files/inflate.hpp"
#include "headrace/record_reader.h"
#include "library/attributes.hpp"
#include "ops/readers/record_format.hpp"

namespace hr::readers {
namespace {

enum class Compression { kNone, kZlib, kGzip };

std::unique_ptr<ByteSource> unpacked(std::unique_ptr<ByteSource> file, Compression compression) {
  if (compression == Compression::kNone) return file;
  const auto wrapper =
      compression == Compression::kZlib ? InflateSource::kZlib : InflateSource::kGzip;
  return std::make_unique<InflateSource>(std::move(file), wrapper);
}

std::string key_of(const std::string& unit, int64_t number) {
  return unit + ":" + std::to_string(number);
}

// ---- whole files, and units themselves ----------------------------------------------------------

class Whole : public RecordFormat {
 public:
  explicit Whole(bool reads_file) : reads_file_(reads_file) {}
  void open(const std::string& unit) override { unit_ = unit; }
  Found next(std::string* key, std::string_view* value) override {
    *key = unit_;
    if (reads_file_) contents_ = disk::read(unit_);
    *value = reads_file_ ? contents_ : unit_;
    return Found::kLastRecord;
  }
  void close() override { std::string().swap(contents_); }
  bool is_stateless() const override { return true; }

 private:
  bool reads_file_;
  std::string unit_, contents_;
};

// ---- lines --------------------------------------------------------------------------------------

class Lines : public RecordFormat {
 public:
  explicit Lines(int64_t skipped) : skipped_(skipped) {}
  void open(const std::string& unit) override {
    unit_ = unit;
    input_ = std::make_unique<BufferedInput>(std::make_unique<FileSource>(unit), unit);
    std::string_view header;
    for (number_ = 0; number_ < skipped_ && input_->line(&header);) ++number_;
  }
  Found next(std::string* key, std::string_view* value) override {
    if (!input_->line(value)) return Found::kEnd;
    if (!value->empty() && value->back() == '\r') value->remove_suffix(1);
    *key = key_of(unit_, ++number_);
    return Found::kRecord;
  }
  void close() override { input_.reset(); }

 private:
  const int64_t skipped_;
  std::string unit_;
  std::unique_ptr<BufferedInput> input_;
  int64_t number_ = 0;
};

// ---- records of one length ----------------------------------------------------------------------

struct Layout {
  int64_t header, record, footer, hop;
  bool zlib;
};

class FixedLength : public RecordFormat {
 public:
  explicit FixedLength(const Layout& layout) : layout_(layout) {}
  void open(const std::string& unit) override {
    unit_ = unit;
    number_ = 0;
    input_ = std::make_unique<BufferedInput>(
        unpacked(std::make_unique<FileSource>(unit),
                 layout_.zlib ? Compression::kZlib : Compression::kNone),
        unit);
    if (!input_->skip_ahead(layout_.header))
      throw Failure{HR_OUT_OF_RANGE, unit + "; the file ends in its header"};
  }
  Found next(std::string* key, std::string_view* value) override {
    if (number_ > 0 && !input_->skip_ahead(layout_.hop)) return Found::kEnd;
    // The footer follows the last record.
    const size_t wanted = size_t(layout_.record) + size_t(layout_.footer);
    const std::string_view found = input_->peek(wanted);
    if (found.size() < wanted) return Found::kEnd;
    *value = found.substr(0, size_t(layout_.record));
    *key = key_of(unit_, number_++);
    return Found::kRecord;
  }
  void close() override { input_.reset(); }

 private:
  const Layout layout_;
  std::string unit_;
  std::unique_ptr<BufferedInput> input_;
  int64_t number_ = 0;
};

// ---- TFRecord files -----------------------------------------------------------------------------

class TfRecords : public RecordFormat {
 public:
  explicit TfRecords(Compression compression) : compression_(compression) {}
  void open(const std::string& unit) override {
    unit_ = unit;
    input_ = std::make_unique<BufferedInput>(
        unpacked(std::make_unique<FileSource>(unit), compression_), unit);
  }
  Found next(std::string* key, std::string_view* value) override {
    const int64_t offset = input_->position();
    std::string_view bytes = input_->peek(HR_RECORD_HEADER_BYTES);
    if (bytes.empty()) return Found::kEnd;
    uint64_t length = 0;
    if (bytes.size() < HR_RECORD_HEADER_BYTES) fail("truncated", offset);
    if (hr_record_length(octets(bytes), INT64_MAX, &length) != HR_RECORD_OK)
      fail("corrupted", offset);
    bytes = input_->peek(size_t(HR_RECORD_FRAME_BYTES + length));
    hr_record record;
    switch (hr_record_at(octets(bytes), bytes.size(), 0, &record)) {
      case HR_RECORD_OK: break;
      case HR_RECORD_TORN: fail("truncated", offset);
      default: fail("corrupted", offset);
    }
    *value = {reinterpret_cast<const char*>(record.data), size_t(record.size)};
    *key = key_of(unit_, offset);
    input_->skip(bytes.size());
    return Found::kRecord;
  }
  void close() override { input_.reset(); }

 private:
  const Compression compression_;
  std::string unit_;
  std::unique_ptr<BufferedInput> input_;

  static const uint8_t* octets(std::string_view bytes) {
    return reinterpret_cast<const uint8_t*>(bytes.data());
  }
  [[noreturn]] void fail(const char* how, int64_t offset) const {
    throw Failure{HR_DATA_LOSS, unit_ + "; " + how + " record at " + std::to_string(offset)};
  }
};

// ---- attributes ---------------------------------------------------------------------------------

bool read_layout(const hr_node* node, Layout* layout) {
  const std::pair<const char*, int64_t*> sizes[] = {{"header_bytes", &layout->header},
                                                    {"record_bytes", &layout->record},
                                                    {"footer_bytes", &layout->footer},
                                                    {"hop_bytes", &layout->hop}};
  for (const auto& [key, size] : sizes) {
    *size = hr_attr_int(node, key, 0);
    const bool is_record = size == &layout->record;
    if (*size < 0 || (is_record && *size == 0)) {
      node->api->fail(node, HR_INVALID_ARGUMENT, "%s must be %s 0 not %lld", key,
                      is_record ? ">" : ">=", (long long)*size);
      return false;
    }
    // Peeking at a record and the footer must not overflow.
    if (*size > INT64_MAX / 4) {
      node->api->fail(node, HR_INVALID_ARGUMENT, "%s is too large: %lld", key, (long long)*size);
      return false;
    }
  }
  if (layout->hop == 0) layout->hop = layout->record;
  const std::string_view encoding = attr_text(node, "encoding");
  if (!encoding.empty() && encoding != "ZLIB") {
    node->api->fail(node, HR_INVALID_ARGUMENT,
                    "encoding must be either \"\" or \"ZLIB\", is \"%s\"",
                    std::string(encoding).c_str());
    return false;
  }
  layout->zlib = !encoding.empty();
  return true;
}

}  // namespace

std::unique_ptr<RecordFormat> format_of(const hr_node* node) {
  const std::string_view op = node->op;
  const auto begins = [op](std::string_view name) { return op.substr(0, name.size()) == name; };
  if (begins("WholeFileReader")) return std::make_unique<Whole>(true);
  if (begins("IdentityReader")) return std::make_unique<Whole>(false);
  if (begins("TextLineReader")) {
    const int64_t skipped = hr_attr_int(node, "skip_header_lines", 0);
    if (skipped >= 0) return std::make_unique<Lines>(skipped);
    node->api->fail(node, HR_INVALID_ARGUMENT, "skip_header_lines must be >= 0 not %lld",
                    (long long)skipped);
    return nullptr;
  }
  if (begins("FixedLengthRecordReader")) {
    Layout layout{};
    if (!read_layout(node, &layout)) return nullptr;
    return std::make_unique<FixedLength>(layout);
  }
  const std::string_view type = attr_text(node, "compression_type");
  if (type.empty()) return std::make_unique<TfRecords>(Compression::kNone);
  if (type == "ZLIB") return std::make_unique<TfRecords>(Compression::kZlib);
  if (type == "GZIP") return std::make_unique<TfRecords>(Compression::kGzip);
  node->api->fail(node, HR_INVALID_ARGUMENT, "Unsupported compression_type: %s",
                  std::string(type).c_str());
  return nullptr;
}

}  // namespace hr::readers
