// PrefetchDataset.
#include "ops/datasets/prefetch.hpp"

#include <algorithm>
#include <new>

#include "ops/datasets/stages.hpp"

namespace hr::data {
namespace {
// What autotuning begins with, enough to hide the time between two steps, and what it may reach.
constexpr size_t kFirstSize = 4, kMostSize = 32;
}  // namespace

ReadAhead::ReadAhead(Pipeline& pipeline, std::unique_ptr<Stage> input, const Spec& spec,
                     int64_t most)
    : pipeline_(pipeline), input_(std::move(input)), spec_(spec),
      most_(most == kAutomatic ? kFirstSize : size_t(most)), grows_(most == kAutomatic) {}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard<std::mutex> hold(pipeline_.lock);
    stopping_ = true;
    pipeline_.changed.notify_all();
  }
  thread_.join();
}

void ReadAhead::start_reading() {
  const std::lock_guard<std::mutex> hold(pipeline_.lock);
  start();
}

void ReadAhead::start() {
  if (thread_.started() || ended_) return;
  thread_.start(pipeline_.scope(), [](void* self) { static_cast<ReadAhead*>(self)->run(); }, this);
}

void ReadAhead::run() noexcept {
  for (bool more = true; more;) {
    {
      std::unique_lock<std::mutex> hold(pipeline_.lock);
      pipeline_.changed.wait(hold, [&] {
        return stopping_ || pipeline_.stopped() || (held_.size() < most_ && pauses_ == 0);
      });
      if (stopping_ || pipeline_.stopped()) return;
      reading_ = true;
    }
    Item item;
    if (before) before(argument);
    failed(&item.failure, [&] { item.end = !input_->next(&item.element); });
    if (after) after(argument);
    more = !item.end;
    const std::lock_guard<std::mutex> hold(pipeline_.lock);
    reading_ = false;
    ended_ = item.end;
    try {
      held_.push_back(std::move(item));
    } catch (const std::bad_alloc&) {
      no_memory_ = true;
      more = false;
    }
    was_full_ = was_full_ || held_.size() >= most_;
    pipeline_.changed.notify_all();
  }
}

// A buffer that was full and then empty is too small for the unevenness of its input.
void ReadAhead::grow() {
  if (!grows_ || !was_full_ || !held_.empty()) return;
  most_ = std::min(2 * most_, kMostSize);
  was_full_ = false;
}

bool ReadAhead::next(Element* element) {
  Item first;
  {
    std::unique_lock<std::mutex> hold(pipeline_.lock);
    start();
    grow();
    pipeline_.wait(hold, [&] { return !held_.empty() || no_memory_; });
    if (held_.empty() && no_memory_) throw Failure{HR_RESOURCE_EXHAUSTED, "no memory"};
    if (held_.empty() || held_.front().end) return false;  // the end stays
    first = std::move(held_.front());
    held_.pop_front();
    pipeline_.changed.notify_all();
  }
  if (first.failure.code != HR_OK) throw first.failure;
  *element = std::move(first.element);
  return true;
}

bool ReadAhead::ready(int64_t n) {
  const std::lock_guard<std::mutex> hold(pipeline_.lock);
  return n < kAll && !held_.empty() && (int64_t(held_.size()) >= n || held_.back().end);
}

void ReadAhead::save(StateWriter& to) {
  std::deque<Item> held;
  {
    std::unique_lock<std::mutex> hold(pipeline_.lock);
    ++pauses_;
    pipeline_.changed.wait(hold, [&] { return !reading_; });
    held = held_;
  }
  Failure failure{HR_OK, ""};
  const bool wrong = failed(&failure, [&] {
    to.text("read ahead");
    to.number(int64_t(held.size()));
    for (const Item& item : held) {
      to.number(item.end);
      to.number(item.failure.code);
      to.text(item.failure.text);
      to.element_unless(item.is_none(), item.element);
    }
    input_->save(to);
  });
  {
    const std::lock_guard<std::mutex> hold(pipeline_.lock);
    --pauses_;
    pipeline_.changed.notify_all();
  }
  if (wrong) throw failure;
}

void ReadAhead::restore(StateReader& from) {
  from.expect("read ahead");
  held_.clear();
  for (int64_t n = from.number(0, 1 << 30); n > 0; --n) {
    Item item;
    item.end = from.number() != 0;
    item.failure.code = hr_code(from.number(HR_OK, HR_UNAUTHENTICATED));
    item.failure.text = std::string(from.text());
    item.element = from.element_unless(item.is_none(), spec_);
    held_.push_back(std::move(item));
  }
  ended_ = !held_.empty() && held_.back().end;
  input_->restore(from);
}

namespace {

class Prefetch : public Transformed<Prefetch> {
 public:
  Prefetch(Spec s, DatasetRef in, int64_t size)
      : Transformed(std::move(s), std::move(in)), size(size) {}
  int64_t cardinality() const override { return input->cardinality(); }
  const Dataset* same_as() const override { return size == 0 ? input.get() : nullptr; }
  const int64_t size;

  struct Iterating : Stage {
    Iterating(Pipeline& p, const Prefetch& f)
        : Stage(p), ahead_(p, iterate(f.input), f.input->spec, f.size) {}
    bool ready(int64_t n) override { return ahead_.ready(n); }
    bool next(Element* element) override { return ahead_.next(element); }
    void save(StateWriter& to) override { ahead_.save(to); }
    void restore(StateReader& from) override { ahead_.restore(from); }
    ReadAhead ahead_;
  };
};

DatasetRef make_prefetch(const Arguments& arguments) {
  const int64_t size = arguments.integer(1, "buffer_size");
  if (size < -1) invalid("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning");
  if (size == 0) return arguments.dataset(0);
  return std::make_shared<Prefetch>(arguments.spec_over(0), arguments.dataset(0), size);
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make_prefetch>("PrefetchDataset"),
};

}  // namespace hr::data
