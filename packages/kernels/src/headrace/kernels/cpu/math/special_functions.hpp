// Special functions of one or more arguments, in double precision.
#ifndef HEADRACE_CPU_MATH_SPECIAL_FUNCTIONS_HPP
#define HEADRACE_CPU_MATH_SPECIAL_FUNCTIONS_HPP

namespace hr {

double log_gamma(double x);
double digamma(double x);
double ndtri(double p);  // the quantile of the normal distribution
double erfinv(double y);
double bessel_i0e(double x);
double bessel_i1e(double x);

// Regularised incomplete gamma functions and the derivative of the lower one by a.
double igamma(double a, double x);
double igammac(double a, double x);
double igamma_grad_a(double a, double x);
double gamma_sample_by_a(double a, double x);  // how a gamma sample moves with its parameter
double zeta(double x, double q);
double polygamma(double n, double x);
double betainc(double a, double b, double x);

}  // namespace hr

#endif
