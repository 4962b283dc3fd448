// Matrix products of any size. The result is divided into tasks, which the pool's threads take one
// by one. A task walks k in blocks, packs its block of B where reading B in place is slow, and
// multiplies tile by tile. A is packed only if its stride maps its rows to one cache set: measured,
// packing it otherwise never paid, and without it the threads share no data, so a thread that loses
// its core does not delay the others.
//
// Blocking after Goto and van de Geijn 2008.
#include "gemm/gemm.hpp"

#include <algorithm>

#include "gemm/gemm_tile.hpp"
#include "processor/parallel.hpp"
#include "processor/processor_level.hpp"

#if HR_WITH_OPENBLAS
#include <cblas.h>
#endif

namespace hr::gemm {
namespace {

// By measurement (docs/kernels.md): rows of B in a block, columns of B in a task, multiplications
// that a task should have at least, and tiles that must use a packed element to pay for it.
constexpr int64_t most_k = 512, most_columns = 256, least_work = 1 << 20, pays_after = 12;

// Equal parts of at most `size`.
constexpr int64_t parts(int64_t n, int64_t size) { return (n + size - 1) / size; }

// Rows of A apart by a multiple of this share one set of the first cache, which holds 8 or 12
// lines: a tile of more rows would lose each line before it has read it whole.
constexpr int64_t one_set = 4096, most_rows_in_set = 8;

// From one row of a copied tile of A to the next: rows lie in different sets.
int64_t copied_stride(const Cut& cut) { return cut.k_block + 16; }

// A thread's block of B, and behind it a copied tile of A, on cache lines that no other thread
// writes.
int64_t block_elements(const Cut& cut, size_t element) {
  const int64_t line = int64_t(64 / element);
  return parts(cut.columns * cut.k_block, line) * line;
}
int64_t packed_elements(const Cut& cut, size_t element) {
  const int64_t line = int64_t(64 / element);
  const int64_t tile = cut.copies_a ? cut.tile_rows * copied_stride(cut) : 0;
  return block_elements(cut, element) + parts(tile, line) * line;
}

// A part of the result: rows [i0, i1), columns [j0, j1).
template <class T>
struct Task {
  const Problem<T>* p;
  const Cut* cut;
  T* packed;  // this thread's
  int64_t i0, i1, j0, j1;
};

template <class T, int W, int R, int V>
HR_INLINE void pack_b_block(const Task<T>& t, int64_t k0, int64_t k1) {
  const Problem<T>& p = *t.p;
  constexpr int64_t width = V * W;
  for (int64_t j = t.j0; j < t.j1; j += width) {
    T* to = t.packed + (j - t.j0) * (k1 - k0);
    const int64_t n = std::min(width, t.j1 - j);
    if (n == width && !t.cut->packs_b) continue;
    if (p.transpose_b) pack_transposed<T, W>(p.b + j * p.ldb + k0, p.ldb, n, n, k1 - k0, to, width);
    else pack_rows<T, W>(p.b + k0 * p.ldb + j, p.ldb, n, k1 - k0, to, width);
  }
}

// The last columns of a task: their panel is full width only in the packed copy.
template <class T, int W, int R, int V>
HR_INLINE void edge_tile(int64_t rows, int64_t columns, const T* a, int64_t ai, int64_t ak,
                         const T* b, T* c, int64_t ldc, int64_t k, bool add) {
  T part[R * V * W];
  tile_of<T, W, R, V>(rows, a, ai, ak, b, V * W, part, V * W, k, false);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t q = 0; q < columns; ++q)
      c[r * ldc + q] = add ? c[r * ldc + q] + part[r * V * W + q] : part[r * V * W + q];
  }
}

