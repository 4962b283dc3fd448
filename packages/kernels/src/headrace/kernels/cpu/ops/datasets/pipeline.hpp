// A pipeline of stages, each of which pulls elements from those before it.
//
// A stage may wait (for a function, for a thread of a later stage): it does so on a thread of the
// iterator, never on one of a step (server.hpp).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ops/datasets/state.hpp"
#include "ops/datasets/tensor.hpp"
#include "processor/parallel.hpp"

namespace hr::data {

class Dataset;
class Stage;
using DatasetRef = std::shared_ptr<const Dataset>;

// Any number of elements, for Stage::ready.
constexpr int64_t kAll = INT64_MAX;

// How many calls or readers autotuning stands for: one a core that the process may use, and some
// where calls wait for files.
int64_t automatic_parallelism();

// A handle of a function of the graph.
class Function {
 public:
  Function() = default;
  explicit Function(hr_function* counted) : f_(counted) {}
  Function(Function&& other) noexcept : f_(std::exchange(other.f_, nullptr)) {}
  Function& operator=(Function&& other) noexcept {
    std::swap(f_, other.f_);
    return *this;
  }
  ~Function() {
    if (f_) api()->functions->release(f_);
  }
  hr_function* get() const { return f_; }
  bool waits() const { return api()->functions->waits(f_) != 0; }
  int32_t n_outputs() const { return api()->functions->n_outputs(f_); }
  std::string name() const { return api()->functions->name(f_); }

 private:
  hr_function* f_ = nullptr;
};

// What the threads of a pipeline wait on; calls in progress may outlive the pipeline.
struct Monitor {
  std::mutex lock;
  std::condition_variable changed;
};

// Takes what stages measure.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void record(const std::string& name, double value) const = 0;
};

// Where a stage lies in its pipeline. Iterations of one dataset, and of the datasets that a
// function makes one after the other for one slot of an interleave, lie at one place; so do
// TensorFlow's iterators of one prefix.
struct Place {
  uint64_t number = 0;
  bool fuses = false;  // shuffle().repeat() is shuffle_and_repeat(), as OptimizeDataset asks

  Place input(int64_t index) const {
    uint64_t mixed = number * 0x9E3779B97F4A7C15 + uint64_t(index) + 1;
    mixed = (mixed ^ mixed >> 31) * 0xBF58476D1CE4E5B9;
    return {mixed ^ mixed >> 29, fuses};
  }
};

// The place of the stage that this thread makes next.
Place& next_place();

// What the stages of one pipeline share: its scope, and what its threads wait on.
class Pipeline {
 public:
  // object: the iterator; null for a pipeline within one step. Throws Failure.
  Pipeline(hr_ctx* ctx, hr_object* object, void (*on_end)(void*), void* argument);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;

  hr_scope* scope() const { return scope_; }
  hr_ctx* ctx() const { return ctx_; }  // of the scope: cancelled with it
  Stage& root() { return *root_; }
  const Dataset& dataset() const { return *dataset_; }
  bool has_root() const { return root_ != nullptr; }
  void start(const DatasetRef& dataset);
  void restart();  // from the beginning

  // Cancels its calls and wakes its threads. Does not wait.
  void stop();
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  // Throws Failure once the pipeline has stopped, or the step of this thread was cancelled.
  void poll() const;

  std::atomic<const Recorder*> recorder{nullptr};  // null: nothing is measured

  // What the stages of one place share; T is made at the first call.
  template <class T> std::shared_ptr<T> shared(const Place& place) {
    const std::lock_guard<std::mutex> hold(shared_lock_);
    std::shared_ptr<void>& found = shared_[place.number];
    if (!found) found = std::make_shared<T>();
    return std::static_pointer_cast<T>(found);
  }

  // Of all that its threads wait for; there are few of them.
  const std::shared_ptr<Monitor> monitor = std::make_shared<Monitor>();
  std::mutex& lock = monitor->lock;
  std::condition_variable& changed = monitor->changed;
  // Waits for a condition; throws Failure once the pipeline has stopped.
  template <class Condition> void wait(std::unique_lock<std::mutex>& hold, const Condition& is) {
    changed.wait(hold, [&] { return stopped() || is(); });
    if (!is()) throw_stopped();
  }

