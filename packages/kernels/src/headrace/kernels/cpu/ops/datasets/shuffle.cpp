// ShuffleDataset and ShuffleAndRepeatDataset, in the order that TensorFlow has for equal seeds.
#include <deque>
#include <mutex>
#include <random>

#include "math/philox.hpp"
#include "ops/datasets/shuffle.hpp"
#include "ops/datasets/stages.hpp"

namespace hr::data {
namespace {

struct Seeds {
  int64_t seed, seed2;
};

// Gives each iteration of a dataset its seeds.
struct SeedGenerator {
  std::mutex lock;
  SinglePhilox numbers{Philox()};
  int64_t taken = -1;  // -1: not begun
};

class Shuffle : public Transformed<Shuffle> {
 public:
  Shuffle(Spec s, DatasetRef in, int64_t size, Seeds seeds, bool reshuffle, int64_t count)
      : Transformed(std::move(s), std::move(in)), size(size), count(count), seeds_(seeds),
        reshuffle_(reshuffle) {}
  int64_t cardinality() const override { return rounds_of(input->cardinality(), count); }
  const int64_t size, count;  // of the buffer; rounds, negative: forever

  bool reshuffles() const { return reshuffle_; }
  Seeds seeds() const { return seeds_; }
  // The seeds of a new iteration.
  Seeds next_seeds(SeedGenerator& generator) const {
    if (!reshuffle_) return seeds_;
    const std::lock_guard<std::mutex> hold(generator.lock);
    if (generator.taken < 0) begin(generator);
    ++generator.taken;
    const int64_t seed = generator.numbers(), seed2 = generator.numbers();
    return {seed, seed2};
  }
  int64_t taken(SeedGenerator& generator) const {
    const std::lock_guard<std::mutex> hold(generator.lock);
    return generator.taken;
  }
  // After a restore: the seeds that follow are those that followed the saved iteration.
  void set_taken(SeedGenerator& generator, int64_t taken) const {
    const std::lock_guard<std::mutex> hold(generator.lock);
    begin(generator);
    generator.numbers.skip(2 * uint64_t(taken));
    generator.taken = taken;
  }

  class Iterating;

 private:
  const Seeds seeds_;
  const bool reshuffle_;

  void begin(SeedGenerator& generator) const {
    generator.numbers = SinglePhilox(Philox(uint64_t(seeds_.seed), uint64_t(seeds_.seed2)));
    generator.taken = 0;
  }
};

class Shuffle::Iterating : public Stage {
 public:
  Iterating(Pipeline& p, const Shuffle& s) : Iterating(p, s, s.count, s.count != 1) {}
  // one_sequence: the rounds continue one sequence of random numbers, that of the dataset's seeds,
  // as shuffle_and_repeat does in TensorFlow 1.15. Otherwise each iteration has seeds of its own.
  Iterating(Pipeline& p, const Shuffle& s, int64_t count, bool one_sequence)
      : Stage(p), shuffle_(s), count_(count), one_sequence_(one_sequence && s.reshuffles()),
        generator_(p.shared<SeedGenerator>(place_)) {
    use(one_sequence_ ? s.seeds() : s.next_seeds(*generator_));
  }

  bool ready(int64_t n) override {
    const int64_t missing = ended_ ? 0 : shuffle_.size - held_;
    if (missing > kManyAtOnce) return false;
    if (!input_) return missing == 0 || slices_.empty() && starts_ready();
    // The input of the next round is made anew, so only one that never waits will do.
    return input_->ready(count_ == 1 ? plus(n, missing) : kAll);
  }

  bool next(Element* element) override {
    fill();
    if (held_ == 0) return false;
    while (slices_.front().begin == slices_.front().end) {
      slices_.pop_front();
      if (!one_sequence_) use(shuffle_.next_seeds(*generator_));  // of the next round
    }
    // Rounds are not mixed: all elements of the first come before those of the second.
    Slice& slice = slices_.front();
    const int64_t offset = int64_t(random()) % (slice.end - slice.begin);
    Element& chosen = at(slice.begin + offset);
    *element = std::move(chosen);
    if (offset) chosen = std::move(at(slice.begin));
    ++slice.begin;
    --held_;
    return true;
  }

  void save(StateWriter& to) override {
    to.text("shuffle");
    to.number(seeds_.seed);
    to.number(seeds_.seed2);
    to.number(drawn_);
    to.number(shuffle_.taken(*generator_));
    to.number(round_);
    to.number(ended_);
    to.number(any_);
    to.number(int64_t(slices_.size()));
    for (const Slice& slice : slices_) {
      to.number(slice.begin);
      to.number(slice.end);
      for (int64_t i = slice.begin; i < slice.end; ++i) to.element(at(i));
    }
    to.number(input_ != nullptr);
    if (input_) input_->save(to);
  }

