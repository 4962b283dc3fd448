// What a kernel enqueues, written down once in prepare: a plan is often no more than that.
//
//     auto sequence = std::make_unique<Sequence>();
//     sequence->add(*kernel, Grid::of(n, 64), Place::input(0), Place::output(0), n);
//     return run_sequence(request, std::move(sequence));
#ifndef HEADRACE_OPENCL_LAUNCH_SEQUENCE_HPP
#define HEADRACE_OPENCL_LAUNCH_SEQUENCE_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headrace/kernel.h"
#include "launch/launch.hpp"

namespace hr::cl {

// Memory that a launch reads or writes: a tensor of the call, or the workspace, from a byte on.
struct Place {
  enum class Of : uint8_t { input, output, workspace };
  Of of;
  int32_t index;
  int64_t offset;

  static Place input(int index) { return {Of::input, index, 0}; }
  static Place output(int index) { return {Of::output, index, 0}; }
  static Place workspace(int64_t offset) { return {Of::workspace, 0, offset}; }
  Place after(int64_t bytes) const { return {of, index, offset + bytes}; }
};

// A kernel that the sequence takes instead where memory is not aligned to `bytes`; it is found, and
// so built, when that happens first.
struct Unaligned {
  int64_t bytes = 0;
  std::string file, defines, function;
};

class Sequence {
 public:
  template <class... Args> void add(const Kernel& kernel, const Grid& grid, const Args&... args) {
    Step step;
    step.kernel = &kernel;
    step.grid = grid;
    (step.append(args), ...);
    steps_.push_back(std::move(step));
  }
  // Of the launch that was added last.
  void unless_aligned(Unaligned other) { steps_.back().unaligned = std::move(other); }
  // Fills `bytes` bytes with zeros.
  void add_zeros(Place to, int64_t bytes);

  // Reserves `bytes` of the workspace.
  Place reserve(int64_t bytes);
  int64_t workspace() const { return workspace_; }

  hr_code run(hr_ctx* ctx, const hr_tensor* const* inputs, hr_tensor* const* outputs,
              void* workspace) const;

 private:
  struct Step {
    const Kernel* kernel = nullptr;  // null: zeros
    Grid grid{};
    std::vector<Place> places;
    // By argument: the number of its place, or -1 and a range of `values`.
    struct Slot {
      int32_t place;
      uint32_t begin, bytes;
    };
    std::vector<Slot> slots;
    std::vector<char> values;
    Unaligned unaligned;

    void append(const Place& place) {
      slots.push_back({int32_t(places.size()), 0, 0});
      places.push_back(place);
    }
    template <class T> void append(const T& value) {
      const Argument given = argument(value);
      const auto* bytes = static_cast<const char*>(given.data);
      slots.push_back({-1, uint32_t(values.size()), uint32_t(given.bytes)});
      values.insert(values.end(), bytes, bytes + given.bytes);
    }
  };

  std::vector<Step> steps_;
  int64_t workspace_ = 0;
};

// Makes the sequence the request's plan, with its workspace.
hr_code run_sequence(hr_request* request, std::unique_ptr<Sequence> sequence);

}  // namespace hr::cl

#endif
