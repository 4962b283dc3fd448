#include <algorithm>

#include "codegen/reduction.hpp"
#include "codegen/reduction_text.hpp"
#include "launch/launch.hpp"
#include "library/registration.hpp"

namespace hr::cl {
namespace {

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Split {
  int64_t segments, segment, per_item;
};

// How many pieces each result's elements are cut into: enough to keep the device busy, but each
// with enough to do.
Split split_of(const Traits& traits, const Runs& runs) {
  const int64_t results = runs.results(), folded = runs.folded();
  int64_t items =
      traits.is_cpu ? 4 * int64_t(traits.compute_units) : 8 * int64_t(traits.compute_units);
  const int64_t fewest = traits.is_cpu ? 32 << 10 : 8 << 10;  // elements of an item, or a group
  // Columns that are folded side by side, in long pieces of memory if that leaves enough to do.
  int64_t columns = kGpuColumns;
  if (traits.is_cpu)
    columns = std::clamp<int64_t>(divided(results, items * 64) * 64, 256, kCpuColumns);
  // What can be cut: elements of rows, or rows of a row's size; of columns, side by side.
  const bool elements = runs.rows && (!traits.is_cpu || !runs.reduced_rank);
  const int64_t step = elements ? 1 : runs.rows ? runs.inner : std::min(runs.inner, columns);
  const int64_t parts = elements ? folded : runs.reduced;
  const int64_t units = runs.rows ? results : results / runs.inner * divided(runs.inner, columns);
  Split split{1, parts, runs.rows ? 1 : columns};
  if (units < items && parts > 1) {
    const int64_t by_size = parts * step / fewest;
    split.segments = std::max<int64_t>(1, std::min({divided(items, units), by_size, parts}));
    split.segment = divided(parts, split.segments);
    split.segments = divided(parts, split.segment);
  }
  if (traits.is_cpu && runs.rows && split.segments == 1)
    split.per_item =
        std::max<int64_t>({1, fewest / std::max<int64_t>(1, folded), divided(results, 2 * items)});
  return split;
}

// The items of a GPU for each result: of columns kGpuRows, or 1 where there are many short ones.
int64_t group_of(const Traits& traits, const Runs& runs, const Split& split) {
  const int64_t elements = runs.folded() / split.segments;
  if (runs.rows) return elements <= 16 ? 1 : elements <= 512 ? 32 : kGpuGroup;
  constexpr int64_t kShort = 32, kMany = 256;  // elements; columns for each compute unit
  const bool many = runs.results() >= kMany * traits.compute_units;
  return split.segments == 1 && runs.reduced <= kShort && many ? 1 : kGpuRows;
}

// Whether offsets pass what an int holds.
bool is_wide(const Runs& runs) {
  int64_t end = runs.inner;
  for (int32_t d = 0; d < runs.kept_rank; ++d) end += runs.kept_dims[d] * runs.kept_strides[d];
  for (int32_t d = 0; d < runs.reduced_rank; ++d)
    end += runs.reduced_dims[d] * runs.reduced_strides[d];
  return std::max(end, runs.results()) * 2 >= int64_t(1) << 31;
}

// `wide`: whether sizes and positions have 64 bits, which all stages of a reduction decide alike.
std::string add_stage(Device& device, const Folding& folding, const Runs& runs, const Split& split,
                      int64_t folded, bool wide, ReductionStages* stages) {
  const Traits& traits = device.traits;
  const int64_t group = group_of(traits, runs, split);
  ReductionStage stage{};
  stage.memory = folding.memory;
  stage.wide_sizes = {runs.kept,     runs.reduced,   runs.inner, split.segments,
                      split.segment, split.per_item, folded,     folding.number};
  const auto add = [&](const int64_t* values, int32_t n) {
    stage.wide_sizes.insert(stage.wide_sizes.end(), values, values + n);
  };
  add(runs.kept_dims, runs.kept_rank);
  add(runs.kept_strides, runs.kept_rank);
  add(runs.reduced_dims, runs.reduced_rank);
  add(runs.reduced_strides, runs.reduced_rank);
  if (!wide) {
    stage.sizes.assign(stage.wide_sizes.begin(), stage.wide_sizes.end());
    stage.wide_sizes.clear();
  }
  if (traits.is_cpu) {
    const int64_t items = runs.rows ? divided(runs.kept, split.per_item)
                                    : runs.kept * divided(runs.inner, split.per_item);
    stage.grid = Grid::of(size_t(items * split.segments), 1);
  } else if (runs.rows) {
    const int64_t per_group = kGpuGroup / group;
    stage.grid = Grid::of(size_t(divided(runs.kept * split.segments, per_group) * group),
                          size_t(per_group), size_t(group), size_t(per_group));
  } else if (group == 1) {
    stage.grid = Grid::of(size_t(runs.results()), size_t(kGpuGroup));
  } else {
    stage.grid = Grid::of(size_t(runs.kept * divided(runs.inner, kGpuColumns) * kGpuColumns),
                          size_t(split.segments * kGpuRows), size_t(kGpuColumns), size_t(kGpuRows));
  }
  std::string error;
  const std::string text = reduction_text(folding, runs, traits.is_cpu, group, wide);
  stage.kernel = generated_kernel(device, text, "", "reduce", &error);
  stages->stages.push_back(stage);
  return stage.kernel ? "" : error;
}

// The elements of the second stage: what the first one left in the workspace.
Folding of_totals(const Folding& folding, int64_t offset) {
  Folding second = folding;
  second.functions +=
      "static inline Total hr_total_start(void) { return hr_total(hr_start()); }\n"
      "#define Acc Total\n#define hr_start() hr_total_start()\n"
      "#define hr_fold hr_fold_totals\n#define hr_total(x) (x)\n";
  second.memory.push_back({Memory::kWorkspace, 0, offset, "Total", "partial"});
  second.value = "const Total v = partial[at]; ";
  return second;
}

Runs second_runs(const Runs& runs, int64_t segments) {
  Runs second;
  second.rows = runs.rows;
  if (runs.rows) {  // [results, segments]
    second.inner = segments;
    second.kept = runs.kept;
    second.kept_rank = 1;
    second.kept_dims[0] = runs.kept;
    second.kept_strides[0] = segments;
  } else {  // [segments, results]
    second.inner = runs.results();
    second.reduced = segments;
    second.reduced_rank = 1;
    second.reduced_dims[0] = segments;
    second.reduced_strides[0] = runs.results();
  }
  return second;
}

hr_code compute_reduction(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                          hr_tensor* const* out, void* workspace) {
  return launch_stages(ctx, *static_cast<const ReductionStages*>(plan), in, out, workspace);
}

}  // namespace

Runs runs_of(int32_t rank, const int64_t* dims, const bool* reduced) {
  int32_t count = 0;
  int64_t sizes[HR_MAX_RANK];
  bool is_reduced[HR_MAX_RANK];
  for (int32_t d = 0; d < rank; ++d) {
    if (dims[d] == 1) continue;
    if (count > 0 && is_reduced[count - 1] == reduced[d]) {
      sizes[count - 1] *= dims[d];
    } else {
      sizes[count] = dims[d];
      is_reduced[count++] = reduced[d];
    }
  }
  Runs runs;
  if (count == 0) return runs;
  const int32_t last = count - 1;
  runs.inner = sizes[last];
  runs.rows = is_reduced[last];
  int64_t stride = sizes[last];
  for (int32_t i = last - 1; i >= 0; --i) {  // from the back; turned round below
    if (is_reduced[i]) {
      runs.reduced_dims[runs.reduced_rank] = sizes[i];
      runs.reduced_strides[runs.reduced_rank++] = stride;
      runs.reduced *= sizes[i];
    } else {
      runs.kept_dims[runs.kept_rank] = sizes[i];
      runs.kept_strides[runs.kept_rank++] = stride;
      runs.kept *= sizes[i];
    }
    stride *= sizes[i];
  }
  std::reverse(runs.kept_dims, runs.kept_dims + runs.kept_rank);
  std::reverse(runs.kept_strides, runs.kept_strides + runs.kept_rank);
  std::reverse(runs.reduced_dims, runs.reduced_dims + runs.reduced_rank);
  std::reverse(runs.reduced_strides, runs.reduced_strides + runs.reduced_rank);
  return runs;
}

std::string plan_stages(Device& device, const Folding& folding, const Runs& runs,
                        int64_t workspace_begin, ReductionStages* stages) {
  const Split split = split_of(device.traits, runs);
  const int64_t folded = runs.folded();
  const bool wide = device.traits.is_cpu || is_wide(runs) || folded > INT32_MAX;
  if (split.segments == 1) return add_stage(device, folding, runs, split, folded, wide, stages);
  Folding first = folding;
  first.memory.clear();
  for (const Memory& m : folding.memory)
    if (m.from == Memory::kInput) first.memory.push_back(m);
  first.memory.push_back({Memory::kWorkspace, 0, workspace_begin, "Total", "partial"});
  first.finish = "partial[k] = total;\n";
  stages->workspace = (runs.results() * split.segments * folding.total_size + 63) / 64 * 64;
  std::string error = add_stage(device, first, runs, split, folded, wide, stages);
  if (!error.empty()) return error;
  const Runs second = second_runs(runs, split.segments);
  const Split whole{1, second.rows ? second.inner : second.reduced,
                    second.rows ? 1 : split.per_item};
  return add_stage(device, of_totals(folding, workspace_begin), second, whole, folded, wide,
                   stages);
}

hr_code launch_stages(hr_ctx* ctx, const ReductionStages& stages, const hr_tensor* const* in,
                      hr_tensor* const* out, void* workspace) {
  Argument arguments[80];
  for (const ReductionStage& stage : stages.stages) {
    int n = 0;
    for (const Memory& m : stage.memory) {
      if (m.from == Memory::kInput) arguments[n++] = argument(In{in[m.index]->data});
      else if (m.from == Memory::kOutput) arguments[n++] = argument(Out{out[m.index]->data});
      else arguments[n++] = argument(Out{static_cast<char*>(workspace) + m.offset});
    }
    if (stage.sizes.empty())
      arguments[n++] = {Argument::kValue, stage.wide_sizes.size() * 8, stage.wide_sizes.data()};
    else arguments[n++] = {Argument::kValue, stage.sizes.size() * 4, stage.sizes.data()};
    if (hr_code code = launch_arguments(ctx, *stage.kernel, stage.grid, arguments, n)) return code;
  }
  return HR_OK;
}

hr_code plan_reduction(hr_request* r, const Folding& folding, const Runs& runs) {
  if (folding.memory.size() + 3 > 80)
    return hr_request_fail(r, HR_UNIMPLEMENTED, "more than 70 operands");
  auto* plan = keep_plan(r, new ReductionStages);
  const std::string error = plan_stages(device_of(r), folding, runs, int64_t(r->workspace), plan);
  if (!error.empty()) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  r->workspace += size_t(plan->workspace);
  r->compute = compute_reduction;
  r->flops = double(runs.results()) * double(runs.folded());
  return HR_OK;
}

}  // namespace hr::cl
