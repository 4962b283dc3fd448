// Queues whose blocked operations hold no thread (white paper §4.6): a waiting enqueue or dequeue
// is a record in the queue. The operation that makes it possible completes it.
#pragma once
#include <algorithm>
#include <cstring>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "memory/dtype_names.hpp"
#include "state/run.hpp"
#include "state/slot.hpp"

namespace headrace {

// One element: a tensor per component.
struct Element {
  std::vector<OwnedTensor> parts;
  uint64_t number = 0;   // in the order of enqueuing
  int64_t priority = 0;  // of a priority queue
};

// Elements and waiters move between lists without allocating memory, so that only their creation
// can fail and none is lost.
using Elements = std::list<Element>;

enum class QueueOrder { kFirst, kRandom, kLeast };

struct QueueSpec {
  QueueOrder order = QueueOrder::kFirst;
  int64_t capacity = -1;  // below 0: unbounded
  int64_t min_after_dequeue = 0;
  uint64_t seed = 0;
  bool padding = false;
  std::vector<hr_dtype> types;
  std::vector<int32_t> ranks;  // declared shapes; -1: any. Empty: none declared
  std::vector<std::vector<int64_t>> dims;
  std::string name;

  // Whether it has a shape for each component, or none at all if that is allowed.
  bool shapes_fit() const {
    if (ranks.empty()) return !padding && order != QueueOrder::kLeast;
    return ranks.size() == types.size();
  }

  // The error of dequeuing batches from a queue without declared shapes.
  std::string lack_of_shapes() const {
    const char* kind = order == QueueOrder::kRandom  ? "RandomShuffleQueue"
                       : order == QueueOrder::kLeast ? "PriorityQueue"
                                                     : "FIFOQueue";
    return std::string(kind) +
           "'s DequeueMany and DequeueUpTo require the components to have "
           "specified shapes.";
  }

  std::string types_text() const {
    std::string text = "[";
    for (size_t i = 0; i < types.size(); ++i)
      text += std::string(i ? ", " : "") + dtype_name(types[i]);
    return text + "]";
  }
};

// The elements of a queue in the order in which they are dequeued; every operation is O(1), or
// O(log n) for a priority queue.
class QueueItems {
 public:
  explicit QueueItems(const QueueSpec* spec) : spec_(spec) {}

  int64_t size() const { return static_cast<int64_t>(in_order() ? first_.size() : others_.size()); }

  // Reserves room for n more elements; push and put_back require it.
  bool reserve(size_t n) noexcept {
    if (in_order() || others_.capacity() - others_.size() >= n) return true;
    try {
      others_.reserve(std::max(others_.size() + n, 2 * others_.capacity()));
    } catch (const std::bad_alloc&) { return false; }
    return true;
  }
  // Takes the first of `from`.
  void push(Elements& from) {
    Element& element = from.front();
    element.number = next_++;
    // Enqueuing has checked that the first component is one int64.
    if (spec_->order == QueueOrder::kLeast)
      element.priority = *static_cast<const int64_t*>(element.parts[0].get()->data);
    insert(from, from.begin(), first_.end());
  }
  // Reverts the last take.
  void put_back(Elements& from) { insert(from, std::prev(from.end()), first_.begin()); }
  // Appends the next one to `to`.
  void take(Elements& to) {
    if (in_order()) return to.splice(to.end(), first_, first_.begin());
    if (spec_->order == QueueOrder::kLeast) {
      std::pop_heap(others_.begin(), others_.end(), later);
    } else {
      if (!seeded_) {
        random_.seed(spec_->seed ? spec_->seed : std::random_device{}());
        seeded_ = true;
      }
      std::swap(others_[random_() % others_.size()], others_.back());
    }
    to.splice(to.end(), others_.back());
    others_.pop_back();
  }

 private:
  const QueueSpec* spec_;
  Elements first_;                // of kFirst
  std::vector<Elements> others_;  // one each; a heap for kLeast
  uint64_t next_ = 0;
  std::mt19937_64 random_{1};
  bool seeded_ = false;

