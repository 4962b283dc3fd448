// FlatMapDataset and InterleaveDataset: a dataset for each element.
#include "ops/datasets/nested.hpp"

namespace hr::data {

DatasetRef Nested::make(Pipeline& pipeline, const Element& arguments) const {
  const Element results = f(pipeline, arguments);
  const hr_tensor* variant =
      scalar_result(results, HR_VARIANT, "`f` must return a single scalar of dtype DT_VARIANT.");
  DatasetRef dataset = dataset_in(variant);
  check_types(types, dataset->spec.types);
  return dataset;
}

Nested Nested::of(const Arguments& arguments, const char* attribute, int32_t captured,
                  const Spec& input) {
  Nested nested{Captured::of(arguments, attribute, captured, input.types), arguments.spec().types,
                input};
  check_results(nested.f.function, {HR_VARIANT});
  return nested;
}

void OpenDataset::open(Pipeline& pipeline, const Stage& reader, const Nested& nested, Element from,
                       int64_t at) {
  arguments = std::move(from);
  dataset = nested.make(pipeline, arguments);
  index = at;
  stage = reader.iterate(dataset, index);
}

void OpenDataset::close() {
  stage.reset();
  dataset.reset();
  arguments.clear();
}

void OpenDataset::save(StateWriter& to) const {
  to.number(stage != nullptr);
  if (!stage) return;
  to.number(index);
  to.element(arguments);
  stage->save(to);
}

void OpenDataset::restore(Pipeline& pipeline, const Stage& reader, const Nested& nested,
                          StateReader& from) {
  close();
  if (from.number() == 0) return;
  const int64_t at = from.number();
  open(pipeline, reader, nested, from.element(nested.takes), at);
  stage->restore(from);
}

namespace {

class FlatMap : public Transformed<FlatMap> {
 public:
  FlatMap(Spec s, DatasetRef in, Nested nested)
      : Transformed(std::move(s), std::move(in)), nested(std::move(nested)) {}
  const Nested nested;

  struct Iterating : Over {
    Iterating(Pipeline& p, const FlatMap& m) : Over(p, m.input), map(m) {}
    bool next(Element* element) override {
      for (;;) {
        pipeline_.poll();
        if (!open_.stage) {
          Element arguments;
          if (!input_->next(&arguments)) return false;
          open_.open(pipeline_, *this, map.nested, std::move(arguments), made_++);
        }
        if (open_.stage->next(element)) return true;
        open_.close();
      }
    }
    void save(StateWriter& to) override {
      to.text("flat map");
      to.number(made_);
      open_.save(to);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("flat map");
      made_ = from.number(0, INT64_MAX);
      open_.restore(pipeline_, *this, map.nested, from);
      input_->restore(from);
    }
    const FlatMap& map;
    OpenDataset open_;
    int64_t made_ = 0;
  };
};

DatasetRef make_flat_map(const Arguments& arguments) {
  DatasetRef input = arguments.dataset(0);
  Nested nested = Nested::of(arguments, "f", 1, input->spec);
  return std::make_shared<FlatMap>(arguments.spec(), std::move(input), std::move(nested));
}

// ---- interleave ---------------------------------------------------------------------------------

class Interleave : public Transformed<Interleave> {
 public:
  Interleave(Spec s, DatasetRef in, Nested nested, Cycle::Sizes sizes)
      : Transformed(std::move(s), std::move(in)), nested(std::move(nested)), sizes(sizes) {}
  const Nested nested;
  const Cycle::Sizes sizes;

  struct Iterating : Over {
    Iterating(Pipeline& p, const Interleave& i) : Over(p, i.input), interleave(i), at_(i.sizes) {}
    bool next(Element* element) override {
      while (!ended_ || n_open_ > 0) {
        pipeline_.poll();
        if (ended_ && at_.slot() >= int64_t(open_.size())) at_.restart();
        OpenDataset& open = slot(at_.slot());
        if (open.stage) {
          if (open.stage->next(element)) {
            at_.advance();
            return true;
          }
          open.close();
          --n_open_;
          at_.next_slot();
        } else if (!ended_) {
          Element arguments;
          if (!input_->next(&arguments)) {
            ended_ = true;
            continue;
          }
          open.open(pipeline_, *this, interleave.nested, std::move(arguments), at_.slot());
          ++n_open_;
        } else {
          at_.next_slot();
        }
      }
      return false;
    }
    void save(StateWriter& to) override {
      to.text("interleave");
      to.number(ended_);
      at_.save(to);
      to.number(int64_t(open_.size()));
      for (const OpenDataset& open : open_) open.save(to);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("interleave");
      ended_ = from.number() != 0;
      at_.restore(from);
      open_.clear();
      n_open_ = 0;
      const int64_t n = from.number(0, interleave.sizes.cycle);
      for (int64_t i = 0; i < n; ++i) {
        slot(i).restore(pipeline_, *this, interleave.nested, from);
        n_open_ += slot(i).stage != nullptr;
      }
      input_->restore(from);
    }
    // Slots are made as they are reached: a cycle may be long.
    OpenDataset& slot(int64_t i) {
      if (size_t(i) >= open_.size()) open_.resize(size_t(i) + 1);
      return open_[size_t(i)];
    }
    const Interleave& interleave;
    Cycle at_;
    std::vector<OpenDataset> open_;
    int64_t n_open_ = 0;
    bool ended_ = false;
  };
};

DatasetRef make_interleave(const Arguments& arguments) {
  DatasetRef input = arguments.dataset(0);
  Nested nested = Nested::of(arguments, "f", 1, input->spec);
  return std::make_shared<Interleave>(arguments.spec(), std::move(input), std::move(nested),
                                      Cycle::sizes_of(arguments));
}

}  // namespace

Cycle::Sizes Cycle::sizes_of(const Arguments& arguments) {
  int64_t cycle = arguments.integer(2, "cycle_length");
  const int64_t block = arguments.integer(3, "block_length");
  if (cycle == -1) cycle = 2;  // autotuning
  if (cycle <= 0) invalid("cycle_length must be greater than zero.");
  if (block <= 0) invalid("block_length must be greater than zero.");
  return {cycle, block};
}

HR_KERNELS = {
    dataset_kernel<make_flat_map>("FlatMapDataset"),
    dataset_kernel<make_interleave>("InterleaveDataset"),
};

}  // namespace hr::data
