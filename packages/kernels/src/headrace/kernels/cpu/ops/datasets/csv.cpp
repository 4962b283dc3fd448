// CSVDataset: the records of comma-separated files.
#include "ops/parsing/csv.hpp"

#include <algorithm>

#include "ops/datasets/record_files.hpp"
#include "ops/datasets/stages.hpp"

namespace hr::data {
namespace {

class Csv : public Dataset {
 public:
  Csv(Spec s, std::vector<std::string> names, std::string compression, bool header,
      parsing::CsvFormat format, Element defaults)
      : Dataset(std::move(s)), names_(std::move(names)), compression_(std::move(compression)),
        header_(header), format_(std::move(format)), defaults_(std::move(defaults)),
        waits_(any_remote(names_)) {}
  std::unique_ptr<Stage> iterate(Pipeline& pipeline) const override;

 private:
  friend class Reading;
  const std::vector<std::string> names_;
  const std::string compression_;
  const bool header_;
  const parsing::CsvFormat format_;
  const Element defaults_;
  const bool waits_;
};

class Reading : public Stage {
 public:
  Reading(Pipeline& p, const Csv& c) : Stage(p), csv_(c) {}
  bool ready(int64_t n) override { return n < kManyAtOnce && !csv_.waits_; }

  bool next(Element* element) override {
    const auto poll = [this] { pipeline_.poll(); };
    const remote::WhileWaiting here(poll);
    for (; at_ < csv_.names_.size(); ++at_) {
      pipeline_.poll();
      if (!input_) {
        input_ = open_file(csv_.names_[at_], csv_.compression_);
        if (csv_.header_ && !read_record()) invalid("Can't read header of file");
      }
      if (!read_record()) {
        input_.reset();
        continue;
      }
      element->clear();
      std::vector<const hr_tensor*> defaults;
      std::vector<hr_tensor*> fields;
      for (const hr_dtype dtype : csv_.spec.types) element->push_back(new_tensor(ctx(), dtype, {}));
      for (Tensor& t : *element) fields.push_back(t.get());
      for (const Tensor& t : csv_.defaults_) defaults.push_back(t.get());
      parsing::decode_csv(ctx(), csv_.format_, record_, 0, defaults.data(), fields.data());
      return true;
    }
    return false;
  }

  void save(StateWriter& to) override {
    to.text("csv");
    to.number(int64_t(at_));
    to.number(input_ ? input_->position() : -1);
  }
  void restore(StateReader& from) override {
    const auto poll = [this] { pipeline_.poll(); };
    const remote::WhileWaiting here(poll);
    from.expect("csv");
    at_ = size_t(from.number(0, int64_t(csv_.names_.size())));
    const int64_t position = from.number(-1, INT64_MAX);
    input_.reset();
    if (position < 0 || at_ == csv_.names_.size()) return;
    input_ = open_file(csv_.names_[at_], csv_.compression_);
    if (!input_->skip_ahead(position))
      throw Failure{HR_OUT_OF_RANGE,
                    csv_.names_[at_] + "; the file is shorter than the saved position"};
  }

 private:
  const Csv& csv_;
  size_t at_ = 0;
  std::unique_ptr<BufferedInput> input_;
  std::string record_;

  // A record ends with its line, unless a quoted field contains the end of the line.
  bool read_record() {
    std::string_view line;
    for (;;) {
      if (!input_->line(&line)) return false;
      record_ = std::string(line);
      while (csv_.format_.quotes && std::count(record_.begin(), record_.end(), '"') % 2 == 1 &&
             input_->line(&line))
        record_ += "\n" + std::string(line);
      if (!record_.empty() && record_.back() == '\r') record_.pop_back();
      if (!record_.empty()) return true;
    }
  }
};

std::unique_ptr<Stage> Csv::iterate(Pipeline& pipeline) const {
  return std::make_unique<Reading>(pipeline, *this);
}

DatasetRef make(const Arguments& arguments) {
  parsing::CsvFormat format;
  const std::string delimiter = arguments.text(4, "field_delim");
  if (delimiter.size() != 1) invalid("field_delim should be only 1 char");
  format.delimiter = delimiter[0];
  format.quotes = arguments.boolean(5, "use_quote_delim");
  format.missing = arguments.text(6, "na_value");
  const hr_tensor* columns = arguments.tensor(7);
  if (columns->rank != 1) invalid("`select_cols` must be a vector.");
  for (int64_t i = 0; i < columns->dims[0]; ++i) {
    const int64_t column = int_at(columns, i);
    if (column < 0) invalid("select_cols should be non-negative indices");
    if (!format.columns.empty() && column <= format.columns.back())
      invalid("select_cols should be strictly increasing indices");
    format.columns.push_back(column);
  }
  Spec spec = arguments.spec();
  format.n = int64_t(spec.types.size());
  if (!format.columns.empty() && format.columns.size() != spec.types.size())
    invalid("select_cols should match output size");
  Element defaults = arguments.list(8);
  if (defaults.size() != spec.types.size())
    invalid("there must be one record default for each output");
  for (const Tensor& t : defaults) {
    if (t.get()->rank > 1) invalid("Each record default should be at most rank 1");
    if (t.size() > 1) invalid("There should only be 1 default per field");
  }
  if (arguments.integer(2, "buffer_size") <= 0) invalid("buffer_size should be positive");
  const bool header = arguments.boolean(3, "header");
  return std::make_shared<Csv>(std::move(spec), arguments.texts(0), compression_of(arguments, 1),
                               header, std::move(format), std::move(defaults));
}

DatasetRef make_second(const Arguments& arguments) {
  if (hr_elements(arguments.tensor(9)) > 0)
    throw Failure{HR_UNIMPLEMENTED,
                  "exclude_cols is not supported: name the columns in select_cols"};
  return make(arguments);
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make>("CSVDataset"),
    dataset_kernel<make_second>("CSVDatasetV2"),
    dataset_kernel<make>("ExperimentalCSVDataset"),
};

}  // namespace hr::data