  void restore(StateReader& from) override {
    from.expect("shuffle");
    const int64_t seed = from.number(), seed2 = from.number();
    use({seed, seed2});
    drawn_ = from.position();
    numbers_.skip(uint64_t(drawn_));
    if (const int64_t taken = from.number(-1, INT64_MAX / 2); taken >= 0)
      shuffle_.set_taken(*generator_, taken);
    round_ = from.number();
    ended_ = from.number() != 0;
    any_ = from.number() != 0;
    slices_.clear();
    held_ = 0;
    for (int64_t n = from.number(0, 1 << 30); n > 0; --n) {
      Slice slice;
      // Slices follow each other, and their elements fit the buffer together.
      slice.begin = slices_.empty() ? from.number(0, INT64_MAX)
                                    : from.number(slices_.back().end, slices_.back().end);
      slice.end = from.number(slice.begin, plus(slice.begin, shuffle_.size - held_));
      slices_.push_back(slice);
      for (int64_t i = slice.begin; i < slice.end; ++i, ++held_)
        at(i) = from.element(shuffle_.input->spec);
    }
    input_.reset();
    if (from.number() != 0) {
      input_ = iterate(shuffle_.input);
      input_->restore(from);
    }
  }

 private:
  struct Slice {  // the elements of one round, by number
    int64_t begin = 0, end = 0;
  };
  const Shuffle& shuffle_;
  const int64_t count_;
  const bool one_sequence_;
  const std::shared_ptr<SeedGenerator> generator_;
  Seeds seeds_{};
  SinglePhilox numbers_{Philox()};
  int64_t drawn_ = 0;
  std::unique_ptr<Stage> input_;
  std::vector<Element> buffer_;  // element i at i % size; it grows as it is filled
  std::deque<Slice> slices_;
  int64_t held_ = 0, round_ = 0;
  bool ended_ = false, any_ = false;  // the input had an element in this round

  void use(Seeds seeds) {
    seeds_ = seeds;
    numbers_ = SinglePhilox(Philox(uint64_t(seeds.seed), uint64_t(seeds.seed2)));
    drawn_ = 0;
  }
  uint32_t random() {
    ++drawn_;
    return numbers_();
  }
  bool starts_ready() {
    input_ = iterate(shuffle_.input);
    slices_.push_back(Slice());
    return input_->ready(count_ == 1 ? plus(1, shuffle_.size) : kAll);
  }
  Element& at(int64_t i) {
    const size_t place = size_t(i % shuffle_.size);
    if (place >= buffer_.size()) buffer_.resize(place + 1);
    return buffer_[place];
  }

  void fill() {
    while (!ended_ && held_ < shuffle_.size) {
      pipeline_.poll();
      if (!input_) {
        if (count_ >= 0 && round_ >= count_) {
          ended_ = true;
          return;
        }
        input_ = iterate(shuffle_.input);
        const int64_t end = slices_.empty() ? 0 : slices_.back().end;
        slices_.push_back({end, end});
        any_ = false;
      }
      Element element;
      if (input_->next(&element)) {
        at(slices_.back().end) = std::move(element);
        ++slices_.back().end;
        ++held_;
        any_ = true;
        continue;
      }
      input_.reset();
      ++round_;
      // TensorFlow 1.15 begins the input once more, also after the last round. It reads nothing
      // then, but shuffles of the input take their next seeds.
      if (round_ == count_) iterate(shuffle_.input);
      // An empty input would repeat forever.
      if (count_ < 0 && !any_) ended_ = true;
    }
  }
};

void check_count(int64_t count) {
  if (count == 0 || count < -1) invalid("count must be greater than zero or equal to -1.");
}

DatasetRef make(const Arguments& arguments, int64_t count) {
  const int64_t size = arguments.integer(1, "buffer_size");
  Seeds seeds{arguments.integer(2, "seed"), arguments.integer(3, "seed2")};
  if (size <= 0 && size != -1)
    invalid("buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
  if (seeds.seed == 0 && seeds.seed2 == 0) {
    std::random_device device;
    seeds = {int64_t(uint64_t(device()) << 32 | device()),
             int64_t(uint64_t(device()) << 32 | device())};
  }
  return std::make_shared<Shuffle>(
      arguments.spec_over(0), arguments.dataset(0), size == -1 ? kAll : size, seeds,
      hr_attr_bool(arguments.node, "reshuffle_each_iteration", 1) != 0, count);
}

}  // namespace

std::unique_ptr<Stage> shuffle_and_repeat(Pipeline& pipeline, const Dataset& input, int64_t count) {
  const auto* shuffle = dynamic_cast<const Shuffle*>(&input);
  if (!shuffle || shuffle->count != 1 || !shuffle->reshuffles()) return nullptr;
  check_count(count);
  return std::make_unique<Shuffle::Iterating>(pipeline, *shuffle, count, true);
}

namespace {

DatasetRef make_shuffle(const Arguments& arguments) { return make(arguments, 1); }

DatasetRef make_shuffle_and_repeat(const Arguments& arguments) {
  const int64_t count = arguments.integer(4, "count");
  check_count(count);
  return make(arguments, count);
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make_shuffle>("ShuffleDataset"),
    dataset_kernel<make_shuffle_and_repeat>("ShuffleAndRepeatDataset"),
};

}  // namespace hr::data
