// GeneratorDataset: functions begin, go on, and clean up, such as those of a Python generator.
#include "ops/datasets/stages.hpp"

namespace hr::data {
namespace {

class Generator : public Dataset {
 public:
  Generator(Spec s, Captured init, Captured next, Captured end)
      : Dataset(std::move(s)), init(std::move(init)), following(std::move(next)),
        end(std::move(end)) {}
  std::unique_ptr<Stage> iterate(Pipeline& pipeline) const override;
  const Captured init, following, end;
};

class Generating : public Stage {
 public:
  Generating(Pipeline& p, const Generator& g) : Stage(p), generator_(g) {}
  ~Generating() override { finalize_elsewhere(); }

  bool next(Element* element) override {
    if (ended_) return false;
    if (!begun_) {
      state_ = generator_.init(pipeline_, {});
      begun_ = true;
    }
    try {
      *element = generator_.following(pipeline_, state_);
      return true;
    } catch (const Failure& failure) {
      if (failure.code != HR_OUT_OF_RANGE) throw;
    }
    ended_ = true;
    Element state = std::exchange(state_, {});
    generator_.end(pipeline_, state);
    return false;
  }
  void save(StateWriter&) override {
    throw Failure{HR_UNIMPLEMENTED, "GeneratorDataset does not support checkpointing."};
  }
  void restore(StateReader&) override {
    throw Failure{HR_UNIMPLEMENTED, "GeneratorDataset does not support checkpointing."};
  }

 private:
  const Generator& generator_;
  Element state_;
  bool begun_ = false, ended_ = false;

  // An iterator that ends early still cleans up. Its own calls are cancelled by now, and this may
  // be a thread that the function waits for, so that a thread of another scope calls it.
  void finalize_elsewhere() noexcept {
    if (!begun_ || ended_) return;
    Failure ignored;
    failed(&ignored, [&] {
      Pipeline separate(ctx(), nullptr, nullptr, nullptr);
      struct Work {
        Pipeline& pipeline;
        const Generator& generator;
        const Element& state;
      } work{separate, generator_, state_};
      Thread thread;
      thread.start(
          separate.scope(),
          [](void* argument) {
            auto* work = static_cast<Work*>(argument);
            Failure ignored;
            failed(&ignored, [&] { work->generator.end(work->pipeline, work->state); });
          },
          &work);
      thread.join();
    });
  }
};

std::unique_ptr<Stage> Generator::iterate(Pipeline& pipeline) const {
  return std::make_unique<Generating>(pipeline, *this);
}

DatasetRef make(const Arguments& arguments) {
  Captured init = Captured::of(arguments, "init_func", 0, {});
  const hr_dtype* types = api()->functions->output_dtypes(init.function.get());
  const std::vector<hr_dtype> state(types, types + init.function.n_outputs());
  Captured next = Captured::of(arguments, "next_func", 1, state);
  Captured end = Captured::of(arguments, "finalize_func", 2, state);
  Spec spec = arguments.spec();
  check_results(next.function, spec.types);
  return std::make_shared<Generator>(std::move(spec), std::move(init), std::move(next),
                                     std::move(end));
}

}  // namespace

HR_KERNELS = {
    dataset_kernel<make>("GeneratorDataset"),
};

}  // namespace hr::data
