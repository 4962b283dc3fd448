// Compiles an inner loop for several processor levels.
//
// HR_CLONES precedes a plain loop over contiguous memory; the compiler vectorises it for each
// listed level, and the loader picks one. Functions that such a loop calls must be HR_INLINE;
// otherwise they are compiled for the lowest level only. HR_CLONES_WITHOUT_FMA keeps products and
// sums apart, for loops whose results must not depend on the level.
#ifndef HEADRACE_CPU_PROCESSOR_SIMD_HPP
#define HEADRACE_CPU_PROCESSOR_SIMD_HPP

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(HR_NO_CLONES)
#define HR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define HR_CLONES_WITHOUT_FMA __attribute__((target_clones("avx2", "default")))
#else
#define HR_CLONES
#define HR_CLONES_WITHOUT_FMA
#endif

#if defined(_MSC_VER)
#define HR_INLINE __forceinline
#else
#define HR_INLINE inline __attribute__((always_inline))
#endif

// After a lambda's parameters: inlines it into the loop that calls it, as HR_INLINE does for
// functions.
#if defined(__GNUC__)
#define HR_INLINE_LAMBDA __attribute__((always_inline))
#else
#define HR_INLINE_LAMBDA
#endif

// The elements of two vectors at the given places, counted through both.
#if defined(__clang__) || __GNUC__ >= 12
#define HR_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define HR_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, decltype((a) < (b)){__VA_ARGS__})
#endif

// Says of the next loop that no iteration reads what another writes. Unlike `restrict` it
// stays true where an output is the very memory of an input.
#if defined(__GNUC__) && !defined(__clang__)
#define HR_INDEPENDENT _Pragma("GCC ivdep")
#else
#define HR_INDEPENDENT
#endif

#endif
