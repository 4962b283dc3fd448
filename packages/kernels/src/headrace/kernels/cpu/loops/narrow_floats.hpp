// Converts rows of half and bfloat16 to and from float, by conversion instructions where the
// processor has them.
#ifndef HEADRACE_CPU_LOOPS_NARROW_FLOATS_HPP
#define HEADRACE_CPU_LOOPS_NARROW_FLOATS_HPP

#include <cstdint>

#include "table/element_types.hpp"

namespace hr {

void widen(const half* from, float* to, int64_t n);
void widen(const bfloat16* from, float* to, int64_t n);
void narrow(const float* from, half* to, int64_t n);
void narrow(const float* from, bfloat16* to, int64_t n);
// In place: to the nearest value of the narrow type.
void round_to_half(float* values, int64_t n);
void round_to_bfloat16(float* values, int64_t n);

}  // namespace hr

#endif
