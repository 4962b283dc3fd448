// The kernels of stacks, which each library registers for its device.
#ifndef HEADRACE_LIBRARY_STACKS_HPP
#define HEADRACE_LIBRARY_STACKS_HPP

#include <type_traits>

#include "headrace/kernel.h"

namespace hr::stacks {

hr_code create_declaration(hr_node* node, void** state);
void destroy_declaration(void* state);

hr_code prepare_stack(void*, hr_request* r);
hr_code prepare_data_shape(void*, hr_request* r);
hr_code prepare_close(void*, hr_request* r);

using Compute = std::remove_pointer_t<hr_compute>;
Compute compute_stack;
Compute compute_reference;  // of version 1
Compute compute_push;
Compute compute_pop;
Compute compute_close;

}  // namespace hr::stacks

#endif
