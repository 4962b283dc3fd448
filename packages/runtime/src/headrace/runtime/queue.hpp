// Queues whose blocked operations hold no thread (white paper §4.6): a waiting enqueue or dequeue is
// a record in the queue, finished by whoever makes it possible.
#pragma once
#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dtype_names.hpp"
#include "run.hpp"
#include "slot.hpp"

namespace headrace {

// What is enqueued at once: one tensor per component.
struct Element {
  std::vector<OwnedTensor> parts;
  uint64_t number = 0;  // in the order of enqueuing
  int64_t priority = 0;  // of a priority queue
};

enum class QueueOrder { kFirst, kRandom, kLeast };

struct QueueSpec {
  QueueOrder order = QueueOrder::kFirst;
  int64_t capacity = -1;        // below 0: unbounded
  int64_t min_after_dequeue = 0;
  uint64_t seed = 0;
  bool padding = false;
  std::vector<hr_dtype> types;
  std::vector<int32_t> ranks;   // declared shapes; -1: any. Empty: none declared
  std::vector<std::vector<int64_t>> dims;
  std::string name;

  // Why nothing can be dequeued in batches where no shapes are declared.
  std::string lack_of_shapes() const {
    const char* kind = order == QueueOrder::kRandom  ? "RandomShuffleQueue"
                       : order == QueueOrder::kLeast ? "PriorityQueue"
                                                     : "FIFOQueue";
    return std::string(kind) + "'s DequeueMany and DequeueUpTo require the components to have "
                               "specified shapes.";
  }

  std::string types_text() const {
    std::string text = "[";
    for (size_t i = 0; i < types.size(); ++i)
      text += std::string(i ? ", " : "") + dtype_name(types[i]);
    return text + "]";
  }
};

// The elements of a queue in the order in which they leave; every operation is O(1), or O(log n)
// for a priority queue.
class QueueItems {
 public:
  explicit QueueItems(const QueueSpec* spec) : spec_(spec) {}

  int64_t size() const { return static_cast<int64_t>(items_.size()); }

  void push(Element&& element) {
    element.number = next_++;
    // Enqueuing made sure that the first component is one int64.
    if (spec_->order == QueueOrder::kLeast)
      element.priority = *static_cast<const int64_t*>(element.parts[0].get()->data);
    insert(std::move(element));
  }
  // Undoes a take; the last one taken comes first.
  void put_back(Element&& element) {
    if (spec_->order == QueueOrder::kFirst)
      items_.push_front(std::move(element));
    else
      insert(std::move(element));
  }
  Element take() {
    if (spec_->order == QueueOrder::kFirst) {
      Element out = std::move(items_.front());
      items_.pop_front();
      return out;
    }
    if (spec_->order == QueueOrder::kLeast) {
      std::pop_heap(items_.begin(), items_.end(), later);
    } else {
      if (!seeded_) {
        random_.seed(spec_->seed ? spec_->seed : std::random_device{}());
        seeded_ = true;
      }
      std::swap(items_[random_() % items_.size()], items_.back());
    }
    Element out = std::move(items_.back());
    items_.pop_back();
    return out;
  }

 private:
  const QueueSpec* spec_;
  std::deque<Element> items_;  // a heap for kLeast
  uint64_t next_ = 0;
  std::mt19937_64 random_{1};
  bool seeded_ = false;

  void insert(Element&& element) {
    items_.push_back(std::move(element));
    if (spec_->order == QueueOrder::kLeast) std::push_heap(items_.begin(), items_.end(), later);
  }
  static bool later(const Element& a, const Element& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.number > b.number;
  }
};

struct Waiter {
  enum Kind { kEnqueue, kDequeue } kind;
  hr_ctx* ctx;
  hr_done done;
  void* argument;
  std::deque<Element> elements;  // to enqueue, or dequeued so far
  int64_t wanted = 0;            // of a dequeue
  bool many = false;             // answers a batch
  bool up_to = false;            // content with less once the queue is closed
  hr_tensor* const* outputs = nullptr;
  int32_t n_outputs = 0;
  uint64_t token = 0;
  class Queue* queue = nullptr;
  ObjectRef held;                // the queue's count
  hr_code code = HR_OK;
  std::string message;
};

class Queue {
 public:
  using WaiterPtr = std::unique_ptr<Waiter>;

  hr_object object;  // first; kind "Queue"
  QueueSpec spec;
  // Makes the batch (or the one element) that a dequeue answers; takes its elements.
  hr_code (*deliver)(Waiter*) = nullptr;

