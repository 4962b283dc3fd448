// What nodes that update slices of a tensor may be given.
#ifndef HEADRACE_LIBRARY_SLICE_UPDATES_HPP
#define HEADRACE_LIBRARY_SLICE_UPDATES_HPP

#include "library/shape_rules.hpp"
#include "library/shapes.hpp"

namespace hr {

// The output shape of TensorScatterUpdate and its kin. An empty tensor has no slices to update.
inline hr_code prepare_tensor_scatter(hr_request* r) {
  HR_APPLY_RULE(tensor_scatter, r);
  const int64_t indices = hr_elements(r->inputs[1]), updates = hr_elements(r->inputs[2]);
  if ((indices || updates) && !(hr_elements(r->inputs[0]) && indices && updates))
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "Indices and updates specified for empty output shape: tensor %s, "
                           "indices %s, updates %s",
                           ShapeText(r->inputs[0]).text, ShapeText(r->inputs[1]).text,
                           ShapeText(r->inputs[2]).text);
  return HR_OK;
}

}  // namespace hr

#endif
