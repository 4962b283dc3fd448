// ParallelMapDataset and MapAndBatchDataset: several calls of a function at once.
#include <deque>
#include <thread>

#include "library/attributes.hpp"
#include "ops/datasets/batch.hpp"
#include "ops/datasets/stages.hpp"

namespace hr::data {
namespace {

// More calls than that would only take memory.
constexpr int64_t kMostCalls = 4096;

int64_t calls_of(const Arguments& arguments, int32_t argument) {
  const int64_t n = arguments.integer(argument, "num_parallel_calls");
  if (n != -1 && n < 1) invalid("num_parallel_calls must be greater than zero.");
  return std::min(n < 0 ? automatic_parallelism() : n, kMostCalls);
}

bool is_ordered(const hr_node* node) {
  return hr_attr_bool(node, "sloppy", 0) == 0 && attr_text(node, "deterministic") != "false";
}

class ParallelMap : public Transformed<ParallelMap> {
 public:
  ParallelMap(Spec s, DatasetRef in, Captured f, int64_t most, bool ordered, bool keeps_size)
      : Transformed(std::move(s), std::move(in)), f(std::move(f)), most(most), ordered(ordered),
        keeps_size(keeps_size),
        // Where the calls fill the cores, threads within a call only wait for each other.
        flags(most >= int64_t(std::thread::hardware_concurrency()) ? HR_CALL_ONE_THREAD : 0) {}
  // As in TensorFlow 1.15, also where the function may end the dataset.
  int64_t cardinality() const override { return input->cardinality(); }
  const Captured f;
  const int64_t most;
  const bool ordered, keeps_size;
  const uint32_t flags;  // of the calls

  class Iterating;
};

// The calls are started by whoever takes an element, so that there are always `most` under way.
class ParallelMap::Iterating : public Over {
 public:
  Iterating(Pipeline& p, const ParallelMap& m) : Over(p, m.input), map_(m) {}

  bool ready(int64_t n) override {
    if (n == kAll) return false;
    if (int64_t(calls_.size()) < n && !ended_) return false;
    for (int64_t i = 0; i < std::min(n, int64_t(calls_.size())); ++i)
      if (!is_done(calls_[size_t(i)])) return false;
    return ended_ || input_->ready(n);
  }

  bool next(Element* element) override {
    for (;;) {
      start_calls();
      if (calls_.empty()) return false;
      Item item = take_done();
      if (item.failure.code != HR_OK) throw item.failure;
      if (!item.call) {
        *element = std::move(item.results);
        return true;
      }
      try {
        *element = item.call->results();
        return true;
      } catch (const Failure& failure) {
        if (failure.code != HR_OUT_OF_RANGE) throw;
        if (map_.keeps_size)
          invalid("Function invocation produced OutOfRangeError: " + failure.text);
        // As in TensorFlow, a function may end its dataset.
        return false;
      }
    }
  }

  void save(StateWriter& to) override {
    {
      std::unique_lock<std::mutex> hold(pipeline_.lock);
      pipeline_.wait(hold, [&] {
        for (const Item& item : calls_)
          if (!is_done(item)) return false;
        return true;
      });
    }
    to.text("parallel map");
    to.number(ended_);
    to.number(int64_t(calls_.size()));
    for (Item& item : calls_) {
      if (item.call) {
        failed(&item.failure, [&] { item.results = item.call->results(); });
        item.call.reset();
      }
      to.number(item.failure.code);
      to.text(item.failure.text);
      to.element_unless(item.failure.code != HR_OK, item.results);
    }
    input_->save(to);
  }

  void restore(StateReader& from) override {
    from.expect("parallel map");
    ended_ = from.number() != 0;
    calls_.clear();
    for (int64_t n = from.number(0, kMostCalls); n > 0; --n) {
      Item item;
      item.failure.code = hr_code(from.number(HR_OK, HR_UNAUTHENTICATED));
      item.failure.text = std::string(from.text());
      item.results = from.element_unless(item.failure.code != HR_OK, map_.spec);
      calls_.push_back(std::move(item));
    }
    input_->restore(from);
  }

