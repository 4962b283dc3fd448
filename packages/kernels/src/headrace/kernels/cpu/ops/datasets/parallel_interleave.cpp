// ParallelInterleaveDatasetV2: the datasets of several elements are read at once, each on a thread.
#include <algorithm>

#include "library/attributes.hpp"
#include "ops/datasets/nested.hpp"
#include "ops/datasets/prefetch.hpp"

namespace hr::data {
namespace {

// More threads than that would only take memory.
constexpr int64_t kMostThreads = 256;

class ParallelInterleave : public Transformed<ParallelInterleave> {
 public:
  ParallelInterleave(Spec s, DatasetRef in, Nested nested, Cycle::Sizes sizes, int64_t threads,
                     bool ordered)
      : Transformed(std::move(s), std::move(in)), nested(std::move(nested)), sizes(sizes),
        threads(threads), ordered(ordered) {}
  const Nested nested;
  const Cycle::Sizes sizes;
  const int64_t threads;  // that read at once
  const bool ordered;

  class Iterating;
};

class ParallelInterleave::Iterating : public Over {
 public:
  Iterating(Pipeline& p, const ParallelInterleave& i)
      : Over(p, i.input), interleave_(i), at_(i.sizes), free_(i.threads) {}

  bool next(Element* element) override {
    fill();
    while (!ended_ || n_open_ > 0) {
      pipeline_.poll();
      if (ended_ && at_.slot() >= int64_t(open_.size())) at_.restart();
      if (!interleave_.ordered) choose_ready();
      Slot& slot = slot_at(at_.slot());
      if (slot.ahead) {
        if (slot.ahead->next(element)) {
          at_.advance();
          return true;
        }
        slot = Slot();
        --n_open_;
        if (interleave_.ordered) at_.next_slot();
      } else if (!ended_) {
        open(slot);
      } else {
        at_.next_slot();
      }
    }
    return false;
  }

  void save(StateWriter& to) override {
    to.text("parallel interleave");
    to.number(ended_);
    at_.save(to);
    to.number(made_);
    to.number(int64_t(open_.size()));
    for (const Slot& slot : open_) {
      to.number(slot.ahead != nullptr);
      if (!slot.ahead) continue;
      to.number(slot.index);
      to.element(slot.arguments);
      slot.ahead->save(to);
    }
    input_->save(to);
  }

  void restore(StateReader& from) override {
    from.expect("parallel interleave");
    ended_ = from.number() != 0;
    at_.restore(from);
    made_ = from.number(0, INT64_MAX);
    open_.clear();
    n_open_ = 0;
    const int64_t n = from.number(0, interleave_.sizes.cycle);
    for (int64_t i = 0; i < n; ++i) {
      Slot& slot = slot_at(i);
      if (from.number() == 0) continue;
      const int64_t index = from.number();
      make(slot, from.element(interleave_.nested.takes), index);
      slot.ahead->restore(from);
    }
    input_->restore(from);
    filled_ = true;
  }

 private:
  struct Slot {
    int64_t index = 0;  // of the element among all
    Element arguments;
    DatasetRef dataset;
    std::unique_ptr<ReadAhead> ahead;  // null: closed
  };
  const ParallelInterleave& interleave_;
  Cycle at_;
  std::vector<Slot> open_;
  int64_t n_open_ = 0, made_ = 0;
  bool ended_ = false, filled_ = false;
  int64_t free_;  // threads that may begin to read; guarded by the pipeline's lock

  Slot& slot_at(int64_t i) {
    if (size_t(i) >= open_.size()) open_.resize(size_t(i) + 1);
    return open_[size_t(i)];
  }

  // Opens the first datasets of the cycle, so that they are read at the same time.
  void fill() {
    if (filled_) return;
    filled_ = true;
    const int64_t n = std::min(interleave_.sizes.cycle, kMostThreads);
    for (int64_t i = 0; i < n && !ended_; ++i) open(slot_at(i));
  }

