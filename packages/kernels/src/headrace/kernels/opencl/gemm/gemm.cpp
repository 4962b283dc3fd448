#include "gemm/gemm.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <utility>

#include "gemm/parts.hpp"
#include "gemm/tiles.hpp"
#include "tuning/tuner.hpp"

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
template <class F> hr_code over_batch(const GemmElement& e, const Gemm& gemm, int64_t most, F&& f) {
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
  g.epilogue.add_launch(s, kernel, grid, a, b, c, int32_t(g.m), int32_t(g.n), int32_t(g.k),
                        int32_t(g.lda()), int32_t(g.ldb()), between..., int32_t(parts),
                        int32_t(part_k), int32_t(l.inner), l.a_inner, l.a_outer, l.b_inner,
                        l.b_outer);
}

int64_t products_of(const Gemm& g) {
  int64_t products = 1;
  for (const Gemm::Dimension& d : g.batch) products *= d.size;
  return products;
}

// Whether the CPU family may add up parts of the sum later: those of half would be rounded, and an
// epilogue is for the whole.
bool may_be_cut(const GemmElement& e, const Gemm& g) {
  return e.bytes == e.real_bytes && g.epilogue.empty();
}

// `packed`: a launch before packs all of b, instead of each item the panels it needs.
hr_code add_for_cpu(hr_request* r, const GemmElement& e, const Gemm& g, const CpuTile& tile,
                    bool packed, Sequence* s) {
  const int64_t products = products_of(g);
  const int64_t panels = divide_up(g.n, tile.columns(e)), tiles = divide_up(g.m, tile.rows);
  const int64_t wanted = !may_be_cut(e, g)
                             ? 1
                             : parts_of(wanted_groups(device_of(r), 1), panels * tiles * products,
                                        g.k, 2 * tile.depth);
  const int64_t part_k = divide_up(g.k, wanted), parts = divide_up(g.k, part_k);
  const std::string defines = tile.defines(e) + (packed ? " -DPACKED" : "");
  const Kernel* gemm;
  if (hr_code code = find(r, "gemm/gemm_cpu.cl", defines + g.epilogue.defines(), "gemm", &gemm))
    return code;
  Place a = g.a, b = g.b;
  if (packed) {
    const Kernel* pack;
    if (g.transpose_a) {
      if (hr_code code = find(r, "gemm/gemm_cpu.cl", defines, "pack_a", &pack)) return code;
      a = s->reserve(divide_up(g.m, tile.block_rows) * tile.block_rows * g.k * e.bytes);
      constexpr int64_t kPackRows = 32;  // PACK_A_ROWS
      s->add(*pack, Grid::of(size_t(divide_up(g.k, kPackRows)), 1, 1, 1, 1, 1), g.a, a,
             int32_t(g.m), int32_t(g.k), int32_t(g.lda()));
    }
    if (hr_code code = find(r, "gemm/gemm_cpu.cl", defines, "pack_b", &pack)) return code;
    b = s->reserve(panels * tile.columns(e) * g.k * e.real_bytes);
    s->add(*pack, Grid::of(size_t(panels), size_t(divide_up(g.k, tile.depth)), 1, 1, 1, 1), g.b, b,
           int32_t(g.n), int32_t(g.k), int32_t(g.ldb()), int32_t(g.transpose_b));
  }
  const int64_t size = g.m * g.n;
  const Place whole = parts == 1 ? g.c : s->reserve(products * parts * size * e.bytes);
  hr_code code = over_batch(e, g, kMostGroups / parts, [&](const Gemm& one, const Launched& l) {
    const Place c = whole.after((one.c.offset - g.c.offset) * parts);
    add_launch(s, *gemm,
               Grid::of(size_t(panels), size_t(tiles), size_t(l.products() * parts), 1, 1, 1), one,
               l, packed ? a : one.a, packed ? b : one.b, c, parts, part_k, int32_t(g.transpose_a),
               int32_t(g.transpose_b), int32_t(tile.rows));
    return HR_OK;
  });
  if (code == HR_OK && parts > 1)
    code = add_sum_of_parts(r, e, {whole, g.c, size, parts, products}, s);
  return code;
}

