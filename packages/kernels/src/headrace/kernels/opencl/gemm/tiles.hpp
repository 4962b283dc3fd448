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

// The constants of sources/gemm/cpu_block.cl, and the rows of a work item's tile.
struct CpuTile {
  static constexpr int64_t kMostRows = 96;  // MC, a multiple of all kinds of block_rows
  int64_t block_rows = 8;                   // MR
  int64_t depth = 256;                      // KC
  int64_t vectors = 2;                      // NV: a tile has that many times the lanes as columns
  int64_t rows = 0;

  int64_t columns(const GemmElement& e) const { return vectors * e.lanes; }
  std::string defines(const GemmElement& e) const {
    return e.define + ("-DMR=" + std::to_string(block_rows) + " -DKC=" + std::to_string(depth) +
                       " -DNV=" + std::to_string(vectors));
  }
  std::string name() const {
    return std::to_string(block_rows) + "x" + std::to_string(vectors) + "x" + std::to_string(depth);
  }
};

// Sets the rows of a tile, for m rows of n columns, times `others`: few tiles become shorter, so
// that all cores get some.
inline CpuTile cut_rows(CpuTile tile, const Device& device, const GemmElement& e, int64_t m,
                        int64_t n, int64_t others) {
  const int64_t panels = divide_up(n, tile.columns(e)) * others;
  const int64_t wanted = divide_up(2 * device.traits.compute_units, panels);
  const int64_t tiles = std::max(divide_up(m, CpuTile::kMostRows),
                                 std::min(wanted, divide_up(m, 4 * tile.block_rows)));
  tile.rows = divide_up(divide_up(m, tiles), tile.block_rows) * tile.block_rows;
  return tile;
}

// Two vectors are fastest, if the last tile of columns is not mostly empty.
inline CpuTile cpu_tile(const Device& device, const GemmElement& e, int64_t m, int64_t n,
                        int64_t others) {
  CpuTile tile;
  const int64_t vectors = divide_up(n, e.lanes);
  tile.vectors = vectors == 1 || vectors == 3 ? 1 : 2;
  return cut_rows(tile, device, e, m, n, others);
}

// ---- GPU ----------------------------------------------------------------------------------------

// TILE of sources/gemm/gpu_tile.cl: the largest that leaves no processor without work, within
// reason.
struct GpuTile {
  int64_t side;
  int64_t slice;  // TK
  int64_t items;
  const char* more = "";  // defines of variants for some GPUs

  // Two buffers for slices of both operands, whose rows have four elements more (PITCH).
  int64_t local_memory(const GemmElement& e) const {
    return 2 * 2 * slice * (side + 4) * e.real_bytes;
  }
  // The largest needs too many registers for double, and for elements that are moved one by one.
  // The one of 64 needs more than 32 KiB for double, which some devices do not have.
  bool suits(const Device& device, const GemmElement& e, bool aligned) const {
    return (side < 128 || (aligned && e.real_bytes == 4)) &&
           local_memory(e) <= int64_t(device.traits.local_memory);
  }
  std::string defines(const GemmElement& e, bool aligned) const {
    return e.define + ("-DTILE=" + std::to_string(side) + " -DALIGNED=" + (aligned ? "1" : "0"));
  }
};

inline constexpr GpuTile kGpuTiles[] = {{128, 8, 256}, {64, 16, 256}, {32, 8, 64}};

inline GpuTile gpu_tile(const Device& device, const GemmElement& e, bool aligned, int64_t m,
                        int64_t n, int64_t others) {
  for (const GpuTile& tile : kGpuTiles) {
    const bool fills =
        divide_up(m, tile.side) * divide_up(n, tile.side) * others >= device.traits.compute_units;
    if (tile.suits(device, e, aligned) && fills && 2 * std::min(m, n) > tile.side) return tile;
  }
  const GpuTile &middle = kGpuTiles[1], &smallest = kGpuTiles[2];
  return std::min(m, n) > 32 && middle.suits(device, e, aligned) ? middle : smallest;
}

}  // namespace hr::cl

#endif