  void open(Slot& slot) {
    Element arguments;
    if (!input_->next(&arguments)) {
      ended_ = true;
      return;
    }
    make(slot, std::move(arguments), made_++);
    slot.ahead->start_reading();
  }

  void make(Slot& slot, Element arguments, int64_t index) {
    slot.index = index;
    slot.arguments = std::move(arguments);
    slot.dataset = interleave_.nested.make(pipeline_, slot.arguments);
    slot.ahead = std::make_unique<ReadAhead>(
        pipeline_, iterate(slot.dataset, index), slot.dataset->spec,
        std::min<int64_t>(std::max<int64_t>(interleave_.sizes.block, 2), 1024));
    if (interleave_.threads < interleave_.sizes.cycle) {
      slot.ahead->argument = this;
      slot.ahead->before = [](void* self) { static_cast<Iterating*>(self)->take_turn(); };
      slot.ahead->after = [](void* self) { static_cast<Iterating*>(self)->end_turn(); };
    }
    ++n_open_;
  }

  void take_turn() {
    std::unique_lock<std::mutex> hold(pipeline_.lock);
    pipeline_.changed.wait(hold, [&] { return free_ > 0 || pipeline_.stopped(); });
    --free_;
  }
  void end_turn() {
    const std::lock_guard<std::mutex> hold(pipeline_.lock);
    ++free_;
    pipeline_.changed.notify_all();
  }

  // Moves to a slot that has an element now, if the present one has none.
  void choose_ready() {
    std::unique_lock<std::mutex> hold(pipeline_.lock);
    const auto find = [&] {
      for (size_t i = 0; i < open_.size(); ++i) {
        if (Slot& slot = slot_at(at_.slot()); slot.ahead ? slot.ahead->has_any() : !ended_)
          return true;
        at_.next_slot();
        if (at_.slot() >= int64_t(open_.size())) at_.restart();
      }
      return open_.empty();
    };
    pipeline_.wait(hold, find);
  }
};

bool is_ordered(const hr_node* node) {
  return hr_attr_bool(node, "sloppy", 0) == 0 && attr_text(node, "deterministic") != "false";
}

DatasetRef make(const Arguments& arguments, int64_t threads, bool ordered) {
  DatasetRef input = arguments.dataset(0);
  Nested nested = Nested::of(arguments, "f", 1, input->spec);
  Cycle::Sizes sizes = Cycle::sizes_of(arguments);
  if (arguments.integer(2, "cycle_length") == -1) sizes.cycle = automatic_parallelism();
  if (threads != -1 && threads < 1) invalid("num_parallel_calls must be greater than zero.");
  if (threads == -1) threads = automatic_parallelism();
  threads = std::min({threads, sizes.cycle, kMostThreads});
  return std::make_shared<ParallelInterleave>(arguments.spec(), std::move(input), std::move(nested),
                                              sizes, threads, ordered);
}

// `calls`: the argument that is num_parallel_calls.
template <int32_t calls> DatasetRef make_with_calls(const Arguments& arguments) {
  return make(arguments, arguments.integer(calls, "num_parallel_calls"),
              is_ordered(arguments.node));
}

// The first versions read all datasets of the cycle at once.
DatasetRef make_first(const Arguments& arguments) {
  return make(arguments, kMostThreads, !arguments.boolean(4, "sloppy"));
}
DatasetRef make_legacy(const Arguments& arguments) {
  return make(arguments, kMostThreads, is_ordered(arguments.node));
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make_first>("ParallelInterleaveDataset"),
    dataset_kernel<make_with_calls<4>>("ParallelInterleaveDatasetV2"),
    dataset_kernel<make_with_calls<4>>("ParallelInterleaveDatasetV3"),
    dataset_kernel<make_with_calls<6>>("ParallelInterleaveDatasetV4"),
    dataset_kernel<make_legacy>("LegacyParallelInterleaveDatasetV2"),
};

}  // namespace hr::data
