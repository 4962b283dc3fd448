// Elements of a dtype: T in memory, C as values; LOAD and STORE convert. The library defines one of
// T_float, T_double, T_half, T_bfloat16 and T_int64.

#if defined(T_half)
typedef ushort T;
typedef float C;
#define LOAD(x) hr_half_to_float(x)
#define STORE(x) hr_float_to_half(x)
#elif defined(T_bfloat16)
typedef ushort T;
typedef float C;
#define LOAD(x) hr_bfloat16_to_float(x)
#define STORE(x) hr_float_to_bfloat16(x)
#else
#if defined(T_double)
typedef double T;
#elif defined(T_int64)
typedef long T;
#else
typedef float T;
#endif
typedef T C;
#define LOAD(x) (x)
#define STORE(x) (x)
#endif

// Sixteen at a time, for CPU devices.
#if defined(T_double)
typedef double4 C4;
typedef double8 C8;
typedef double16 C16;
#elif !defined(T_int64)
typedef float4 C4;
typedef float8 C8;
typedef float16 C16;
#endif
#if defined(T_half)
#include "half_vectors.cl"
#define LOAD16(p) hr_load_half16(p)
#define STORE16(v, p) hr_store_half16(v, p)
#elif defined(T_bfloat16)
#define LOAD16(p) as_float16(convert_uint16(vload16(0, p)) << 16)
static void hr_store_bfloat16(float16 v, global ushort *p) {
  const uint16 bits = as_uint16(v);
  const uint16 rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint16 nan = (bits >> 16) | 0x40u;
  vstore16(convert_ushort16(select(rounded, nan, (bits & 0x7fffffffu) > 0x7f800000u)), 0, p);
}
#define STORE16(v, p) hr_store_bfloat16(v, p)
#else
#define LOAD16(p) vload16(0, p)
#define STORE16(v, p) vstore16(v, 0, p)
#endif
// The larger one; of two, one that is not a number.
#define LARGER16(a, b) select(a, b, ((a) < (b)) | isnan(b))

// Iterations of the loop that follows do not depend on each other.
#if HR_IS_CPU
#define HR_VECTORIZE _Pragma("clang loop vectorize(assume_safety) interleave_count(2)")
#else
#define HR_VECTORIZE
#endif
