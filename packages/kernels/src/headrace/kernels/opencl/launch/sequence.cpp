#include "launch/sequence.hpp"

#include "library/registration.hpp"

namespace hr::cl {

namespace {

constexpr int64_t kAlignment = 256;  // of what is reserved: also of vectors of any type

char* address(const Place& place, const hr_tensor* const* inputs, hr_tensor* const* outputs,
              void* workspace) {
  void* base = place.of == Place::Of::input    ? inputs[place.index]->data
               : place.of == Place::Of::output ? outputs[place.index]->data
                                               : workspace;
  return static_cast<char*>(base) + place.offset;
}

hr_code compute_sequence(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void* workspace) {
  return static_cast<const Sequence*>(plan)->run(ctx, inputs, outputs, workspace);
}

}  // namespace

void Sequence::add_zeros(Place to, int64_t bytes) {
  if (bytes == 0) return;
  Step step;
  step.append(to);
  step.append(bytes);
  steps_.push_back(std::move(step));
}

Place Sequence::reserve(int64_t bytes) {
  const int64_t begin = workspace_;
  workspace_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return Place::workspace(begin);
}

hr_code Sequence::run(hr_ctx* ctx, const hr_tensor* const* inputs, hr_tensor* const* outputs,
                      void* workspace) const {
  constexpr size_t kMostArguments = 32;
  Argument arguments[kMostArguments];
  for (const Step& step : steps_) {
    bool aligned = true;
    const size_t n = step.slots.size();
    if (n > kMostArguments) return hr_ctx_fail(ctx, HR_INTERNAL, "%zu arguments of a kernel", n);
    for (size_t i = 0; i < n; ++i) {
      const Step::Slot& slot = step.slots[i];
      if (slot.place < 0) {
        arguments[i] = {Argument::kValue, slot.bytes, step.values.data() + slot.begin};
        continue;
      }
      char* data = address(step.places[slot.place], inputs, outputs, workspace);
      arguments[i] = {Argument::kMemory, 0, data};
      if (step.unaligned.bytes)
        aligned &= reinterpret_cast<uintptr_t>(data) % uintptr_t(step.unaligned.bytes) == 0;
    }
    hr_code code;
    if (!step.kernel) {
      const uint8_t zero = 0;
      int64_t bytes;
      std::copy_n(step.values.data(), sizeof bytes, reinterpret_cast<char*>(&bytes));
      code = fill(ctx, Out{const_cast<void*>(arguments[0].data)}, &zero, 1, bytes);
    } else {
      const Kernel* kernel = step.kernel;
      if (!aligned) {
        const Unaligned& other = step.unaligned;
        std::string error;
        kernel = find_kernel(device_of(ctx), other.file.c_str(), other.defines,
                             other.function.c_str(), &error);
        if (!kernel) return hr_ctx_fail(ctx, HR_INTERNAL, "%s", error.c_str());
      }
      code = launch_arguments(ctx, *kernel, step.grid, arguments, int(n));
    }
    if (code != HR_OK) return code;
  }
  return HR_OK;
}

hr_code run_sequence(hr_request* request, std::unique_ptr<Sequence> sequence) {
  request->workspace = size_t(sequence->workspace());
  request->compute = compute_sequence;
  keep_plan(request, sequence.release());
  return HR_OK;
}

}  // namespace hr::cl
