// What the master decides in one step: events in, orders out; no clock, no link, no lock.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "headrace/worker.h"

namespace headrace::distributed {

// A step runs on participants 0 to n - 1. It ends when each has ended or was lost; after the first
// failure the others are told to abort, and the failure is the step's.
class StepMachine {
 public:
  struct Orders {
    bool abort = false;   // tell the participants that still run to abort
    bool finish = false;  // the step is over; reported exactly once
  };

  explicit StepMachine(int32_t n) : running_(size_t(n), true), left_(n) {}

  bool running(int32_t i) const { return running_[size_t(i)]; }
  bool finished() const { return finished_; }
  hr_code code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& node() const { return node_; }

  // A participant reported its end, or (HR_UNAVAILABLE) its link was lost.
  Orders ended(int32_t i, hr_code code, const std::string& node, const std::string& message) {
    Orders orders;
    if (finished_ || !running_[size_t(i)]) return orders;  // late, or reported twice
    running_[size_t(i)] = false;
    --left_;
    if (code != HR_OK) orders.abort = fail(code, node, message) && left_ > 0;
    orders.finish = finish_if(left_ == 0);
    return orders;
  }

  // The caller or its time limit ends the step. It is over once the participants have ended.
  Orders cancelled(hr_code code, const std::string& message) {
    Orders orders;
    if (finished_) return orders;
    orders.abort = fail(code, "", message) && left_ > 0;
    orders.finish = finish_if(left_ == 0);
    return orders;
  }

  // The participants were told to abort a while ago; those that have not ended are not waited for.
  Orders expired() {
    Orders orders;
    if (!finished_ && code_ != HR_OK) orders.finish = finish_if(true);
    return orders;
  }

 private:
  bool fail(hr_code code, const std::string& node, const std::string& message) {
    if (code_ != HR_OK) return false;
    code_ = code;
    node_ = node;
    message_ = message;
    return true;
  }
  bool finish_if(bool over) {
    finished_ = over;
    return over;
  }

  std::vector<bool> running_;
  int32_t left_;
  bool finished_ = false;
  hr_code code_ = HR_OK;
  std::string node_, message_;
};

}  // namespace headrace::distributed
