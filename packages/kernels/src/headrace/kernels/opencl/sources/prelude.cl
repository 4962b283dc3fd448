// What every source of this folder begins with. The library defines HR_HAS_HALF, HR_HAS_DOUBLE,
// HR_HAS_INT64_ATOMICS, HR_IS_CPU and HR_NVIDIA as 1 or 0.

#if HR_HAS_HALF
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#if HR_HAS_DOUBLE && __OPENCL_VERSION__ < 120
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#if HR_HAS_INT64_ATOMICS
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#endif

// ---- arguments in memory ------------------------------------------------------------------------
//
// An argument in memory is a root buffer and an offset in bytes: tensors are parts of large buffers.
// HR_IN and HR_OUT declare the parameters, HR_INPUT and HR_OUTPUT the pointer in the body:
//
//     kernel void neg(HR_IN(float, x), HR_OUT(float, y), long n) {
//       HR_INPUT(float, x);
//       HR_OUTPUT(float, y);
//
// The compiler may assume that what HR_OUT writes is read through no other argument (restrict). An
// output that may have the memory of an input (reuses) is HR_OUT_SHARED, and that input HR_IN_SHARED.

#define HR_IN(type, name) global const type *restrict name##_root, const ulong name##_offset
#define HR_OUT(type, name) global type *restrict name##_root, const ulong name##_offset
#define HR_IN_SHARED(type, name) global const type *name##_root, const ulong name##_offset
#define HR_OUT_SHARED(type, name) global type *name##_root, const ulong name##_offset

#define HR_INPUT(type, name) \
  global const type *const name = (global const type *)((global const char *)name##_root + name##_offset)
#define HR_OUTPUT(type, name) \
  global type *const name = (global type *)((global char *)name##_root + name##_offset)

// ---- floating point of 16 bits, stored as ushort and computed as float --------------------------
//
// For all devices, also those without arithmetic on half. half and bfloat16 tensors are ushort here.

static float hr_half_to_float(ushort bits) {
  return vload_half(0, (const half *)&bits);
}

static ushort hr_float_to_half(float value) {
  ushort bits;
  vstore_half_rte(value, 0, (half *)&bits);
  return bits;
}

static float hr_bfloat16_to_float(ushort bits) { return as_float((uint)bits << 16); }

static ushort hr_float_to_bfloat16(float value) {
  const uint bits = as_uint(value);
  const uint rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint nan = (bits >> 16) | 0x40u;
  return (ushort)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}
