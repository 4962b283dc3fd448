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
  const int64_t wanted = traits.is_cpu ? 2 * int64_t(traits.compute_units) : 8192;
  const int64_t least = traits.is_cpu ? 8192 / std::min(inner, width) : 32;  // of a segment
  constexpr int64_t kMostSegments = 1024;
  s.segments = std::clamp<int64_t>(std::min(wanted / units, n / least), 1, kMostSegments);
  s.length = (n + s.segments - 1) / s.segments;
  s.segments = (n + s.length - 1) / s.length;
  if (traits.is_cpu) {
    const int64_t work = s.length * std::min(inner, width);
    s.per_item = std::max<int64_t>({1, 8192 / work, units * s.segments / (8 * wanted)});
  }
  return s;
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
  const Traits& traits = device_of(r).traits;
  const Lines s =
      lines_of(traits, product(x->dims, 0, a), x->dims[a], product(x->dims, a + 1, x->rank));
  const int64_t width = width_of(traits, s.inner);
  const auto flag = [](const char* name, bool value) {
    return std::string(" -D") + name + (value ? "=1" : "=0");
  };
  const std::string options = value_option(x->dtype) + flag("PRODUCT", product_of_elements) +
                              flag("EXCLUSIVE", hr_attr_bool(r->node, "exclusive", 0)) +
                              flag("REVERSE", hr_attr_bool(r->node, "reverse", 0)) +
                              " -DWIDTH=" + std::to_string(width);
  const int64_t units = s.segments * s.outer * ((s.inner + width - 1) / width);
  const Grid grid =
      Grid::of(size_t((units + s.per_item - 1) / s.per_item), traits.is_cpu ? 1 : kGroup);
  std::string error;
  const Kernel* scan = find_kernel(device_of(r), "scan.cl", options, "scan", &error);
  Place folds = Place::input(0);
  if (scan && s.segments > 1) {
    const Kernel* fold = find_kernel(device_of(r), "scan.cl", options, "fold_segments", &error);
    if (!fold) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
    folds = sequence->reserve(s.segments * s.outer * s.inner * 8);
    sequence->add(*fold, grid, Place::input(0), folds, s);
  }
  if (!scan) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  sequence->add(*scan, grid, Place::input(0), folds, Place::output(0), s);
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
