// MirrorPad and its gradient.
#include <algorithm>

#include "codegen/copied_types.hpp"
#include "codegen/element.hpp"
#include "launch/sequence.hpp"
#include "library/constraints.hpp"
#include "library/mirror_padding.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

constexpr size_t kGroup = 256;

// `Borders` of mirror.cl.
template <class Index> struct Borders {
  Index size[HR_MAX_RANK] = {}, padded[HR_MAX_RANK] = {}, before[HR_MAX_RANK] = {};
};

// Neighbouring dimensions without margins become one.
template <class Index>
int32_t read_borders(const hr_tensor* inner, const hr_tensor* padded, const hr_tensor* paddings,
                     Borders<Index>* borders) {
  int32_t rank = 0;
  bool open = false;  // whether the last dimension has no margins
  for (int32_t d = 0; d < inner->rank; ++d) {
    const bool plain = inner->dims[d] == padded->dims[d];
    if (plain && open) {
      borders->size[rank - 1] *= Index(inner->dims[d]);
      borders->padded[rank - 1] *= Index(inner->dims[d]);
    } else {
      borders->size[rank] = Index(inner->dims[d]);
      borders->padded[rank] = Index(padded->dims[d]);
      borders->before[rank++] = Index(int_at(paddings, 2 * d));
    }
    open = plain;
  }
  if (rank == 0) borders->size[rank] = borders->padded[rank] = 1, ++rank;
  return rank;
}

template <class Index> hr_code prepare_with(hr_request* r, bool gradient) {
  const hr_tensor *x = r->inputs[0], *y = r->outputs[0];
  const hr_tensor *inner = gradient ? y : x, *padded = gradient ? x : y;
  Borders<Index> borders;
  const int32_t rank = read_borders(inner, padded, r->inputs[1], &borders);
  const Traits& traits = device_of(r).traits;
  const int64_t row = gradient || !traits.is_cpu ? 1 : int64_t(borders.padded[rank - 1]);
  const int64_t n = hr_elements(y) / row;
  const int64_t per_item =
      traits.is_cpu ? std::max<int64_t>({1, 4096 / row, n / (8 * traits.compute_units)}) : 1;
  std::string error;
  const Kernel* kernel =
      find_kernel(device_of(r), "mirror.cl",
                  std::string("-DIndex=") + (sizeof(Index) == 8 ? "long" : "int") +
                      (gradient ? value_option(x->dtype)
                                : std::string(" -DE=") + storage_type(copied_as(x->dtype))),
                  gradient ? "mirror_pad_gradient" : "mirror_pad", &error);
  if (!kernel) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
  auto sequence = std::make_unique<Sequence>();
  const Grid grid =
      Grid::of(size_t((n + per_item - 1) / per_item), traits.is_cpu ? size_t(1) : kGroup);
  sequence->add(*kernel, grid, Place::input(0), Place::output(0), Index(n), Index(per_item), rank,
                mirror_skip(r->node), borders);
  r->bytes_moved = double(hr_elements(x) + hr_elements(y)) * double(hr_dtype_size(x->dtype));
  return run_sequence(r, std::move(sequence));
}

template <bool gradient> hr_code prepare_mirror(void*, hr_request* r) {
  if constexpr (gradient) HR_APPLY_RULE(pad_grad, r);
  else HR_APPLY_RULE(pad, r);
  const hr_tensor *x = r->inputs[0], *y = r->outputs[0];
  if (gradient)
    if (const char* why = why_not(device_of(r), x->dtype))
      return hr_request_fail(r, HR_UNIMPLEMENTED, "%s", why);
  if (hr_code code = check_mirrored(r, gradient ? y : x)) return code;
  if (hr_elements(y) == 0) return run_sequence(r, std::make_unique<Sequence>());
  const int64_t most = std::max(hr_elements(x), hr_elements(y));
  return device_of(r).traits.is_cpu || most >= int64_t(1) << 30
             ? prepare_with<int64_t>(r, gradient)
             : prepare_with<int32_t>(r, gradient);
}

}  // namespace

HR_KERNELS = {
    kernel("MirrorPad", "T=" HR_COPIED, prepare_mirror<false>).constant(1),
    kernel("MirrorPadGrad", "T=" HR_FLOATS "|int64", prepare_mirror<true>).constant(1),
};

}  // namespace hr::cl
