// Datasets of the records of files: TextLineDataset, TFRecordDataset, FixedLengthRecordDataset.
#include <algorithm>

#include "files/byte_source.hpp"
#include "files/disk.hpp"
#include "headrace/record_reader.h"
#include "ops/datasets/record_files.hpp"
#include "ops/datasets/stages.hpp"

namespace hr::data {

std::unique_ptr<BufferedInput> open_file(const std::string& path, const std::string& compression) {
  std::unique_ptr<ByteSource> source = std::make_unique<FileSource>(path);
  if (!compression.empty())
    source = std::make_unique<InflateSource>(
        std::move(source), compression == "ZLIB" ? InflateSource::kZlib : InflateSource::kGzip);
  return std::make_unique<BufferedInput>(std::move(source), path);
}

std::string compression_of(const Arguments& arguments, int32_t argument) {
  std::string type = arguments.text(argument, "compression_type");
  if (!type.empty() && type != "ZLIB" && type != "GZIP") invalid("Unsupported compression_type.");
  return type;
}

bool any_remote(const std::vector<std::string>& paths) {
  return std::any_of(paths.begin(), paths.end(),
                     [](const auto& p) { return remote::is_remote(p); });
}

namespace {

// How the records of a file are found.
struct Format {
  virtual ~Format() = default;
  virtual void begin(BufferedInput&, const std::string&) const {}
  // `record` is valid until the next call; `room` may hold it.
  virtual bool next(BufferedInput& input, const std::string& path, std::string_view* record,
                    std::string* room) const = 0;
};

class Files : public Dataset {
 public:
  Files(std::vector<std::string> names, std::string compression, std::unique_ptr<Format> format)
      : Dataset(strings()), names_(std::move(names)), compression_(std::move(compression)),
        format_(std::move(format)), waits_(any_remote(names_)) {}
  std::unique_ptr<Stage> iterate(Pipeline& pipeline) const override {
    return std::make_unique<Iterating>(pipeline, *this);
  }

 private:
  const std::vector<std::string> names_;
  const std::string compression_;
  const std::unique_ptr<Format> format_;
  const bool waits_;

  static Spec strings() {
    Spec spec;
    spec.types = {HR_STRING};
    spec.shapes = {Shape{0, {}}};
    return spec;
  }

  struct Iterating : Stage {
    Iterating(Pipeline& p, const Files& f) : Stage(p), files(f) {}
    bool ready(int64_t n) override { return n < kManyAtOnce && !files.waits_; }
    bool next(Element* element) override {
      const auto poll = [this] { pipeline_.poll(); };
      const remote::WhileWaiting here(poll);
      for (; at_ < files.names_.size(); ++at_) {
        pipeline_.poll();
        const std::string& path = files.names_[at_];
        try {
          if (!input_) {
            input_ = open_file(path, files.compression_);
            files.format_->begin(*input_, path);
          }
          std::string_view record;
          if (files.format_->next(*input_, path, &record, &room_)) {
            element->clear();
            element->push_back(text_tensor(ctx(), record));
            return true;
          }
        } catch (const Failure&) {
          input_.reset();
          ++at_;  // the next call goes on with the next file
          throw;
        }
        input_.reset();
      }
      return false;
    }
    void save(StateWriter& to) override {
      to.text("files");
      to.number(int64_t(at_));
      to.number(input_ ? input_->position() : -1);
    }
    void restore(StateReader& from) override {
      const auto poll = [this] { pipeline_.poll(); };
      const remote::WhileWaiting here(poll);
      from.expect("files");
      at_ = size_t(from.number(0, int64_t(files.names_.size())));
      const int64_t position = from.number(-1, INT64_MAX);
      input_.reset();
      if (position < 0 || at_ == files.names_.size()) return;
      input_ = open_file(files.names_[at_], files.compression_);
      if (!input_->skip_ahead(position))
        throw Failure{HR_OUT_OF_RANGE,
                      files.names_[at_] + "; the file is shorter than the saved position"};
    }
    const Files& files;
    size_t at_ = 0;
    std::unique_ptr<BufferedInput> input_;
    std::string room_;
  };
};

// ---- lines --------------------------------------------------------------------------------------

struct Lines : Format {
  bool next(BufferedInput& input, const std::string&, std::string_view* record,
            std::string* room) const override {
    if (!input.line(record)) return false;
    if (record->find('\r') != std::string_view::npos) {
      // As in TensorFlow, carriage returns are left out wherever they are.
      *room = std::string(*record);
      room->erase(std::remove(room->begin(), room->end(), '\r'), room->end());
      *record = *room;
    }
    return true;
  }
};

DatasetRef make_lines(const Arguments& arguments) {
  return std::make_shared<Files>(arguments.texts(0), compression_of(arguments, 1),
                                 std::make_unique<Lines>());
}

// ---- TFRecord files -----------------------------------------------------------------------------

struct Records : Format {
  bool next(BufferedInput& input, const std::string& path, std::string_view* record,
            std::string*) const override {
    const int64_t offset = input.position();
    std::string_view bytes = input.peek(HR_RECORD_HEADER_BYTES);
    if (bytes.empty()) return false;
    uint64_t length = 0;
    if (bytes.size() < HR_RECORD_HEADER_BYTES) fail(path, "truncated", offset);
    if (hr_record_length(octets(bytes), INT64_MAX, &length) != HR_RECORD_OK)
      fail(path, "corrupted", offset);
    bytes = input.peek(size_t(HR_RECORD_FRAME_BYTES + length));
    hr_record found;
    switch (hr_record_at(octets(bytes), bytes.size(), 0, &found)) {
      case HR_RECORD_OK: break;
      case HR_RECORD_TORN: fail(path, "truncated", offset);
      default: fail(path, "corrupted", offset);
    }
    *record = {reinterpret_cast<const char*>(found.data), size_t(found.size)};
    input.skip(bytes.size());
    return true;
  }
  static const uint8_t* octets(std::string_view bytes) {
    return reinterpret_cast<const uint8_t*>(bytes.data());
  }
  [[noreturn]] static void fail(const std::string& path, const char* how, int64_t offset) {
    throw Failure{HR_DATA_LOSS, path + "; " + how + " record at " + std::to_string(offset)};
  }
};

DatasetRef make_records(const Arguments& arguments) {
  return std::make_shared<Files>(arguments.texts(0), compression_of(arguments, 1),
                                 std::make_unique<Records>());
}

// ---- records of one length ----------------------------------------------------------------------

struct FixedLength : Format {
  FixedLength(int64_t header, int64_t record, int64_t footer, bool packed)
      : header(header), record(record), footer(footer), packed(packed) {}
  const int64_t header, record, footer;
  const bool packed;

