// A thread that reads ahead of a stage.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "ops/datasets/dataset.hpp"
#include "ops/datasets/pipeline.hpp"

namespace hr::data {

// The elements of a stage, up to `most` of them read ahead on a thread, which starts with the first
// call. The functions lock the pipeline themselves, except where they say that it is locked.
class ReadAhead {
 public:
  // spec: of the elements; it outlives this. most: kAutomatic grows with need.
  ReadAhead(Pipeline& pipeline, std::unique_ptr<Stage> input, const Spec& spec, int64_t most);
  static constexpr int64_t kAutomatic = -1;
  ~ReadAhead();

  void start_reading();
  // Waits for an element. False: the end. Throws Failure.
  bool next(Element* element);
  // Whether something can be taken now; locked.
  bool has_any() const { return !held_.empty(); }
  bool ready(int64_t n);
  // The thread pauses meanwhile.
  void save(StateWriter& to);
  void restore(StateReader& from);

  // Called by the thread around each element that it reads; null: nothing. They bound how many
  // threads read at once.
  void (*before)(void*) = nullptr;
  void (*after)(void*) = nullptr;
  void* argument = nullptr;

 private:
  struct Item {
    bool end = false;
    Element element;
    Failure failure{HR_OK, ""};
    bool is_none() const { return end || failure.code != HR_OK; }
  };
  Pipeline& pipeline_;
  const std::unique_ptr<Stage> input_;
  const Spec& spec_;
  size_t most_;
  const bool grows_;
  bool was_full_ = false;  // since it grew
  bool reading_ = false;   // the thread uses the input
  std::deque<Item> held_;
  bool stopping_ = false, ended_ = false;  // the input is at its end
  bool no_memory_ = false;                 // to hold an element: the last one is lost
  int pauses_ = 0;
  Thread thread_;

  void start();
  void run() noexcept;
  void grow();
};

}  // namespace hr::data
