// The LAPACK that NumPy loads into the process, for matrices large enough to benefit.
//
// Matrices are column-major here: a row-major matrix is its own transpose. These are LAPACK's
// building blocks; polled_matrix.hpp combines them into decompositions that can be cancelled.
#ifndef HEADRACE_CPU_LINALG_LAPACK_HPP
#define HEADRACE_CPU_LINALG_LAPACK_HPP

#include <complex>
#include <cstdint>
#include <vector>

#include "table/element_types.hpp"

namespace hr::lapack {

template <class T> struct RealOf {
  using type = T;
};
template <class R> struct RealOf<std::complex<R>> {
  using type = R;
};
template <class T> using Real = typename RealOf<T>::type;

// Whether there is a LAPACK; it is looked for once.
bool available();

// Whether its integers can count the elements of a matrix of n columns.
bool fits(int64_t n);

// While one lives that is wanted, OpenBLAS computes on the threads that call it. Its threads spin
// for one another: beside others that want the cores, a decomposition of 5 ms took seconds.
class OneThread {
 public:
  explicit OneThread(bool requested);
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const bool wanted_;
};

// Rows that were exchanged, counted from 1, as wide as the library's integers.
class Pivots {
 public:
  explicit Pivots(int64_t n);
  int64_t operator[](int64_t i) const;
  void set(int64_t i, int64_t row);
  void* from(int64_t i);

 private:
  bool wide_;
  std::vector<int64_t> places_;
};

// The functions of BLAS and LAPACK for T (float, double, complex64, complex128), by the names of
// the real ones without the letter; herk and her2k by the complex ones. `trans` 'C' is the adjoint.
// Those that return int64_t give LAPACK's info. Working space is allocated inside.
template <class T> struct Lapack {
  static void gemm(char of_a, char of_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a,
                   int64_t lda, const T* b, int64_t ldb, T beta, T* c, int64_t ldc);
  // c -= a a^H ('N') or a^H a ('C').
  static void herk(char uplo, char trans, int64_t n, int64_t k, const T* a, int64_t lda, T* c,
                   int64_t ldc);
  // c -= a b^H + b a^H.
  static void her2k(char uplo, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
                    int64_t ldb, T* c, int64_t ldc);
  static void trsm(char side, char uplo, char trans, char diagonal, int64_t m, int64_t n,
                   const T* a, int64_t lda, T* b, int64_t ldb);
  static int64_t potrf(char uplo, int64_t n, T* a, int64_t lda);
  static int64_t getrf(int64_t m, int64_t n, T* a, int64_t lda, void* pivots);
  // b [n, m] becomes x with a x = b.
  static void getrs(int64_t n, int64_t m, const T* lu, void* pivots, T* b);
  // Exchanges rows first to last (from 1) of n columns with those in pivots.
  static void laswp(int64_t n, T* a, int64_t lda, int64_t first, int64_t last, void* pivots);
  static void geqrf(int64_t m, int64_t n, T* a, int64_t lda, T* tau);
  static void orgqr(int64_t m, int64_t n, int64_t k, T* a, int64_t lda, const T* tau);
  // c [m, n] becomes Q c or, with 'C', Q^H c.
  static void ormqr(char trans, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda,
                    const T* tau, T* c, int64_t ldc);
  static void labrd(int64_t m, int64_t n, int64_t block, T* a, int64_t lda, Real<T>* d, Real<T>* e,
                    T* tauq, T* taup, T* x, int64_t ldx, T* y, int64_t ldy);
  static void gebd2(int64_t m, int64_t n, T* a, int64_t lda, Real<T>* d, Real<T>* e, T* tauq,
                    T* taup);
  static void ormbr(char of, char side, char trans, int64_t m, int64_t n, int64_t k, const T* a,
                    int64_t lda, const T* tau, T* c, int64_t ldc);
  static void latrd(char uplo, int64_t n, int64_t block, T* a, int64_t lda, Real<T>* e, T* tau,
                    T* w, int64_t ldw);
  static void sytd2(char uplo, int64_t n, T* a, int64_t lda, Real<T>* d, Real<T>* e, T* tau);
  // c [n, columns] becomes Q c.
  static void ormtr(char uplo, int64_t n, int64_t columns, const T* a, int64_t lda, const T* tau,
                    T* c, int64_t ldc);
};

// Singular values of an upper bidiagonal matrix, descending, in d; u and vt [n, n], or both null.
template <class R> int64_t bdsdc(int64_t n, R* d, R* e, R* u, R* vt);

// Eigenvalues of a tridiagonal matrix, ascending, in d; vectors [n, n], or null.
template <class R> int64_t stedc(int64_t n, R* d, R* e, R* vectors);

}  // namespace hr::lapack

#endif
