// Which elements of its inputs a dataset has: Repeat, Take, Skip, Shard, Concatenate, Zip.
#include <algorithm>

#include "ops/datasets/shuffle.hpp"
#include "ops/datasets/stages.hpp"

namespace hr::data {
namespace {

void save_optional(StateWriter& to, const std::unique_ptr<Stage>& stage) {
  to.number(stage != nullptr);
  if (stage) stage->save(to);
}

// ---- repeat -------------------------------------------------------------------------------------

class Repeat : public Transformed<Repeat> {
 public:
  Repeat(Spec s, DatasetRef in, int64_t count)
      : Transformed(std::move(s), std::move(in)), count(count) {}
  const Dataset* same_as() const override { return count == 1 ? input.get() : nullptr; }
  std::unique_ptr<Stage> iterate(Pipeline& pipeline) const override {
    if (next_place().fuses && count != 1) {
      const Dataset* shuffle = input.get();
      while (const Dataset* same = shuffle->same_as()) shuffle = same;
      if (auto fused = shuffle_and_repeat(pipeline, *shuffle, count)) return fused;
    }
    return Transformed::iterate(pipeline);
  }
  int64_t cardinality() const override { return rounds_of(input->cardinality(), count); }
  const int64_t count;  // negative: forever

  struct Iterating : Stage {
    Iterating(Pipeline& p, const Repeat& r) : Stage(p), repeat(r) {}
    bool ready(int64_t n) override {
      // What follows the end of the input is made anew, so only an input that never waits will do.
      return ended_ || (input_ ? input_->ready(kAll) : n > 0 && made()->ready(kAll));
    }
    bool next(Element* element) override {
      while (!ended_ && (repeat.count < 0 || round_ < repeat.count)) {
        pipeline_.poll();
        if (made()->next(element)) {
          first_ = false;
          return true;
        }
        input_.reset();
        // An empty input would repeat forever.
        ended_ = repeat.count < 0 && first_;
        first_ = true;
        ++round_;
        if (round_ == repeat.count) iterate(repeat.input);  // as in shuffle.cpp
      }
      return false;
    }
    void save(StateWriter& to) override {
      to.text("repeat");
      to.number(round_);
      to.number(first_);
      to.number(ended_);
      save_optional(to, input_);
    }
    void restore(StateReader& from) override {
      from.expect("repeat");
      round_ = from.number();
      first_ = from.number() != 0;
      ended_ = from.number() != 0;
      input_.reset();
      if (from.number() != 0) made()->restore(from);
    }

   private:
    const Repeat& repeat;
    std::unique_ptr<Stage> input_;
    int64_t round_ = 0;
    bool first_ = true, ended_ = false;  // no element of this round so far

    std::unique_ptr<Stage>& made() {
      if (!input_) input_ = iterate(repeat.input);
      return input_;
    }
  };
};

DatasetRef make_repeat(const Arguments& arguments) {
  return std::make_shared<Repeat>(arguments.spec_over(0), arguments.dataset(0),
                                  arguments.integer(1, "count"));
}

// ---- take and skip ------------------------------------------------------------------------------

class Take : public Transformed<Take> {
 public:
  Take(Spec s, DatasetRef in, int64_t count)
      : Transformed(std::move(s), std::move(in)), count(count) {}
  const Dataset* same_as() const override { return count < 0 ? input.get() : nullptr; }
  int64_t cardinality() const override {
    const int64_t n = input->cardinality();
    if (count < 0 || n == kUnknown) return n;
    return n == kInfinite ? count : std::min(n, count);
  }
  const int64_t count;  // negative: all

  struct Iterating : Over {
    Iterating(Pipeline& p, const Take& t) : Over(p, t.input), take(t) {}
    bool ready(int64_t n) override { return input_->ready(n); }
    bool next(Element* element) override {
      if (take.count >= 0 && at_ >= take.count) return false;
      if (!input_->next(element)) return false;
      ++at_;
      return true;
    }
    void save(StateWriter& to) override {
      to.text("take");
      to.number(at_);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("take");
      at_ = from.position();
      input_->restore(from);
    }
    const Take& take;
    int64_t at_ = 0;
  };
};

DatasetRef make_take(const Arguments& arguments) {
  return std::make_shared<Take>(arguments.spec_over(0), arguments.dataset(0),
                                arguments.integer(1, "count"));
}

class Skip : public Transformed<Skip> {
 public:
  Skip(Spec s, DatasetRef in, int64_t count)
      : Transformed(std::move(s), std::move(in)), count(count) {}
  const Dataset* same_as() const override { return count == 0 ? input.get() : nullptr; }
  int64_t cardinality() const override {
    const int64_t n = input->cardinality();
    if (n < 0) return n;
    return count < 0 ? 0 : std::max<int64_t>(0, n - count);
  }
  const int64_t count;  // negative: all

