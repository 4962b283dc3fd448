// What the master decides in one step: events in, orders out; no clock, no link, no lock.
#pragma once
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "headrace/worker.h"

namespace headrace::distributed {

// A step runs on participants 0 to n - 1. It ends when each has ended or was lost; after the first
// failure the others are told to abort, and the failure is the step's. After the constructor it
// needs no memory: without it, an error has a code and no text.
class StepMachine {
 public:
  struct Orders {
    bool abort = false;   // tell the participants that still run to abort
    bool finish = false;  // the step is over; reported exactly once
  };

  explicit StepMachine(int32_t n) : running_(size_t(n), 1), left_(n) {}

  bool running(int32_t i) const { return running_[size_t(i)]; }
  bool finished() const { return finished_; }
  hr_code code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& node() const { return node_; }

  // All participants have the order to run; a step without any is over.
  Orders started() noexcept { return finish_if(!finished_ && !left_); }

  // A participant reported its end, or (HR_UNAVAILABLE) its link was lost.
  Orders ended(int32_t i, hr_code code, const std::string& node,
               const std::string& message) noexcept {
    if (finished_ || i < 0 || size_t(i) >= running_.size() || !running_[size_t(i)])
      return {};  // late, or reported twice
    running_[size_t(i)] = 0;
    --left_;
    const bool failed = code != HR_OK && fail(code, node, message);
    Orders orders = finish_if(!left_);
    orders.abort = failed && left_;
    return orders;
  }

  // The caller or its time limit ends the step. It is over once the participants have ended.
  Orders cancelled(hr_code code, const std::string& message) noexcept {
    if (finished_ || code == HR_OK) return {};
    const bool failed = fail(code, std::string(), message);
    Orders orders = finish_if(!left_);
    orders.abort = failed && left_;
    return orders;
  }

  // The participants were told to abort a while ago; those that have not ended are not waited for.
  Orders expired() noexcept { return finish_if(!finished_ && code_ != HR_OK); }

 private:
  // True: it is the first failure.
  bool fail(hr_code code, const std::string& node, const std::string& message) noexcept {
    if (code_ != HR_OK) return false;
    code_ = code;
    try {
      message_ = message;
      node_ = node;
    } catch (const std::bad_alloc&) {}
    return true;
  }
  Orders finish_if(bool over) {
    if (over) finished_ = true;
    return {false, over};
  }

  std::vector<uint8_t> running_;
  int32_t left_;
  bool finished_ = false;
  hr_code code_ = HR_OK;
  std::string node_, message_;
};

}  // namespace headrace::distributed
