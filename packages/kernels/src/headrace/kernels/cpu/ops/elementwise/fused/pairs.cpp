// Runs two instructions in one loop, so that the first result stays in a register. Both round as
// they do alone: the compiler must not contract a product and a sum into one operation.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#elif defined(__clang__)
#pragma clang fp contract(off)
#endif

#include "ops/elementwise/fused/pairs.hpp"

#include <cstring>

#include "processor/simd.hpp"

namespace hr::fused {
namespace {

enum Op { kAdd, kSub, kMul, kOps };

// first: a, b -> t; second: t, c -> out, or where `turned` c, t -> out.
#define HR_FIRST (first == kAdd ? x + y : first == kSub ? x - y : x * y)
#define HR_SECOND (second == kAdd ? t + z : second == kMul ? t * z : turned ? z - t : t - z)

template <class T, int first, int second, bool turned, bool a, bool b, bool c>
HR_CLONES void pair(const T* p, const T* q, const T* r, T* out, int64_t n) {
  HR_INDEPENDENT
#pragma GCC unroll 4
  for (int64_t i = 0; i < n; ++i) {
    const T x = p[a ? i : 0], y = q[b ? i : 0], z = r[c ? i : 0];
    const T t = HR_FIRST;
    out[i] = HR_SECOND;
  }
}

template <class T, int first, int second, bool turned, int moves>
void call(const void* const* in, void* out, int64_t n) {
  pair<T, first, second, turned, (moves & 1) != 0, (moves & 2) != 0, (moves & 4) != 0>(
      static_cast<const T*>(in[0]), static_cast<const T*>(in[1]), static_cast<const T*>(in[2]),
      static_cast<T*>(out), n);
}

template <int first, int second, bool turned> Loop by_moves(int moves) {
  static const Loop loops[] = {nullptr,
                               call<float, first, second, turned, 1>,
                               call<float, first, second, turned, 2>,
                               call<float, first, second, turned, 3>,
                               call<float, first, second, turned, 4>,
                               call<float, first, second, turned, 5>,
                               call<float, first, second, turned, 6>,
                               call<float, first, second, turned, 7>};
  return loops[moves];
}

template <int first> Loop by_second(int second, bool turned, int moves) {
  if (second == kAdd) return by_moves<first, kAdd, false>(moves);
  if (second == kMul) return by_moves<first, kMul, false>(moves);
  return turned ? by_moves<first, kSub, true>(moves) : by_moves<first, kSub, false>(moves);
}

int op_of(const char* name) {
  if (!std::strcmp(name, "Add") || !std::strcmp(name, "AddV2") || !std::strcmp(name, "BiasAdd"))
    return kAdd;
  return !std::strcmp(name, "Sub") ? kSub : !std::strcmp(name, "Mul") ? kMul : kOps;
}

}  // namespace

Loop pair_loop(const char* first, const char* second, bool turned, int moves) {
  const int a = op_of(first), b = op_of(second);
  if (a == kOps || b == kOps || moves == 0) return nullptr;
  return a == kAdd   ? by_second<kAdd>(b, turned, moves)
         : a == kSub ? by_second<kSub>(b, turned, moves)
                     : by_second<kMul>(b, turned, moves);
}

}  // namespace hr::fused
