// Output shapes by the rule that the op's catalogue line names, once compiled for all families.
#pragma once

#include "table/registration.hpp"

namespace hr {

// Sets the outputs' shapes by the rule of that name; where formats has no such rule (yet),
// by `otherwise`.
hr_code shapes_by_rule(hr_request* request, const char* rule, hr_code (*otherwise)(hr_request*));

// The commonest fallbacks.
hr_code shape_as_input_0(hr_request* request);
hr_code shape_as_input_1(hr_request* request);
hr_code shape_as_input_2(hr_request* request);
// From the value of an integer vector, a constant input.
hr_code shape_of_value(hr_request* request, int input, int output);
hr_code shape_from_input_0(hr_request* request);
hr_code shape_from_input_1(hr_request* request);

}  // namespace hr
