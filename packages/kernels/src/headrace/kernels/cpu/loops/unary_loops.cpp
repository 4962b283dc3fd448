// Runs the loop of a unary kernel.
#include "loops/unary_loops.hpp"

#include "library/dtype_names.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "loops/via_float.hpp"
#include "processor/polled_stretch.hpp"

namespace hr::unary {
namespace {

hr_code fault(hr_ctx* ctx, const UnaryLoops* loops) {
  return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s", loops->fault);
}

hr_code alone(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in, hr_tensor* const* out,
              void*) {
  const auto* loops = static_cast<const UnaryLoops*>(plan);
  const char* from = read<char>(in[0]);
  char* to = write<char>(out[0]);
  int32_t faults = 0;
  in_polled_pieces(ctx, 0, out[0]->bytes / loops->out_size, [&](int64_t begin, int64_t end) {
    faults |= loops->loop(from + begin * loops->in_size, to + begin * loops->out_size, end - begin);
  });
  return faults ? fault(ctx, loops) : HR_OK;
}

hr_code shared(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in, hr_tensor* const* out,
               void*) {
  const auto* loops = static_cast<const UnaryLoops*>(plan);
  const int64_t n = out[0]->bytes / loops->out_size;
  const char* from = read<char>(in[0]);
  char* to = write<char>(out[0]);
  int32_t faults = 0;
  parallel_blocks(
      ctx, n, 64, grain_of((loops->in_size + loops->out_size) * loops->cost),
      [&](int64_t first, int64_t last) {
        in_polled_pieces(ctx, first, last, [&](int64_t begin, int64_t end) {
          if (loops->loop(from + begin * loops->in_size, to + begin * loops->out_size, end - begin))
            __atomic_store_n(&faults, 1, __ATOMIC_RELAXED);
        });
      });
  return faults ? fault(ctx, loops) : HR_OK;
}

}  // namespace

int32_t in_float_blocks(hr_dtype dtype, int32_t (*loop)(const void* x, void* out, int64_t n),
                        hr_dtype result, const void* x, void* out, int64_t n) {
  constexpr int64_t kBlock = 512;
  float wide[kBlock], wide_out[kBlock];
  const bool narrows = is_narrow(result);
  const int64_t size = hr_dtype_size(result);
  int32_t faults = 0;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t width = std::min(kBlock, n - i);
    narrow_to_float(dtype, static_cast<const char*>(x) + 2 * i, wide, width);
    char* to = static_cast<char*>(out) + size * i;
    faults |= loop(wide, narrows ? static_cast<void*>(wide_out) : to, width);
    if (narrows) float_to_narrow(result, wide_out, to, width);
  }
  return faults;
}

hr_code prepare_loops(hr_request* request, const UnaryLoops* loops) {
  if (hr_code code = hr_shape_unchanged(request)) return code;
  if (!loops) return hr_request_fail(request, HR_UNIMPLEMENTED, "no kernel for this dtype");
  if (as_unsigned(loops->result) != as_unsigned(storage_type(request->outputs[0]->dtype)))
    return hr_request_fail(request, HR_INVALID_ARGUMENT,
                           "the result for inputs of %s is of %s, not of %s",
                           dtype_name(request->inputs[0]->dtype), dtype_name(loops->result),
                           dtype_name(request->outputs[0]->dtype));
  const int64_t n = hr_elements(request->outputs[0]);
  const int64_t bytes = n * (loops->in_size + loops->out_size);
  request->plan = const_cast<UnaryLoops*>(loops);
  request->flops = double(n * loops->cost);
  request->bytes_moved = double(bytes);
  const bool small = request->threads == 1 || bytes * loops->cost < 2 * kGrainBytes;
  request->compute = n == 1 ? loops->scalar : small ? alone : shared;
  return HR_OK;
}

}  // namespace hr::unary
