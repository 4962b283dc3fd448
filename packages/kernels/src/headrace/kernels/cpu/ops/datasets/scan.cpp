// ScanDataset: a function of a state and an element gives the next state and a new element.
#include <iterator>

#include "ops/datasets/stages.hpp"

namespace hr::data {
namespace {

class Scan : public Transformed<Scan> {
 public:
  Scan(Spec s, DatasetRef in, Element state, Captured f, bool keeps_size)
      : Transformed(std::move(s), std::move(in)), initial(std::move(state)), f(std::move(f)),
        keeps_size(keeps_size), states(spec_of_all(initial)) {}
  int64_t cardinality() const override { return keeps_size ? input->cardinality() : kUnknown; }
  const Element initial;
  const Captured f;
  const bool keeps_size;
  const Spec states;

  // A state may change its shape.
  static Spec spec_of_all(const Element& element) {
    Spec spec;
    for (const Tensor& t : element) spec.types.push_back(t.dtype());
    return spec;
  }

  struct Iterating : Over {
    Iterating(Pipeline& p, const Scan& s) : Over(p, s.input), scan(s), state_(s.initial) {}
    bool ready(int64_t n) override { return !scan.f.function.waits() && input_->ready(n); }
    bool next(Element* element) override {
      Element arguments, read;
      if (!input_->next(&read)) return false;
      arguments = state_;
      move_to(arguments, read.begin(), read.end());
      Element results;
      try {
        results = scan.f(pipeline_, arguments);
      } catch (const Failure& failure) {
        // As in TensorFlow, a function may end its dataset.
        if (failure.code != HR_OUT_OF_RANGE) throw;
        if (scan.keeps_size)
          invalid("Function invocation produced OutOfRangeError: " + failure.text);
        return false;
      }
      const auto middle = results.begin() + std::ptrdiff_t(state_.size());
      state_.clear();
      move_to(state_, results.begin(), middle);
      element->clear();
      move_to(*element, middle, results.end());
      return true;
    }
    void save(StateWriter& to) override {
      to.text("scan");
      to.element(state_);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("scan");
      state_ = from.element(scan.states);
      input_->restore(from);
    }

   private:
    const Scan& scan;
    Element state_;

    static void move_to(Element& to, Element::iterator begin, Element::iterator end) {
      to.insert(to.end(), std::make_move_iterator(begin), std::make_move_iterator(end));
    }
  };
};

DatasetRef make(const Arguments& arguments) {
  DatasetRef input = arguments.dataset(0);
  Element state = arguments.list(1);
  std::vector<hr_dtype> takes, gives;
  for (const Tensor& t : state) takes.push_back(t.dtype());
  gives = takes;
  takes.insert(takes.end(), input->spec.types.begin(), input->spec.types.end());
  Captured f = Captured::of(arguments, "f", 2, takes);
  Spec spec = arguments.spec();
  gives.insert(gives.end(), spec.types.begin(), spec.types.end());
  check_results(f.function, gives);
  return std::make_shared<Scan>(std::move(spec), std::move(input), std::move(state), std::move(f),
                                hr_attr_bool(arguments.node, "preserve_cardinality", 0) != 0);
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make>("ScanDataset"),
    dataset_kernel<make>("ExperimentalScanDataset"),
};

}  // namespace hr::data
