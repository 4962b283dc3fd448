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

// Iterations of the loop that follows do not depend on each other.
#if HR_IS_CPU
#define HR_VECTORIZE _Pragma("clang loop vectorize(assume_safety) interleave_count(2)")
#else
#define HR_VECTORIZE
#endif