template <class T, int W, int R, int V>
HR_INLINE void run_task(const Task<T>& t) {
  const Problem<T>& p = *t.p;
  const Cut& cut = *t.cut;
  constexpr int64_t width = V * W;
  for (int64_t k0 = 0; k0 < p.k; k0 += cut.k_block) {
    const int64_t k1 = std::min(k0 + cut.k_block, p.k), k = k1 - k0;
    pack_b_block<T, W, R, V>(t, k0, k1);
    for (int64_t i = t.i0; i < t.i1; i += cut.tile_rows) {
      const int64_t rows = std::min(cut.tile_rows, t.i1 - i);
      const T* a = p.a + (p.transpose_a ? i + k0 * p.lda : i * p.lda + k0);
      int64_t ai = p.transpose_a ? 1 : p.lda;
      const int64_t ak = p.transpose_a ? p.lda : 1;
      if (cut.copies_a) {
        T* copy = t.packed + block_elements(cut, sizeof(T));
        ai = copied_stride(cut);
        for (int64_t r = 0; r < rows; ++r) std::copy_n(a + r * p.lda, k, copy + r * ai);
        a = copy;
      }
      for (int64_t j = t.j0; j < t.j1; j += width) {
        const T* packed = t.packed + (j - t.j0) * k;
        T* c = p.c + i * p.ldc + j;
        if (t.j1 - j < width)
          edge_tile<T, W, R, V>(rows, t.j1 - j, a, ai, ak, packed, c, p.ldc, k, k0 > 0);
        else if (cut.packs_b)
          tile_of<T, W, R, V>(rows, a, ai, ak, packed, width, c, p.ldc, k, k0 > 0);
        else tile_of<T, W, R, V>(rows, a, ai, ak, p.b + k0 * p.ldb + j, p.ldb, c, p.ldc, k, k0 > 0);
      }
    }
  }
}

#define HR_LEVEL(NAME, TARGET, W32, R, V)                                          \
  TARGET void task_##NAME(const Task<float>& t) { run_task<float, W32, R, V>(t); } \
  TARGET void task_##NAME(const Task<double>& t) { run_task<double, W32 / 2, R, V>(t); }

#ifdef HR_X86_LEVELS
HR_LEVEL(v4, [[gnu::target("arch=x86-64-v4")]], 16, 14, 2)
HR_LEVEL(v3, [[gnu::target("arch=x86-64-v3")]], 8, 6, 2)
#endif
HR_LEVEL(any, , 4, 4, 2)

template <class T>
struct Level {
  int64_t rows, columns;  // of a tile
  void (*task)(const Task<T>&);
};

template <class T>
Level<T> best_level() {
  const int64_t halved = sizeof(T) / 4;
#ifdef HR_X86_LEVELS
  if (processor_level() == ProcessorLevel::v4) return {14, 32 / halved, task_v4};
  if (processor_level() == ProcessorLevel::v3) return {6, 16 / halved, task_v3};
#endif
  return {4, 8 / halved, task_any};
}

template <class T>
const Level<T>& level() {
  static const Level<T> best = best_level<T>();
  return best;
}

template <class T>
struct Tasks {
  const Problem<T>& p;
  const Cut& cut;
  T* workspace;
  const Finish* finish;
  int64_t across = parts(p.n, cut.columns), count = across * parts(p.m, cut.rows);

  void run(int64_t task, int64_t thread) const {
    const int64_t i0 = task / across * cut.rows, j0 = task % across * cut.columns;
    const int64_t i1 = std::min(i0 + cut.rows, p.m), j1 = std::min(j0 + cut.columns, p.n);
    T* packed = workspace + thread * packed_elements(cut, sizeof(T));
    level<T>().task({&p, &cut, packed, i0, i1, j0, j1});
    if (finish) finish->part(finish->argument, p.c, p.ldc, i0, i1, j0, j1);
  }
};

#if HR_WITH_OPENBLAS
template <class T>
void by_library(const Problem<T>& p) {
  const auto ta = p.transpose_a ? CblasTrans : CblasNoTrans;
  const auto tb = p.transpose_b ? CblasTrans : CblasNoTrans;
  const int m = int(p.m), n = int(p.n), k = int(p.k);
  const int lda = int(p.lda), ldb = int(p.ldb), ldc = int(p.ldc);
  if constexpr (sizeof(T) == 4)
    scipy_cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1, p.a, lda, p.b, ldb, 0, p.c, ldc);
  else scipy_cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1, p.a, lda, p.b, ldb, 0, p.c, ldc);
}
#endif

}  // namespace

