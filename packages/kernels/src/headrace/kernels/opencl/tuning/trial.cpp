#include "tuning/trial.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdarg>
#include <mutex>
#include <random>

namespace hr::cl {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kCompared = 1 << 18;  // elements of a result
constexpr double kTolerance = 1e-3;     // relative to the largest
constexpr double kEnough = 0.01;        // seconds in which a variant is repeated

// A context for launches outside of steps: errors are counted as such, and their texts dropped.
hr_code drop_error(hr_ctx*, hr_code code, const char*, ...) { return code; }

struct Context {
  explicit Context(Device& device) {
    api.size = sizeof api;
    api.fail = drop_error;
    ctx.size = sizeof ctx;
    ctx.threads = 1;
    ctx.api = &api;
    ctx.cancelled = &not_cancelled;
    ctx.device = &device;
  }
  hr_ctx_api api{};
  hr_ctx ctx{};
  const volatile int32_t not_cancelled = 0;
};

// Waits for the end of a request to a device.
class Wait {
 public:
  static void done(void* self, int32_t code, const char*) {
    Wait& wait = *static_cast<Wait*>(self);
    const std::lock_guard<std::mutex> hold(wait.mutex_);
    wait.code_ = code;
    wait.ended_ = true;
    wait.end_.notify_one();
  }
  int32_t code() {
    std::unique_lock<std::mutex> hold(mutex_);
    end_.wait(hold, [this] { return ended_; });
    return code_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable end_;
  bool ended_ = false;
  int32_t code_ = 0;
};

bool wait_for_all(Device& device) {
  Wait wait;
  device.notify(&device, Wait::done, &wait);
  return wait.code() == HR_OK;
}

}  // namespace

Trial::Trial(Device& device, const TunedWork& work) : device_(device) {
  Context context(device);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<int64_t> sizes = work.input_bytes;
  sizes.push_back(work.output_bytes);
  tensors_.resize(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    hr_tensor& t = tensors_[i];
    t = {};
    t.bytes = sizes[i];
    if (!(t.data = allocate(sizes[i]))) return;
    const uint8_t zero = 0;
    if (sizes[i] && fill(&context.ctx, Out{t.data}, &zero, 1, sizes[i]) != HR_OK) return;
    // As many elements as are compared are random.
    std::vector<float> values(size_t(std::min<int64_t>(kCompared, sizes[i] / 4)));
    for (float& v : values) v = uniform(random);
    if (!values.empty() &&
        device_.copy_in(&device_, t.data, values.data(), int64_t(values.size() * sizeof(float)),
                        nullptr, nullptr, nullptr) != HR_OK)
      return;
    if (i + 1 < sizes.size()) inputs_.push_back(&t);
  }
  output_ = &tensors_.back();
  ready_ = true;
}

Trial::~Trial() {
  for (void* data : memory_) device_.release(&device_, data);
}

void* Trial::allocate(int64_t bytes) {
  void* data = device_.allocate(&device_, std::max<int64_t>(bytes, 1), "tuning");
  if (data) memory_.push_back(data);
  return data;
}

bool Trial::run(const Sequence& sequence, void* workspace, int times) {
  Context context(device_);
  for (int i = 0; i < times; ++i) {
    if (sequence.run(&context.ctx, inputs_.data(), &output_, workspace) != HR_OK) return false;
  }
  return wait_for_all(device_);
}

bool Trial::agrees() {
  std::vector<float> got(size_t(std::min<int64_t>(kCompared, output_->bytes / 4)));
  if (!got.empty()) {
    Wait wait;
    if (device_.copy_out(&device_, got.data(), output_->data, int64_t(got.size() * sizeof(float)),
                         nullptr, Wait::done, &wait) != HR_OK ||
        wait.code() != HR_OK)
      return false;
  }
  if (expected_.empty()) {
    expected_ = std::move(got);
    return true;
  }
  float largest = 0;
  for (const float v : expected_)
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isfinite(expected_[i]) &&
        !(std::fabs(got[i] - expected_[i]) <= kTolerance * double(largest)))
      return false;
  }
  return true;
}

bool Trial::time(const Sequence& sequence, double* seconds) {
  if (!ready_) return false;
  void* workspace = sequence.workspace() ? allocate(sequence.workspace()) : nullptr;
  if (sequence.workspace() && !workspace) return false;
  // The first run also compiles, on some drivers.
  if (!run(sequence, workspace, 1) || !agrees()) return false;
  *seconds = INFINITY;
  const auto begin = Clock::now();
  int times = 1;
  do {
    const auto start = Clock::now();
    if (!run(sequence, workspace, times)) return false;
    const double each = std::chrono::duration<double>(Clock::now() - start).count() / times;
    *seconds = std::min(*seconds, each);
    times = std::max(1, std::min(16, int(kEnough / 4 / std::max(each, 1e-6))));
  } while (std::chrono::duration<double>(Clock::now() - begin).count() < kEnough);
  return true;
}

}  // namespace hr::cl
