// Finds LAPACK among the libraries of the process and calls it.
//
// NumPy's wheels carry OpenBLAS, so a LAPACK of our own would be 25 MB of the same. Which one is
// there shows in its symbols: names with or without OpenBLAS's prefix, integers of 64 or 32 bits.
#include "lapack.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#if defined(__linux__)
#include <dlfcn.h>
#include <link.h>
#endif

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

#if defined(__linux__)
int visit(dl_phdr_info* info, size_t, void* found_) {
  auto& found = *static_cast<Library*>(found_);
  const char* file = std::strrchr(info->dlpi_name, '/');
  file = file ? file + 1 : info->dlpi_name;
  // NumPy's module is searched with what it is linked to, whatever that is called.
  if (!std::strstr(file, "openblas") && !std::strstr(file, "lapack") &&
      !std::strstr(file, "_umath_linalg"))
    return 0;
  void* handle = ::dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return 0;
  for (const Naming& naming : kNamings) {
    const Library candidate{handle, naming};
    if (candidate.function("zgesdd") && candidate.function("cheevd")) {
      found = candidate;
      return 1;
    }
  }
  ::dlclose(handle);
  return 0;
}
#endif

const Library& library() {
  static const Library found = [] {
    Library result;
#if defined(__linux__)
    ::dl_iterate_phdr(visit, &result);
#endif
    return result;
  }();
  return found;
}

constexpr int64_t kNone = -1;  // info where LAPACK cannot take the sizes

// An integer argument as the library has it; both widths are read from one little-endian place.
struct Integer {
  int64_t value;
};

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
// callee that does not want them ignores them.
template <class... Args> int64_t call(void* function, int64_t* info, Args*... args) {
  if (!function) return kNone;
  *info = 0;
  reinterpret_cast<void (*)(Args*..., int64_t*, size_t, size_t)>(function)(args..., info, 1, 1);
  // Of a narrow integer only the low half was written.
  if (!library().naming.wide) *info = int32_t(*info);
  return *info;
}

bool fits(std::initializer_list<int64_t> sizes) {
  if (library().naming.wide) return true;
  // Products, too, are made in the library's integers.
  for (const int64_t n : sizes)
    if (n > 40000) return false;
  return true;
}

// The working space that a query with -1 asked for.
template <class T> int64_t asked(T size) {
  // A float holds large sizes rounded, perhaps down.
  const double exact = double(std::real(size));
  return std::max<int64_t>(1, int64_t(exact * (1 + double(std::numeric_limits<float>::epsilon()))));
}

// Pivots of the library's width, in place: widened after getrf, narrowed before it is used.
std::vector<int64_t> as_library(const int64_t* pivots, int64_t n) {
  std::vector<int64_t> own(pivots, pivots + n);
  if (!library().naming.wide) {
    auto* narrow = reinterpret_cast<int32_t*>(own.data());
    for (int64_t i = 0; i < n; ++i) {
      const int32_t pivot = int32_t(pivots[i]);
      std::memcpy(narrow + i, &pivot, sizeof pivot);
    }
  }
  return own;
}

}  // namespace

bool available() { return library().handle != nullptr; }

template <class T> int64_t Lapack<T>::potrf(char uplo, int64_t n, T* a) {
  static void* const f = find<T>("potrf");
  int64_t info;
  return fits({n}) ? call(f, &info, &uplo, &n, a, &n) : kNone;
}

template <class T> int64_t Lapack<T>::getrf(int64_t n, T* a, int64_t* pivots) {
  static void* const f = find<T>("getrf");
  int64_t info;
  if (!fits({n})) return kNone;
  call(f, &info, &n, &n, a, &n, pivots);
  if (!library().naming.wide) {
    std::vector<int32_t> narrow(size_t(n), 0);
    std::memcpy(narrow.data(), pivots, size_t(n) * sizeof(int32_t));
    std::copy(narrow.begin(), narrow.end(), pivots);
  }
  return f ? info : kNone;
}

template <class T> int64_t Lapack<T>::gesv(int64_t n, int64_t m, T* a, T* b) {
  static void* const f = find<T>("gesv");
  if (!fits({n, m})) return kNone;
  std::vector<int64_t> pivots(size_t(n), 0);
  int64_t info;
  return call(f, &info, &n, &m, a, &n, pivots.data(), b, &n);
}

template <class T> int64_t Lapack<T>::getri(int64_t n, T* lu, const int64_t* pivots) {
  static void* const f = find<T>("getri");
  if (!fits({n})) return kNone;
  auto own = as_library(pivots, n);
  int64_t info, size = -1;
  T query{};
  call(f, &info, &n, lu, &n, own.data(), &query, &size);
  size = asked(query);
  std::vector<T> work(size_t(size), T(0));
  return call(f, &info, &n, lu, &n, own.data(), work.data(), &size);
}

