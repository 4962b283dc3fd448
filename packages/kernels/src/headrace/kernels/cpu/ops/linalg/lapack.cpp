// Finds LAPACK among the libraries of the process and calls it.
//
// NumPy's wheels contain OpenBLAS, so a LAPACK of our own would duplicate 25 MB. The symbols show
// the variant: names with or without OpenBLAS's prefix, integers of 64 or 32 bits.
#include "ops/linalg/lapack.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "ops/linalg/fork_guard.hpp"
#include "processor/loaded_library.hpp"

namespace hr::lapack {
namespace {

struct Naming {
  const char *prefix, *suffix;
  bool wide;  // integers of 64 bits
};
constexpr Naming kNamings[] = {
    {"scipy_", "_64_", true}, {"", "_64_", true}, {"scipy_", "_", false}, {"", "_", false}};

struct Library {
  void* handle = nullptr;
  Naming naming{};

  void* function(const std::string& name) const {
#if defined(__linux__)
    return handle ? ::dlsym(handle, (naming.prefix + name + naming.suffix).c_str()) : nullptr;
#else
    (void)name;
    return nullptr;
#endif
  }
};

// Every function that is called, without the letter of its type; complex names where they differ.
struct Name {
  const char *real, *complex;
};
constexpr Name kNames[] = {{"gemm", "gemm"},   {"trsm", "trsm"},   {"syrk", "herk"},
                           {"syr2k", "her2k"}, {"potrf", "potrf"}, {"getrf", "getrf"},
                           {"getrs", "getrs"}, {"laswp", "laswp"}, {"geqrf", "geqrf"},
                           {"orgqr", "ungqr"}, {"ormqr", "unmqr"}, {"labrd", "labrd"},
                           {"gebd2", "gebd2"}, {"ormbr", "unmbr"}, {"latrd", "latrd"},
                           {"sytd2", "hetd2"}, {"ormtr", "unmtr"}};
constexpr const char* kOfRealNumbers[] = {"bdsdc", "stedc", "sterf"};

bool is_whole(const Library& candidate) {
  for (const char letter : {'s', 'd', 'c', 'z'})
    for (const Name& name : kNames)
      if (!candidate.function(
              letter + std::string(letter == 'c' || letter == 'z' ? name.complex : name.real)))
        return false;
  for (const char letter : {'s', 'd'})
    for (const char* name : kOfRealNumbers)
      if (!candidate.function(letter + std::string(name))) return false;
  return true;
}

const Library& library() {
  static const Library found = [] {
    Library result;
#if defined(__linux__)
    find_loaded_library(
        // NumPy's module is searched with what it is linked to, whatever that is called.
        [](const char* file) {
          return std::strstr(file, "openblas") || std::strstr(file, "lapack") ||
                 std::strstr(file, "_umath_linalg");
        },
        [&](void* handle) {
          for (const Naming& naming : kNamings) {
            const Library candidate{handle, naming};
            if (!is_whole(candidate)) continue;
            result = candidate;
            return true;
          }
          return false;
        });
#endif
    return result;
  }();
  return found;
}

template <class T> constexpr char letter() {
  if constexpr (std::is_same_v<T, float>) return 's';
  else if constexpr (std::is_same_v<T, double>) return 'd';
  else if constexpr (std::is_same_v<T, complex64>) return 'c';
  else return 'z';
}

// name: of the real function; complex ones differ where `complex_name` is given.
template <class T> void* find(const char* name, const char* complex_name = nullptr) {
  return library().function(letter<T>() +
                            std::string(is_complex<T> && complex_name ? complex_name : name));
}

// Fortran passes by reference; the lengths of character arguments come last, by value, and a
// callee that does not want them ignores them. Both widths of integers are read from one
// little-endian place.
template <class... Args> void call(void* function, Args*... args) {
  const ForkGuard guard;
  reinterpret_cast<void (*)(Args*..., size_t, size_t, size_t, size_t)>(function)(args..., 1, 1, 1,
                                                                                 1);
}

// With LAPACK's last argument, and its result there.
template <class... Args> int64_t call_info(void* function, Args*... args) {
  int64_t info = 0;
  call(function, args..., &info);
  // Of a narrow integer only the low half was written.
  return library().naming.wide ? info : int32_t(info);
}

// Working space of functions that need columns times a block: 64 is LAPACK's largest block, and
// the triangles of its reflectors are kept behind.
template <class T> std::vector<T> space(int64_t columns) {
  return std::vector<T>(size_t(std::max<int64_t>(1, columns) * 64 + 65 * 64), T(0));
}

}  // namespace

namespace {

// OpenBLAS's own count of threads. It holds for the process, so it is set while the first of ours
// needs it and restored after the last; NumPy computes the same meanwhile, on one thread.
struct ThreadCount {
  int (*get)() = reinterpret_cast<int (*)()>(library().function("openblas_get_num_threads"));
  void (*set)(const int64_t*) =
      reinterpret_cast<void (*)(const int64_t*)>(library().function("openblas_set_num_threads"));
  std::atomic<int> users{0}, given{1};

