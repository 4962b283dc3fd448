// A step as its master, or the client of a call, sees it: who takes part, what comes back.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "native/link.hpp"
#include "native/step_key.hpp"
#include "native/step_machine.hpp"

namespace headrace::distributed {

// A signature whose partitions are registered; or, of a client, a callable of its master.
struct StepPlan {
  struct Participant {
    uint64_t peer;
    std::string name;
    int64_t partition;
  };
  struct Feed {
    int64_t edge;
    int32_t feed;  // place in the values
    int32_t participant;
  };
  uint64_t session = 0;
  bool call = false;
  std::vector<Participant> participants;
  std::vector<Feed> feeds;
  std::vector<hr_dtype> feed_dtypes;
  std::vector<int64_t> fetches;  // the edge of each result, or -1 - the number of a feed
  std::unordered_map<int64_t, std::vector<int32_t>> results_of;  // edge -> places in fetches

  void index() {
    for (size_t i = 0; i < fetches.size(); ++i)
      if (fetches[i] >= 0) results_of[fetches[i]].push_back(int32_t(i));
  }
};

class MasterStep {
 public:
  // at_end: called once at the end, without a lock; empty: somebody waits.
  MasterStep(std::shared_ptr<const StepPlan> plan, StepKey key,
             std::function<void(MasterStep&)> at_end)
      : plan(std::move(plan)), key(key), results(this->plan->fetches.size()),
        states(this->plan->fetches.size(), kMissing), metadata(this->plan->participants.size()),
        machine_(int32_t(this->plan->participants.size())), at_end_(std::move(at_end)),
        to_abort_(this->plan->participants.size()) {
    links.reserve(this->plan->participants.size());
  }

  enum State : uint8_t { kMissing, kHere, kDeadValue, kTaken };

  // A fetched value.
  void arrive(int64_t edge, Value&& value, bool dead) noexcept {
    {
      std::lock_guard<std::mutex> hold(lock_);
      auto found = plan->results_of.find(edge);
      if (found == plan->results_of.end() || machine_.finished()) return;
      const std::vector<int32_t>& places = found->second;
      if (places.size() > 1) value.exclusive = false;
      for (int32_t place : places) {
        if (states[size_t(place)] != kMissing) return;  // it has come before
        states[size_t(place)] = dead ? kDeadValue : kHere;
        if (dead) continue;
        if (place != places.back())
          results[size_t(place)] = Value::shared(value.tensor, value.memory);
        else results[size_t(place)] = std::move(value);
      }
    }
    changed_.notify_all();
  }
  // The fetches of a feed itself.
  void fed(int32_t feed, const Value& value) noexcept {
    for (size_t i = 0; i < plan->fetches.size(); ++i) {
      if (plan->fetches[i] != -1 - int64_t(feed)) continue;
      std::lock_guard<std::mutex> hold(lock_);
      if (states[i] != kMissing) continue;
      results[i] = Value::shared(value.tensor, value.memory);
      states[i] = kHere;
    }
    changed_.notify_all();
  }

  void started() noexcept {
    follow([&] { return machine_.started(); });
  }
  void ended(int32_t i, hr_code code, const std::string& node, const std::string& message,
             std::string&& trace) noexcept {
    follow([&] {
      if (!machine_.finished() && machine_.running(i)) metadata[size_t(i)].swap(trace);
      return machine_.ended(i, code, node, message);
    });
  }
  void cancelled(hr_code code, const std::string& message) noexcept {
    follow([&] { return machine_.cancelled(code, message); });
  }
  void expired() noexcept {
    follow([&] { return machine_.expired(); });
  }
  // The participants whose link it is.
  void lost(const Link* link, const std::string& why) noexcept {
    for (size_t i = 0; i < links.size(); ++i) {
      if (links[i].get() != link) continue;
      std::string message;
      try {
        message = plan->participants[i].name + " is not available: " + why;
      } catch (const std::bad_alloc&) {}
      ended(int32_t(i), HR_UNAVAILABLE, std::string(), message, std::string());
    }
  }

  // Waits for the end, a failure, or until `place` of the fetches is there (-1: not). False: time
  // is over.
  bool wait(int32_t place, int64_t until_ns) {
    return wait_for(until_ns, [&] {
      return machine_.finished() || machine_.code() != HR_OK ||
             (place >= 0 && states[size_t(place)] != kMissing);
    });
  }
  bool wait_for_end(int64_t until_ns) {
    return wait_for(until_ns, [&] { return machine_.finished(); });
  }
  bool finished() {
    std::lock_guard<std::mutex> hold(lock_);
    return machine_.finished();
  }
  bool failed() {
    std::lock_guard<std::mutex> hold(lock_);
    return machine_.code() != HR_OK;
  }
  // Of a fetch: its state, which becomes kTaken if it was kHere; the value is then the caller's.
  State take(int32_t place) {
    std::lock_guard<std::mutex> hold(lock_);
    const State state = State(states[size_t(place)]);
    if (state == kHere) states[size_t(place)] = kTaken;
    return state;
  }

  const std::shared_ptr<const StepPlan> plan;
  const StepKey key;
  std::vector<LinkRef> links;  // by participant; set before others know the step

  // Under the lock, or after the end.
  std::vector<Value> results;
  std::vector<uint8_t> states;
  std::vector<std::string> metadata;  // by participant
  hr_code code() const { return machine_.code(); }
  const std::string& message() const { return machine_.message(); }
  const std::string& node() const { return machine_.node(); }

 private:
  template <typename Event> void follow(const Event& event) noexcept {
    StepMachine::Orders orders;
    {
      std::lock_guard<std::mutex> hold(lock_);
      orders = event();
      if (orders.abort)  // once in a step
        for (size_t i = 0; i < links.size(); ++i) to_abort_[i] = machine_.running(int32_t(i));
    }
    if (orders.abort) abort_others();
    if (orders.finish && at_end_) {
      auto at_end = std::move(at_end_);
      at_end(*this);
    }
    if (orders.abort || orders.finish) changed_.notify_all();
  }

  void abort_others() noexcept {
    Message message;
    message.header.type = FrameType::kAbort;
    message.header.session = key.session;
    message.header.step = key.step;
    message.header.extra = machine_.code();  // does not change after the first failure
    message.text = machine_.message().data();
    message.text_size = std::min<size_t>(machine_.message().size(), kMaxMessageBytes);
    for (size_t i = 0; i < links.size(); ++i)
      if (to_abort_[i]) send_surely(*links[i], message);
  }

  template <typename Done> bool wait_for(int64_t until_ns, const Done& done) {
    std::unique_lock<std::mutex> hold(lock_);
    return changed_.wait_until(
        hold, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(until_ns)), done);
  }

  std::mutex lock_;
  std::condition_variable changed_;
  StepMachine machine_;
  std::function<void(MasterStep&)> at_end_;
  std::vector<uint8_t> to_abort_;
};

}  // namespace headrace::distributed
