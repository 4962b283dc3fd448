// Reductions: what is folded, as text, and the runs of dimensions over which it is folded.
//
// The dimensions are merged into runs that are alternately kept and reduced, as in the CPU's
// library. If the last run is reduced, rows are folded; if it is kept, columns are. Partial results
// are combined in a fixed order, so equal inputs give equal bits.
#ifndef HEADRACE_OPENCL_CODEGEN_REDUCTION_HPP
#define HEADRACE_OPENCL_CODEGEN_REDUCTION_HPP

#include <string>
#include <vector>

#include "device/device.hpp"
#include "headrace/kernel.h"

namespace hr::cl {

// An argument in memory: `type` are its elements, `name` the pointer to them in the text, which has
// variables of its own: see reduction_text.cpp.
struct Memory {
  enum From { kInput, kOutput, kWorkspace } from;
  int32_t index;   // of the input or output
  int64_t offset;  // into the workspace, in bytes
  std::string type, name;
};

struct Folding {
  // Defines Acc, which single elements are folded into; Total, which those are folded into, with
  // hr_total(Acc); Acc hr_start() and hr_fold(Acc, Acc); Total hr_fold_totals(Total, Total).
  std::string functions;
  std::vector<Memory> memory;
  // Statements that define `const Acc v` of the element at index `at`; `k` is the result's number,
  // `nth` the element's among those that are folded into it.
  std::string value;
  // Statements that store result `k`, `total`; s.folded elements were folded.
  std::string finish;
  int64_t number = 0;  // s.number, for value and finish
  int64_t total_size;
};

struct Runs {
  static constexpr int kMost = HR_MAX_RANK;
  bool rows = true;                         // the last run is reduced
  int64_t inner = 1;                        // of the last run
  int32_t kept_rank = 0, reduced_rank = 0;  // of the runs before it
  int64_t kept_dims[kMost], kept_strides[kMost], kept = 1;
  int64_t reduced_dims[kMost], reduced_strides[kMost], reduced = 1;

  int64_t results() const { return rows ? kept : kept * inner; }
  int64_t folded() const { return rows ? reduced * inner : reduced; }
};

// Of a shape, by which dimensions are reduced. Dimensions of 1 join any run. A shape without a
// reduced dimension gets a reduced run of 1.
Runs runs_of(int32_t rank, const int64_t* dims, const bool* reduced);

// Sets plan and compute; takes what it needs of the workspace from where that ends.
hr_code plan_reduction(hr_request* request, const Folding& folding, const Runs& runs);

// The same as a part of a plan of several launches.
struct ReductionStage;
struct ReductionStages {
  std::vector<ReductionStage> stages;
  int64_t workspace = 0;  // bytes, from where the workspace ended before
};
std::string plan_stages(Device& device, const Folding& folding, const Runs& runs,
                        int64_t workspace_begin, ReductionStages* stages);
hr_code launch_stages(hr_ctx* ctx, const ReductionStages& stages, const hr_tensor* const* in,
                      hr_tensor* const* out, void* workspace);

}  // namespace hr::cl

#include "codegen/reduction_stage.hpp"

#endif
