// The update rule of every optimizer for one element. A rule is a struct with
//
//   slots       the number of slots of the op
//   Parameters  the op's scalars, in the order of its signature
//   prepare     values computed from the parameters, once per run
//   step        updates a variable and its slots by a gradient
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

// Pulls a variable towards zero by an l1 and an l2 term.
template <class C>
HR_INLINE C proximal(C var, C learning_rate, C l1, C l2) {
  const C shrunk = sign(var) * above_zero(magnitude(var) - learning_rate * l1);
  return (l1 > C(0) ? shrunk : var) / (C(1) + l2 * learning_rate);
}

struct GradientDescent {
  static constexpr int slots = 0;
  template <class C>
  struct Parameters {
    C alpha;
  };
  template <class C>
  static void prepare(Parameters<C>&) {}
  template <class C>
  HR_INLINE static void step(C& var, C&, C&, C&, C grad, const Parameters<C>& p) {
    var -= grad * p.alpha;
  }
};

struct ProximalGradientDescent {
  static constexpr int slots = 0;
  template <class C>
  struct Parameters {
    C alpha, l1, l2;
  };
  template <class C>
  static void prepare(Parameters<C>&) {}
  template <class C>
  HR_INLINE static void step(C& var, C&, C&, C&, C grad, const Parameters<C>& p) {
    var = proximal(var - grad * p.alpha, p.alpha, p.l1, p.l2);
  }
};

template <bool nesterov>
struct Momentum {
  static constexpr int slots = 1;
  template <class C>
  struct Parameters {
    C learning_rate, momentum;
  };
  template <class C>
  static void prepare(Parameters<C>&) {}
  template <class C>
  HR_INLINE static void step(C& var, C& accum, C&, C&, C grad, const Parameters<C>& p) {
    accum = accum * p.momentum + grad;
    var -= nesterov ? grad * p.learning_rate + accum * p.momentum * p.learning_rate
                    : accum * p.learning_rate;
  }
};

template <bool nesterov>
struct KerasMomentum {
  static constexpr int slots = 1;
  template <class C>
  struct Parameters {
    C learning_rate, momentum;
  };
  template <class C>
  static void prepare(Parameters<C>&) {}
  template <class C>
  HR_INLINE static void step(C& var, C& accum, C&, C&, C grad, const Parameters<C>& p) {
    accum = accum * p.momentum - grad * p.learning_rate;
    var += nesterov ? accum * p.momentum - grad * p.learning_rate : accum;
  }
};

template <bool update_slots>
struct Adagrad {
  static constexpr int slots = 1;
  template <class C>
  struct Parameters {
    C learning_rate;
  };
  template <class C>
  static void prepare(Parameters<C>&) {}
  template <class C>
  HR_INLINE static void step(C& var, C& accum, C&, C&, C grad, const Parameters<C>& p) {
    if (update_slots) accum += grad * grad;
    var -= grad * p.learning_rate / std::sqrt(accum);
  }
};

template <bool update_slots>
struct AdagradV2 {
  static constexpr int slots = 1;
  template <class C>
  struct Parameters {
    C learning_rate, epsilon;
  };
  template <class C>
  static void prepare(Parameters<C>&) {}
  template <class C>
  HR_INLINE static void step(C& var, C& accum, C&, C&, C grad, const Parameters<C>& p) {
    if (update_slots) accum += grad * grad;
    var -= grad * p.learning_rate / (std::sqrt(accum) + p.epsilon);
  }
};

struct ProximalAdagrad {
  static constexpr int slots = 1;
  template <class C>
  struct Parameters {
    C learning_rate, l1, l2;
  };
  template <class C>
  static void prepare(Parameters<C>&) {}
  template <class C>
  HR_INLINE static void step(C& var, C& accum, C&, C&, C grad, const Parameters<C>& p) {
    accum += grad * grad;
    const C learning_rate = p.learning_rate / std::sqrt(accum);
    var = proximal(var - grad * learning_rate, learning_rate, p.l1, p.l2);
  }
};

struct AdagradDA {
  static constexpr int slots = 2;
  template <class C>
  struct Parameters {
    C learning_rate, l1, l2, global_step;
  };
  template <class C>
  static void prepare(Parameters<C>&) {}
  template <class C>
  HR_INLINE static void step(C& var, C& gradients, C& squared_gradients, C&, C grad,
                             const Parameters<C>& p) {
    gradients += grad;
    squared_gradients += grad * grad;
    const C shrunk = sign(gradients) * above_zero(magnitude(gradients) - p.l1 * p.global_step);
    var = -p.learning_rate * (p.l1 > C(0) ? shrunk : gradients) /
          (p.l2 * p.global_step * p.learning_rate + std::sqrt(squared_gradients));
  }
};

struct Adadelta {
  static constexpr int slots = 2;
  template <class C>
  struct Parameters {
    C learning_rate, rho, epsilon;
  };
  template <class C>
  static void prepare(Parameters<C>&) {}
  template <class C>
  HR_INLINE static void step(C& var, C& accum, C& accum_update, C&, C grad,
                             const Parameters<C>& p) {
    accum = accum * p.rho + grad * grad * (C(1) - p.rho);
    const C update = std::sqrt(accum_update + p.epsilon) / std::sqrt(accum + p.epsilon) * grad;
    var -= update * p.learning_rate;
    accum_update = accum_update * p.rho + update * update * (C(1) - p.rho);
  }
};