 private:
  hr_scope* scope_ = nullptr;
  hr_ctx* ctx_ = nullptr;
  std::atomic<bool> stopped_{false};
  DatasetRef dataset_;
  std::mutex shared_lock_;
  std::map<uint64_t, std::shared_ptr<void>> shared_;
  std::unique_ptr<Stage> root_;

  [[noreturn]] void throw_stopped() const;
};

// While it lives, this thread serves the step of ctx, whose cancellation `poll` sees. Threads of
// stages, which poll at the same time, must not see it.
class OnThreadOfStep {
 public:
  explicit OnThreadOfStep(const hr_ctx* ctx);
  ~OnThreadOfStep();
  OnThreadOfStep(const OnThreadOfStep&) = delete;

 private:
  const hr_ctx* const before_;
};

// One stage, for one iteration of a dataset.
class Stage {
 public:
  explicit Stage(Pipeline& pipeline);
  virtual ~Stage() = default;
  Stage(const Stage&) = delete;

  // False: at the end, then and later. Throws Failure; the next call goes on behind the element.
  virtual bool next(Element* element) = 0;
  // Whether the next n calls neither wait nor take long; kAll: no call ever does.
  virtual bool ready(int64_t) { return false; }
  // The position, with what the stage holds. `restore` follows construction.
  virtual void save(StateWriter& to) = 0;
  virtual void restore(StateReader& from) = 0;
  // Begins to read an input. `index`: of the input, or of the slot of a dataset made by a function.
  std::unique_ptr<Stage> iterate(const DatasetRef& input, int64_t index = 0) const;

 protected:
  Pipeline& pipeline_;
  Place place_;
  hr_ctx* ctx() const { return pipeline_.ctx(); }
};

// A call whose outputs belong to it; it lives until it is over, whatever becomes of the caller.
class Call : public std::enable_shared_from_this<Call> {
 public:
  explicit Call(Pipeline& pipeline) : monitor_(pipeline.monitor), scope_(pipeline.scope()) {}

  // flags: of hr_function_api.call.
  void start(const Function& function, const Element& arguments, const Element& captured,
             uint32_t flags);
  bool is_done() const { return done_.load(std::memory_order_acquire); }
  // Throws the Failure of the call. Requires that it is done.
  Element results();
  hr_code code = HR_OK;
  std::string message;

 private:
  const std::shared_ptr<Monitor> monitor_;
  hr_scope* const scope_;
  Element inputs_, outputs_;
  std::vector<const hr_tensor*> in_;
  std::vector<hr_tensor*> out_;
  std::shared_ptr<Call> self_;  // until it is over
  std::atomic<bool> done_{false};

  static void on_done(void* argument, hr_code code, const char* message);
};

// Calls a function and waits for its results. Throws the Failure of the call.
Element call(Pipeline& pipeline, const Function& function, const Element& arguments,
             const Element& captured);

// A thread of a stage.
class Thread {
 public:
  Thread() = default;
  Thread(const Thread&) = delete;
  ~Thread() { join(); }
  // body(argument) must not throw. Throws Failure if the system has no thread.
  void start(hr_scope* scope, void (*body)(void*), void* argument);
  bool started() const { return thread_ != nullptr; }
  void join();

 private:
  hr_thread* thread_ = nullptr;
};

// Runs body and makes a Failure of whatever it throws. Returns whether it threw.
template <class Body> bool failed(Failure* failure, const Body& body) noexcept {
  try {
    try {
      body();
      return false;
    } catch (const Failure& thrown) { *failure = thrown; } catch (const Cancelled&) {
      *failure = Failure{HR_CANCELLED, "the operation was cancelled"};
    } catch (const std::bad_alloc&) {
      *failure = Failure{HR_RESOURCE_EXHAUSTED, "out of memory"};
    } catch (const std::exception& error) { *failure = Failure{HR_INTERNAL, error.what()}; }
  } catch (...) {  // no memory for the text
    failure->code = HR_RESOURCE_EXHAUSTED;
    failure->text.clear();
  }
  return true;
}

}  // namespace hr::data