  // The waiter is the queue's from now on.
  void add(Waiter* given) {
    WaiterPtr waiter(given);
    std::vector<WaiterPtr> finished;
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (waiter->kind == Waiter::kEnqueue && closed_) {
        fail(waiter.get(), HR_CANCELLED, "queue '" + spec.name + "' is closed.");
        finished.push_back(std::move(waiter));
      } else if (hr_cancelled(waiter->ctx)) {
        // `cancel` may have come before, and found it in no list: it will not come again.
        fail_cancelled(waiter.get());
        finished.push_back(std::move(waiter));
      } else {
        list_of(waiter.get()).push_back(std::move(waiter));
        settle(&finished);
      }
    }
    finish(finished);
  }

  void close(bool cancel_pending) {
    std::vector<WaiterPtr> finished;
    {
      std::lock_guard<std::mutex> hold(lock_);
      closed_ = true;
      if (cancel_pending) {
        for (WaiterPtr& w : enqueues_) {
          fail(w.get(), HR_CANCELLED,
               "queue '" + spec.name + "' was closed with this enqueue pending.");
          finished.push_back(std::move(w));
        }
        enqueues_.clear();
      }
      settle(&finished);
    }
    finish(finished);
  }

  // The step of that waiter was cancelled.
  void cancel(Waiter* waiter) {
    std::vector<WaiterPtr> finished;
    {
      std::lock_guard<std::mutex> hold(lock_);
      auto& list = list_of(waiter);
      auto found = std::find_if(list.begin(), list.end(),
                                [waiter](const WaiterPtr& w) { return w.get() == waiter; });
      if (found == list.end()) return;  // finished in the meantime
      finished.push_back(std::move(*found));
      list.erase(found);
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
  std::deque<WaiterPtr> enqueues_, dequeues_;
  bool closed_ = false;

  std::deque<WaiterPtr>& list_of(const Waiter* w) {
    return w->kind == Waiter::kEnqueue ? enqueues_ : dequeues_;
  }

  static void fail(Waiter* w, hr_code code, const std::string& message) {
    w->code = code;
    w->message = message;
  }

  void fail_cancelled(Waiter* w) {
    fail(w, HR_CANCELLED, "the step was cancelled while it waited for queue '" + spec.name + "'");
  }

  void put_back(Waiter* w) {
    while (!w->elements.empty()) {
      items_.put_back(std::move(w->elements.back()));
      w->elements.pop_back();
    }
  }

  bool full() const { return spec.capacity >= 0 && items_.size() >= spec.capacity; }

  bool may_take() const {
    return items_.size() > (closed_ ? 0 : std::max<int64_t>(spec.min_after_dequeue, 0));
  }

  // Moves elements as far as they go; a waiter that is done leaves its list.
  void settle(std::vector<WaiterPtr>* finished) {
    for (bool moved = true; moved;) {
      moved = settle_enqueues(finished);
      moved = settle_dequeues(finished) || moved;
    }
  }

  bool settle_enqueues(std::vector<WaiterPtr>* finished) {
    bool moved = false;
    while (!enqueues_.empty() && !full()) {
      Waiter* w = enqueues_.front().get();
      while (!w->elements.empty() && !full()) {
        items_.push(std::move(w->elements.front()));
        w->elements.pop_front();
      }
      moved = true;
      if (!w->elements.empty()) break;
      finished->push_back(std::move(enqueues_.front()));
      enqueues_.pop_front();
    }
    return moved;
  }

  bool settle_dequeues(std::vector<WaiterPtr>* finished) {
    bool moved = false;
    while (!dequeues_.empty()) {
      Waiter* w = dequeues_.front().get();
      while (static_cast<int64_t>(w->elements.size()) < w->wanted && may_take()) {
        w->elements.push_back(items_.take());
        moved = true;
      }
      const int64_t have = static_cast<int64_t>(w->elements.size());
      if (have < w->wanted) {
        // Pending enqueues still count: they were made before the queue was closed.
        if (!closed_ || !enqueues_.empty()) break;
        if (!w->up_to || have == 0) {
          fail(w, HR_OUT_OF_RANGE,
               "queue '" + spec.name + "' is closed and has insufficient elements (requested " +
                   std::to_string(w->wanted) + ", current size " + std::to_string(have) + ")");
          put_back(w);
        }
      }
      finished->push_back(std::move(dequeues_.front()));
      dequeues_.pop_front();
      moved = true;
    }
    return moved;
  }

  void finish(std::vector<WaiterPtr>& finished) {
    for (WaiterPtr& w : finished) {
      if (w->token) w->ctx->api->forget_cancel(w->ctx, w->token);
      hr_code code = w->code;
      if (code == HR_OK && w->kind == Waiter::kDequeue) code = deliver(w.get());
      if (code != HR_OK) w->ctx->api->fail(w->ctx, code, "%s", w->message.c_str());
      hr_done done = w->done;
      void* argument = w->argument;
      // The queue may end with its last waiter, so nothing of it is touched afterwards.
      ObjectRef held = std::move(w->held);
      w.reset();
      done(argument, code);
    }
  }
};

}  // namespace headrace
