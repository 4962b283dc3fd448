// Cumsum and Cumprod: running sums and products along one dimension.
#include <algorithm>

#include "codegen/element.hpp"
#include "launch/sequence.hpp"
#include "library/constraints.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

constexpr size_t kGroup = 64;

// Lines that an item follows side by side: of a CPU device many, unless neighbours are far apart.
int64_t width_of(const Traits& traits, int64_t inner) {
  return traits.is_cpu && inner > 1 ? 64 : 1;
}

// As in scan.cl.
struct Lines {
  int64_t outer, n, inner, segments, length, per_item;
};

// Cuts lines only where there are too few of them for the device.
Lines lines_of(const Traits& traits, int64_t outer, int64_t n, int64_t inner) {
  Lines s{outer, n, inner, 1, n, 1};
  const int64_t width = width_of(traits, inner);
  const int64_t units = outer * ((inner + width - 1) / width);
  const int64_t wanted = traits.is_cpu ? 2 * int64_t(traits.compute_units) : 1 << 17;
  const int64_t least = traits.is_cpu ? 8192 / std::min(inner, width) : 32;  // of a segment
  const int64_t most = traits.is_cpu ? 1024 : 4096;
  s.segments = std::clamp<int64_t>(std::min(wanted / units, n / least), 1, most);
  s.length = (n + s.segments - 1) / s.segments;
  s.segments = (n + s.length - 1) / s.length;
  if (traits.is_cpu) {
    const int64_t work = s.length * std::min(inner, width);
    s.per_item = std::max<int64_t>({1, 8192 / work, units * s.segments / (8 * wanted)});
  }
  return s;
}

// The work-groups of scan_tiles.cl.
constexpr int64_t kPer = 8, kLargestGroup = 256, kSmallestGroup = 32;

// Enough items for tiles of n elements, or as many as there can be.
int64_t group_for(const Traits& traits, int64_t n) {
  const int64_t most = std::min(kLargestGroup, int64_t(traits.max_work_group));
  int64_t group = kSmallestGroup;
  while (group * kPer < n && 2 * group <= most) group *= 2;
  return group;
}

const Kernel* tile_kernel(Device& device, const std::string& options, int64_t group,
                          const char* function, std::string* error) {
  return find_kernel(device, "scan_tiles.cl", options + " -DGROUP=" + std::to_string(group),
                     function, error);
}

// What the programs of an op are compiled for.
struct Options {
  std::string fold, order;  // what scan_folds depends on, and what it does not

  std::string all() const { return fold + order; }
};

// Of the folds [segments, lines]. One program serves all orders.
bool add_scan_of_folds(Device& device, const Options& options, int64_t lines, int64_t segments,
                       Place folds, Sequence* to, std::string* error) {
  const int64_t group = group_for(device.traits, segments);
  const Kernel* scan =
      tile_kernel(device, options.fold + " -DEXCLUSIVE=0 -DREVERSE=0", group, "scan_folds", error);
  if (!scan) return false;
  to->add(*scan, Grid::of(size_t(lines * group), size_t(group)), folds, lines, segments);
  return true;
}

// On a GPU, lines of neighbours, cut into whole tiles where there are too few for the device.
bool add_tiles(Device& device, const Options& options, int64_t lines, int64_t n, Sequence* to,
               std::string* error) {
  constexpr int64_t kWanted = 1024;  // groups
  const int64_t group = group_for(device.traits, n), tile = group * kPer;
  const int64_t tiles = (n + tile - 1) / tile;
  const int64_t most = std::clamp<int64_t>(kWanted / lines, 1, tiles);
  const int64_t length = (tiles + most - 1) / most * tile, segments = (n + length - 1) / length;
  const Grid grid = Grid::of(size_t(lines * segments * group), size_t(group));
  const Kernel* scan = tile_kernel(device, options.all(), group, "scan_segments", error);
  if (!scan) return false;
  Place folds = Place::input(0);
  if (segments > 1) {
    const Kernel* fold = tile_kernel(device, options.all(), group, "fold_segments", error);
    if (!fold) return false;
    folds = to->reserve(segments * lines * 8);
    to->add(*fold, grid, Place::input(0), folds, lines, n, segments, length);
    if (!add_scan_of_folds(device, options, lines, segments, folds, to, error)) return false;
  }
  to->add(*scan, grid, Place::input(0), folds, Place::output(0), lines, n, segments, length);
  return true;
}

