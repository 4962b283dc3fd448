// Kernels of ops with one operand. An op supplies only its expression.
//
// An op is a struct with `static R apply(C x)` over compute types (float for half), derived from
// Vector or Scalar (whether the expression vectorises) or from Signless (it vectorises, and gives
// the same bits for signed and unsigned integers, so they share a loop). It may have `fault` and
// `faulty(x)`, and `exact(float)` for arguments beyond vm::kLargestAngle.
#ifndef HEADRACE_CPU_LOOPS_UNARY_LOOPS_HPP
#define HEADRACE_CPU_LOOPS_UNARY_LOOPS_HPP

#include <cmath>

#include "library/registration.hpp"
#include "math/vector_math.hpp"
#include "processor/parallel.hpp"
#include "processor/simd.hpp"
#include "table/element_types.hpp"

namespace hr::unary {

struct UnaryLoops {
  int32_t (*loop)(const void* x, void* out, int64_t n);
  hr_compute scalar;
  int32_t in_size, out_size;
  int32_t cost;  // relative to moving the bytes
  const char* fault;
  hr_dtype result;
};

struct Vector {
  static constexpr bool vector = true, signless = false;
  static constexpr const char* fault = nullptr;
  template <class T> static bool faulty(T) { return false; }
};
struct Signless : Vector {
  static constexpr bool signless = true;
};
struct Scalar {
  static constexpr bool vector = false, signless = false;
  static constexpr const char* fault = nullptr;
  template <class T> static bool faulty(T) { return false; }
};

template <class Op, class = void> constexpr bool has_exact = false;
template <class Op>
constexpr bool has_exact<Op, std::void_t<decltype(Op::exact(1.0f))>> = true;

template <class Op, class T> struct ResultOf {
  using Raw = decltype(Op::apply(std::declval<Compute<T>>()));
  using type = std::conditional_t<std::is_same_v<Raw, Compute<T>>, T, Raw>;
};
template <class Op, class T> using Result = typename ResultOf<Op, T>::type;

template <class Op, class T> HR_INLINE void body(const T* x, Result<Op, T>* out, int64_t n) {
  HR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = Result<Op, T>(Op::apply(Compute<T>(x[i])));
}
template <class Op, class T>
HR_CLONES void cloned(const T* x, Result<Op, T>* out, int64_t n) {
  body<Op, T>(x, out, n);
}

// Runs a loop of float over half or bfloat16, block by block. In unary_loops.cpp.
int32_t in_float_blocks(hr_dtype dtype, int32_t (*loop)(const void* x, void* out, int64_t n),
                        hr_dtype result, const void* x, void* out, int64_t n);

template <class Op, class T> int32_t loop(const void* x_, void* out_, int64_t n) {
  const T* x = static_cast<const T*>(x_);
  auto* out = static_cast<Result<Op, T>*>(out_);
  if constexpr (is_small_float<T>) {
    return in_float_blocks(dtype_of<T>, loop<Op, float>, dtype_of<Result<Op, T>>, x, out, n);
  } else if constexpr (Op::fault != nullptr && is_integer<T>) {
    int32_t faults = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (Op::faulty(x[i])) faults = 1;
      else out[i] = Op::apply(x[i]);
    }
    return faults;
  } else if constexpr (has_exact<Op> && std::is_same_v<T, float>) {
    vm::of_angles(x, out, n, cloned<Op, T>, Op::exact);
  } else if constexpr (Op::vector && std::is_floating_point_v<T>) {
    cloned<Op, T>(x, out, n);
  } else {
    body<Op, T>(x, out, n);
  }
  return 0;
}

template <class Op, class T>
hr_code scalar(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
               void*) {
  if constexpr (Op::vector && std::is_floating_point_v<Compute<T>>) {
    (void)ctx;
    // One element has the bits that it would have among others, fused or not.
    loop<Op, T>(in[0]->data, out[0]->data, 1);
    return HR_OK;
  } else {
    const Compute<T> x = *static_cast<const T*>(in[0]->data);
    if constexpr (Op::fault != nullptr && is_integer<T>)
      if (Op::faulty(x)) return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s", Op::fault);
    (void)ctx;
    auto* to = static_cast<Result<Op, T>*>(out[0]->data);
    if constexpr (has_exact<Op> && std::is_same_v<Compute<T>, float>)
      *to = Result<Op, T>(std::fabs(x) > vm::kLargestAngle ? Op::exact(x) : Op::apply(x));
    else *to = Result<Op, T>(Op::apply(x));
    return HR_OK;
  }
}

template <class Op, class T> const UnaryLoops* loops() {
  static const UnaryLoops table = {
      loop<Op, T>,         scalar<Op, T>, int32_t(sizeof(T)),     int32_t(sizeof(Result<Op, T>)),
      Op::vector ? 1 : 16, Op::fault,     dtype_of<Result<Op, T>>};
  return &table;
}

// Sets output shape, plan and compute. In unary_loops.cpp.
hr_code prepare_loops(hr_request* request, const UnaryLoops* loops);

template <class Op, class Set> hr_code prepare(void*, hr_request* request) {
  const hr_dtype dtype = request->inputs[0]->dtype;
  const auto of = [](auto t) { return loops<Op, typename decltype(t)::type>(); };
  if constexpr (Op::signless)
    return prepare_loops(request, with_type(as_unsigned(dtype), hr::Signless<Set>{}, of));
  else return prepare_loops(request, with_type(dtype, Set{}, of));
}

}  // namespace hr::unary

#endif