template <class T>
Cut cut_of(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b, int threads) {
  const Level<T>& with = level<T>();
  Cut cut;
  cut.threads = std::max(1, threads);
  // Rows and steps in equal parts: a last tile of two rows would cost as much as a whole one.
  const int64_t row_tiles = parts(m, with.rows), k_blocks = parts(k, most_k);
  cut.tile_rows = parts(m, row_tiles);
  cut.k_block = parts(k, k_blocks);
  cut.packs_b = transpose_b || row_tiles > pays_after;
  cut.copies_a = !transpose_a && k * int64_t(sizeof(T)) % one_set == 0 &&
                 cut.tile_rows > most_rows_in_set && n >= 4 * with.columns;
  // About four tasks a thread, of whole panels.
  const int64_t panels = parts(n, with.columns);
  const int64_t requested = cut.threads > 1 ? 4 * cut.threads : 1;
  const double work = double(m) * double(n) * double(k) / least_work;
  const int64_t tasks = work < double(requested) ? int64_t(work) + 1 : requested;
  const int64_t most = std::min(panels, most_columns / with.columns);
  // Rows instead of columns are cut where each task keeps rows enough to pay for packing its B.
  const bool by_rows = row_tiles / parts(tasks, parts(panels, most)) >= pays_after;
  const int64_t in_task = by_rows ? most : std::min(parts(panels, tasks), most);
  cut.columns = in_task * with.columns;
  const int64_t across = parts(panels, in_task);
  const int64_t down = std::min(parts(tasks, across), parts(row_tiles, 4));
  cut.rows = parts(row_tiles, down) * cut.tile_rows;
  return cut;
}

template <class T>
size_t workspace_of(const Cut& cut) {
  return size_t(packed_elements(cut, sizeof(T)) * cut.threads) * sizeof(T);
}

template <class T>
hr_code blocked(hr_ctx* ctx, const Problem<T>& p, const Cut& cut, T* workspace,
                const Finish* finish) {
#if HR_WITH_OPENBLAS  // where there is no loop of ours for the processor's widest vectors
  (void)cut, (void)workspace;
  by_library(p);
  if (finish) finish->part(finish->argument, p.c, p.ldc, 0, p.m, 0, p.n);
  return hr_cancelled(ctx) ? hr_ctx_fail(ctx, HR_CANCELLED, "cancelled in a matrix product")
                           : HR_OK;
#else
  const Tasks<T> tasks{p, cut, workspace, finish};
  const bool all = parallel_tasks(ctx, tasks.count, cut.threads,
                                  [&](int64_t task, int64_t thread) { tasks.run(task, thread); });
  return all ? HR_OK : hr_ctx_fail(ctx, HR_CANCELLED, "cancelled in a matrix product");
#endif
}

template <class T>
void blocked_alone(const Problem<T>& p, const Cut& cut, T* workspace, const Finish* finish) {
  const Tasks<T> tasks{p, cut, workspace, finish};
  for (int64_t task = 0; task < tasks.count; ++task) tasks.run(task, 0);
}

#define HR_INSTANCE(T)                                                                          \
  template Cut cut_of<T>(int64_t, int64_t, int64_t, bool, bool, int);                           \
  template size_t workspace_of<T>(const Cut&);                                                  \
  template hr_code blocked<T>(hr_ctx*, const Problem<T>&, const Cut&, T*, const Finish*);       \
  template void blocked_alone<T>(const Problem<T>&, const Cut&, T*, const Finish*);
HR_INSTANCE(float)
HR_INSTANCE(double)
#undef HR_INSTANCE

}  // namespace hr::gemm
