#include "table/catalogue_shapes.hpp"

#include "table/shape_rules.hpp"
#include "table/shapes.hpp"

namespace hr {

hr_code shapes_by_rule(hr_request* request, const char* rule, hr_code (*otherwise)(hr_request*)) {
#if __has_include("headrace/shape_rules.h")
  if (auto known = hr_shape_rule_by_name(rule)) return known(request);
#else
  (void)rule;
#endif
  return otherwise(request);
}

hr_code shape_as_input_0(hr_request* r) {
  copy_shape(r->inputs[0], r->outputs[0]);
  return HR_OK;
}
hr_code shape_as_input_1(hr_request* r) {
  copy_shape(r->inputs[1], r->outputs[0]);
  return HR_OK;
}
hr_code shape_as_input_2(hr_request* r) {
  copy_shape(r->inputs[2], r->outputs[0]);
  return HR_OK;
}

hr_code shape_of_value(hr_request* r, int input, int output) {
  const hr_tensor* t = r->inputs[input];
  const int64_t rank = hr_elements(t);
  if (rank > HR_MAX_RANK || !t->data)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "no shape of %lld dimensions: at most %d",
                           (long long)rank, HR_MAX_RANK);
  r->outputs[output]->rank = int32_t(rank);
  for (int64_t i = 0; i < rank; ++i) {
    r->outputs[output]->dims[i] = int_at(t, i);
    if (int_at(t, i) < 0)
      return hr_request_fail(r, HR_INVALID_ARGUMENT,
                             "dimension %lld of the shape is negative: %lld", (long long)i,
                             (long long)int_at(t, i));
  }
  return HR_OK;
}
hr_code shape_from_input_0(hr_request* r) { return shape_of_value(r, 0, 0); }
hr_code shape_from_input_1(hr_request* r) { return shape_of_value(r, 1, 0); }

}  // namespace hr