 private:
  struct Item {
    std::shared_ptr<Call> call;  // null: results, or the failure to have an input
    Element results;
    Failure failure{HR_OK, ""};
  };
  const ParallelMap& map_;
  std::deque<Item> calls_;
  bool ended_ = false;

  static bool is_done(const Item& item) { return !item.call || item.call->is_done(); }

  void start_calls() {
    while (!ended_ && int64_t(calls_.size()) < map_.most) {
      // What is ready already need not wait for more.
      if (!calls_.empty() && is_done(calls_.front()) && !input_->ready(1)) return;
      Item item;
      Element arguments;
      bool more = false;
      if (failed(&item.failure, [&] { more = input_->next(&arguments); })) {
        if (item.failure.code == HR_CANCELLED) throw item.failure;
        calls_.push_back(std::move(item));
        continue;
      }
      if (!more) {
        ended_ = true;
        return;
      }
      item.call = std::make_shared<Call>(pipeline_);
      item.call->start(map_.f.function, arguments, map_.f.captured, map_.flags);
      calls_.push_back(std::move(item));
    }
  }

  Item take_done() {
    size_t which = 0;
    const auto find = [&] {
      const size_t n = map_.ordered ? 1 : calls_.size();
      for (which = 0; which < n; ++which)
        if (is_done(calls_[which])) return true;
      return false;
    };
    if (!find()) {
      std::unique_lock<std::mutex> hold(pipeline_.lock);
      pipeline_.wait(hold, find);
    }
    Item item = std::move(calls_[which]);
    calls_.erase(calls_.begin() + std::ptrdiff_t(which));
    return item;
  }
};

DatasetRef make(const Arguments& arguments, int32_t n_calls, Spec spec) {
  DatasetRef input = arguments.dataset(0);
  Captured f = Captured::of(arguments, "f", 1, input->spec.types);
  check_results(f.function, spec.types);
  return std::make_shared<ParallelMap>(
      std::move(spec), std::move(input), std::move(f), calls_of(arguments, n_calls),
      is_ordered(arguments.node), hr_attr_bool(arguments.node, "preserve_cardinality", 0) != 0);
}

DatasetRef make_parallel_map(const Arguments& arguments) {
  return make(arguments, 2, arguments.spec());
}

// ---- with batches -------------------------------------------------------------------------------

class MapAndBatch : public Transformed<MapAndBatch> {
 public:
  MapAndBatch(Spec s, DatasetRef in, int64_t size, bool drop)
      : Transformed(std::move(s), std::move(in)), size(size), drop(drop) {}
  int64_t cardinality() const override { return batches_of(input->cardinality(), size, drop); }
  const int64_t size;
  const bool drop;

  struct Iterating : Over {
    Iterating(Pipeline& p, const MapAndBatch& b) : Over(p, b.input), batch(b) {}
    bool next(Element* element) override {
      if (!rows_.collect(pipeline_, *input_, batch.size, batch.drop)) return false;
      const std::vector<Element> rows = std::exchange(rows_.rows, {});
      *element = stacked(ctx(), rows);
      return true;
    }
    void save(StateWriter& to) override {
      to.text("map and batch");
      rows_.save(to);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("map and batch");
      rows_.restore(from, batch.input->spec);
      input_->restore(from);
    }
    const MapAndBatch& batch;
    Rows rows_;
  };
};

DatasetRef make_map_and_batch(const Arguments& arguments) {
  Spec spec = arguments.spec(), of_rows;
  of_rows.types = spec.types;
  const int64_t size = batch_size_of(arguments, 2);
  return std::make_shared<MapAndBatch>(std::move(spec), make(arguments, 3, std::move(of_rows)),
                                       size, arguments.boolean(4, "drop_remainder"));
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make_parallel_map>("ParallelMapDataset"),
    dataset_kernel<make_parallel_map>("ParallelMapDatasetV2"),
    dataset_kernel<make_map_and_batch>("MapAndBatchDataset"),
};

}  // namespace hr::data
