// Selu's constants, of Klambauer et al. 2017.
#ifndef HEADRACE_LIBRARY_ELEMENTWISE_SELU_HPP
#define HEADRACE_LIBRARY_ELEMENTWISE_SELU_HPP

namespace hr {

constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

}  // namespace hr

#endif
