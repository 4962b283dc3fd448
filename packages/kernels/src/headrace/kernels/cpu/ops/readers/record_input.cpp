// RecordInput: batches of the records of TFRecord files, pass after pass, in random order.
//
// A pass reads the files in a shuffled order through a buffer from which each record is drawn at
// random. Every record comes once before any comes again.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "files/disk.hpp"
#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "ops/readers/record_format.hpp"
#include "table/resources.hpp"

namespace hr::readers {
namespace {

constexpr char kRecordInputKind[] = "RecordInput";

struct Settings {
  explicit Settings(const hr_node* node)
      : pattern(attr_text(node, "file_pattern")), seed(hr_attr_int(node, "file_random_seed", 301)),
        buffer_size(hr_attr_int(node, "file_buffer_size", 10000)),
        parallelism(hr_attr_int(node, "file_parallelism", 16)),
        batch_size(hr_attr_int(node, "batch_size", 32)) {
    float ratio = 0;
    if (node->api->attr_float(node, "file_shuffle_shift_ratio", &ratio) == HR_OK) shift = ratio;
  }
  std::string pattern;
  int64_t seed, buffer_size, parallelism, batch_size;
  double shift = 0;
};

std::vector<std::string> matching(const std::string& pattern) {
  std::vector<std::string> paths = disk::matching(pattern);
  if (paths.empty()) throw Failure{HR_NOT_FOUND, "Found no files at " + pattern};
  return paths;
}

class RecordInput {
 public:
  RecordInput(Settings settings, std::unique_ptr<RecordFormat> format)
      : object(object_of_kind(kRecordInputKind,
                              [](hr_object* o) { delete reinterpret_cast<RecordInput*>(o); })),
        settings_(std::move(settings)), format_(std::move(format)),
        random_(uint64_t(settings_.seed)) {}

  hr_object object;  // first

  // What was drawn for a batch that fails is lost, as what a cancelled dequeue took.
  std::vector<std::string> batch(hr_ctx* ctx) {
    const std::lock_guard<std::mutex> hold(lock_);
    std::vector<std::string> records;
    while (int64_t(records.size()) < settings_.batch_size) {
      if (hr_cancelled(ctx)) throw Failure{HR_CANCELLED, "Step was cancelled"};
      fill(ctx);
      if (buffer_.empty()) {
        if (drawn_ == 0 && passes_ > 0)
          throw Failure{HR_OUT_OF_RANGE, "the files of " + settings_.pattern + " have no records"};
        begin_pass();
        continue;
      }
      const size_t at = size_t(random_() % buffer_.size());
      std::swap(buffer_[at], buffer_.back());
      records.push_back(std::move(buffer_.back()));
      buffer_.pop_back();
      ++drawn_;
    }
    return records;
  }

 private:
  void begin_pass() {
    files_ = matching(settings_.pattern);
    std::sort(files_.begin(), files_.end());
    std::mt19937_64 order(uint64_t(settings_.seed));
    std::shuffle(files_.begin(), files_.end(), order);
    // Each pass begins that part of the list further on.
    const double whole = settings_.shift * double(passes_);
    const auto first = int64_t((whole - double(int64_t(whole))) * double(files_.size()));
    std::rotate(files_.begin(), files_.begin() + first, files_.end());
    ++passes_;
    drawn_ = 0;
    next_file_ = 0;
  }
  void fill(hr_ctx* ctx) {
    std::string key;
    std::string_view value;
    while (int64_t(buffer_.size()) < settings_.buffer_size) {
      if (hr_cancelled(ctx)) return;
      if (!is_open_) {
        if (next_file_ == files_.size()) return;
        format_->open(files_[next_file_++]);
        is_open_ = true;
      }
      try {
        if (format_->next(&key, &value) != Found::kEnd) {
          buffer_.emplace_back(value);
          continue;
        }
      } catch (const Failure&) {
        close();  // the next batch goes on with the next file
        throw;
      }
      close();
    }
  }
  void close() {
    format_->close();
    is_open_ = false;
  }

  const Settings settings_;
  const std::unique_ptr<RecordFormat> format_;
  std::mutex lock_;
  std::mt19937_64 random_;
  std::vector<std::string> files_, buffer_;
  size_t next_file_ = 0;
  bool is_open_ = false;
  int64_t passes_ = 0, drawn_ = 0;
};

hr_code create(hr_node* node, void** state) {
  const Settings settings(node);
  const auto refuse = [node](const char* name, int64_t value) {
    return node->api->fail(node, HR_INVALID_ARGUMENT, "%s must be > 0, got %lld", name,
                           (long long)value);
  };
  if (settings.buffer_size <= 0) return refuse("file_buffer_size", settings.buffer_size);
  if (settings.parallelism <= 0) return refuse("file_parallelism", settings.parallelism);
  if (settings.batch_size <= 0) return refuse("batch_size", settings.batch_size);
  if (!(settings.shift >= 0 && settings.shift <= 1))
    return node->api->fail(node, HR_INVALID_ARGUMENT,
                           "file_shuffle_shift_ratio must be in [0, 1], got %g", settings.shift);
  if (!format_of(node)) return HR_INVALID_ARGUMENT;
  *state = new ResourceNode(node, kRecordInputKind);
  return HR_OK;
}

void destroy(void* state) { delete static_cast<ResourceNode*>(state); }

hr_object* make(void* argument) {
  const auto* node = static_cast<const hr_node*>(argument);
  try {
    return &(new RecordInput(Settings(node), format_of(node)))->object;
  } catch (const std::bad_alloc&) { return nullptr; }
}

hr_code prepare(void*, hr_request* r) {
  r->shape_depends_on_data = 1;
  return HR_OK;
}

hr_code compute(hr_ctx* ctx, void* state, void*, const hr_tensor* const*, hr_tensor* const* outputs,
                void*) {
  auto* node = static_cast<ResourceNode*>(state);
  hr_object* found = nullptr;
  if (hr_code code = node->find(ctx, make, const_cast<hr_node*>(node->node), &found)) return code;
  const hr_code code = error_boundary(ctx, [&] {
    const auto records = reinterpret_cast<RecordInput*>(found)->batch(ctx);
    outputs[0]->rank = 1;
    outputs[0]->dims[0] = int64_t(records.size());
    check(ctx->api->allocate(ctx, outputs[0]));
    auto* texts = static_cast<hr_string*>(outputs[0]->data);
    for (size_t i = 0; i < records.size(); ++i)
      check(ctx->api->set_string(ctx, texts + i, records[i].data(), records[i].size()));
  });
  ctx->api->release_object(found);
  return code;
}

}  // namespace

HR_KERNELS = {
    kernel("RecordInput", nullptr, prepare, compute)
        .with_state(create, destroy)
        .is(HR_KERNEL_DATA_SHAPE),
};

}  // namespace hr::readers
