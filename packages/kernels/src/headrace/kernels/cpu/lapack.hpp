// The LAPACK that NumPy brought into the process, for matrices large enough to be worth it.
//
// Matrices are column-major here: a row-major matrix is its own transpose.
#ifndef HEADRACE_CPU_LAPACK_HPP
#define HEADRACE_CPU_LAPACK_HPP

#include <complex>
#include <cstdint>

#include "element_types.hpp"

namespace hr::lapack {

template <class T> struct RealOf { using type = T; };
template <class R> struct RealOf<std::complex<R>> { using type = R; };
template <class T> using Real = typename RealOf<T>::type;

// Whether there is a LAPACK; it is looked for once.
bool available();

// The functions of LAPACK for T (float, double, complex64, complex128), by their names without
// the letter of the type. Each gives LAPACK's info, and allocates its own working space.
template <class T> struct Lapack {
  // Cholesky's factor of the triangle named by uplo ('U' or 'L'), in place.
  static int64_t potrf(char uplo, int64_t n, T* a);
  // L U of a, in place; pivots counts from 1.
  static int64_t getrf(int64_t n, T* a, int64_t* pivots);
  // x with a x = b; a becomes its factors, b [n, m] becomes x.
  static int64_t gesv(int64_t n, int64_t m, T* a, T* b);
  // The inverse, from the factors of getrf.
  static int64_t getri(int64_t n, T* lu, const int64_t* pivots);
  // x with x op(A) = b for a triangular A [n, n] and b [m, n]; b becomes x.
  static void trsm_right(char uplo, char trans, int64_t m, int64_t n, const T* a, T* b);
  // R in the upper triangle of a [m, n], reflectors below it and in tau.
  static int64_t geqrf(int64_t m, int64_t n, T* a, T* tau);
  // The first `columns` columns of Q from k reflectors.
  static int64_t orgqr(int64_t m, int64_t columns, int64_t k, T* a, const T* tau);
  // Eigenvalues, ascending, and with jobz 'V' the vectors as columns of a.
  static int64_t heevd(char jobz, char uplo, int64_t n, T* a, Real<T>* values);
  // Singular values, descending, and with jobz 'A' or 'S' the vectors; a is destroyed.
  static int64_t gesdd(char jobz, int64_t m, int64_t n, T* a, Real<T>* values, T* u, T* vt,
                       int64_t columns);
};

}  // namespace hr::lapack

#endif
