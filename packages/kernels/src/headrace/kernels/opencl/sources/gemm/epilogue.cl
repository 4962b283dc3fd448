// What happens to finished results of a product before they are stored: for column j
//
//     activation(result * scale[j] + shift[j])
//
// Defines: SCALES and SHIFTS, 1 if there are such vectors; ACTIVATION, one of the numbers below, as
// gemm/epilogue_step.hpp has them.

#ifndef SCALES
#define SCALES 0
#endif
#ifndef SHIFTS
#define SHIFTS 0
#endif
#ifndef ACTIVATION
#define ACTIVATION 0
#endif
#define HAS_EPILOGUE (SCALES || SHIFTS || ACTIVATION)

// The parameters of a kernel that has an epilogue, after its result.
#if HAS_EPILOGUE
#define EPILOGUE_PARAMETERS , HR_IN(real, all_scales), HR_IN(real, all_shifts), float alpha
#define EPILOGUE_INPUTS         \
  HR_INPUT(real, all_scales);   \
  HR_INPUT(real, all_shifts)
#else
#define EPILOGUE_PARAMETERS
#define EPILOGUE_INPUTS
#endif

typedef struct {
  global const real* scales;  // of the tile's first column
  global const real* shifts;
  real alpha;
} epilogue;

#if HAS_EPILOGUE
#define EPILOGUE_OF(column) {all_scales + (column), all_shifts + (column), alpha}
#else
#define EPILOGUE_OF(column) {0, 0, 0}
#endif

// NaN stays what it is, in all of them. V: a vector, or a number.
#if ACTIVATION == 1  // Relu
#define ACTIVATE(v, V) ((v) < (V)(0) ? (V)(0) : (v))
#elif ACTIVATION == 2  // Relu6
#define ACTIVATE(v, V) ((v) < (V)(0) ? (V)(0) : (v) > (V)(6) ? (V)(6) : (v))
#elif ACTIVATION == 3  // Elu
#define ACTIVATE(v, V) ((v) < (V)(0) ? expm1(v) : (v))
#elif ACTIVATION == 4  // Tanh
#define ACTIVATE(v, V) tanh(v)
#elif ACTIVATION == 5  // Sigmoid
#define ACTIVATE(v, V) ((V)(1) / ((V)(1) + exp(-(v))))
#elif ACTIVATION == 6  // LeakyRelu
#define ACTIVATE(v, V) ((v) < (V)(0) ? (v) * (V)(e->alpha) : (v))
#else
#define ACTIVATE(v, V) (v)
#endif

// One result, after its epilogue.
static inline real finish_one(real v, int column, const epilogue* e) {
#if SCALES
  v *= e->scales[column];
#endif
#if SHIFTS
  v += e->shifts[column];
#endif
  return ACTIVATE(v, real);
}