  struct Iterating : Over {
    Iterating(Pipeline& p, const Skip& s) : Over(p, s.input), skip(s) {}
    bool ready(int64_t n) override {
      const int64_t left = skip.count - at_;
      if (skip.count < 0) return true;
      return left < kManyAtOnce && input_->ready(left > 0 ? plus(n, left) : n);
    }
    bool next(Element* element) override {
      if (skip.count < 0) return false;
      for (; at_ < skip.count; ++at_) {
        pipeline_.poll();
        if (!input_->next(element)) return false;
      }
      return input_->next(element);
    }
    void save(StateWriter& to) override {
      to.text("skip");
      to.number(at_);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("skip");
      at_ = from.position();
      input_->restore(from);
    }
    const Skip& skip;
    int64_t at_ = 0;
  };
};

DatasetRef make_skip(const Arguments& arguments) {
  return std::make_shared<Skip>(arguments.spec_over(0), arguments.dataset(0),
                                arguments.integer(1, "count"));
}

// ---- shard --------------------------------------------------------------------------------------

class Shard : public Transformed<Shard> {
 public:
  Shard(Spec s, DatasetRef in, int64_t n, int64_t index, bool not_empty)
      : Transformed(std::move(s), std::move(in)), n(n), index(index), not_empty(not_empty) {}
  int64_t cardinality() const override {
    const int64_t all = input->cardinality();
    return all < 0 ? all : all / n + (index < all % n ? 1 : 0);
  }
  const int64_t n, index;
  const bool not_empty;

  struct Iterating : Over {
    Iterating(Pipeline& p, const Shard& s) : Over(p, s.input), shard(s) {}
    bool ready(int64_t n) override {
      return shard.n < kManyAtOnce && input_->ready(times(plus(n, 1), shard.n));
    }
    bool next(Element* element) override {
      for (;;) {
        pipeline_.poll();
        if (!input_->next(element)) {
          if (shard.not_empty && at_ < shard.n && at_ <= shard.index)
            invalid(
                "There aren't enough elements in this dataset for each shard to have at least "
                "one element (# elems = " +
                std::to_string(at_) + ", # shards = " + std::to_string(shard.n) +
                "). If you are using datasets with distribution strategy, considering setting "
                "the auto sharding policy to either DATA or OFF using the "
                "`experimental_distribute.auto_shard_policy` option of `tf.data.Options()`.");
          return false;
        }
        if (at_++ % shard.n == shard.index) return true;
      }
    }
    void save(StateWriter& to) override {
      to.text("shard");
      to.number(at_);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("shard");
      at_ = from.position();
      input_->restore(from);
    }
    const Shard& shard;
    int64_t at_ = 0;
  };
};

DatasetRef make_shard(const Arguments& arguments) {
  const int64_t n = arguments.integer(1, "num_shards"), index = arguments.integer(2, "index");
  if (n <= 0)
    invalid("Number of shards must be greater than zero (currently num_shards = " +
            std::to_string(n) + ").");
  if (index < 0 || index >= n)
    invalid("Index must be between 0 and " + std::to_string(n - 1) +
            " (currently index = " + std::to_string(index) + ").");
  return std::make_shared<Shard>(arguments.spec_over(0), arguments.dataset(0), n, index,
                                 hr_attr_bool(arguments.node, "require_non_empty", 0) != 0);
}

// ---- concatenate --------------------------------------------------------------------------------

class Concatenate : public Transformed<Concatenate> {
 public:
  Concatenate(Spec s, DatasetRef in, DatasetRef second)
      : Transformed(std::move(s), std::move(in)), second(std::move(second)) {}
  int64_t cardinality() const override {
    const int64_t one = input->cardinality(), two = second->cardinality();
    if (one == kInfinite || two == kInfinite) return kInfinite;
    return one == kUnknown || two == kUnknown ? kUnknown : plus(one, two);
  }
  const DatasetRef second;

  struct Iterating : Over {
    Iterating(Pipeline& p, const Concatenate& c) : Over(p, c.input), both(c) {}
    // Whether the second waits is not known before it begins.
    bool ready(int64_t n) override { return in_second_ && input_->ready(n); }
    bool next(Element* element) override {
      if (input_->next(element)) return true;
      if (in_second_) return false;
      in_second_ = true;
      input_ = iterate(both.second, 1);
      return input_->next(element);
    }
    void save(StateWriter& to) override {
      to.text("concatenate");
      to.number(in_second_);
      input_->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("concatenate");
      in_second_ = from.number() != 0;
      if (in_second_) input_ = iterate(both.second, 1);
      input_->restore(from);
    }

