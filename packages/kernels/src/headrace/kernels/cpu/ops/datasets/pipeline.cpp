#include "ops/datasets/pipeline.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "ops/datasets/dataset.hpp"

namespace hr::data {
namespace {

thread_local const hr_ctx* step_of_thread = nullptr;

}  // namespace

OnThreadOfStep::OnThreadOfStep(const hr_ctx* ctx) : before_(std::exchange(step_of_thread, ctx)) {}
OnThreadOfStep::~OnThreadOfStep() { step_of_thread = before_; }

int64_t automatic_parallelism() {
  constexpr int64_t kLeast = 4;
  return std::max(kLeast, int64_t(std::thread::hardware_concurrency()));
}

Pipeline::Pipeline(hr_ctx* ctx, hr_object* object, void (*on_end)(void*), void* argument) {
  use_api(ctx);
  if (!ctx->api->functions)
    throw Failure{HR_FAILED_PRECONDITION, "this runtime has no functions, which datasets need"};
  scope_ = ctx->api->functions->open_scope(ctx, object, on_end, argument);
  if (!scope_) throw Failure{HR_RESOURCE_EXHAUSTED, "no memory for an iterator"};
  ctx_ = api()->functions->scope_context(scope_);
}

Pipeline::~Pipeline() {
  stop();
  root_.reset();  // joins its threads
  api()->functions->close_scope(scope_);
}

namespace {

thread_local Place place_of_next;  // of the stage that this thread makes

std::unique_ptr<Stage> begin_at(Pipeline& pipeline, const DatasetRef& dataset, Place place) {
  struct Restore {
    const Place before = place_of_next;
    ~Restore() { place_of_next = before; }
  } restore;
  place_of_next = place;
  return dataset->iterate(pipeline);
}

}  // namespace

Place& next_place() { return place_of_next; }

Stage::Stage(Pipeline& pipeline) : pipeline_(pipeline), place_(place_of_next) {}

std::unique_ptr<Stage> Stage::iterate(const DatasetRef& input, int64_t index) const {
  return begin_at(pipeline_, input, place_.input(index));
}

void Pipeline::start(const DatasetRef& dataset) {
  dataset_ = dataset;
  root_ = begin_at(*this, dataset_, {});
}

void Pipeline::restart() {
  root_.reset();
  root_ = begin_at(*this, dataset_, {});
}

void Pipeline::stop() {
  {
    const std::lock_guard<std::mutex> hold(lock);
    stopped_ = true;
    changed.notify_all();
  }
  api()->functions->cancel_scope(scope_);
}

void Pipeline::throw_stopped() const { throw Failure{HR_CANCELLED, "the iterator was closed"}; }

void Pipeline::poll() const {
  if (stopped() || hr_cancelled(ctx_)) throw_stopped();
  if (step_of_thread && hr_cancelled(step_of_thread))
    throw Failure{HR_CANCELLED, "the step was cancelled"};
}

// ---- calls --------------------------------------------------------------------------------------

void Call::start(const Function& function, const Element& arguments, const Element& captured,
                 uint32_t flags) {
  inputs_ = arguments;
  inputs_.insert(inputs_.end(), captured.begin(), captured.end());
  outputs_.resize(size_t(function.n_outputs()));
  for (const Tensor& t : inputs_) in_.push_back(t.get());
  for (Tensor& t : outputs_) out_.push_back(t.get());
  self_ = shared_from_this();
  api()->functions->call(function.get(), scope_, flags, in_.data(), out_.data(), on_done, this);
}

void Call::on_done(void* argument, hr_code code, const char* message) {
  auto* call = static_cast<Call*>(argument);
  // The stage may be gone, and this the last reference.
  const std::shared_ptr<Call> self = std::move(call->self_);
  if (code != HR_OK) {
    call->code = code;
    try {
      call->message = message;
    } catch (const std::bad_alloc&) {}  // the code remains
  }
  const std::lock_guard<std::mutex> hold(call->monitor_->lock);
  call->done_.store(true, std::memory_order_release);
  call->monitor_->changed.notify_all();
}

Element Call::results() {
  inputs_.clear();
  if (code != HR_OK) throw Failure{code, message};
  return std::move(outputs_);
}

namespace {

// A call on the stack of the thread that waits for it.
struct Awaited {
  Pipeline& pipeline;
  const std::thread::id caller = std::this_thread::get_id();
  bool starting = true, at_once = false;  // of the caller
  bool done = false;
  hr_code code = HR_OK;
  std::string message = {};

  static void on_done(void* argument, hr_code code, const char* message) {
    auto* self = static_cast<Awaited*>(argument);
    self->code = code;
    if (code != HR_OK) {
      try {
        self->message = message;
      } catch (const std::bad_alloc&) {}
    }
    if (std::this_thread::get_id() == self->caller && self->starting) {
      self->at_once = true;
      return;
    }
    const std::lock_guard<std::mutex> hold(self->pipeline.lock);
    self->done = true;
    self->pipeline.changed.notify_all();
  }
};

}  // namespace

Element call(Pipeline& pipeline, const Function& function, const Element& arguments,
             const Element& captured) {
  constexpr size_t kFew = 16;
  const hr_tensor* few_in[kFew];
  hr_tensor* few_out[kFew];
  std::vector<const hr_tensor*> many_in;
  std::vector<hr_tensor*> many_out;
  const size_t n_in = arguments.size() + captured.size(), n_out = size_t(function.n_outputs());
  const hr_tensor** in = few_in;
  hr_tensor** out = few_out;
  if (n_in > kFew) many_in.resize(n_in), in = many_in.data();
  if (n_out > kFew) many_out.resize(n_out), out = many_out.data();
  Element results(n_out);
  size_t i = 0;
  for (const Tensor& t : arguments) in[i++] = t.get();
  for (const Tensor& t : captured) in[i++] = t.get();
  for (i = 0; i < n_out; ++i) out[i] = results[i].get();
  Awaited awaited{pipeline};
  api()->functions->call(function.get(), pipeline.scope(), HR_CALL_HERE, in, out, Awaited::on_done,
                         &awaited);
  awaited.starting = false;
  if (!awaited.at_once) {
    std::unique_lock<std::mutex> hold(pipeline.lock);
    // A stopped pipeline has cancelled the call, which still uses this stack until it is over.
    pipeline.changed.wait(hold, [&] { return awaited.done; });
  }
  if (awaited.code != HR_OK) throw Failure{awaited.code, std::move(awaited.message)};
  return results;
}

// ---- threads ------------------------------------------------------------------------------------

void Thread::start(hr_scope* scope, void (*body)(void*), void* argument) {
  thread_ = api()->functions->start_thread(scope, body, argument);
  if (!thread_) throw Failure{HR_RESOURCE_EXHAUSTED, "no thread for an iterator"};
}

void Thread::join() {
  if (thread_) api()->functions->join_thread(std::exchange(thread_, nullptr));
}

}  // namespace hr::data
