#include "codegen/tiled_transpose.hpp"

#include <algorithm>

#include "codegen/copied_types.hpp"
#include "codegen/element.hpp"
#include "launch/launch.hpp"
#include "library/registration.hpp"

namespace hr::cl {
namespace {

constexpr int64_t kTile = 16, kGpuTile = 32, kGpuRows = 8;
constexpr int64_t kFewest = 64;  // elements of either side

// The dimension along which the input lies packed; -1: none.
int32_t packed_dimension(const Walk& walk) {
  for (int32_t d = 0; d < walk.rank; ++d)
    if (walk.strides[0][size_t(d)] == 1) return d;
  return -1;
}

struct TransposePlan {
  const Kernel* kernel;
  Grid grid;
  std::vector<int64_t> sizes;
};

hr_code compute_transpose(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                          hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const TransposePlan*>(plan);
  const Argument arguments[] = {argument(In{in[0]->data}),
                                argument(Out{out[0]->data}),
                                {Argument::kValue, p.sizes.size() * 8, p.sizes.data()}};
  return launch_arguments(ctx, *p.kernel, p.grid, arguments, 3);
}

// The output is rows of `across` elements; along `down`, another dimension, the input is packed.
std::string text_of(int32_t others, const std::string& type, bool cpu) {
  const std::string n = std::to_string(others), tile = std::to_string(cpu ? kTile : kGpuTile);
  std::string text =
      "typedef struct {\n  long down, across, from_across, to_down, tiles_down, tiles_across;\n";
  if (others) text += "  long dims[" + n + "], from[" + n + "], to[" + n + "];\n";
  text += "} Sizes;\n#define TILE " + tile + "\n#define T " + type +
          "\nkernel void transpose(HR_IN(T, x), HR_OUT(T, y), const Sizes s) {\n"
          "HR_INPUT(T, x);\nHR_OUTPUT(T, y);\n";
  text += cpu ? "long rest = get_global_id(0);\n" : "long rest = get_group_id(0);\n";
  text +=
      "const long j = rest % s.tiles_across * TILE;\nrest /= s.tiles_across;\n"
      "const long i = rest % s.tiles_down * TILE;\nrest /= s.tiles_down;\n"
      "global const T* from = x + j * s.from_across + i;\nglobal T* to = y + i * s.to_down + j;\n"
      "const long height = min(s.down - i, (long)TILE), width = min(s.across - j, (long)TILE);\n";
  for (int32_t d = others - 1; d >= 0; --d) {
    const std::string k = std::to_string(d);
    text += "from += rest % s.dims[" + k + "] * s.from[" + k + "];\nto += rest % s.dims[" + k +
            "] * s.to[" + k + "];\nrest /= s.dims[" + k + "];\n";
  }
  if (cpu)
    return text +
           "if (height == TILE && width == TILE) {\nT tile[TILE][TILE];\n"
           "for (int b = 0; b < TILE; ++b) vstore16(vload16(0, from + b * s.from_across), 0, "
           "tile[b]);\n"
           "for (int a = 0; a < TILE; ++a)\n"
           "for (int b = 0; b < TILE; ++b) to[a * s.to_down + b] = tile[b][a];\n"
           "} else {\nfor (long a = 0; a < height; ++a)\nfor (long b = 0; b < width; ++b)\n"
           "to[a * s.to_down + b] = from[b * s.from_across + a];\n}\n}\n";
  return text +
         "const int lane = get_local_id(0), first = get_local_id(1);\n"
         "local T tile[TILE][TILE + 1];\n"  // a column more: no two lanes in one bank
         "for (int b = first; b < TILE; b += " +
         std::to_string(kGpuRows) +
         ")\n"
         "if (b < width && lane < height) tile[b][lane] = from[b * s.from_across + lane];\n"
         "barrier(CLK_LOCAL_MEM_FENCE);\n"
         "for (int a = first; a < TILE; a += " +
         std::to_string(kGpuRows) +
         ")\n"
         "if (a < height && lane < width) to[a * s.to_down + lane] = tile[lane][a];\n}\n";
}

}  // namespace

bool is_tiled_transpose(const Device& device, const Walk& given) {
  // Of a tile as narrow as a few elements most lanes of a GPU would have nothing to move.
  const int64_t narrowest = device.traits.is_cpu ? 4 : kGpuTile / 2;
  Walk walk = given;
  walk.collapse();
  if (walk.strides.size() != 1 || walk.rank < 2 || walk.begin(0)) return false;
  const int32_t packed = packed_dimension(walk);
  return packed >= 0 && packed != walk.rank - 1 && walk.dims[size_t(packed)] >= narrowest &&
         walk.inner() >= narrowest && walk.dims[size_t(packed)] * walk.inner() >= kFewest &&
         walk.elements() >= 1024;
}

hr_code plan_tiled_transpose(hr_request* r, const Walk& given) {
  Walk walk = given;
  walk.collapse();
  Device& device = device_of(r);
  const bool cpu = device.traits.is_cpu;
  const int64_t tile = cpu ? kTile : kGpuTile;
  const auto packed = size_t(packed_dimension(walk)), last = size_t(walk.rank) - 1;
  Walk::Strides to{};
  row_major(walk.rank, walk.dims.data(), to.data());
  const int64_t tiles_down = (walk.dims[packed] + tile - 1) / tile,
                tiles_across = (walk.dims[last] + tile - 1) / tile;
  TransposePlan plan{nullptr,
                     {},
                     {walk.dims[packed], walk.dims[last], walk.strides[0][last], to[packed],
                      tiles_down, tiles_across}};
  int64_t others = 1;
  std::vector<size_t> dims;
  for (size_t d = 0; d < last; ++d)
    if (d != packed) dims.push_back(d);
  for (const size_t d : dims) plan.sizes.push_back(walk.dims[d]), others *= walk.dims[d];
  for (const size_t d : dims) plan.sizes.push_back(walk.strides[0][d]);
  for (const size_t d : dims) plan.sizes.push_back(to[d]);
  const size_t tiles = size_t(others * tiles_down * tiles_across);
  plan.grid =
      cpu ? Grid::of(tiles, 1)
          : Grid::of(tiles * size_t(tile), size_t(kGpuRows), size_t(tile), size_t(kGpuRows));
  std::string error;
  plan.kernel = generated_kernel(
      device, text_of(int32_t(dims.size()), storage_type(copied_as(r->inputs[0]->dtype)), cpu), "",
      "transpose", &error);
  if (!plan.kernel) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  keep_plan(r, new TransposePlan(plan));
  r->compute = compute_transpose;
  r->bytes_moved = 2.0 * double(walk.elements() * hr_dtype_size(r->inputs[0]->dtype));
  return HR_OK;
}

}  // namespace hr::cl