   private:
    const Concatenate& both;
    bool in_second_ = false;
  };
};

DatasetRef make_concatenate(const Arguments& arguments) {
  DatasetRef first = arguments.dataset(0), second = arguments.dataset(1);
  if (first->spec.types != second->spec.types)
    invalid("input dataset and dataset to concatenate have different output_types");
  return std::make_shared<Concatenate>(arguments.spec_over(0), std::move(first), std::move(second));
}

// ---- zip ----------------------------------------------------------------------------------------

class Zip : public Dataset {
 public:
  Zip(Spec s, std::vector<DatasetRef> in) : Dataset(std::move(s)), inputs(std::move(in)) {}
  std::unique_ptr<Stage> iterate(Pipeline& pipeline) const override {
    return std::make_unique<Iterating>(pipeline, *this);
  }
  int64_t cardinality() const override {
    int64_t least = kInfinite;
    for (const DatasetRef& input : inputs) {
      const int64_t n = input->cardinality();
      if (n == kUnknown) return kUnknown;
      if (n != kInfinite && (least == kInfinite || n < least)) least = n;
    }
    return least;
  }
  const std::vector<DatasetRef> inputs;

 private:
  struct Iterating : Stage {
    Iterating(Pipeline& p, const Zip& z) : Stage(p) {
      for (const DatasetRef& input : z.inputs)
        stages_.push_back(iterate(input, int64_t(stages_.size())));
    }
    bool ready(int64_t n) override {
      for (const auto& stage : stages_)
        if (!stage->ready(n)) return false;
      return true;
    }
    bool next(Element* element) override {
      element->clear();
      bool ended = false;
      Failure first{HR_OK, ""};
      // All inputs move on, also where one fails, so that they stay in step.
      for (const auto& stage : stages_) {
        Element part;
        try {
          if (!stage->next(&part)) {
            ended = true;
            break;
          }
        } catch (const Failure& failure) {
          if (first.code == HR_OK) first = failure;
          continue;
        }
        for (Tensor& t : part) element->push_back(std::move(t));
      }
      if (first.code != HR_OK) throw first;
      return !ended;
    }
    void save(StateWriter& to) override {
      to.text("zip");
      for (const auto& stage : stages_) stage->save(to);
    }
    void restore(StateReader& from) override {
      from.expect("zip");
      for (const auto& stage : stages_) stage->restore(from);
    }
    std::vector<std::unique_ptr<Stage>> stages_;
  };
};

DatasetRef make_zip(const Arguments& arguments) {
  int32_t first = 0, count = 0;
  arguments.node->api->input_range(arguments.node, 0, &first, &count);
  std::vector<DatasetRef> inputs;
  std::vector<hr_dtype> types;
  for (int32_t i = first; i < first + count; ++i) {
    inputs.push_back(dataset_in(arguments.input(i)));
    const std::vector<hr_dtype>& more = inputs.back()->spec.types;
    types.insert(types.end(), more.begin(), more.end());
  }
  return std::make_shared<Zip>(arguments.spec_over(types), std::move(inputs));
}

// ---- what only describes a dataset --------------------------------------------------------------

class Optimized : public Dataset {
 public:
  Optimized(Spec s, DatasetRef in) : Dataset(std::move(s)), input(std::move(in)) {}
  int64_t cardinality() const override { return input->cardinality(); }
  std::unique_ptr<Stage> iterate(Pipeline& pipeline) const override {
    next_place().fuses = true;
    return input->iterate(pipeline);
  }
  const DatasetRef input;
};

// Of TensorFlow's optimizations, only this one changes what a dataset gives: the order.
DatasetRef make_optimized(const Arguments& arguments) {
  for (const std::string& name : arguments.texts(1))
    if (name == "shuffle_and_repeat_fusion")
      return std::make_shared<Optimized>(arguments.spec(), arguments.dataset(0));
  return arguments.dataset(0);
}

DatasetRef make_same(const Arguments& arguments) { return arguments.dataset(0); }

}  // namespace

HR_KERNELS = {
    dataset_kernel<make_repeat>("RepeatDataset"),
    dataset_kernel<make_take>("TakeDataset"),
    dataset_kernel<make_skip>("SkipDataset"),
    dataset_kernel<make_shard>("ShardDataset"),
    dataset_kernel<make_concatenate>("ConcatenateDataset"),
    dataset_kernel<make_zip>("ZipDataset"),
    dataset_kernel<make_same>("OptionsDataset"),
    dataset_kernel<make_same>("ModelDataset"),
    dataset_kernel<make_optimized>("OptimizeDataset"),
    dataset_kernel<make_same>("MaxIntraOpParallelismDataset"),
    dataset_kernel<make_same>("ExperimentalMaxIntraOpParallelismDataset"),
    dataset_kernel<make_same>("PrivateThreadPoolDataset"),
    dataset_kernel<make_same>("ExperimentalPrivateThreadPoolDataset"),
};

}  // namespace hr::data
