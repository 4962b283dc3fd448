// Runs variants of some work on memory of its own: times them, and compares what they compute.
#ifndef HEADRACE_OPENCL_TUNING_TRIAL_HPP
#define HEADRACE_OPENCL_TUNING_TRIAL_HPP

#include <cstdint>
#include <vector>

#include "device/device.hpp"
#include "tuning/tuner.hpp"

namespace hr::cl {

class Trial {
 public:
  Trial(Device& device, const TunedWork& work);
  ~Trial();
  Trial(const Trial&) = delete;

  // Measures a sequence. False: it failed, there is no memory for it, or its result differs from
  // that of the first one.
  bool time(const Sequence& sequence, double* seconds);

 private:
  void* allocate(int64_t bytes);
  bool run(const Sequence& sequence, void* workspace, int times);
  bool agrees();

  Device& device_;
  std::vector<hr_tensor> tensors_;  // the inputs, then the output
  std::vector<const hr_tensor*> inputs_;
  hr_tensor* output_ = nullptr;
  std::vector<void*> memory_;
  std::vector<float> expected_;  // the first result's beginning
  bool ready_ = false;
};

}  // namespace hr::cl

#endif
