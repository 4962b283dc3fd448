// Kernels of one operand: everything about such an op but its expression.
//
// An op is a struct with `static R apply(C x)` over compute types (float for half), derived
// from Vector or Scalar (whether its expression vectorises). It may have `fault` and
// `faulty(x)`, and `exact(float)` for arguments beyond vm::kLargestAngle.
#ifndef HEADRACE_CPU_LOOPS_UNARY_LOOPS_HPP
#define HEADRACE_CPU_LOOPS_UNARY_LOOPS_HPP

#include <cmath>

#include "math/vector_math.hpp"
#include "processor/parallel.hpp"
#include "processor/simd.hpp"
#include "table/element_types.hpp"
#include "table/registration.hpp"
#include "table/shape_rules.hpp"

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
  static constexpr bool vector = true;
  static constexpr const char* fault = nullptr;
  template <class T> static bool faulty(T) { return false; }
};
struct Scalar {
  static constexpr bool vector = false;
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

template <class Op, class T> int32_t loop(const void* x_, void* out_, int64_t n) {
  const T* x = static_cast<const T*>(x_);
  auto* out = static_cast<Result<Op, T>*>(out_);
  if constexpr (Op::fault != nullptr && is_integer<T>) {
    int32_t faults = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (Op::faulty(x[i])) faults = 1;
      else out[i] = Op::apply(x[i]);
    }
    return faults;
  } else if constexpr (has_exact<Op> && std::is_same_v<Compute<T>, float>) {
    vm::of_angles(x, out, n, cloned<Op, T>, Op::exact);
  } else if constexpr (Op::vector && is_real_float<T>) {
    cloned<Op, T>(x, out, n);
  } else {
    body<Op, T>(x, out, n);
  }
  return 0;
}

template <class Op, class T>
hr_code scalar(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
               void*) {
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

template <class Op, class T> const UnaryLoops* loops() {
  static const UnaryLoops table = {
      loop<Op, T>,         scalar<Op, T>, int32_t(sizeof(T)),     int32_t(sizeof(Result<Op, T>)),
      Op::vector ? 1 : 16, Op::fault,     dtype_of<Result<Op, T>>};
  return &table;
}

// Sets plan and compute; the shape rule has run. In unary_loops.cpp.
hr_code prepare_loops(hr_request* request, const UnaryLoops* loops);

template <class Op, class Set> hr_code prepare(void*, hr_request* request) {
  if (hr_code code = hr_shape_unchanged(request)) return code;
  return prepare_loops(request,
                       with_type(request->inputs[0]->dtype, Set{}, [](auto t) -> const UnaryLoops* {
                         return loops<Op, typename decltype(t)::type>();
                       }));
}

}  // namespace hr::unary

#endif
