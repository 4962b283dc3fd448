// Denormal numbers are flushed to zero while kernels run, since arithmetic on them is several times
// slower. TensorFlow flushes on its op threads; here user threads also run kernels, so the mode is
// set around kernels and restored.
#pragma once
#include <cstdint>
#if defined(__SSE__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace headrace {

using FloatMode = uint64_t;

#if defined(__SSE__) || defined(_M_X64)
constexpr FloatMode kFlushBits = 0x8040;  // FTZ, DAZ
inline FloatMode float_mode() { return _mm_getcsr(); }
inline void set_float_mode(FloatMode mode) { _mm_setcsr(static_cast<unsigned>(mode)); }
#elif defined(__aarch64__)
constexpr FloatMode kFlushBits = 1ull << 24;  // FZ
inline FloatMode float_mode() {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
inline void set_float_mode(FloatMode mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
#else
constexpr FloatMode kFlushBits = 0;
inline FloatMode float_mode() { return 0; }
inline void set_float_mode(FloatMode) {}
#endif

// Returns: the mode to restore.
inline FloatMode flush_denormals() {
  const FloatMode before = float_mode();
  if ((before & kFlushBits) != kFlushBits) set_float_mode(before | kFlushBits);
  return before;
}
inline FloatMode keep_denormals() {
  const FloatMode before = float_mode();
  if (before & kFlushBits) set_float_mode(before & ~kFlushBits);
  return before;
}
// On x86 this also clears exception flags that were raised meanwhile; code that reads flags, such
// as NumPy, clears them first.
inline void restore_denormals(FloatMode before) { set_float_mode(before); }

}  // namespace headrace
