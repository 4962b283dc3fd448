// A step as its master, or the client of a call, sees it: who takes part, what comes back.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "native/clock.hpp"
#include "native/link.hpp"
#include "native/step_machine.hpp"
#include "native/worker_step.hpp"

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
  std::vector<int64_t> fetches;  // the edge of each result
  std::unordered_map<int64_t, std::vector<int32_t>> results_of;  // edge -> places in fetches

  void index() {
    for (size_t i = 0; i < fetches.size(); ++i)
      if (fetches[i] >= 0) results_of[fetches[i]].push_back(int32_t(i));
  }
};

class MasterStep {
 public:
  MasterStep(std::shared_ptr<const StepPlan> plan, StepKey key)
      : plan(std::move(plan)),
        key(key),
        results(this->plan->fetches.size()),
        states(this->plan->fetches.size(), kMissing),
        metadata(this->plan->participants.size()),
        machine_(int32_t(this->plan->participants.size())) {}

  enum State : uint8_t { kMissing, kHere, kDeadValue };

  // A fetched value.
  void arrive(int64_t edge, Value&& value, bool dead) {
    std::lock_guard<std::mutex> hold(lock_);
    auto found = plan->results_of.find(edge);
    if (found == plan->results_of.end() || machine_.finished()) return;
    for (size_t k = 0; k < found->second.size(); ++k) {
      const size_t place = size_t(found->second[k]);
      if (states[place] != kMissing) continue;
      states[place] = dead ? kDeadValue : kHere;
      if (dead) continue;
      if (k + 1 < found->second.size()) {
        value.exclusive = false;
        results[place] = Value::shared(value.tensor, value.memory);
      } else {
        results[place] = std::move(value);
      }
    }
    changed_.notify_all();
  }

  void ended(int32_t i, hr_code code, const std::string& node, const std::string& message,
             std::string&& trace) {
    follow([&] {
      if (machine_.running(i)) metadata[size_t(i)] = std::move(trace);
      return machine_.ended(i, code, node, message);
    });
  }
  void cancelled(hr_code code, const std::string& message) {
    follow([&] { return machine_.cancelled(code, message); });
  }
  void expired() {
    follow([&] { return machine_.expired(); });
  }
  // The participants whose link it is.
  void lost(const Link* link, const std::string& why) {
    for (size_t i = 0; i < links.size(); ++i)
      if (links[i].get() == link)
        ended(int32_t(i), HR_UNAVAILABLE, "",
              plan->participants[i].name + " is not available: " + why, std::string());
  }

  // Waits for the end, or until `place` of the fetches is there (-1: not). False: time is over.
  bool wait(int32_t place, int64_t until_ns) {
    std::unique_lock<std::mutex> hold(lock_);
    return changed_.wait_until(
        hold, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(until_ns)), [&] {
          return machine_.finished() || (place >= 0 && states[size_t(place)] != kMissing);
        });
  }
  bool finished() {
    std::lock_guard<std::mutex> hold(lock_);
    return machine_.finished();
  }
  bool failed() {
    std::lock_guard<std::mutex> hold(lock_);
    return machine_.code() != HR_OK;
  }

  const std::shared_ptr<const StepPlan> plan;
  const StepKey key;
  std::vector<LinkRef> links;  // by participant
  // Called once at the end, without a lock; empty: somebody waits.
  std::function<void(MasterStep&)> at_end;

  // Under the lock, or after the end.
  std::vector<Value> results;
  std::vector<uint8_t> states;
  std::vector<std::string> metadata;  // by participant
  hr_code code() const { return machine_.code(); }
  const std::string& message() const { return machine_.message(); }
  const std::string& node() const { return machine_.node(); }

 private:
  template <typename Event>
  void follow(const Event& event) {
    StepMachine::Orders orders;
    std::vector<LinkRef> to_abort;
    Message message;
    std::string why;
    {
      std::lock_guard<std::mutex> hold(lock_);
      orders = event();
      if (orders.abort) {
        message.header.type = FrameType::kAbort;
        message.header.session = key.session;
        message.header.step = key.step;
        message.header.extra = machine_.code();
        why = machine_.message();
        for (size_t i = 0; i < links.size(); ++i)
          if (machine_.running(int32_t(i)) && links[i]) to_abort.push_back(links[i]);
      }
    }
    message.text = why.data();
    message.text_size = why.size();
    for (const LinkRef& link : to_abort) link->send(&message, 1);
    if (orders.finish) {
      if (at_end) at_end(*this);
      std::lock_guard<std::mutex> hold(lock_);
      changed_.notify_all();
    }
  }

  std::mutex lock_;
  std::condition_variable changed_;
  StepMachine machine_;
};

}  // namespace headrace::distributed