  bool in_order() const { return spec_->order == QueueOrder::kFirst; }
  void insert(Elements& from, Elements::iterator which, Elements::iterator before) {
    if (in_order()) return first_.splice(before, from, which);
    others_.emplace_back();
    others_.back().splice(others_.back().end(), from, which);
    if (spec_->order == QueueOrder::kLeast) std::push_heap(others_.begin(), others_.end(), later);
  }
  static bool later(const Elements& a, const Elements& b) {
    const Element &one = a.front(), &other = b.front();
    return one.priority != other.priority ? one.priority > other.priority
                                          : one.number > other.number;
  }
};

struct Waiter {
  enum Kind { kEnqueue, kDequeue } kind;
  hr_ctx* ctx;
  hr_done done;
  void* argument;
  Elements elements;      // to enqueue, or dequeued so far
  int64_t requested = 0;  // of a dequeue
  bool many = false;      // returns a batch
  bool up_to = false;     // accepts fewer elements once the queue is closed
  hr_tensor* const* outputs = nullptr;
  int32_t n_outputs = 0;
  uint64_t token = 0;
  class Queue* queue = nullptr;
  ObjectRef held;  // a reference to the queue
  hr_code code = HR_OK;
  std::string message;
};

class Queue {
 public:
  using WaiterPtr = std::unique_ptr<Waiter>;
  using Waiters = std::list<WaiterPtr>;

  hr_object object;  // first; kind "Queue"
  QueueSpec spec;
  // Makes the batch (or the one element) that a dequeue returns; takes its elements.
  hr_code (*complete_dequeue)(Waiter*) = nullptr;

  // A list of one new waiter, for `add`. Throws bad_alloc.
  static Waiters new_waiter() {
    Waiters one;
    one.push_back(std::make_unique<Waiter>());
    return one;
  }

  // The queue owns the waiter from now on.
  void add(Waiters one) {
    Waiter* waiter = one.front().get();
    Waiters finished;
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (waiter->kind == Waiter::kEnqueue && closed_) {
        fail(waiter, HR_CANCELLED, [&] { return "queue '" + spec.name + "' is closed."; });
        finished.splice(finished.end(), one);
      } else if (hr_cancelled(waiter->ctx)) {
        // `cancel` may have run before, when the waiter was in no list, and does not run again.
        fail_cancelled(waiter);
        finished.splice(finished.end(), one);
      } else {
        Waiters& list = list_of(waiter);
        list.splice(list.end(), one);
        settle(&finished);
      }
    }
    finish(finished);
  }

  void close(bool cancel_pending) {
    Waiters finished;
    {
      std::lock_guard<std::mutex> hold(lock_);
      closed_ = true;
      if (cancel_pending) {
        for (WaiterPtr& w : enqueues_)
          fail(w.get(), HR_CANCELLED,
               [&] { return "queue '" + spec.name + "' was closed with this enqueue pending."; });
        finished.splice(finished.end(), enqueues_);
      }
      settle(&finished);
    }
    finish(finished);
  }

  // The step of that waiter was cancelled.
  void cancel(Waiter* waiter) {
    Waiters finished;
    {
      std::lock_guard<std::mutex> hold(lock_);
      auto& list = list_of(waiter);
      auto found = std::find_if(list.begin(), list.end(),
                                [waiter](const WaiterPtr& w) { return w.get() == waiter; });
      if (found == list.end()) return;  // already finished
      finished.splice(finished.end(), list, found);
      if (waiter->kind == Waiter::kDequeue) put_back(waiter);
      fail_cancelled(waiter);
      settle(&finished);
    }
    finish(finished);
  }

  int64_t size() {
    std::lock_guard<std::mutex> hold(lock_);
    return items_.size();
  }
  bool closed() {
    std::lock_guard<std::mutex> hold(lock_);
    return closed_;
  }