  void begin(BufferedInput& input, const std::string& path) const override {
    if (!packed) {
      const int64_t body = FileSource(path).size() - header - footer;
      if (body < 0 || body % record)
        invalid("Excluding the header (" + std::to_string(header) + " bytes) and footer (" +
                std::to_string(footer) + " bytes), input file \"" + path + "\" has body length " +
                std::to_string(body) + " bytes, which is not an exact multiple of the record " +
                "length (" + std::to_string(record) + " bytes).");
    }
    if (!input.skip_ahead(header)) invalid(path + "; the file ends in its header");
  }
  bool next(BufferedInput& input, const std::string& path, std::string_view* found,
            std::string*) const override {
    const auto wanted = size_t(record + footer);
    const std::string_view bytes = input.peek(wanted);
    if (bytes.size() < wanted) {
      if (bytes.size() > size_t(footer))
        invalid("Excluding the header (" + std::to_string(header) + " bytes) and footer (" +
                std::to_string(footer) + " bytes), input file \"" + path +
                "\" has a body length that is not an exact multiple of the record length (" +
                std::to_string(record) + " bytes).");
      return false;
    }
    *found = bytes.substr(0, size_t(record));
    input.skip(size_t(record));
    return true;
  }
};

DatasetRef make_fixed(const Arguments& arguments, std::string compression) {
  const int64_t header = arguments.integer(1, "header_bytes"),
                record = arguments.integer(2, "record_bytes"),
                footer = arguments.integer(3, "footer_bytes");
  if (header < 0) invalid("header_bytes must be >= 0");
  if (record <= 0) invalid("record_bytes must be > 0");
  if (footer < 0) invalid("footer_bytes must be >= 0");
  // Peeking at a record and the footer must not overflow.
  if (std::max({header, record, footer}) > INT64_MAX / 4) invalid("record_bytes is too large");
  const bool packed = !compression.empty();
  return std::make_shared<Files>(arguments.texts(0), std::move(compression),
                                 std::make_unique<FixedLength>(header, record, footer, packed));
}

DatasetRef make_fixed_first(const Arguments& arguments) { return make_fixed(arguments, ""); }
DatasetRef make_fixed_second(const Arguments& arguments) {
  return make_fixed(arguments, compression_of(arguments, 5));
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make_lines>("TextLineDataset"),
    dataset_kernel<make_records>("TFRecordDataset"),
    dataset_kernel<make_fixed_first>("FixedLengthRecordDataset"),
    dataset_kernel<make_fixed_second>("FixedLengthRecordDatasetV2"),
};

}  // namespace hr::data
