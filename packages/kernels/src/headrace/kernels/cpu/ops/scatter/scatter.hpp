// Updates rows of a tensor at offsets, for scatter ops and in-place ops.
#ifndef HEADRACE_CPU_SCATTER_SCATTER_HPP
#define HEADRACE_CPU_SCATTER_SCATTER_HPP

#include <cstdint>
#include <vector>

#include "library/registration.hpp"

namespace hr {

enum ScatterUpdate { kUpdate, kAdd, kSub, kMul, kDiv, kMin, kMax };

// One row of the target and of the updates; a single update is taken for all of the row.
using RowLoop = void (*)(void* row, const void* update, int64_t n, bool single);

struct ScatterPlan {
  ScatterUpdate way;
  RowLoop loop;
  bool ignore;  // leave out rows that lead outside
};

// Sets the plan and the compute function of a request.
hr_code keep_scatter_plan(hr_request* r, ScatterUpdate way, hr_dtype dtype, hr_compute compute);

// offsets: of rows of `inner` elements in target; negative ones are left out.
hr_code scatter_rows(hr_ctx* ctx, const ScatterPlan& p, const hr_tensor* target, int64_t inner,
                     const std::vector<int64_t>& offsets, const hr_tensor* updates);

}  // namespace hr

#endif