hr_code add_for_gpu(hr_request* r, const GemmElement& e, const Gemm& g, const GpuTile& tile,
                    bool aligned, Sequence* s) {
  const int64_t products = products_of(g);
  const int64_t columns = divide_up(g.n, tile.side), rows = divide_up(g.m, tile.side);
  const int64_t wanted = parts_of(wanted_groups(device_of(r), tile.items),
                                  columns * rows * products, g.k, 16 * tile.slice);
  const int64_t part_k = divide_up(divide_up(g.k, wanted), tile.slice) * tile.slice;
  const int64_t parts = divide_up(g.k, part_k);
  Gemm product = g;
  if (parts > 1) product.epilogue = {};  // of the whole sums
  const std::string more = std::string(" -DTRANSPOSE_A=") + (g.transpose_a ? "1" : "0") +
                           " -DTRANSPOSE_B=" + (g.transpose_b ? "1" : "0") +
                           product.epilogue.defines() + e.part_define(parts);
  // Two groups of the largest tile fit a multiprocessor if an item has 128 registers at most.
  const bool limited = device_of(r).traits.nvidia && tile.side == 128;
  const std::string defines =
      tile.defines(e, aligned) + tile.more + more + (limited ? " -cl-nv-maxrregcount=128" : "");
  const Kernel* gemm;
  if (hr_code code = find(r, "gemm/gemm_gpu.cl", defines, "gemm", &gemm)) return code;
  const int64_t size = g.m * g.n;
  const Place whole = parts == 1 ? g.c : s->reserve(products * parts * size * e.part_bytes());
  hr_code code =
      over_batch(e, product, kMostGroups / parts, [&](const Gemm& one, const Launched& l) {
        const int64_t before = (one.c.offset - g.c.offset) / e.bytes;
        const Place c = parts == 1 ? one.c : whole.after(before * parts * e.part_bytes());
        add_launch(s, *gemm,
                   Grid::of(size_t(rows * tile.items), size_t(columns),
                            size_t(l.products() * parts), size_t(tile.items), 1, 1),
                   one, l, one.a, one.b, c, parts, part_k);
        if (aligned)
          s->unless_aligned(
              {4 * e.bytes, "gemm/gemm_gpu.cl", tile.defines(e, false) + more, "gemm"});
        return HR_OK;
      });
  if (code == HR_OK && parts > 1)
    code = add_sum_of_parts(r, e, {whole, g.c, size, parts, products, g.epilogue, g.n}, s);
  return code;
}

// Whether all that is read or written four at a time begins at a multiple of four.
bool is_aligned(const Gemm& g) {
  bool aligned = g.lda() % 4 == 0 && g.ldb() % 4 == 0 && g.n % 4 == 0;
  for (const Gemm::Dimension& d : g.batch) aligned &= d.a % 4 == 0 && d.b % 4 == 0;
  return aligned;
}

TunedWork work_of(const GemmElement& e, const Gemm& g) {
  TunedWork work;
  work.name = std::string("gemm ") + (g.transpose_a ? "t" : "n") + (g.transpose_b ? "t" : "n") +
              (is_aligned(g) ? " aligned" : "");
  work.sizes = {g.m, g.n, g.k};
  work.input_bytes = {g.m * g.k * e.bytes, g.k * g.n * e.bytes};
  work.output_bytes = g.m * g.n * e.bytes;
  return work;
}

// Whether products of float may round their operands to TF32: only if somebody asks for it.
bool allows_tf32() {
  static const char* const value = std::getenv("HEADRACE_OPENCL_TF32");
  return value && std::string_view(value) == "1";
}

