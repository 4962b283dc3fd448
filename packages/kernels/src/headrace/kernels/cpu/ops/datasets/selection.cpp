// Datasets that leave elements out: TakeWhileDataset, UniqueDataset, IgnoreErrorsDataset.
#include <string>
#include <unordered_set>

#include "library/text.hpp"
#include "ops/datasets/stages.hpp"

namespace hr::data {
namespace {

// ---- take while ---------------------------------------------------------------------------------

class TakeWhile : public Transformed<TakeWhile> {
 public:
  TakeWhile(Spec s, DatasetRef in, Captured f)
      : Transformed(std::move(s), std::move(in)), predicate(std::move(f)) {}
  const Captured predicate;

  struct Iterating : Over {
    Iterating(Pipeline& p, const TakeWhile& t) : Over(p, t.input), take(t) {}
    bool next(Element* element) override {
      if (ended_) return false;
      Element candidate;
      if (!input_->next(&candidate)) return false;
      const Element results = take.predicate(pipeline_, candidate);
      ended_ = !*read<bool>(
          scalar_result(results, HR_BOOL, "TakeWhile predicate `f` must return a scalar bool."));
      if (!ended_) *element = std::move(candidate);
      return !ended_;
    }
    void save(StateWriter& to) override {
      to.text("take while");
      to.number(ended_);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("take while");
      ended_ = from.number(0, 1) != 0;
      input_->restore(from);
    }
    const TakeWhile& take;
    bool ended_ = false;
  };
};

DatasetRef make_take_while(const Arguments& arguments) {
  DatasetRef input = arguments.dataset(0);
  Captured predicate = Captured::of(arguments, "predicate", 1, input->spec.types);
  return std::make_shared<TakeWhile>(arguments.spec_over(0), std::move(input),
                                     std::move(predicate));
}

// ---- unique -------------------------------------------------------------------------------------

// Bytes that are equal for equal tensors only.
std::string key_of(const hr_tensor* t) {
  std::string key = std::to_string(t->rank);
  for (int32_t i = 0; i < t->rank; ++i) key += "," + std::to_string(t->dims[i]);
  key += ":";
  const int64_t n = hr_elements(t);
  if (t->dtype != HR_STRING)
    return key.append(static_cast<const char*>(t->data), size_t(n * hr_dtype_size(t->dtype)));
  for (int64_t i = 0; i < n; ++i) {
    const std::string_view text = text_at(t, i);
    key.append(std::to_string(text.size()) + ":").append(text);
  }
  return key;
}

class Unique : public Transformed<Unique> {
 public:
  using Transformed::Transformed;

  struct Iterating : Over {
    Iterating(Pipeline& p, const Unique& u) : Over(p, u.input) {}
    bool next(Element* element) override {
      for (;;) {
        pipeline_.poll();
        if (!input_->next(element)) {
          seen_.clear();
          return false;
        }
        if (seen_.insert(key_of((*element)[0].get())).second) return true;
      }
    }
    void save(StateWriter& to) override {
      to.text("unique");
      to.number(int64_t(seen_.size()));
      for (const std::string& key : seen_) to.text(key);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("unique");
      seen_.clear();
      for (int64_t n = from.number(0, INT64_MAX); n > 0; --n) seen_.emplace(from.text());
      input_->restore(from);
    }
    std::unordered_set<std::string> seen_;
  };
};

DatasetRef make_unique_elements(const Arguments& arguments) {
  DatasetRef input = arguments.dataset(0);
  const std::vector<hr_dtype>& types = input->spec.types;
  if (types.size() != 1) invalid("UniqueDataset only supports inputs with a single component.");
  if (types[0] != HR_INT32 && types[0] != HR_INT64 && types[0] != HR_STRING)
    invalid(
        "UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string` "
        "component.");
  return std::make_shared<Unique>(arguments.spec_over(0), std::move(input));
}

// ---- without the elements that fail -------------------------------------------------------------

class IgnoreErrors : public Transformed<IgnoreErrors> {
 public:
  using Transformed::Transformed;

  struct Iterating : Over {
    Iterating(Pipeline& p, const IgnoreErrors& i) : Over(p, i.input) {}
    bool ready(int64_t) override { return input_->ready(kAll); }
    bool next(Element* element) override {
      for (;;) {
        try {
          return input_->next(element);
        } catch (const Failure&) {
          element->clear();
          pipeline_.poll();  // a step that was cancelled is no error of the element
        }
      }
    }
    void save(StateWriter& to) override {
      to.text("ignore errors");
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("ignore errors");
      input_->restore(from);
    }
  };
};

DatasetRef make_ignore_errors(const Arguments& arguments) {
  return std::make_shared<IgnoreErrors>(arguments.spec_over(0), arguments.dataset(0));
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make_take_while>("TakeWhileDataset"),
    dataset_kernel<make_take_while>("ExperimentalTakeWhileDataset"),
    dataset_kernel<make_unique_elements>("UniqueDataset"),
    dataset_kernel<make_unique_elements>("ExperimentalUniqueDataset"),
    dataset_kernel<make_ignore_errors>("IgnoreErrorsDataset"),
    dataset_kernel<make_ignore_errors>("ExperimentalIgnoreErrorsDataset"),
};

}  // namespace hr::data
