#include "ops/readers/reader.hpp"

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "files/disk.hpp"
#include "files/protobuf_writer.hpp"
#include "headrace/wire.h"
#include "library/text.hpp"
#include "processor/parallel.hpp"
#include "table/resources.hpp"

namespace hr::readers {

Call::Call(Verb v, hr_ctx* c, Reader* r, const hr_tensor* const* in, hr_tensor* const* out,
           hr_done d, void* a)
    : verb(v), ctx(c), reader(r), inputs(in), outputs(out), done(d), argument(a) {
  ctx->api->retain_object(&reader->object);
}

Call::~Call() {
  for (const hr_string& text : values)
    if (text.owner) ctx->api->release(text.owner);
  if (unit.owner) ctx->api->release(unit.owner);
  ctx->api->release_object(&reader->object);
}

void Call::keep_record(const std::string& key, std::string_view value) {
  values.emplace_back();
  check(ctx->api->set_string(ctx, &values.back(), value.data(), value.size()));
  keys += key;
  key_ends.push_back(keys.size());
}

Reader::Reader(std::string name, std::unique_ptr<RecordFormat> format)
    : object(
          object_of_kind(kReaderKind, [](hr_object* o) { delete reinterpret_cast<Reader*>(o); })),
      name_(std::move(name)), format_(std::move(format)) {}

// ---- turns --------------------------------------------------------------------------------------

namespace {

// Ends a call. `done` may end the step, so nothing of the call is used after it.
void end_call(std::unique_ptr<Call> call, hr_code code) noexcept {
  const hr_done done = call->done;
  void* const argument = call->argument;
  call.reset();
  done(argument, code);
}

hr_code fail_cancelled(const Call& call) {
  return hr_ctx_fail(call.ctx, HR_CANCELLED, "the step of a reader's call was cancelled");
}

}  // namespace

void Reader::enter(std::unique_ptr<Call> call) {
  bool mine;
  {
    const std::lock_guard<std::mutex> hold(lock_);
    mine = !std::exchange(busy_, true);
  }
  if (mine) return run(std::move(call));
  Call& waiter = *call;
  std::list<std::unique_ptr<Call>> one;
  one.push_back(std::move(call));
  waiter.token = waiter.ctx->api->on_cancel(waiter.ctx, on_cancel, &waiter);
  bool cancelled = waiter.token == 0;
  {
    const std::lock_guard<std::mutex> hold(lock_);
    // on_cancel may have run already; it does not run again.
    cancelled = cancelled || hr_cancelled(waiter.ctx);
    mine = !cancelled && !std::exchange(busy_, true);
    if (!cancelled && !mine) waiting_.splice(waiting_.end(), one);
  }
  if (one.empty()) return;
  if (waiter.token) waiter.ctx->api->forget_cancel(waiter.ctx, waiter.token);
  if (mine) return run(std::move(one.front()));
  const hr_code code = fail_cancelled(waiter);
  end_call(std::move(one.front()), code);
}

void Reader::on_cancel(void* argument) {
  // The call lives until forget_cancel returns.
  auto* waiter = static_cast<Call*>(argument);
  Reader& reader = *waiter->reader;
  std::list<std::unique_ptr<Call>> one;
  {
    const std::lock_guard<std::mutex> hold(reader.lock_);
    const auto found = std::find_if(reader.waiting_.begin(), reader.waiting_.end(),
                                    [&](const auto& call) { return call.get() == waiter; });
    if (found == reader.waiting_.end()) return;  // its turn has come
    one.splice(one.end(), reader.waiting_, found);
  }
  const hr_code code = fail_cancelled(*waiter);
  end_call(std::move(one.front()), code);
}

std::unique_ptr<Call> Reader::next_call() {
  std::unique_ptr<Call> next;
  {
    const std::lock_guard<std::mutex> hold(lock_);
    if (waiting_.empty()) {
      busy_ = false;
      return nullptr;
    }
    next = std::move(waiting_.front());
    waiting_.pop_front();
  }
  next->ctx->api->forget_cancel(next->ctx, next->token);
  return next;
}

void Reader::run(std::unique_ptr<Call> call) noexcept {
  const auto api = call->ctx->api;
  api->retain_object(&object);  // the last call may free the reader
  while (call) {
    hr_code code = HR_OK;
    if (!advance(call, &code)) break;
    std::unique_ptr<Call> next = next_call();
    end_call(std::move(call), code);
    call = std::move(next);
  }
  api->release_object(&object);
}

void Reader::on_unit(void* argument, hr_code code) {
  auto* call = static_cast<Call*>(argument);
  call->unit_code = code;
  // The second of this and the function that asked for the unit goes on with the call.
  if (!call->handed_over.exchange(true)) return;
  const auto go_on = [call]() noexcept { call->reader->run(std::unique_ptr<Call>(call)); };
  try {
    // Not here: this is the thread of the step that put the unit, and a read takes long.
    std::thread(go_on).detach();
  } catch (const std::system_error&) { go_on(); }
}

bool Reader::advance(std::unique_ptr<Call>& call, hr_code* code) noexcept {
  hr_ctx* const ctx = call->ctx;
  const auto poll_step = [ctx] { poll(ctx); };
  const remote::WhileWaiting here(poll_step);
  try {
    switch (call->verb) {
      case Call::kSerialize: serialize(*call); return true;
      case Call::kRestore: restore(*call); return true;
      case Call::kReset: reset(); return true;
      default: break;
    }
    while (!read(*call)) {
      if (!call->has_unit) {
        call->has_unit = true;
        call->unit = hr_tensor{};
        call->unit.dtype = HR_STRING;
        call->handed_over = false;
        Call* const waiter = call.release();
        ctx->api->dequeue(ctx, waiter->inputs[1], 1, &waiter->to_unit, on_unit, waiter);
        if (!waiter->handed_over.exchange(true)) return false;
        call.reset(waiter);
      }
      if (call->unit_code != HR_OK) {
        *code = call->unit_code;
        return true;
      }
      take_unit(*call);
    }
    deliver(*call);
  } catch (const Cancelled&) { *code = fail_cancelled(*call); } catch (const Failure& failure) {
    *code = hr_ctx_fail(ctx, failure.code, "%s", failure.text.c_str());
  } catch (const std::bad_alloc&) {
    *code = hr_ctx_fail(ctx, HR_RESOURCE_EXHAUSTED, "out of memory");
  } catch (const std::exception& error) {
    *code = hr_ctx_fail(ctx, HR_INTERNAL, "%s", error.what());
  }
  return true;
}

// ---- records ------------------------------------------------------------------------------------

void Reader::take_unit(Call& call) {
  call.has_unit = false;
  if (hr_elements(&call.unit) != 1)
    throw Failure{HR_INVALID_ARGUMENT, "Expected to dequeue a one-element string tensor"};
  unit_ = text_at(&call.unit, 0);
  call.ctx->api->release(std::exchange(call.unit.owner, nullptr));
  format_->open(unit_);
  ++started_;
}

void Reader::finish_unit() {
  format_->close();
  finished_ = started_.load();
}

bool Reader::read(Call& call) {
  if (call.has_unit) return false;
  std::string key;
  while (int64_t(call.key_ends.size()) < call.wanted) {
    if (!in_progress()) return false;
    poll_at(call.ctx, int64_t(call.key_ends.size()));
    std::string_view value;
    const Found found = format_->next(&key, &value);
    if (found != Found::kEnd) {
      call.keep_record(key, value);
      ++produced_;
    }
    if (found == Found::kRecord) continue;
    finish_unit();
    if (call.verb == Call::kReadUpTo && !call.key_ends.empty()) return true;
  }
  return true;
}

namespace {

// Keys as strings of one buffer.
void put_keys(hr_ctx* ctx, const std::string& keys, const std::vector<size_t>& ends,
              hr_string* to) {
  hr_tensor bytes{};
  bytes.dtype = HR_UINT8;
  set_shape(&bytes, {int64_t(keys.size())});
  check(ctx->api->allocate(ctx, &bytes));
  keys.copy(static_cast<char*>(bytes.data), keys.size());
  size_t begin = 0;
  for (const size_t end : ends) {
    ctx->api->retain(bytes.owner);
    *to++ = hr_string{static_cast<const char*>(bytes.data) + begin, end - begin, bytes.owner};
    begin = end;
  }
  ctx->api->release(bytes.owner);
}

}  // namespace

void Reader::deliver(Call& call) {
  if (call.verb == Call::kReadUpTo)
    for (const int i : {0, 1}) {
      set_shape(call.outputs[i], {int64_t(call.values.size())});
      check(call.ctx->api->allocate(call.ctx, call.outputs[i]));
    }
  put_keys(call.ctx, call.keys, call.key_ends, static_cast<hr_string*>(call.outputs[0]->data));
  std::swap_ranges(call.values.begin(), call.values.end(),
                   static_cast<hr_string*>(call.outputs[1]->data));
}

// ---- state --------------------------------------------------------------------------------------

void Reader::reset() {
  format_->close();
  started_ = finished_ = produced_ = 0;
  unit_.clear();
}

// ReaderBaseState of reader.proto.
void Reader::serialize(Call& call) {
  if (!format_->is_stateless()) throw Failure{HR_UNIMPLEMENTED, "Reader SerializeState"};
  protobuf::Message state;
  state.number(1, uint64_t(started_.load()));
  state.number(2, uint64_t(finished_.load()));
  state.number(3, uint64_t(produced_.load()));
  state.text(4, unit_);
  check(set_text(call.ctx, call.outputs[0], 0, state.bytes()));
}

void Reader::restore(Call& call) {
  if (!format_->is_stateless()) throw Failure{HR_UNIMPLEMENTED, "Reader RestoreState"};
  const std::string_view text = text_at(call.inputs[1], 0);
  int64_t numbers[3] = {};
  std::string unit;
  hr_wire_field field;
  uint64_t at = 0;
  int found;
  while ((found = hr_wire_next(reinterpret_cast<const uint8_t*>(text.data()), text.size(), &at,
                               &field)) > 0) {
    if (field.number >= 1 && field.number <= 3 && field.wire == HR_WIRE_VARINT)
      numbers[field.number - 1] = int64_t(field.value);
    else if (field.number == 4 && field.wire == HR_WIRE_BYTES)
      unit.assign(reinterpret_cast<const char*>(field.data), size_t(field.size));
  }
  std::string wrong;
  if (found < 0) wrong = "Could not parse state for " + name_ + ": " + field.problem;
  else if (*std::min_element(numbers, numbers + 3) < 0)
    wrong = "Unexpected negative value when restoring in " + name_;
  else if (numbers[0] > numbers[1])
    wrong = "Inconsistent work started vs. finished when restoring in " + name_ + ": " +
            std::to_string(numbers[0]) + " and " + std::to_string(numbers[1]);
  reset();
  if (!wrong.empty()) throw Failure{HR_INVALID_ARGUMENT, wrong};
  started_ = numbers[0];
  finished_ = numbers[1];
  produced_ = numbers[2];
  unit_ = unit;
}

}  // namespace hr::readers
