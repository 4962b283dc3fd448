// Readers: resources that take work units from a queue and give their records.
//
// A reader serves one call at a time. A call that finds it busy is a record in its list, and a call
// that needs a unit goes on in the callback of the queue, so that no call holds a thread.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/kernel.h"
#include "ops/readers/record_format.hpp"

namespace hr::readers {

inline constexpr char kReaderKind[] = "Reader";

class Reader;

// One call of an asynchronous kernel.
struct Call {
  enum Verb { kRead, kReadUpTo, kSerialize, kRestore, kReset };

  Call(Verb verb, hr_ctx* ctx, Reader* reader, const hr_tensor* const* inputs,
       hr_tensor* const* outputs, hr_done done, void* argument);
  Call(const Call&) = delete;
  ~Call();

  const Verb verb;
  hr_ctx* const ctx;
  Reader* const reader;  // retained
  const hr_tensor* const* const inputs;
  hr_tensor* const* const outputs;
  const hr_done done;
  void* const argument;

  int64_t wanted = 1;  // records
  std::string keys;    // one after another
  std::vector<size_t> key_ends;
  std::vector<hr_string> values;
  uint64_t token = 0;  // of the cancellation while it waits for its turn
  // The unit from the queue.
  hr_tensor unit{};
  hr_tensor* const to_unit = &unit;
  hr_code unit_code = HR_OK;
  bool has_unit = false;
  std::atomic<bool> handed_over{false};

  void keep_record(const std::string& key, std::string_view value);
};

class Reader {
 public:
  Reader(std::string name, std::unique_ptr<RecordFormat> format);

  hr_object object;  // first; kind kReaderKind

  // Does a call, now or when it is its turn; its `done` is called in any case.
  void enter(std::unique_ptr<Call> call);
  int64_t records_produced() const { return produced_.load(); }
  int64_t units_completed() const { return finished_.load(); }

 private:
  const std::string name_;
  const std::unique_ptr<RecordFormat> format_;
  std::mutex lock_;
  bool busy_ = false;
  std::list<std::unique_ptr<Call>> waiting_;
  // Changed by the call whose turn it is.
  std::atomic<int64_t> started_{0}, finished_{0}, produced_{0};
  std::string unit_;

  bool in_progress() const { return started_ > finished_; }
  void run(std::unique_ptr<Call> call) noexcept;
  // Whether the call ended; else the callback of its queue has it.
  bool advance(std::unique_ptr<Call>& call, hr_code* code) noexcept;
  bool read(Call& call);  // whether it has what it wants; else it needs a unit
  void take_unit(Call& call);
  void finish_unit();
  void deliver(Call& call);
  std::unique_ptr<Call> next_call();
  void serialize(Call& call);
  void restore(Call& call);
  void reset();
  static void on_unit(void* argument, hr_code code);
  static void on_cancel(void* argument);
};

}  // namespace hr::readers
