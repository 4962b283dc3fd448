// Elements of the GPU family: real in registers; T, which may be narrower, in memory.

#if defined(T_DOUBLE)
typedef double T;
typedef double real;
typedef double4 real4;
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#define LOAD4(p) (*(global const double4*)(p))
#define STORE4(x, p) (*(global double4*)(p) = (x))
#elif defined(T_HALF)
typedef half T;
typedef float real;
typedef float4 real4;
#define LOAD1(p, i) vload_half(i, p)
#define STORE1(x, p, i) vstore_half(x, i, p)
#define LOAD4(p) vload_half4(0, p)
#define STORE4(x, p) vstore_half4(x, 0, p)
#else
typedef float T;
typedef float real;
typedef float4 real4;
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#define LOAD4(p) (*(global const float4*)(p))
#define STORE4(x, p) (*(global float4*)(p) = (x))
#endif

// What a product writes: T, or, if it is one of several parts that are added up, real (PARTS).
#if defined(T_HALF) && defined(PARTS)
typedef real R;
#define STORE1_RESULT(x, p, i) ((p)[i] = (x))
#define STORE4_RESULT(x, p) (*(global real4*)(p) = (x))
#else
typedef T R;
#define STORE1_RESULT(x, p, i) STORE1(x, p, i)
#define STORE4_RESULT(x, p) STORE4(x, p)
#endif

typedef global const T* reader;
typedef global R* writer;