template <class T>
void Lapack<T>::trsm_right(char uplo, char trans, int64_t m, int64_t n, const T* a, T* b) {
  static void* const f = find<T>("trsm");
  const char side = 'R', diagonal = 'N';
  const T one = T(1);
  reinterpret_cast<void (*)(const char*, const char*, const char*, const char*, const int64_t*,
                            const int64_t*, const T*, const T*, const int64_t*, T*,
                            const int64_t*, size_t, size_t, size_t, size_t)>(f)(
      &side, &uplo, &trans, &diagonal, &m, &n, &one, a, &n, b, &m, 1, 1, 1, 1);
}

template <class T> int64_t Lapack<T>::geqrf(int64_t m, int64_t n, T* a, T* tau) {
  static void* const f = find<T>("geqrf");
  if (!fits({m, n})) return kNone;
  int64_t info, size = -1;
  T query{};
  call(f, &info, &m, &n, a, &m, tau, &query, &size);
  size = asked(query);
  std::vector<T> work(size_t(size), T(0));
  return call(f, &info, &m, &n, a, &m, tau, work.data(), &size);
}

template <class T>
int64_t Lapack<T>::orgqr(int64_t m, int64_t columns, int64_t k, T* a, const T* tau) {
  static void* const f = find<T>("orgqr", "ungqr");
  if (!fits({m, columns})) return kNone;
  int64_t info, size = -1;
  T query{};
  call(f, &info, &m, &columns, &k, a, &m, tau, &query, &size);
  size = asked(query);
  std::vector<T> work(size_t(size), T(0));
  return call(f, &info, &m, &columns, &k, a, &m, tau, work.data(), &size);
}

template <class T>
int64_t Lapack<T>::heevd(char jobz, char uplo, int64_t n, T* a, Real<T>* values) {
  static void* const f = find<T>("syevd", "heevd");
  if (!fits({n})) return kNone;
  int64_t info, size = -1, real_size = -1, int_size = -1, int_query = 0;
  T query{};
  Real<T> real_query{};
  if constexpr (is_complex<T>)
    call(f, &info, &jobz, &uplo, &n, a, &n, values, &query, &size, &real_query, &real_size,
         &int_query, &int_size);
  else
    call(f, &info, &jobz, &uplo, &n, a, &n, values, &query, &size, &int_query, &int_size);
  if (!library().naming.wide) int_query = int32_t(int_query);
  size = asked(query), real_size = asked(real_query), int_size = std::max<int64_t>(1, int_query);
  std::vector<T> work(size_t(size), T(0));
  std::vector<Real<T>> real_work(size_t(real_size), Real<T>(0));
  std::vector<int64_t> int_work(size_t(int_size), 0);
  if constexpr (is_complex<T>)
    return call(f, &info, &jobz, &uplo, &n, a, &n, values, work.data(), &size, real_work.data(),
                &real_size, int_work.data(), &int_size);
  else
    return call(f, &info, &jobz, &uplo, &n, a, &n, values, work.data(), &size, int_work.data(),
                &int_size);
}

template <class T>
int64_t Lapack<T>::gesdd(char jobz, int64_t m, int64_t n, T* a, Real<T>* values, T* u, T* vt,
                         int64_t columns) {
  static void* const f = find<T>("gesdd");
  if (!fits({m, n})) return kNone;
  const int64_t least = std::min(m, n), most = std::max(m, n);
  int64_t info, size = -1, rows_of_vt = std::max<int64_t>(1, jobz == 'A' ? n : columns);
  T query{};
  std::vector<int64_t> int_work(size_t(8 * least), 0);
  // LAPACK's own bound for every job.
  std::vector<Real<T>> real_work;
  if constexpr (is_complex<T>)
    real_work.resize(size_t(std::max(5 * least * least + 5 * least,
                                     2 * most * least + 2 * least * least + least)));
  const auto run = [&](T* work) {
    if constexpr (is_complex<T>)
      return call(f, &info, &jobz, &m, &n, a, &m, values, u, &m, vt, &rows_of_vt, work, &size,
                  real_work.data(), int_work.data());
    else
      return call(f, &info, &jobz, &m, &n, a, &m, values, u, &m, vt, &rows_of_vt, work, &size,
                  int_work.data());
  };
  run(&query);
  size = asked(query);
  std::vector<T> work(size_t(size), T(0));
  return run(work.data());
}

template struct Lapack<float>;
template struct Lapack<double>;
template struct Lapack<complex64>;
template struct Lapack<complex128>;

}  // namespace hr::lapack
