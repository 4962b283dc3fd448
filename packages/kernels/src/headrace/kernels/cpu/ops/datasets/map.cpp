// MapDataset and FilterDataset.
#include "ops/datasets/stages.hpp"

namespace hr::data {
namespace {

class Map : public Transformed<Map> {
 public:
  Map(Spec s, DatasetRef in, Captured f, bool keeps_size)
      : Transformed(std::move(s), std::move(in)), f(std::move(f)), keeps_size(keeps_size) {}
  // As in TensorFlow 1.15, also where the function may end the dataset.
  int64_t cardinality() const override { return input->cardinality(); }
  const Captured f;
  const bool keeps_size;

  struct Iterating : Over {
    Iterating(Pipeline& p, const Map& m) : Over(p, m.input), map(m) {}
    bool ready(int64_t n) override { return !map.f.function.waits() && input_->ready(n); }
    bool next(Element* element) override {
      Element arguments;
      if (!input_->next(&arguments)) return false;
      try {
        *element = map.f(pipeline_, arguments);
      } catch (const Failure& failure) {
        // As in TensorFlow, a function may end its dataset.
        if (failure.code != HR_OUT_OF_RANGE) throw;
        if (map.keeps_size)
          invalid("Function invocation produced OutOfRangeError: " + failure.text);
        return false;
      }
      return true;
    }
    void save(StateWriter& to) override {
      to.text("map");
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("map");
      input_->restore(from);
    }
    const Map& map;
  };
};

DatasetRef make_map(const Arguments& arguments) {
  DatasetRef input = arguments.dataset(0);
  Captured f = Captured::of(arguments, "f", 1, input->spec.types);
  Spec spec = arguments.spec();
  check_results(f.function, spec.types);
  return std::make_shared<Map>(std::move(spec), std::move(input), std::move(f),
                               hr_attr_bool(arguments.node, "preserve_cardinality", 0) != 0);
}

class Filter : public Transformed<Filter> {
 public:
  Filter(Spec s, DatasetRef in, Captured f)
      : Transformed(std::move(s), std::move(in)), predicate(std::move(f)) {}
  const Captured predicate;

  struct Iterating : Over {
    Iterating(Pipeline& p, const Filter& f) : Over(p, f.input), filter(f) {}
    bool next(Element* element) override {
      for (;;) {
        pipeline_.poll();
        Element candidate;
        if (!input_->next(&candidate)) return false;
        const Element results = filter.predicate(pipeline_, candidate);
        const hr_tensor* passes =
            scalar_result(results, HR_BOOL, "Filter predicate `f` must return a scalar bool.");
        if (!*read<bool>(passes)) continue;
        *element = std::move(candidate);
        return true;
      }
    }
    void save(StateWriter& to) override {
      to.text("filter");
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("filter");
      input_->restore(from);
    }
    const Filter& filter;
  };
};

DatasetRef make_filter(const Arguments& arguments) {
  DatasetRef input = arguments.dataset(0);
  Captured predicate = Captured::of(arguments, "predicate", 1, input->spec.types);
  if (predicate.function.n_outputs() != 1)
    invalid("predicate function has more than one return value.");
  return std::make_shared<Filter>(arguments.spec_over(0), std::move(input), std::move(predicate));
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make_map>("MapDataset"),
    dataset_kernel<make_filter>("FilterDataset"),
};

}  // namespace hr::data
