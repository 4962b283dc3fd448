#include "gemm/gemm.hpp"

#include <algorithm>

#include "gemm/tiles.hpp"

namespace hr::cl {

namespace {

constexpr int64_t kMostGroups = 65535;  // of a grid's last dimension, on some devices

// The two innermost dimensions of a batch, and where the rest of it puts them.
struct Launched {
  int64_t outer = 1, inner = 1;
  int64_t a_outer = 0, a_inner = 0, b_outer = 0, b_inner = 0;
  int64_t products() const { return outer * inner; }
};

// Drops dimensions of one product, and joins those that are evenly spaced.
void join_dimensions(std::vector<Gemm::Dimension>* batch) {
  std::vector<Gemm::Dimension> joined;
  for (const Gemm::Dimension& d : *batch) {
    if (d.size == 1) continue;
    if (!joined.empty() && joined.back().a == d.a * d.size && joined.back().b == d.b * d.size)
      joined.back() = {joined.back().size * d.size, d.a, d.b};
    else joined.push_back(d);
  }
  *batch = joined;
}

// Calls f(first product, Gemm with its places, Launched) for launches that cover the batch.
template <class F> hr_code over_batch(const Element& e, const Gemm& gemm, int64_t most, F&& f) {
  const size_t rank = gemm.batch.size();
  if (rank <= 2) {
    Launched l;
    if (rank >= 1) {
      const Gemm::Dimension& d = gemm.batch[rank - 1];
      l.inner = d.size, l.a_inner = d.a, l.b_inner = d.b;
    }
    if (rank == 2) {
      const Gemm::Dimension& d = gemm.batch[0];
      l.outer = d.size, l.a_outer = d.a, l.b_outer = d.b;
    }
    if (l.products() <= most) return f(gemm, l);
  }
  // Too many for one launch: one for each of the outermost, or for parts of the only dimension.
  const Gemm::Dimension outer = gemm.batch[0];
  const int64_t step = rank == 1 ? most : 1;
  int64_t products = 1;
  for (size_t i = 1; i < rank; ++i) products *= gemm.batch[i].size;
  for (int64_t i = 0; i < outer.size; i += step) {
    Gemm part = gemm;
    if (rank == 1) part.batch[0].size = std::min(step, outer.size - i);
    else part.batch.erase(part.batch.begin());
    part.a = gemm.a.after(i * outer.a * e.bytes);
    part.b = gemm.b.after(i * outer.b * e.bytes);
    part.c = gemm.c.after(i * products * gemm.m * gemm.n * e.bytes);
    if (hr_code code = over_batch(e, part, most, f)) return code;
  }
  return HR_OK;
}

// The arguments of both families from n on.
template <class... Between>
void add_launch(Sequence* s, const Kernel& kernel, const Grid& grid, const Gemm& g,
                const Launched& l, Place a, Place b, Place c, int64_t parts, int64_t part_k,
                Between... between) {
  s->add(kernel, grid, a, b, c, int32_t(g.m), int32_t(g.n), int32_t(g.k), int32_t(g.lda()),
         int32_t(g.ldb()), between..., int32_t(parts), int32_t(part_k), int32_t(l.inner), l.a_inner,
         l.a_outer, l.b_inner, l.b_outer);
}

hr_code add_for_cpu(hr_request* r, const Element& e, const Gemm& g, Sequence* s) {
  int64_t products = 1;
  for (const Gemm::Dimension& d : g.batch) products *= d.size;
  const CpuTile tile = cpu_tile(device_of(r), e, g.m, g.n, products);
  const int64_t panels = divide_up(g.n, tile.columns(e)), tiles = divide_up(g.m, tile.rows);
  // An item packs the panels it needs, unless many would pack the same.
  const bool packed = products == 1 && tiles >= 3 && double(g.m) * double(g.n) * double(g.k) >= 15e6;
  // Parts of half would be rounded.
  const int64_t parts = e.bytes < e.real_bytes
                            ? 1
                            : parts_of(device_of(r), panels * tiles * products, g.k,
                                       2 * CpuTile::kDepth);
  const int64_t part_k = divide_up(g.k, parts);
  const std::string defines = tile.defines(e) + (packed ? " -DPACKED" : "");
  const Kernel* gemm;
  if (hr_code code = find(r, "gemm_cpu.cl", defines, "gemm", &gemm)) return code;
  Place a = g.a, b = g.b;
  if (packed) {
    const Kernel* pack;
    if (g.transpose_a) {
      if (hr_code code = find(r, "gemm_cpu.cl", defines, "pack_a", &pack)) return code;
      a = s->reserve(divide_up(g.m, CpuTile::kRows) * CpuTile::kRows * g.k * e.bytes);
      constexpr int64_t kPackRows = 32;  // PACK_A_ROWS
      s->add(*pack, Grid::of(size_t(divide_up(g.k, kPackRows)), 1, 1, 1, 1, 1), g.a, a,
             int32_t(g.m), int32_t(g.k), int32_t(g.lda()));
    }
    if (hr_code code = find(r, "gemm_cpu.cl", defines, "pack_b", &pack)) return code;
    b = s->reserve(panels * tile.columns(e) * g.k * e.real_bytes);
    s->add(*pack, Grid::of(size_t(panels), size_t(divide_up(g.k, CpuTile::kDepth)), 1, 1, 1, 1),
           g.b, b, int32_t(g.n), int32_t(g.k), int32_t(g.ldb()), int32_t(g.transpose_b));
  }
  const int64_t size = products * g.m * g.n;
  const Place whole = parts == 1 ? g.c : s->reserve(parts * size * e.bytes);
  hr_code code = over_batch(e, g, kMostGroups / parts, [&](const Gemm& one, const Launched& l) {
    const Place c = parts == 1 ? one.c : whole;
    add_launch(s, *gemm,
               Grid::of(size_t(panels), size_t(tiles), size_t(l.products() * parts), 1, 1, 1), one,
               l, packed ? a : one.a, packed ? b : one.b, c, parts, part_k, int32_t(g.transpose_a),
               int32_t(g.transpose_b), int32_t(tile.rows));
    return HR_OK;
  });
  if (code == HR_OK && parts > 1) code = add_sum_of_parts(r, e, whole, size, parts, g.c, s);
  return code;
}

hr_code add_for_gpu(hr_request* r, const Element& e, const Gemm& g, Sequence* s) {
  int64_t products = 1;
  bool aligned = g.lda() % 4 == 0 && g.ldb() % 4 == 0 && g.n % 4 == 0;
  for (const Gemm::Dimension& d : g.batch) {
    products *= d.size;
    aligned &= d.a % 4 == 0 && d.b % 4 == 0;
  }
  const GpuTile tile = gpu_tile(device_of(r), e, aligned, g.m, g.n, products);
  const int64_t columns = divide_up(g.n, tile.side), rows = divide_up(g.m, tile.side);
  const int64_t parts =
      e.bytes < e.real_bytes || products > 1
          ? 1
          : parts_of(device_of(r), columns * rows, g.k, 16 * tile.slice);
  const int64_t part_k = divide_up(divide_up(g.k, parts), tile.slice) * tile.slice;
  const std::string transposes = std::string(" -DTRANSPOSE_A=") + (g.transpose_a ? "1" : "0") +
                                 " -DTRANSPOSE_B=" + (g.transpose_b ? "1" : "0");
  // Two groups of the largest tile fit a multiprocessor if an item has 128 registers at most.
  const bool limited = device_of(r).traits.nvidia && tile.side == 128;
  const std::string defines = tile.defines(e, aligned) + transposes +
                              (limited ? " -cl-nv-maxrregcount=128" : "");
  const Kernel* gemm;
  if (hr_code code = find(r, "gemm_gpu.cl", defines, "gemm", &gemm)) return code;
  const int64_t size = g.m * g.n;
  const Place whole = parts == 1 ? g.c : s->reserve(parts * size * e.bytes);
  hr_code code = over_batch(e, g, kMostGroups / parts, [&](const Gemm& one, const Launched& l) {
    add_launch(s, *gemm,
               Grid::of(size_t(columns * tile.items), size_t(rows), size_t(l.products() * parts),
                        size_t(tile.items), 1, 1),
               one, l, one.a, one.b, parts == 1 ? one.c : whole, parts, part_k);
    if (aligned)
      s->unless_aligned({4 * e.bytes, "gemm_gpu.cl", tile.defines(e, false) + transposes, "gemm"});
    return HR_OK;
  });
  if (code == HR_OK && parts > 1) code = add_sum_of_parts(r, e, whole, size, parts, g.c, s);
  return code;
}

}  // namespace

hr_code add_sum_of_parts(hr_request* r, const Element& e, Place parts, int64_t n, int64_t count,
                         Place sum, Sequence* s) {
  const Kernel* kernel;
  if (hr_code code = find(r, "parts.cl", e.define, "sum_parts", &kernel)) return code;
  constexpr int64_t kCpuElements = 2048;  // ELEMENTS of parts.cl
  const bool cpu = device_of(r).traits.is_cpu;
  s->add(*kernel, cpu ? Grid::of(size_t(divide_up(n, kCpuElements)), 1) : Grid::of(size_t(n), 64),
         parts, sum, n, int32_t(count));
  return HR_OK;
}

hr_code add_gemm(hr_request* r, const Element& e, Gemm gemm, Sequence* s) {
  int64_t products = 1;
  for (const Gemm::Dimension& d : gemm.batch) products *= d.size;
  if (products == 0 || gemm.m == 0 || gemm.n == 0) return HR_OK;
  if (gemm.k == 0) {
    s->add_zeros(gemm.c, products * gemm.m * gemm.n * e.bytes);
    return HR_OK;
  }
  if (!fits_int(gemm.m) || !fits_int(gemm.n) || !fits_int(gemm.k))
    return hr_request_fail(r, HR_UNIMPLEMENTED,
                           "matrices of %lld x %lld x %lld: each must be less than 2^31",
                           (long long)gemm.m, (long long)gemm.k, (long long)gemm.n);
  join_dimensions(&gemm.batch);
  return device_of(r).traits.is_cpu ? add_for_cpu(r, e, gemm, s) : add_for_gpu(r, e, gemm, s);
}

}  // namespace hr::cl
