// Kernels of ops with two broadcast operands. An op supplies only its expression.
//
// An op is a struct with `static R apply(C a, C b)` over compute types (float for half) and these
// traits: `vector` (the expression vectorises), `signless` (the result has the same bits for signed
// and unsigned integers, so they share a loop), `Mirror` (the op that gives the same result with a
// and b exchanged; its loops are used) and, if the op can fail, `fault` (the error message) with
// `static bool faulty(C a, C b)`.
#ifndef HEADRACE_CPU_LOOPS_BINARY_LOOPS_HPP
#define HEADRACE_CPU_LOOPS_BINARY_LOOPS_HPP

#include "library/registration.hpp"
#include "loops/strided.hpp"
#include "processor/parallel.hpp"
#include "processor/simd.hpp"
#include "table/element_types.hpp"

namespace hr {

// The loops of one op and dtype. They return 0, or 1 where some pair was faulty.
struct BinaryLoops {
  using Loop = int32_t (*)(const void* a, const void* b, void* out, int64_t n);
  Loop both;        // a[i], b[i]
  Loop with_right;  // a[i], b[0]
  Loop with_left;   // a[0], b[i]
  hr_compute scalar;
  int32_t in_size, out_size;
  const char* fault;
  hr_dtype result;
};

struct VectorOp {
  static constexpr bool vector = true, signless = false;
  static constexpr const char* fault = nullptr;
};
struct SignlessOp : VectorOp {
  static constexpr bool signless = true;
};
struct ScalarOp {
  static constexpr bool vector = false, signless = false;
  static constexpr const char* fault = nullptr;
};

namespace binary {

// What the elements of the result are stored as: T for what is computed as T.
template <class Op, class T> struct ResultOf {
  using Raw = decltype(Op::apply(std::declval<Compute<T>>(), std::declval<Compute<T>>()));
  using type = std::conditional_t<std::is_same_v<Raw, Compute<T>>, T, Raw>;
};
template <class Op, class T> using Result = typename ResultOf<Op, T>::type;

enum Form { kBoth, kWithRight, kWithLeft };

template <class Op, class T, Form form>
HR_INLINE int32_t body(const void* a_, const void* b_, void* out_, int64_t n) {
  const T* a = static_cast<const T*>(a_);
  const T* b = static_cast<const T*>(b_);
  auto* out = static_cast<Result<Op, T>*>(out_);
  using C = Compute<T>;
  if constexpr (Op::fault != nullptr) {
    int32_t faults = 0;
    for (int64_t i = 0; i < n; ++i) {
      const C x = form == kWithLeft ? C(a[0]) : C(a[i]);
      const C y = form == kWithRight ? C(b[0]) : C(b[i]);
      if (Op::faulty(x, y)) faults = 1;
      else out[i] = Result<Op, T>(Op::apply(x, y));
    }
    return faults;
  } else if constexpr (form == kBoth) {
    HR_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = Result<Op, T>(Op::apply(C(a[i]), C(b[i])));
  } else if constexpr (form == kWithRight) {
    const C y = b[0];
    HR_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = Result<Op, T>(Op::apply(C(a[i]), y));
  } else {
    const C x = a[0];
    HR_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = Result<Op, T>(Op::apply(x, C(b[i])));
  }
  return 0;
}

template <class Op, class T, Form form>
HR_CLONES int32_t cloned(const void* a, const void* b, void* out, int64_t n) {
  return body<Op, T, form>(a, b, out, n);
}
template <class Op, class T, Form form>
int32_t plain(const void* a, const void* b, void* out, int64_t n) {
  return body<Op, T, form>(a, b, out, n);
}

template <class Op, class = void> constexpr bool has_mirror = false;
template <class Op> constexpr bool has_mirror<Op, std::void_t<typename Op::Mirror>> = true;

// Runs a loop of float over half or bfloat16, block by block. In binary_loops.cpp.
int32_t in_float_blocks(hr_dtype dtype, Form form, BinaryLoops::Loop loop, hr_dtype result,
                        const void* a, const void* b, void* out, int64_t n);

template <class Op, class T, Form form> constexpr BinaryLoops::Loop loop() {
  // For rarer types the code of three processor levels is not worth its size.
  constexpr bool common = std::is_floating_point_v<T> || (is_integer<T> && sizeof(T) >= 4 &&
                                                          (std::is_signed_v<T> || Op::signless));
  if constexpr (has_mirror<Op>)
    return [](const void* a, const void* b, void* out, int64_t n) {
      constexpr Form mirrored = form == kBoth ? kBoth : form == kWithLeft ? kWithRight : kWithLeft;
      return loop<typename Op::Mirror, T, mirrored>()(b, a, out, n);
    };
  else if constexpr (is_small_float<T>)
    return [](const void* a, const void* b, void* out, int64_t n) {
      return in_float_blocks(dtype_of<T>, form, loop<Op, float, form>(), dtype_of<Result<Op, T>>, a,
                             b, out, n);
    };
  else if constexpr (common && Op::vector && Op::fault == nullptr) return cloned<Op, T, form>;
  else return plain<Op, T, form>;
}

// One element has the bits that it would have among others, fused or not: a processor's loop may
// contract a product and a sum.
template <class Op, class T>
hr_code scalar(hr_ctx* ctx, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
               void*) {
  if constexpr (Op::vector && Op::fault == nullptr && std::is_floating_point_v<Compute<T>>) {
    (void)ctx;
    loop<Op, T, kBoth>()(in[0]->data, in[1]->data, out[0]->data, 1);
    return HR_OK;
  } else {
    const Compute<T> a = *static_cast<const T*>(in[0]->data);
    const Compute<T> b = *static_cast<const T*>(in[1]->data);
    if constexpr (Op::fault != nullptr)
      if (Op::faulty(a, b)) return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "%s", Op::fault);
    (void)ctx;
    *static_cast<Result<Op, T>*>(out[0]->data) = Result<Op, T>(Op::apply(a, b));
    return HR_OK;
  }
}

// A static table, so that most plans need no memory of their own.
template <class Op, class T> const BinaryLoops* loops() {
  static const BinaryLoops table = {loop<Op, T, kBoth>(),
                                    loop<Op, T, kWithRight>(),
                                    loop<Op, T, kWithLeft>(),
                                    scalar<Op, T>,
                                    int32_t(sizeof(T)),
                                    int32_t(sizeof(Result<Op, T>)),
                                    Op::fault,
                                    dtype_of<Result<Op, T>>};
  return &table;
}

template <class Op, class Set> const BinaryLoops* loops_for(hr_dtype dtype) {
  const auto of = [](auto t) { return loops<Op, typename decltype(t)::type>(); };
  if constexpr (Op::signless) return with_type(as_unsigned(dtype), Signless<Set>{}, of);
  else return with_type(dtype, Set{}, of);
}

// In binary_loops.cpp. Sets output shape, plan and compute; the shape rule has run.
hr_code prepare_loops(hr_request* request, const BinaryLoops* loops);
// The same, after the rule that broadcasts and the rule of equal shapes.
hr_code prepare_broadcast(hr_request* request, const BinaryLoops* loops);
hr_code prepare_equal_shapes(hr_request* request, const BinaryLoops* loops);

template <class Op, class Set> hr_code prepare(void*, hr_request* request) {
  return prepare_broadcast(request, loops_for<Op, Set>(request->inputs[0]->dtype));
}

// For the gradients, whose operands have one shape.
template <class Op, class Set> hr_code prepare_merged(void*, hr_request* request) {
  return prepare_equal_shapes(request, loops_for<Op, Set>(request->inputs[0]->dtype));
}

}  // namespace binary
}  // namespace hr

#endif