 private:
  std::mutex lock_;
  QueueItems items_{&spec};
  Waiters enqueues_, dequeues_;
  size_t taken_ = 0;  // elements taken by dequeues in progress
  bool closed_ = false;

  Waiters& list_of(const Waiter* w) { return w->kind == Waiter::kEnqueue ? enqueues_ : dequeues_; }

  // Without memory for the text, only the code is reported.
  template <class Text>
  static void fail(Waiter* w, hr_code code, const Text& text) noexcept {
    w->code = code;
    try {
      w->message = text();
    } catch (const std::bad_alloc&) { w->message.clear(); }
  }

  void fail_cancelled(Waiter* w) {
    fail(w, HR_CANCELLED,
         [&] { return "the step was cancelled while it waited for queue '" + spec.name + "'"; });
  }

  void put_back(Waiter* w) {
    taken_ -= w->elements.size();
    while (!w->elements.empty()) items_.put_back(w->elements);
  }

  bool full() const { return spec.capacity >= 0 && items_.size() >= spec.capacity; }

  bool may_take() const {
    return items_.size() > (closed_ ? 0 : std::max<int64_t>(spec.min_after_dequeue, 0));
  }

  // Moves as many elements as possible; completed waiters leave their list.
  void settle(Waiters* finished) {
    for (bool moved = true; moved;) {
      moved = settle_enqueues(finished);
      moved = settle_dequeues(finished) || moved;
    }
  }

  bool settle_enqueues(Waiters* finished) {
    bool moved = false;
    while (!enqueues_.empty() && !full()) {
      Waiter* w = enqueues_.front().get();
      while (!w->elements.empty() && !full()) {
        if (!items_.reserve(taken_ + 1)) {  // dequeues may put back what they have taken
          fail(w, HR_RESOURCE_EXHAUSTED,
               [&] { return "no memory for an element of queue '" + spec.name + "'"; });
          w->elements.clear();
          break;
        }
        items_.push(w->elements);
      }
      moved = true;
      if (!w->elements.empty()) break;
      finished->splice(finished->end(), enqueues_, enqueues_.begin());
    }
    return moved;
  }

  bool settle_dequeues(Waiters* finished) {
    bool moved = false;
    while (!dequeues_.empty()) {
      Waiter* w = dequeues_.front().get();
      while (static_cast<int64_t>(w->elements.size()) < w->requested && may_take()) {
        items_.take(w->elements);
        ++taken_;
        moved = true;
      }
      const int64_t have = static_cast<int64_t>(w->elements.size());
      if (have < w->requested) {
        // Pending enqueues still complete: they were started before the queue was closed.
        if (!closed_ || !enqueues_.empty()) break;
        if (!w->up_to || have == 0) {
          fail(w, HR_OUT_OF_RANGE, [&] {
            return "queue '" + spec.name + "' is closed and has insufficient elements (requested " +
                   std::to_string(w->requested) + ", current size " + std::to_string(have) + ")";
          });
          put_back(w);
        }
      }
      taken_ -= w->elements.size();
      finished->splice(finished->end(), dequeues_, dequeues_.begin());
      moved = true;
    }
    return moved;
  }

  hr_code complete_or_fail(Waiter* w) noexcept {
    try {
      return complete_dequeue(w);
    } catch (const std::bad_alloc&) { return HR_RESOURCE_EXHAUSTED; }
  }

  void finish(Waiters& finished) {
    for (WaiterPtr& w : finished) {
      if (w->token) w->ctx->api->forget_cancel(w->ctx, w->token);
      hr_code code = w->code;
      if (code == HR_OK && w->kind == Waiter::kDequeue) code = complete_or_fail(w.get());
      if (code != HR_OK) w->ctx->api->fail(w->ctx, code, "%s", w->message.c_str());
      hr_done done = w->done;
      void* argument = w->argument;
      // The last waiter may free the queue, so nothing of it is accessed afterwards.
      ObjectRef held = std::move(w->held);
      w.reset();
      done(argument, code);
    }
  }
};

}  // namespace headrace
