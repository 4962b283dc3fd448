// Select and SelectV2.
#include "codegen/copied_types.hpp"
#include "codegen/elementwise.hpp"
#include "codegen/op_program.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

// What is chosen is copied, whatever it means.
Element choice(hr_dtype dtype) {
  const hr_dtype as = copied_as(dtype);
  const hr_dtype inputs[] = {HR_BOOL, as, as};
  Element element = element_of(program_of("Select", as), inputs, 3);
  element.output = as;
  return element;
}

hr_code prepare_select_v2(void*, hr_request* r) {
  HR_APPLY_RULE(broadcast, r);
  return plan_elementwise(r, choice(r->outputs[0]->dtype));
}

// The condition may also be a vector over the first dimension.
hr_code prepare_select(void*, hr_request* r) {
  const hr_tensor *c = r->inputs[0], *t = r->inputs[1], *e = r->inputs[2];
  const bool by_row = c->rank == 1 && t->rank >= 1 && c->dims[0] == t->dims[0];
  if (!same_shape(t, e) || !(c->rank == 0 || same_shape(c, t) || by_row))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "shapes do not fit: condition %s, t %s, e %s",
                           (const char*)ShapeText(c), (const char*)ShapeText(t),
                           (const char*)ShapeText(e));
  copy_shape(t, r->outputs[0]);
  Walk walk(t);
  if (by_row) {
    Walk::Strides rows{};
    rows[0] = 1;
    walk.strides.push_back(rows);
  } else {
    walk.add(c);
  }
  walk.add(t);
  walk.add(e);
  return plan_elementwise(r, choice(t->dtype), walk, {0, 1, 2});
}

}  // namespace

HR_KERNELS = {
    kernel("Select", "T=" HR_COPIED, prepare_select),
    kernel("SelectV2", "T=" HR_COPIED, prepare_select_v2),
};

}  // namespace hr::cl