  void put(int64_t n) const {
    const ForkGuard guard;
    set(&n);
  }
  // Without a lock, which a fork could leave taken: who puts a count looks again, since another
  // decomposition may have begun or ended meanwhile.
  void settle() const {
    for (;;) {
      const bool one = users > 0;
      put(one ? 1 : int(given));
      if ((users > 0) == one) return;
    }
  }
  void enter() {
    if (users++ > 0) return;
    if (const int now = get(); now > 1) given = now;
    settle();
  }
  void leave() {
    if (--users == 0) settle();
  }
};

ThreadCount* thread_count() {
  static ThreadCount count;
  return count.get && count.set ? &count : nullptr;
}

}  // namespace

OneThread::OneThread(bool requested) : wanted_(requested && thread_count()) {
  if (wanted_) thread_count()->enter();
}
OneThread::~OneThread() {
  if (wanted_) thread_count()->leave();
}

bool available() { return library().handle != nullptr; }

bool fits(int64_t n) { return library().naming.wide || n <= 40000; }

Pivots::Pivots(int64_t n) : wide_(library().naming.wide), places_(size_t(n), 0) {}

int64_t Pivots::operator[](int64_t i) const {
  if (wide_) return places_[size_t(i)];
  int32_t narrow;
  std::memcpy(&narrow, reinterpret_cast<const int32_t*>(places_.data()) + i, sizeof narrow);
  return narrow;
}

void Pivots::set(int64_t i, int64_t row) {
  if (wide_) {
    places_[size_t(i)] = row;
    return;
  }
  const int32_t narrow = int32_t(row);
  std::memcpy(reinterpret_cast<int32_t*>(places_.data()) + i, &narrow, sizeof narrow);
}

void* Pivots::from(int64_t i) {
  if (wide_) return places_.data() + i;
  return reinterpret_cast<int32_t*>(places_.data()) + i;
}

template <class T>
void Lapack<T>::gemm(char of_a, char of_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a,
                     int64_t lda, const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  static void* const f = find<T>("gemm");
  call(f, &of_a, &of_b, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
}

template <class T>
void Lapack<T>::herk(char uplo, char trans, int64_t n, int64_t k, const T* a, int64_t lda, T* c,
                     int64_t ldc) {
  static void* const f = find<T>("syrk", "herk");
  const Real<T> minus = -1, one = 1;
  call(f, &uplo, &trans, &n, &k, &minus, a, &lda, &one, c, &ldc);
}

template <class T>
void Lapack<T>::her2k(char uplo, int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
                      int64_t ldb, T* c, int64_t ldc) {
  static void* const f = find<T>("syr2k", "her2k");
  const char trans = 'N';
  const T minus = T(-1);
  const Real<T> one = 1;
  call(f, &uplo, &trans, &n, &k, &minus, a, &lda, b, &ldb, &one, c, &ldc);
}

template <class T>
void Lapack<T>::trsm(char side, char uplo, char trans, char diagonal, int64_t m, int64_t n,
                     const T* a, int64_t lda, T* b, int64_t ldb) {
  static void* const f = find<T>("trsm");
  const T one = T(1);
  call(f, &side, &uplo, &trans, &diagonal, &m, &n, &one, a, &lda, b, &ldb);
}

template <class T> int64_t Lapack<T>::potrf(char uplo, int64_t n, T* a, int64_t lda) {
  static void* const f = find<T>("potrf");
  return call_info(f, &uplo, &n, a, &lda);
}

template <class T>
int64_t Lapack<T>::getrf(int64_t m, int64_t n, T* a, int64_t lda, void* pivots) {
  static void* const f = find<T>("getrf");
  return call_info(f, &m, &n, a, &lda, pivots);
}

template <class T>
void Lapack<T>::getrs(int64_t n, int64_t m, const T* lu, void* pivots, T* b) {
  static void* const f = find<T>("getrs");
  const char trans = 'N';
  call_info(f, &trans, &n, &m, lu, &n, pivots, b, &n);
}

template <class T>
void Lapack<T>::laswp(int64_t n, T* a, int64_t lda, int64_t first, int64_t last, void* pivots) {
  static void* const f = find<T>("laswp");
  const int64_t step = 1;
  call(f, &n, a, &lda, &first, &last, pivots, &step);
}

template <class T>
void Lapack<T>::geqrf(int64_t m, int64_t n, T* a, int64_t lda, T* tau) {
  static void* const f = find<T>("geqrf");
  auto work = space<T>(n);
  const int64_t size = int64_t(work.size());
  call_info(f, &m, &n, a, &lda, tau, work.data(), &size);
}

template <class T>
void Lapack<T>::orgqr(int64_t m, int64_t n, int64_t k, T* a, int64_t lda, const T* tau) {
  static void* const f = find<T>("orgqr", "ungqr");
  auto work = space<T>(n);
  const int64_t size = int64_t(work.size());
  call_info(f, &m, &n, &k, a, &lda, tau, work.data(), &size);
}

template <class T>
void Lapack<T>::ormqr(char trans, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda,
                      const T* tau, T* c, int64_t ldc) {
  static void* const f = find<T>("ormqr", "unmqr");
  const char side = 'L';
  if (!is_complex<T> && trans == 'C') trans = 'T';
  auto work = space<T>(n);
  const int64_t size = int64_t(work.size());
  call_info(f, &side, &trans, &m, &n, &k, a, &lda, tau, c, &ldc, work.data(), &size);
}

template <class T>
void Lapack<T>::labrd(int64_t m, int64_t n, int64_t block, T* a, int64_t lda, Real<T>* d,
                      Real<T>* e, T* tauq, T* taup, T* x, int64_t ldx, T* y, int64_t ldy) {
  static void* const f = find<T>("labrd");
  call(f, &m, &n, &block, a, &lda, d, e, tauq, taup, x, &ldx, y, &ldy);
}

template <class T>
void Lapack<T>::gebd2(int64_t m, int64_t n, T* a, int64_t lda, Real<T>* d, Real<T>* e, T* tauq,
                      T* taup) {
  static void* const f = find<T>("gebd2");
  std::vector<T> work(size_t(std::max(m, n)), T(0));
  call_info(f, &m, &n, a, &lda, d, e, tauq, taup, work.data());
}

template <class T>
void Lapack<T>::ormbr(char of, char side, char trans, int64_t m, int64_t n, int64_t k, const T* a,
                      int64_t lda, const T* tau, T* c, int64_t ldc) {
  static void* const f = find<T>("ormbr", "unmbr");
  if (!is_complex<T> && trans == 'C') trans = 'T';
  auto work = space<T>(side == 'L' ? n : m);
  const int64_t size = int64_t(work.size());
  call_info(f, &of, &side, &trans, &m, &n, &k, a, &lda, tau, c, &ldc, work.data(), &size);
}

template <class T>
void Lapack<T>::latrd(char uplo, int64_t n, int64_t block, T* a, int64_t lda, Real<T>* e, T* tau,
                      T* w, int64_t ldw) {
  static void* const f = find<T>("latrd");
  call(f, &uplo, &n, &block, a, &lda, e, tau, w, &ldw);
}

template <class T>
void Lapack<T>::sytd2(char uplo, int64_t n, T* a, int64_t lda, Real<T>* d, Real<T>* e, T* tau) {
  static void* const f = find<T>("sytd2", "hetd2");
  call_info(f, &uplo, &n, a, &lda, d, e, tau);
}

template <class T>
void Lapack<T>::ormtr(char uplo, int64_t n, int64_t columns, const T* a, int64_t lda, const T* tau,
                      T* c, int64_t ldc) {
  static void* const f = find<T>("ormtr", "unmtr");
  const char side = 'L', trans = 'N';
  auto work = space<T>(columns);
  const int64_t size = int64_t(work.size());
  call_info(f, &side, &uplo, &trans, &n, &columns, a, &lda, tau, c, &ldc, work.data(), &size);
}

template <class R>
int64_t bdsdc(int64_t n, R* d, R* e, R* u, R* vt) {
  static void* const f = find<R>("bdsdc");
  const char uplo = 'U', job = u ? 'I' : 'N';
  std::vector<R> work(size_t(u ? 3 * n * n + 4 * n : 4 * n), R(0));
  std::vector<int64_t> int_work(size_t(8 * n), 0);
  R none = 0;
  int64_t no_place = 0;
  return call_info(f, &uplo, &job, &n, d, e, u ? u : &none, &n, vt ? vt : &none, &n, &none,
                   &no_place, work.data(), int_work.data());
}

template <class R>
int64_t stedc(int64_t n, R* d, R* e, R* vectors) {
  static void* const values_alone = find<R>("sterf");
  static void* const f = find<R>("stedc");
  if (!vectors) return call_info(values_alone, &n, d, e);
  const char job = 'I';
  const int64_t size = 1 + 4 * n + n * n, int_size = 3 + 5 * n;
  std::vector<R> work(size_t(size), R(0));
  std::vector<int64_t> int_work(size_t(int_size), 0);
  return call_info(f, &job, &n, d, e, vectors, &n, work.data(), &size, int_work.data(), &int_size);
}

template int64_t bdsdc<float>(int64_t, float*, float*, float*, float*);
template int64_t bdsdc<double>(int64_t, double*, double*, double*, double*);
template int64_t stedc<float>(int64_t, float*, float*, float*);
template int64_t stedc<double>(int64_t, double*, double*, double*);
template struct Lapack<float>;
template struct Lapack<double>;
template struct Lapack<complex64>;
template struct Lapack<complex128>;

}  // namespace hr::lapack
