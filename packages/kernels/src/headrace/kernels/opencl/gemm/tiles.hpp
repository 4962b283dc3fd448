// How products are cut into tiles: the choices of the CPU and the GPU family.
#ifndef HEADRACE_OPENCL_GEMM_TILES_HPP
#define HEADRACE_OPENCL_GEMM_TILES_HPP

#include <algorithm>
#include <cstdint>
#include <string>

#include "device/device.hpp"
#include "gemm/element.hpp"

namespace hr::cl {

// ---- CPU ----------------------------------------------------------------------------------------

// The constants of sources/cpu_block.cl, and the rows of a work item's tile.
struct CpuTile {
  static constexpr int64_t kRows = 8, kDepth = 256, kMostRows = 96;  // MR, KC, MC
  int64_t vectors;  // NV: a tile has that many times the lanes as columns
  int64_t rows;

  int64_t columns(const Element& e) const { return vectors * e.lanes; }
  std::string defines(const Element& e) const {
    return e.define + ("-DNV=" + std::to_string(vectors));
  }
};

// For m rows of n columns, times `others`. Two vectors are fastest, if the last tile of columns is
// not mostly empty; few tiles become shorter, so that all cores get some.
inline CpuTile cpu_tile(const Device& device, const Element& e, int64_t m, int64_t n,
                        int64_t others) {
  CpuTile tile;
  const int64_t vectors = divide_up(n, e.lanes);
  tile.vectors = vectors == 1 || (vectors == 3 && n <= 3 * e.lanes) ? 1 : 2;
  const int64_t panels = divide_up(vectors, tile.vectors) * others;
  const int64_t wanted = divide_up(2 * device.traits.compute_units, panels);
  const int64_t tiles = std::max(divide_up(m, CpuTile::kMostRows),
                                 std::min(wanted, divide_up(m, 4 * CpuTile::kRows)));
  tile.rows = divide_up(divide_up(m, tiles), CpuTile::kRows) * CpuTile::kRows;
  return tile;
}

// ---- GPU ----------------------------------------------------------------------------------------

// TILE of sources/gpu_tile.cl: the largest that leaves no processor without work, within reason.
struct GpuTile {
  int64_t side;
  int64_t slice;  // TK
  int64_t items;

  std::string defines(const Element& e, bool aligned) const {
    return e.define + ("-DTILE=" + std::to_string(side) + " -DALIGNED=" + (aligned ? "1" : "0"));
  }
};

inline GpuTile gpu_tile(const Device& device, const Element& e, bool aligned, int64_t m, int64_t n,
                        int64_t others) {
  constexpr GpuTile kTiles[] = {{128, 8, 256}, {64, 16, 256}, {32, 8, 64}};
  for (const GpuTile& tile : kTiles) {
    if (tile.side == 128 && (e.real_bytes > 4 || !aligned)) continue;  // too many registers
    const bool fills = divide_up(m, tile.side) * divide_up(n, tile.side) * others >=
                       device.traits.compute_units;
    if (fills && 2 * std::min(m, n) > tile.side) return tile;
  }
  return 2 * std::min(m, n) > 64 ? kTiles[1] : kTiles[2];
}

// Into how many parts a sum over k is cut, so that `tiles` tiles become enough for the device. A
// part has `least` elements at least.
inline int64_t parts_of(const Device& device, int64_t tiles, int64_t k, int64_t least) {
  const int64_t wanted = (device.traits.is_cpu ? 1 : 2) * device.traits.compute_units;
  if (tiles >= wanted) return 1;
  return std::max<int64_t>(1, std::min(wanted / std::max<int64_t>(tiles, 1), k / least));
}

}  // namespace hr::cl

#endif
