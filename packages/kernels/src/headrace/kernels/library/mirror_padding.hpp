// What nodes of MirrorPad and MirrorPadGrad mirror.
#ifndef HEADRACE_LIBRARY_MIRROR_PADDING_HPP
#define HEADRACE_LIBRARY_MIRROR_PADDING_HPP

#include <algorithm>

#include "library/attributes.hpp"
#include "library/shapes.hpp"

namespace hr {

// How many elements of a border are not repeated: 1 with REFLECT, 0 with SYMMETRIC.
inline int32_t mirror_skip(const hr_node* node) {
  return attr_text(node, "mode") == "REFLECT" ? 1 : 0;
}

// Fails where a margin (input 1) is wider than what `inner`, without margins, has to mirror.
inline hr_code check_mirrored(hr_request* r, const hr_tensor* inner) {
  const int64_t skip = mirror_skip(r->node);
  for (int32_t d = 0; d < inner->rank; ++d) {
    const int64_t before = int_at(r->inputs[1], 2 * d), after = int_at(r->inputs[1], 2 * d + 1);
    const int64_t most = inner->dims[d] - skip;
    if (std::max(before, after) > most)
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "paddings %lld and %lld of dimension %d must be no greater than %lld, "
                             "the elements to mirror",
                             (long long)before, (long long)after, int(d), (long long)most);
  }
  return HR_OK;
}

}  // namespace hr

#endif
