// What a batch normalisation with known statistics multiplies and adds.

#include "gemm/gpu_elements.cl"

// Grid: channels.
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void normalising_factors(
    HR_IN(T, scale), HR_IN(T, offset), HR_IN(T, mean), HR_IN(T, variance), HR_OUT(real, scales),
    HR_OUT(real, shifts), int channels, float epsilon) {
  HR_INPUT(T, scale);
  HR_INPUT(T, offset);
  HR_INPUT(T, mean);
  HR_INPUT(T, variance);
  HR_OUTPUT(real, scales);
  HR_OUTPUT(real, shifts);
  const int c = get_global_id(0);
  if (c >= channels) return;
  const real factor = (real)LOAD1(scale, c) / sqrt((real)LOAD1(variance, c) + (real)epsilon);
  scales[c] = factor;
  shifts[c] = (real)LOAD1(offset, c) - (real)LOAD1(mean, c) * factor;
}
