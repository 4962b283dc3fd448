// RandomDataset: int64 numbers of 32 random bits, without end.
#include <random>

#include "math/philox.hpp"
#include "ops/datasets/dataset.hpp"

namespace hr::data {
namespace {

class Random : public Dataset {
 public:
  Random(Spec s, int64_t seed, int64_t seed2)
      : Dataset(std::move(s)), seed(uint64_t(seed)), seed2(uint64_t(seed2)) {}
  std::unique_ptr<Stage> iterate(Pipeline& pipeline) const override {
    return std::make_unique<Iterating>(pipeline, *this);
  }
  int64_t cardinality() const override { return kInfinite; }
  const uint64_t seed, seed2;

 private:
  struct Iterating : Stage {
    Iterating(Pipeline& p, const Random& r)
        : Stage(p), random(r), numbers_(Philox(r.seed, r.seed2)) {}
    bool ready(int64_t) override { return true; }
    bool next(Element* element) override {
      element->clear();
      element->push_back(int_tensor(ctx(), numbers_()));
      ++drawn_;
      return true;
    }
    void save(StateWriter& to) override {
      to.text("random");
      to.number(drawn_);
    }
    void restore(StateReader& from) override {
      from.expect("random");
      numbers_ = SinglePhilox(Philox(random.seed, random.seed2));
      drawn_ = from.position();
      numbers_.skip(uint64_t(drawn_));
    }

   private:
    const Random& random;
    SinglePhilox numbers_;
    int64_t drawn_ = 0;
  };
};

DatasetRef make(const Arguments& arguments) {
  int64_t seed = arguments.integer(0, "seed"), seed2 = arguments.integer(1, "seed2");
  if (seed == 0 && seed2 == 0) {
    std::random_device device;
    seed = int64_t(uint64_t(device()) << 32 | device());
    seed2 = int64_t(uint64_t(device()) << 32 | device());
  }
  return std::make_shared<Random>(arguments.spec_over(std::vector<hr_dtype>{HR_INT64}), seed,
                                  seed2);
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make>("RandomDataset"),
    dataset_kernel<make>("ExperimentalRandomDataset"),
};

}  // namespace hr::data
