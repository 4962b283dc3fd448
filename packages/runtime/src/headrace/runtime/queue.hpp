// Queues whose blocked operations hold no thread (white paper §4.6): a waiting enqueue or dequeue is
// a record in the queue, finished by whoever makes it possible.
#pragma once
#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "run.hpp"

namespace headrace {

typedef std::vector<hr_tensor> Element;  // one tensor per component, counted by the queue

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
  hr_code code = HR_OK;
  std::string message;
};

class Queue {
 public:
  hr_object object;  // first; kind "Queue"
  QueueSpec spec;
  // Makes the batch (or the one element) that a dequeue answers; frees its elements.
  hr_code (*deliver)(Waiter*) = nullptr;
  void (*release)(hr_buffer*) = nullptr;

  void add(Waiter* waiter) {
    std::vector<Waiter*> finished;
    {
      std::lock_guard<std::mutex> hold(lock_);
      if (waiter->kind == Waiter::kEnqueue && closed_) {
        fail(waiter, HR_CANCELLED, "queue '" + spec.name + "' is closed.");
        finished.push_back(waiter);
      } else {
        (waiter->kind == Waiter::kEnqueue ? enqueues_ : dequeues_).push_back(waiter);
        settle(&finished);
      }
    }
    finish(finished);
  }

  void close(bool cancel_pending) {
    std::vector<Waiter*> finished;
    {
      std::lock_guard<std::mutex> hold(lock_);
      closed_ = true;
      if (cancel_pending) {
        for (Waiter* w : enqueues_) {
          fail(w, HR_CANCELLED, "queue '" + spec.name + "' was closed with this enqueue pending.");
          finished.push_back(w);
        }
        enqueues_.clear();
      }
      settle(&finished);
    }
    finish(finished);
  }

  // The step of that waiter was cancelled.
  void cancel(Waiter* waiter) {
    std::vector<Waiter*> finished;
    {
      std::lock_guard<std::mutex> hold(lock_);
      auto& list = waiter->kind == Waiter::kEnqueue ? enqueues_ : dequeues_;
      auto found = std::find(list.begin(), list.end(), waiter);
      if (found == list.end()) return;  // finished in the meantime
      list.erase(found);
      if (waiter->kind == Waiter::kDequeue) {  // what it had taken goes back, in its order
        while (!waiter->elements.empty()) {
          items_.push_front(std::move(waiter->elements.back()));
          waiter->elements.pop_back();
        }
      }
      fail(waiter, HR_CANCELLED, "the step was cancelled while it waited for queue '" +
                                     spec.name + "'");
      finished.push_back(waiter);
      settle(&finished);
    }
    finish(finished);
  }

  int64_t size() {
    std::lock_guard<std::mutex> hold(lock_);
    return static_cast<int64_t>(items_.size());
  }
  bool closed() {
    std::lock_guard<std::mutex> hold(lock_);
    return closed_;
  }
  void free_items() {
    for (auto& element : items_)
      for (auto& t : element) release(t.owner);
  }

 private:
  std::mutex lock_;
  std::deque<Element> items_;
  std::deque<Waiter*> enqueues_, dequeues_;
  bool closed_ = false;
  std::mt19937_64 random_{1};
  bool seeded_ = false;

  static void fail(Waiter* w, hr_code code, const std::string& message) {
    w->code = code;
    w->message = message;
  }

  bool full() const {
    return spec.capacity >= 0 && static_cast<int64_t>(items_.size()) >= spec.capacity;
  }

  bool may_take() const {
    if (items_.empty()) return false;
    return closed_ || static_cast<int64_t>(items_.size()) > spec.min_after_dequeue;
  }

  Element take() {
    size_t at = 0;
    if (spec.order == QueueOrder::kRandom) {
      if (!seeded_) {
        random_.seed(spec.seed ? spec.seed : std::random_device{}());
        seeded_ = true;
      }
      at = random_() % items_.size();
    } else if (spec.order == QueueOrder::kLeast) {
      auto key = [](const Element& e) { return *static_cast<const int64_t*>(e[0].data); };
      at = std::min_element(items_.begin(), items_.end(),
                            [&](const Element& a, const Element& b) { return key(a) < key(b); }) -
           items_.begin();
    }
    Element out = std::move(items_[at]);
    items_.erase(items_.begin() + at);
    return out;
  }

  // Moves elements as far as they go; whoever is done leaves its list.
  void settle(std::vector<Waiter*>* finished) {
    for (bool moved = true; moved;) {
      moved = false;
      while (!enqueues_.empty() && !full()) {
        Waiter* w = enqueues_.front();
        while (!w->elements.empty() && !full()) {
          items_.push_back(std::move(w->elements.front()));
          w->elements.pop_front();
          moved = true;
        }
        if (!w->elements.empty()) break;
        enqueues_.pop_front();
        finished->push_back(w);
        moved = true;
      }
      while (!dequeues_.empty()) {
        Waiter* w = dequeues_.front();
        while (static_cast<int64_t>(w->elements.size()) < w->wanted && may_take()) {
          w->elements.push_back(take());
          moved = true;
        }
        const int64_t have = static_cast<int64_t>(w->elements.size());
        if (have < w->wanted) {
          // Pending enqueues still count: they were made before the queue was closed.
          if (!closed_ || !enqueues_.empty()) break;
          if (w->up_to && have > 0) {
            dequeues_.pop_front();
            finished->push_back(w);
            moved = true;
            continue;
          }
          fail(w, HR_OUT_OF_RANGE,
               "queue '" + spec.name + "' is closed and has insufficient elements (requested " +
                   std::to_string(w->wanted) + ", current size " + std::to_string(have) + ")");
          while (!w->elements.empty()) {
            items_.push_front(std::move(w->elements.back()));
            w->elements.pop_back();
          }
          dequeues_.pop_front();
          finished->push_back(w);
          continue;
        }
        dequeues_.pop_front();
        finished->push_back(w);
        moved = true;
      }
    }
  }

  void finish(const std::vector<Waiter*>& finished) {
    for (Waiter* w : finished) {
      if (w->token) w->ctx->api->forget_cancel(w->ctx, w->token);
      hr_code code = w->code;
      if (code == HR_OK && w->kind == Waiter::kDequeue) code = deliver(w);
      if (code != HR_OK) {
        w->ctx->api->fail(w->ctx, code, "%s", w->message.c_str());
        for (auto& element : w->elements)
          for (auto& t : element) release(t.owner);
      }
      hr_done done = w->done;
      void* argument = w->argument;
      object_release(&w->queue->object);
      delete w;
      done(argument, code);
    }
  }
};

}  // namespace headrace