// Lines, or segments of them, by single items.
bool add_lines(Device& device, const Options& options, const Lines& s, Sequence* to,
               std::string* error) {
  const Traits& traits = device.traits;
  const int64_t width = width_of(traits, s.inner);
  const std::string by_width = options.all() + " -DWIDTH=" + std::to_string(width);
  const int64_t units = s.segments * s.outer * ((s.inner + width - 1) / width);
  const Grid grid =
      Grid::of(size_t((units + s.per_item - 1) / s.per_item), traits.is_cpu ? 1 : kGroup);
  const Kernel* scan = find_kernel(device, "scan.cl", by_width, "scan", error);
  if (!scan) return false;
  Place folds = Place::input(0);
  if (s.segments > 1) {
    const Kernel* fold = find_kernel(device, "scan.cl", by_width, "fold_segments", error);
    if (!fold) return false;
    folds = to->reserve(s.segments * s.outer * s.inner * 8);
    to->add(*fold, grid, Place::input(0), folds, s);
    if (!traits.is_cpu &&
        !add_scan_of_folds(device, options, s.outer * s.inner, s.segments, folds, to, error))
      return false;
  }
  to->add(*scan, grid, Place::input(0), folds, Place::output(0), s);
  return true;
}

hr_code prepare_scan(hr_request* r, bool product_of_elements) {
  if (hr_code code = hr_shape_unchanged(r)) return code;
  const hr_tensor* x = r->inputs[0];
  if (hr_elements(r->inputs[1]) != 1)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "axis must be a scalar: it is %s",
                           (const char*)ShapeText(r->inputs[1]));
  const int64_t attribute = int_at(r->inputs[1], 0), axis = axis_of(attribute, x->rank);
  if (axis < 0)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "axis %lld is out of range for rank %d",
                           (long long)attribute, int(x->rank));
  if (const char* why = why_not(device_of(r), x->dtype))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  auto sequence = std::make_unique<Sequence>();
  if (hr_elements(x) == 0) return run_sequence(r, std::move(sequence));
  const int32_t a = int32_t(axis);
  Device& device = device_of(r);
  const int64_t outer = product(x->dims, 0, a), n = x->dims[a],
                inner = product(x->dims, a + 1, x->rank);
  const auto flag = [](const char* name, bool value) {
    return std::string(" -D") + name + (value ? "=1" : "=0");
  };
  const Options options{value_option(x->dtype) + flag("PRODUCT", product_of_elements),
                        flag("EXCLUSIVE", hr_attr_bool(r->node, "exclusive", 0)) +
                            flag("REVERSE", hr_attr_bool(r->node, "reverse", 0))};
  constexpr int64_t kLong = 128;
  const bool tiles = !device.traits.is_cpu && inner == 1 && n >= kLong &&
                     device.traits.max_work_group >= size_t(kSmallestGroup);
  std::string error;
  const bool added = tiles ? add_tiles(device, options, outer, n, sequence.get(), &error)
                           : add_lines(device, options, lines_of(device.traits, outer, n, inner),
                                       sequence.get(), &error);
  if (!added) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  r->bytes_moved = 2.0 * double(hr_elements(x) * hr_dtype_size(x->dtype));
  return run_sequence(r, std::move(sequence));
}

template <bool product> hr_code prepare(void*, hr_request* r) { return prepare_scan(r, product); }

#define TYPES "T=" HR_FLOATS "|int64"

}  // namespace

HR_KERNELS = {
    kernel("Cumsum", TYPES, prepare<false>).constant(1).reuses(0),
    kernel("Cumprod", TYPES, prepare<true>).constant(1).reuses(0),
};

}  // namespace hr::cl