template <bool nesterov>
struct Adam {
  static constexpr int slots = 2;
  template <class C>
  struct Parameters {
    C beta1_power, beta2_power, learning_rate, beta1, beta2, epsilon;
  };
  template <class C>
  static void prepare(Parameters<C>& p) {
    p.learning_rate = p.learning_rate * std::sqrt(C(1) - p.beta2_power) / (C(1) - p.beta1_power);
  }
  template <class C>
  HR_INLINE static void step(C& var, C& m, C& v, C&, C grad, const Parameters<C>& p) {
    m += (grad - m) * (C(1) - p.beta1);
    v += (grad * grad - v) * (C(1) - p.beta2);
    const C ahead = nesterov ? grad * (C(1) - p.beta1) + p.beta1 * m : m;
    var -= ahead * p.learning_rate / (std::sqrt(v) + p.epsilon);
  }
};

struct AdamWithAmsgrad {
  static constexpr int slots = 3;
  template <class C>
  struct Parameters {
    C beta1_power, beta2_power, learning_rate, beta1, beta2, epsilon;
  };
  template <class C>
  static void prepare(Parameters<C>& p) {
    p.learning_rate = p.learning_rate * std::sqrt(C(1) - p.beta2_power) / (C(1) - p.beta1_power);
  }
  template <class C>
  HR_INLINE static void step(C& var, C& m, C& v, C& vhat, C grad, const Parameters<C>& p) {
    m += (grad - m) * (C(1) - p.beta1);
    v += (grad * grad - v) * (C(1) - p.beta2);
    vhat = vhat > v ? vhat : v;
    var -= m * p.learning_rate / (std::sqrt(vhat) + p.epsilon);
  }
};

struct AdaMax {
  static constexpr int slots = 2;
  template <class C>
  struct Parameters {
    C beta1_power, learning_rate, beta1, beta2, epsilon;
  };
  template <class C>
  static void prepare(Parameters<C>& p) {
    p.learning_rate = p.learning_rate / (C(1) - p.beta1_power);
  }
  template <class C>
  HR_INLINE static void step(C& var, C& m, C& v, C&, C grad, const Parameters<C>& p) {
    m += (grad - m) * (C(1) - p.beta1);
    const C decayed = p.beta2 * v;
    v = decayed > magnitude(grad) ? decayed : magnitude(grad);
    var -= p.learning_rate * (m / (v + p.epsilon));
  }
};

struct RMSProp {
  static constexpr int slots = 2;
  template <class C>
  struct Parameters {
    C learning_rate, rho, momentum, epsilon;
  };
  template <class C>
  static void prepare(Parameters<C>&) {}
  template <class C>
  HR_INLINE static void step(C& var, C& ms, C& mom, C&, C grad, const Parameters<C>& p) {
    ms += (grad * grad - ms) * (C(1) - p.rho);
    mom = mom * p.momentum + grad * p.learning_rate / std::sqrt(ms + p.epsilon);
    var -= mom;
  }
};

struct CenteredRMSProp {
  static constexpr int slots = 3;
  template <class C>
  struct Parameters {
    C learning_rate, rho, momentum, epsilon;
  };
  template <class C>
  static void prepare(Parameters<C>&) {}
  template <class C>
  HR_INLINE static void step(C& var, C& mg, C& ms, C& mom, C grad, const Parameters<C>& p) {
    ms += (grad * grad - ms) * (C(1) - p.rho);
    mg += (grad - mg) * (C(1) - p.rho);
    mom = mom * p.momentum + grad * p.learning_rate / std::sqrt(ms - mg * mg + p.epsilon);
    var -= mom;
  }
};

template <bool square_root, bool multiply_linear_by_lr>
struct Ftrl {
  static constexpr int slots = 2;
  template <class C>
  struct Parameters {
    C learning_rate, l1, l2, l2_shrinkage, learning_rate_power;
  };
  template <class C>
  static void prepare(Parameters<C>&) {}
  template <class C>
  HR_INLINE static C power(C x, C learning_rate_power) {
    return square_root ? std::sqrt(x) : std::pow(x, -learning_rate_power);
  }
  template <class C>
  HR_INLINE static void step(C& var, C& accum, C& linear, C&, C grad, const Parameters<C>& p) {
    const C shrunk = grad + C(2) * p.l2_shrinkage * var;
    const C before = power(accum, p.learning_rate_power);
    accum += grad * grad;
    const C after = power(accum, p.learning_rate_power);
    const C learning_rate = multiply_linear_by_lr ? C(1) : p.learning_rate;
    const C scale = multiply_linear_by_lr ? p.learning_rate : C(1);
    linear += shrunk * scale - (after - before) / learning_rate * var;
    const C l1 = p.l1 * scale;
    const C quadratic = after / learning_rate + C(2) * p.l2 * scale;
    var = magnitude(linear) > l1 ? (l1 * sign(linear) - linear) / quadratic : C(0);
  }
};

struct AddSign {
  static constexpr int slots = 1;
  template <class C>
  struct Parameters {
    C learning_rate, alpha, sign_decay, beta;
  };
  template <class C>
  static void prepare(Parameters<C>&) {}
  template <class C>
  HR_INLINE static void step(C& var, C& m, C&, C&, C grad, const Parameters<C>& p) {
    m = m * p.beta + grad * (C(1) - p.beta);
    var -= p.learning_rate * (p.alpha + p.sign_decay * sign(grad) * sign(m)) * grad;
  }
};

struct PowerSign {
  static constexpr int slots = 1;
  template <class C>
  struct Parameters {
    C learning_rate, logbase, sign_decay, beta;
  };
  template <class C>
  static void prepare(Parameters<C>&) {}
  template <class C>
  HR_INLINE static void step(C& var, C& m, C&, C&, C grad, const Parameters<C>& p) {
    m = m * p.beta + grad * (C(1) - p.beta);
    var -= p.learning_rate * vm::exp(p.logbase * p.sign_decay * sign(grad) * sign(m)) * grad;
  }
};

}  // namespace hr::optimizer
