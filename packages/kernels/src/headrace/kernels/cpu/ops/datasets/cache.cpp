// CacheDataset: the elements of the first complete pass, in memory or in a file.
#include <atomic>
#include <mutex>

#include "files/disk.hpp"
#include "ops/datasets/stages.hpp"

namespace hr::data {
namespace {

using Elements = std::shared_ptr<const std::vector<Element>>;

void write_elements(StateWriter& to, const std::vector<Element>& elements) {
  to.number(int64_t(elements.size()));
  for (const Element& element : elements) to.element(element);
}

std::vector<Element> read_elements(StateReader& from, const Spec& spec) {
  std::vector<Element> elements;
  for (int64_t n = from.number(0, INT64_MAX); n > 0; --n) elements.push_back(from.element(spec));
  return elements;
}

const char* const kFileTag = "headrace cache 1";

class Cache : public Transformed<Cache> {
 public:
  Cache(Spec s, DatasetRef in, std::string file)
      : Transformed(std::move(s), std::move(in)), file(std::move(file)),
        waits(remote::is_remote(this->file)) {}
  int64_t cardinality() const override { return input->cardinality(); }
  const std::string file;  // empty: in memory
  const bool waits;        // for a file by URL

  // The elements, if a pass was complete.
  Elements elements(hr_ctx* ctx) const {
    const std::lock_guard<std::mutex> hold(lock_);
    if (!elements_ && !file.empty() && disk::exists(path())) {
      const std::string bytes = disk::read(path());
      StateReader from(ctx, bytes);
      from.expect(kFileTag);
      elements_ = std::make_shared<const std::vector<Element>>(read_elements(from, input->spec));
    }
    return elements_;
  }
  void complete(std::vector<Element> elements) const {
    const std::lock_guard<std::mutex> hold(lock_);
    if (elements_) return;
    if (!file.empty()) {
      StateWriter to;
      to.text(kFileTag);
      write_elements(to, elements);
      disk::Output output(path() + ".partial");
      output.write(to.bytes());
      output.close(false);
      disk::rename(path() + ".partial", path());
    }
    elements_ = std::make_shared<const std::vector<Element>>(std::move(elements));
  }

  class Iterating;

 private:
  mutable std::mutex lock_;
  mutable Elements elements_;

  std::string path() const { return file + ".cache"; }
};

class Cache::Iterating : public Stage {
 public:
  Iterating(Pipeline& p, const Cache& c) : Stage(p), cache_(c) {}

  bool ready(int64_t n) override {
    return cached_ != nullptr || (input_ && !cache_.waits && input_->ready(n));
  }

  bool next(Element* element) override {
    const auto poll = [this] { pipeline_.poll(); };
    const remote::WhileWaiting here(poll);
    if (!begun_) begin();
    if (cached_) {
      if (at_ >= cached_->size()) return false;
      *element = (*cached_)[at_++];
      return true;
    }
    if (!input_) return false;
    if (!input_->next(element)) {
      input_.reset();
      cache_.complete(std::exchange(read_, {}));
      return false;
    }
    read_.push_back(*element);
    return true;
  }

  void save(StateWriter& to) override {
    to.text("cache");
    to.number(begun_);
    to.number(cached_ != nullptr);
    to.number(int64_t(at_));
    write_elements(to, cached_ ? *cached_ : read_);
    to.number(input_ != nullptr);
    if (input_) input_->save(to);
  }

  void restore(StateReader& from) override {
    from.expect("cache");
    begun_ = from.number() != 0;
    const bool complete = from.number() != 0;
    at_ = size_t(from.number(0, INT64_MAX));
    std::vector<Element> elements = read_elements(from, cache_.input->spec);
    cached_ = nullptr;
    input_.reset();
    if (complete) {
      cache_.complete(std::move(elements));
      cached_ = cache_.elements(ctx());
    } else {
      read_ = std::move(elements);
    }
    if (from.number() != 0) {
      input_ = iterate(cache_.input);
      input_->restore(from);
    }
  }

 private:
  const Cache& cache_;
  Elements cached_;
  std::vector<Element> read_;
  std::unique_ptr<Stage> input_;
  size_t at_ = 0;
  bool begun_ = false;

  void begin() {
    cached_ = cache_.elements(ctx());
    if (!cached_) input_ = iterate(cache_.input);
    begun_ = true;
  }
};

DatasetRef make(const Arguments& arguments) {
  return std::make_shared<Cache>(arguments.spec_over(0), arguments.dataset(0),
                                 arguments.text(1, "filename"));
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make>("CacheDataset"),
};

}  // namespace hr::data