// Appends the variant that is the fastest here. The first is the built-in choice.
hr_code add_tuned(hr_request* r, const GemmElement& e, const Gemm& gemm, Sequence* s) {
  const Device& device = device_of(r);
  const int64_t products = products_of(gemm);
  using Add = std::function<hr_code(const Gemm&, Sequence*)>;
  std::vector<std::pair<std::string, Add>> variants;
  if (device.traits.is_cpu) {
    auto variant = [&](const CpuTile& tile, bool packed) {
      variants.emplace_back(tile.name() + (packed ? " packed" : ""),
                            [r, &e, tile, packed](const Gemm& g, Sequence* to) {
                              return add_for_cpu(r, e, g, tile, packed, to);
                            });
    };
    const CpuTile tile = cpu_tile(device, e, gemm.m, gemm.n, products);
    // Packing pays where many items would pack the same.
    const bool packed = products == 1 && divide_up(gemm.m, tile.rows) >= 3 &&
                        double(gemm.m) * double(gemm.n) * double(gemm.k) >= 15e6;
    variant(tile, packed);
    if (products == 1) variant(tile, !packed);
    CpuTile wide = tile;
    wide.block_rows = 6, wide.depth = 128, wide.vectors = 4;
    if (gemm.n >= wide.columns(e))
      variant(cut_rows(wide, device, e, gemm.m, gemm.n, products), packed);
  } else {
    const bool aligned = is_aligned(gemm);
    const GpuTile first = gpu_tile(device, e, aligned, gemm.m, gemm.n, products);
    auto variant = [&](const GpuTile& tile) {
      variants.emplace_back(std::to_string(tile.side) + tile.more,
                            [r, &e, tile, aligned](const Gemm& g, Sequence* to) {
                              return add_for_gpu(r, e, g, tile, aligned, to);
                            });
    };
    variant(first);
    for (const GpuTile& tile : kGpuTiles)
      if (tile.side != first.side && tile.suits(device, e, aligned)) variant(tile);
    const GpuTile& largest = kGpuTiles[0];
    if (device.traits.nvidia && largest.suits(device, e, aligned) && e.bytes == 4) {
      GpuTile tile = largest;
      tile.more = " -DASYNC=1 -DSTAGES=4";
      variant(tile);
      tile.more = " -DTF32=1 -DASYNC=1 -DSTAGES=4";
      if (allows_tf32()) variant(tile);
    }
  }
  size_t chosen = 0;
  if (products == 1 && e.bytes == 4) {
    Gemm alone = gemm;
    alone.a = Place::input(0), alone.b = Place::input(1), alone.c = Place::output(0);
    alone.epilogue = {};
    std::vector<Variant> trials;
    for (const auto& [name, add] : variants)
      trials.push_back({name, [&alone, &add = add](Sequence* to) { return add(alone, to); }});
    chosen = choose_variant(r, work_of(e, alone), trials);
  }
  return variants[chosen].second(gemm, s);
}

}  // namespace

hr_code add_gemm(hr_request* r, const GemmElement& e, Gemm gemm, Sequence* s) {
  const int64_t products = products_of(gemm);
  if (products == 0 || gemm.m == 0 || gemm.n == 0) return HR_OK;
  if (gemm.k == 0) {
    if (!gemm.epilogue.empty())
      return hr_request_fail(r, HR_UNIMPLEMENTED, "%s of matrices with nothing to sum",
                             r->node->op);
    s->add_zeros(gemm.c, products * gemm.m * gemm.n * e.bytes);
    return HR_OK;
  }
  if (!fits_int(gemm.m) || !fits_int(gemm.n) || !fits_int(gemm.k))
    return hr_request_fail(r, HR_UNIMPLEMENTED,
                           "matrices of %lld x %lld x %lld: each must be less than 2^31",
                           (long long)gemm.m, (long long)gemm.k, (long long)gemm.n);
  join_dimensions(&gemm.batch);
  return add_tuned(r, e, gemm, s);
}

}  // namespace hr::cl
