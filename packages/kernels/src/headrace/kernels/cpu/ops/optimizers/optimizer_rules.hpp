// One step of every optimizer for one element: w is the variable, a, b, c its slots, g the
// gradient, h what `derive` made of the op's scalars (in the order of its signature).
#pragma once

#include <cmath>

#include "math/vector_math.hpp"
#include "processor/simd.hpp"

namespace hr::optimizer {

template <class C>
HR_INLINE C sign(C x) {
  return C(x > C(0)) - C(x < C(0));
}
template <class C>
HR_INLINE C magnitude(C x) {
  return x < C(0) ? -x : x;
}
template <class C>
HR_INLINE C above_zero(C x) {
  return x < C(0) ? C(0) : x;
}

// Pulls w towards zero by an l1 and an l2 term, for a step of size lr.
template <class C>
HR_INLINE C proximal(C w, C lr, C l1, C l2) {
  const C shrunk = sign(w) * above_zero(magnitude(w) - lr * l1);
  return (l1 > C(0) ? shrunk : w) / (C(1) + l2 * lr);
}

#define HR_AS_GIVEN  \
  template <class C> \
  static void derive(C*) {}

struct GradientDescent {  // alpha
  static constexpr int slots = 0, scalars = 1;
  HR_AS_GIVEN
  template <class C>
  HR_INLINE static void step(C& w, C&, C&, C&, C g, const C* h) {
    w -= g * h[0];
  }
};

struct ProximalGradientDescent {  // alpha, l1, l2
  static constexpr int slots = 0, scalars = 3;
  HR_AS_GIVEN
  template <class C>
  HR_INLINE static void step(C& w, C&, C&, C&, C g, const C* h) {
    w = proximal(w - g * h[0], h[0], h[1], h[2]);
  }
};

template <bool nesterov>
struct Momentum {  // lr, momentum
  static constexpr int slots = 1, scalars = 2;
  HR_AS_GIVEN
  template <class C>
  HR_INLINE static void step(C& w, C& a, C&, C&, C g, const C* h) {
    a = a * h[1] + g;
    w -= nesterov ? g * h[0] + a * h[1] * h[0] : a * h[0];
  }
};

template <bool nesterov>
struct KerasMomentum {  // lr, momentum
  static constexpr int slots = 1, scalars = 2;
  HR_AS_GIVEN
  template <class C>
  HR_INLINE static void step(C& w, C& a, C&, C&, C g, const C* h) {
    a = a * h[1] - g * h[0];
    w += nesterov ? a * h[1] - g * h[0] : a;
  }
};

template <bool update_slots>
struct Adagrad {  // lr
  static constexpr int slots = 1, scalars = 1;
  HR_AS_GIVEN
  template <class C>
  HR_INLINE static void step(C& w, C& a, C&, C&, C g, const C* h) {
    if (update_slots) a += g * g;
    w -= g * h[0] / std::sqrt(a);
  }
};

template <bool update_slots>
struct AdagradV2 {  // lr, epsilon
  static constexpr int slots = 1, scalars = 2;
  HR_AS_GIVEN
  template <class C>
  HR_INLINE static void step(C& w, C& a, C&, C&, C g, const C* h) {
    if (update_slots) a += g * g;
    w -= g * h[0] / (std::sqrt(a) + h[1]);
  }
};

struct ProximalAdagrad {  // lr, l1, l2
  static constexpr int slots = 1, scalars = 3;
  HR_AS_GIVEN
  template <class C>
  HR_INLINE static void step(C& w, C& a, C&, C&, C g, const C* h) {
    a += g * g;
    const C lr = h[0] / std::sqrt(a);
    w = proximal(w - g * lr, lr, h[1], h[2]);
  }
};

struct AdagradDA {  // lr, l1, l2, global_step
  static constexpr int slots = 2, scalars = 4;
  HR_AS_GIVEN
  template <class C>
  HR_INLINE static void step(C& w, C& a, C& b, C&, C g, const C* h) {
    a += g;
    b += g * g;
    const C shrunk = sign(a) * above_zero(magnitude(a) - h[1] * h[3]);
    w = -h[0] * (h[1] > C(0) ? shrunk : a) / (h[2] * h[3] * h[0] + std::sqrt(b));
  }
};

struct Adadelta {  // lr, rho, epsilon
  static constexpr int slots = 2, scalars = 3;
  HR_AS_GIVEN
  template <class C>
  HR_INLINE static void step(C& w, C& a, C& b, C&, C g, const C* h) {
    a = a * h[1] + g * g * (C(1) - h[1]);
    const C update = std::sqrt(b + h[2]) / std::sqrt(a + h[2]) * g;
    w -= update * h[0];
    b = b * h[1] + update * update * (C(1) - h[1]);
  }
};

// beta1_power, beta2_power, lr, beta1, beta2, epsilon; then h[0] is the corrected rate.
template <bool nesterov>
struct Adam {
  static constexpr int slots = 2, scalars = 6;
  template <class C>
  static void derive(C* h) {
    h[0] = h[2] * std::sqrt(C(1) - h[1]) / (C(1) - h[0]);
  }
  template <class C>
  HR_INLINE static void step(C& w, C& a, C& b, C&, C g, const C* h) {
    a += (g - a) * (C(1) - h[3]);
    b += (g * g - b) * (C(1) - h[4]);
    const C ahead = nesterov ? g * (C(1) - h[3]) + h[3] * a : a;
    w -= ahead * h[0] / (std::sqrt(b) + h[5]);
  }
};

struct AdamWithAmsgrad {
  static constexpr int slots = 3, scalars = 6;
  template <class C>
  static void derive(C* h) {
    h[0] = h[2] * std::sqrt(C(1) - h[1]) / (C(1) - h[0]);
  }
  template <class C>
  HR_INLINE static void step(C& w, C& a, C& b, C& c, C g, const C* h) {
    a += (g - a) * (C(1) - h[3]);
    b += (g * g - b) * (C(1) - h[4]);
    c = c > b ? c : b;
    w -= a * h[0] / (std::sqrt(c) + h[5]);
  }
};

struct AdaMax {  // beta1_power, lr, beta1, beta2, epsilon; then h[0] is the corrected rate
  static constexpr int slots = 2, scalars = 5;
  template <class C>
  static void derive(C* h) {
    h[0] = h[1] / (C(1) - h[0]);
  }
  template <class C>
  HR_INLINE static void step(C& w, C& a, C& b, C&, C g, const C* h) {
    a += (g - a) * (C(1) - h[2]);
    const C decayed = h[3] * b;
    b = decayed > magnitude(g) ? decayed : magnitude(g);
    w -= h[0] * (a / (b + h[4]));
  }
};

struct RMSProp {  // lr, rho, momentum, epsilon
  static constexpr int slots = 2, scalars = 4;
  HR_AS_GIVEN
  template <class C>
  HR_INLINE static void step(C& w, C& a, C& b, C&, C g, const C* h) {
    a += (g * g - a) * (C(1) - h[1]);
    b = b * h[2] + g * h[0] / std::sqrt(a + h[3]);
    w -= b;
  }
};

struct CenteredRMSProp {  // lr, rho, momentum, epsilon; slots mg, ms, mom
  static constexpr int slots = 3, scalars = 4;
  HR_AS_GIVEN
  template <class C>
  HR_INLINE static void step(C& w, C& a, C& b, C& c, C g, const C* h) {
    b += (g * g - b) * (C(1) - h[1]);
    a += (g - a) * (C(1) - h[1]);
    c = c * h[2] + g * h[0] / std::sqrt(b - a * a + h[3]);
    w -= c;
  }
};

// lr, l1, l2, l2_shrinkage, lr_power; slots accum, linear.
template <bool square_root, bool multiply_linear_by_lr>
struct Ftrl {
  static constexpr int slots = 2, scalars = 5;
  HR_AS_GIVEN
  template <class C>
  HR_INLINE static C power(C x, C lr_power) {
    return square_root ? std::sqrt(x) : std::pow(x, -lr_power);
  }
  template <class C>
  HR_INLINE static void step(C& w, C& a, C& b, C&, C g, const C* h) {
    const C shrunk = g + C(2) * h[3] * w;
    const C before = power(a, h[4]);
    a += g * g;
    const C after = power(a, h[4]);
    const C lr = multiply_linear_by_lr ? C(1) : h[0], scale = multiply_linear_by_lr ? h[0] : C(1);
    b += shrunk * scale - (after - before) / lr * w;
    const C l1 = h[1] * scale;
    const C y = after / lr + C(2) * h[2] * scale;
    w = magnitude(b) > l1 ? (l1 * sign(b) - b) / y : C(0);
  }
};

struct AddSign {  // lr, alpha, sign_decay, beta
  static constexpr int slots = 1, scalars = 4;
  HR_AS_GIVEN
  template <class C>
  HR_INLINE static void step(C& w, C& a, C&, C&, C g, const C* h) {
    a = a * h[3] + g * (C(1) - h[3]);
    w -= h[0] * (h[1] + h[2] * sign(g) * sign(a)) * g;
  }
};

struct PowerSign {  // lr, logbase, sign_decay, beta
  static constexpr int slots = 1, scalars = 4;
  HR_AS_GIVEN
  template <class C>
  HR_INLINE static void step(C& w, C& a, C&, C&, C g, const C* h) {
    a = a * h[3] + g * (C(1) - h[3]);
    w -= h[0] * vm::exp(h[1] * h[2] * sign(g) * sign(a)) * g;
  }
};

#undef HR_AS_GIVEN

}  // namespace hr::optimizer
