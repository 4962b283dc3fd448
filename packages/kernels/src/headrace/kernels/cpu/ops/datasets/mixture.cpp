// DirectedInterleaveDataset: a dataset of numbers chooses which dataset gives the next element.
#include "ops/datasets/stages.hpp"

namespace hr::data {
namespace {

const char* const kSelectorWrong = "The selector input must be a dataset of scalar int64 elements.";

class Directed : public Transformed<Directed> {
 public:
  Directed(Spec s, DatasetRef selector, std::vector<DatasetRef> choices, bool stops)
      : Transformed(std::move(s), std::move(selector)), choices(std::move(choices)), stops(stops) {}
  const std::vector<DatasetRef> choices;
  const bool stops;  // at the end of the first dataset that is chosen behind its end

  struct Iterating : Over {
    Iterating(Pipeline& p, const Directed& d) : Over(p, d.input), directed(d) {
      for (const DatasetRef& choice : d.choices)
        stages_.push_back(iterate(choice, 1 + int64_t(stages_.size())));
    }
    bool ready(int64_t n) override {
      for (const auto& stage : stages_)
        if (stage && !stage->ready(n)) return false;
      // Numbers of datasets that have ended are passed over, however many there are.
      return input_->ready(kAll);
    }
    bool next(Element* element) override {
      while (!ended_) {
        pipeline_.poll();
        Element number;
        if (!input_->next(&number)) break;
        const int64_t chosen = *read<int64_t>(scalar_result(number, HR_INT64, kSelectorWrong));
        if (chosen < 0 || chosen >= int64_t(stages_.size()))
          invalid("Selector index out of range: " + std::to_string(chosen) +
                  " >= " + std::to_string(stages_.size()));
        std::unique_ptr<Stage>& stage = stages_[size_t(chosen)];
        if (!stage) continue;
        if (stage->next(element)) return true;
        stage.reset();
        if (directed.stops || none_left()) break;
      }
      ended_ = true;
      return false;
    }
    void save(StateWriter& to) override {
      to.text("directed interleave");
      to.number(ended_);
      input_->save(to);
      for (const auto& stage : stages_) {
        to.number(stage != nullptr);
        if (stage) stage->save(to);
      }
    }
    void restore(StateReader& from) override {
      from.expect("directed interleave");
      ended_ = from.number(0, 1) != 0;
      input_->restore(from);
      for (size_t i = 0; i < stages_.size(); ++i) {
        stages_[i].reset();
        if (from.number(0, 1) == 0) continue;
        stages_[i] = iterate(directed.choices[i], 1 + int64_t(i));
        stages_[i]->restore(from);
      }
    }

   private:
    const Directed& directed;
    std::vector<std::unique_ptr<Stage>> stages_;  // null: ended
    bool ended_ = false;

    bool none_left() const {
      for (const auto& stage : stages_)
        if (stage) return false;
      return true;
    }
  };
};

DatasetRef make(const Arguments& arguments) {
  DatasetRef selector = arguments.dataset(0);
  const Shape scalar{0, {}};
  if (selector->spec.types != std::vector<hr_dtype>{HR_INT64} ||
      (!selector->spec.shapes.empty() && !selector->spec.shapes[0].compatible(scalar)))
    invalid(kSelectorWrong);
  int32_t first = 0, count = 0;
  arguments.node->api->input_range(arguments.node, 1, &first, &count);
  std::vector<DatasetRef> choices;
  for (int32_t i = first; i < first + count; ++i) {
    choices.push_back(dataset_in(arguments.input(i)));
    if (choices.back()->spec.types != choices[0]->spec.types)
      invalid("All inputs must have the same output_dtypes. Input " + std::to_string(i - first) +
              " has other types than the first.");
  }
  return std::make_shared<Directed>(arguments.spec_over(choices[0]->spec.types),
                                    std::move(selector), std::move(choices),
                                    hr_attr_bool(arguments.node, "stop_on_empty_dataset", 0) != 0);
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make>("DirectedInterleaveDataset"),
    dataset_kernel<make>("ExperimentalDirectedInterleaveDataset"),
};

}  // namespace hr::data
