// ToBool: the condition of a functional If or While; FakeParam: an output that its reader ignores;
// Abort: an error instead of the end of the process.
#include <algorithm>
#include <cstring>
#include <string>

#include "library/attributes.hpp"
#include "library/partial_shape.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/shapes.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

// Whether a scalar is a non-empty string or has a bit set that is not the sign of a zero.
bool is_true(const hr_tensor* t) {
  if (t->dtype == HR_STRING) return static_cast<const hr_string*>(t->data)->size > 0;
  const auto* bytes = static_cast<const unsigned char*>(t->data);
  const int64_t size = hr_dtype_size(t->dtype);
  const int64_t part = t->dtype == HR_COMPLEX64 || t->dtype == HR_COMPLEX128 ? size / 2 : size;
  const bool is_float = part < size || t->dtype == HR_FLOAT || t->dtype == HR_DOUBLE ||
                        t->dtype == HR_HALF || t->dtype == HR_BFLOAT16;
  for (int64_t i = 0; i < size; ++i) {
    const bool has_sign = is_float && i % part == part - 1;  // the machine is little-endian
    if (bytes[i] & (has_sign ? 0x7f : 0xff)) return true;
  }
  return false;
}

hr_code compute_to_bool(hr_ctx*, void*, void*, const hr_tensor* const* in, hr_tensor* const* out,
                        void*) {
  *static_cast<bool*>(out[0]->data) = in[0]->rank == 0 ? is_true(in[0]) : hr_elements(in[0]) > 0;
  return HR_OK;
}

hr_code prepare_to_bool(void*, hr_request* r) { return hr_shape_scalar(r); }

// Zeros: unknown dimensions are 0, an unknown rank is a scalar.
hr_code prepare_fake(void*, hr_request* r) {
  PartialShape shape;
  if (hr_code code = read_shape_attribute(r->node, "shape", &shape)) return code;
  hr_tensor* out = r->outputs[0];
  out->rank = std::max(shape.rank, 0);
  for (int32_t i = 0; i < out->rank; ++i) out->dims[i] = std::max<int64_t>(shape.dims[i], 0);
  return HR_OK;
}

hr_code compute_fake(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const* out, void*) {
  // Strings, resources and variants are zeroed already.
  if (out[0]->dtype != HR_STRING && out[0]->dtype != HR_RESOURCE && out[0]->dtype != HR_VARIANT)
    std::memset(out[0]->data, 0,
                size_t(hr_elements(out[0])) * size_t(hr_dtype_size(out[0]->dtype)));
  return HR_OK;
}

// TensorFlow ends the process, with or without a core dump.
hr_code compute_abort(hr_ctx* ctx, void* state, void*, const hr_tensor* const*, hr_tensor* const*,
                      void*) {
  const auto* node = static_cast<const hr_node*>(state);
  const std::string text(attr_text(node, "error_msg"));
  return hr_ctx_fail(ctx, HR_ABORTED, "%s",
                     text.empty() ? "Abort_op intentional failure" : text.c_str());
}

hr_code create_with_node(hr_node* node, void** state) {
  *state = node;
  return HR_OK;
}

hr_code prepare_abort(void*, hr_request*) { return HR_OK; }

}  // namespace

HR_KERNELS = {
    kernel("ToBool", "T=" HR_NUMBERS "|bool|string", prepare_to_bool, compute_to_bool),
    kernel("FakeParam", nullptr, prepare_fake, compute_fake),
    kernel("Abort", nullptr, prepare_abort, compute_abort)
        .with_state(create_with_node, [](void*) {}),
};

}  // namespace hr
