// Statistics of pipelines: LatencyStatsDataset, BytesProducedStatsDataset, and what collects them.
//
// An aggregator belongs to a whole pipeline: it also gets what stages behind it measure.
#include <chrono>
#include <map>
#include <mutex>

#include "ops/datasets/stages.hpp"
#include "ops/summary/histogram_counts.hpp"
#include "ops/summary/summary_message.hpp"
#include "table/resources.hpp"

namespace hr::data {
namespace {

// ---- the aggregator -----------------------------------------------------------------------------

const char* const kAggregatorKind = "StatsAggregator";

struct Aggregator {
  hr_object object;  // first
  std::mutex lock;
  std::map<std::string, summary::HistogramCounts> histograms;
};

void destroy_aggregator(hr_object* object) { delete reinterpret_cast<Aggregator*>(object); }

hr_object* make_aggregator(void*) {
  auto* made = new (std::nothrow) Aggregator;
  if (!made) return nullptr;
  made->object = object_of_kind(kAggregatorKind, destroy_aggregator);
  return &made->object;
}

Aggregator* aggregator_of(const hr_tensor* handle) {
  hr_object* object = handle->rank == 0 ? object_of(handle, kAggregatorKind) : nullptr;
  if (!object) invalid("the handle does not point at a StatsAggregator");
  return reinterpret_cast<Aggregator*>(object);
}

hr_code create_node(hr_node* node, void** state) {
  *state = new ResourceNode(node, kAggregatorKind);
  return HR_OK;
}
void destroy_node(void* state) { delete static_cast<ResourceNode*>(state); }

hr_code give_aggregator(hr_ctx* ctx, void* state, void*, const hr_tensor* const*,
                        hr_tensor* const* outputs, void*) {
  auto* node = static_cast<ResourceNode*>(state);
  return error_boundary(ctx, [&] {
    hr_object* found = nullptr;
    check(node->find(ctx, make_aggregator, nullptr, &found));
    node->give(ctx, found, outputs[0]);
  });
}

hr_code give_summary(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                     hr_tensor* const* outputs, void*) {
  return error_boundary(ctx, [&] {
    Aggregator* aggregator = aggregator_of(inputs[0]);
    summary::Summary created;
    const std::lock_guard<std::mutex> hold(aggregator->lock);
    for (const auto& [name, counts] : aggregator->histograms)
      created.add(
          protobuf::Message().text(summary::kTag, name).always(summary::kHisto, counts.message()));
    check(created.give(ctx, outputs[0]));
  });
}

// ---- its pipeline -------------------------------------------------------------------------------

class Observed : public Transformed<Observed>, public Recorder {
 public:
  Observed(Spec s, DatasetRef in, Tensor handle, std::string prefix)
      : Transformed(std::move(s), std::move(in)), handle_(std::move(handle)),
        prefix_(std::move(prefix)) {}
  int64_t cardinality() const override { return input->cardinality(); }
  void record(const std::string& name, double value) const override {
    Aggregator* aggregator = aggregator_of(handle_.get());
    const std::lock_guard<std::mutex> hold(aggregator->lock);
    aggregator->histograms[prefix_.empty() ? name : prefix_ + "::" + name].count(value);
  }

  struct Iterating : Stage {
    Iterating(Pipeline& p, const Observed& o) : Stage(p) {
      p.recorder = &o;
      input_ = iterate(o.input);
    }
    bool ready(int64_t n) override { return input_->ready(n); }
    bool next(Element* element) override { return input_->next(element); }
    void save(StateWriter& to) override { input_->save(to); }
    void restore(StateReader& from) override { input_->restore(from); }
    std::unique_ptr<Stage> input_;
  };

 private:
  const Tensor handle_;  // keeps the aggregator
  const std::string prefix_;
};

DatasetRef make_observed(const Arguments& arguments) {
  const hr_tensor* handle = arguments.tensor(1);
  aggregator_of(handle);
  return std::make_shared<Observed>(arguments.spec_over(0), arguments.dataset(0),
                                    kept(arguments.ctx, handle), arguments.text(2, "tag"));
}

// ---- what is measured ---------------------------------------------------------------------------

enum class What { kMicroseconds, kBytes };

double bytes_of(const Element& element) {
  double bytes = 0;
  for (const Tensor& t : element) {
    // 8 bytes for a string, as in TensorFlow 1.15
    bytes += double(t.size() * (t.dtype() == HR_STRING ? 8 : hr_dtype_size(t.dtype())));
    if (t.dtype() == HR_STRING)
      for (int64_t i = 0; i < t.size(); ++i) bytes += double(text_at(t.get(), i).size());
  }
  return bytes;
}

class Measured : public Transformed<Measured> {
 public:
  Measured(Spec s, DatasetRef in, std::string tag, What what)
      : Transformed(std::move(s), std::move(in)), tag(std::move(tag)), what(what) {}
  int64_t cardinality() const override { return input->cardinality(); }
  const std::string tag;
  const What what;

  struct Iterating : Over {
    Iterating(Pipeline& p, const Measured& m) : Over(p, m.input), measured(m) {}
    bool ready(int64_t n) override { return input_->ready(n); }
    bool next(Element* element) override {
      using Clock = std::chrono::steady_clock;
      const Recorder* recorder = pipeline_.recorder;
      const Clock::time_point begin = Clock::now();
      if (!input_->next(element)) return false;
      if (!recorder) return true;
      const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
      recorder->record(measured.tag,
                       measured.what == What::kBytes ? bytes_of(*element) : took.count());
      return true;
    }
    void save(StateWriter& to) override { input_->save(to); }
    void restore(StateReader& from) override { input_->restore(from); }
    const Measured& measured;
  };
};

template <What what> DatasetRef make_measured(const Arguments& arguments) {
  return std::make_shared<Measured>(arguments.spec_over(0), arguments.dataset(0),
                                    arguments.text(1, "tag"), what);
}

KernelRegistration aggregator_kernel(const char* op) {
  return kernel(op, nullptr, prepare_handle, give_aggregator).with_state(create_node, destroy_node);
}

}  // namespace

HR_KERNELS = {
    aggregator_kernel("StatsAggregatorHandle"),
    aggregator_kernel("ExperimentalStatsAggregatorHandle"),
    kernel("StatsAggregatorSummary", nullptr, prepare_handle, give_summary),
    kernel("ExperimentalStatsAggregatorSummary", nullptr, prepare_handle, give_summary),
    dataset_kernel<make_observed>("SetStatsAggregatorDataset"),
    dataset_kernel<make_observed>("ExperimentalSetStatsAggregatorDataset"),
    dataset_kernel<make_measured<What::kMicroseconds>>("LatencyStatsDataset"),
    dataset_kernel<make_measured<What::kMicroseconds>>("ExperimentalLatencyStatsDataset"),
    dataset_kernel<make_measured<What::kBytes>>("BytesProducedStatsDataset"),
    dataset_kernel<make_measured<What::kBytes>>("ExperimentalBytesProducedStatsDataset"),
};

}  // namespace hr::data
