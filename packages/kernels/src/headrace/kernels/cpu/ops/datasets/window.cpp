// WindowDataset and UnbatchDataset.
#include "ops/datasets/window.hpp"

#include <deque>

#include "ops/datasets/stages.hpp"

namespace hr::data {
namespace {

class Held : public Dataset {
 public:
  Held(Spec s, std::vector<Element> e) : Dataset(std::move(s)), elements_(std::move(e)) {}
  std::unique_ptr<Stage> iterate(Pipeline& pipeline) const override {
    return std::make_unique<Iterating>(pipeline, elements_);
  }

  int64_t cardinality() const override { return int64_t(elements_.size()); }

 private:
  const std::vector<Element> elements_;

  struct Iterating : Stage {
    Iterating(Pipeline& p, const std::vector<Element>& e) : Stage(p), elements(e) {}
    bool ready(int64_t) override { return true; }
    bool next(Element* element) override {
      if (at_ >= elements.size()) return false;
      *element = elements[at_++];
      return true;
    }
    void save(StateWriter& to) override {
      to.text("held");
      to.number(int64_t(at_));
    }
    void restore(StateReader& from) override {
      from.expect("held");
      at_ = size_t(from.number(0, int64_t(elements.size())));
    }
    const std::vector<Element>& elements;
    size_t at_ = 0;
  };
};

// ---- windows ------------------------------------------------------------------------------------

class Window : public Transformed<Window> {
 public:
  Window(Spec s, DatasetRef in, int64_t size, int64_t shift, int64_t stride, bool drop)
      : Transformed(std::move(s), std::move(in)), size(size), shift(shift), stride(stride),
        drop(drop) {}
  int64_t cardinality() const override { return batches_of(input->cardinality(), shift, drop); }
  const int64_t size, shift, stride;
  const bool drop;

  class Iterating;
};

class Window::Iterating : public Over {
 public:
  Iterating(Pipeline& p, const Window& w) : Over(p, w.input), window_(w) {}
  bool ready(int64_t n) override {
    const int64_t span = plus(times(window_.size - 1, window_.stride), 1);
    const int64_t each = plus(span, window_.shift);
    return each < kManyAtOnce && input_->ready(times(n, each));
  }

  bool next(Element* element) override {
    const int64_t span = plus(times(window_.size - 1, window_.stride), 1);
    // Elements between two windows.
    for (; !ended_ && skip_ > 0; --skip_) {
      pipeline_.poll();
      Element passed;
      ended_ = !input_->next(&passed);
    }
    while (!ended_ && int64_t(held_.size()) < span) {
      pipeline_.poll();
      Element read;
      if (input_->next(&read)) held_.push_back(std::move(read));
      else ended_ = true;
    }
    if (held_.empty() || (window_.drop && int64_t(held_.size()) < span)) {
      held_.clear();
      return false;
    }
    const size_t n_components = window_.input->spec.types.size();
    element->clear();
    for (size_t c = 0; c < n_components; ++c) {
      std::vector<Element> column;
      for (size_t i = 0; i < held_.size() && int64_t(column.size()) < window_.size;
           i += size_t(window_.stride))
        column.push_back({held_[i].at(c)});
      Spec spec;
      spec.types = {window_.input->spec.types[c]};
      if (c < window_.input->spec.shapes.size()) spec.shapes = {window_.input->spec.shapes[c]};
      else spec.shapes = {Shape()};
      element->push_back(variant_of(ctx(), dataset_of(std::move(spec), std::move(column))));
    }
    const int64_t dropped = std::min<int64_t>(window_.shift, int64_t(held_.size()));
    held_.erase(held_.begin(), held_.begin() + std::ptrdiff_t(dropped));
    skip_ = window_.shift - dropped;
    return true;
  }

  void save(StateWriter& to) override {
    to.text("window");
    to.number(ended_);
    to.number(skip_);
    to.number(int64_t(held_.size()));
    for (const Element& element : held_) to.element(element);
    input_->save(to);
  }
  void restore(StateReader& from) override {
    from.expect("window");
    ended_ = from.number() != 0;
    skip_ = from.position();
    held_.clear();
    for (int64_t n = from.number(0, 1 << 30); n > 0; --n)
      held_.push_back(from.element(window_.input->spec));
    input_->restore(from);
  }

 private:
  const Window& window_;
  std::deque<Element> held_;
  int64_t skip_ = 0;
  bool ended_ = false;
};

DatasetRef make_window(const Arguments& arguments) {
  const int64_t size = arguments.integer(1, "size"), shift = arguments.integer(2, "shift"),
                stride = arguments.integer(3, "stride");
  if (size <= 0) invalid("Window size must be greater than zero.");
  if (shift <= 0) invalid("Window shift must be greater than zero.");
  if (stride <= 0) invalid("Window stride must be greater than zero.");
  DatasetRef input = arguments.dataset(0);
  const std::vector<hr_dtype> windows(input->spec.types.size(), HR_VARIANT);
  return std::make_shared<Window>(arguments.spec_over(windows), std::move(input), size, shift,
                                  stride, arguments.boolean(4, "drop_remainder"));
}

// ---- rows of batches ----------------------------------------------------------------------------

class Unbatch : public Transformed<Unbatch> {
 public:
  Unbatch(Spec s, DatasetRef in) : Transformed(std::move(s), std::move(in)) {}

  struct Iterating : Over {
    Iterating(Pipeline& p, const Unbatch& u) : Over(p, u.input), unbatch(u) {}
    bool ready(int64_t n) override { return input_->ready(n); }
    bool next(Element* element) override {
      while (at_ >= size_) {
        pipeline_.poll();
        batch_.clear();
        at_ = size_ = 0;
        if (!input_->next(&batch_)) return false;
        for (const Tensor& t : batch_) {
          if (t.get()->rank == 0) invalid("Input element must be a non-scalar in each component.");
          if (t.get()->dims[0] != batch_[0].get()->dims[0])
            invalid(
                "Input element must have the same batch size in each component. Component 0 "
                "had size " +
                std::to_string(batch_[0].get()->dims[0]) + " but another component had size " +
                std::to_string(t.get()->dims[0]) + ".");
        }
        size_ = batch_.empty() ? 0 : batch_[0].get()->dims[0];
      }
      element->clear();
      for (const Tensor& t : batch_) element->push_back(row_of(t, at_));
      ++at_;
      return true;
    }
    void save(StateWriter& to) override {
      to.text("unbatch");
      to.number(at_);
      to.number(size_);
      to.element_unless(size_ == 0, batch_);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("unbatch");
      at_ = from.number(0, INT64_MAX);
      const int64_t size = from.number(0, INT64_MAX);
      batch_ = from.element_unless(size == 0, unbatch.input->spec);
      size_ = size;
      for (const Tensor& t : batch_)
        if (t.get()->rank == 0 || t.get()->dims[0] != size)
          invalid("the saved state of the iterator is malformed");
      input_->restore(from);
    }
    const Unbatch& unbatch;
    Element batch_;
    int64_t at_ = 0, size_ = 0;
  };
};

DatasetRef make_unbatch(const Arguments& arguments) {
  return std::make_shared<Unbatch>(arguments.spec_over(0), arguments.dataset(0));
}

}  // namespace

DatasetRef dataset_of(Spec spec, std::vector<Element> elements) {
  return std::make_shared<Held>(std::move(spec), std::move(elements));
}

HR_KERNELS = {
    dataset_kernel<make_window>("WindowDataset"),
    dataset_kernel<make_unbatch>("UnbatchDataset"),
};

}  // namespace hr::data
