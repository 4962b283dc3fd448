// What running sums and products fold with. PRODUCT is 1 or 0.

#include "values.cl"

#if PRODUCT
#define START 1
#define FOLD(a, b) ((a) * (b))
#else
#define START 0
#define FOLD(a, b) ((a) + (b))
#endif
