// ImmutableConst: the bytes of a file as a constant.

#include <algorithm>
#include <string>

#include "files/byte_source.hpp"
#include "files/disk.hpp"
#include "library/attributes.hpp"
#include "library/partial_shape.hpp"
#include "library/registration.hpp"
#include "library/shapes.hpp"
#include "processor/parallel.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

constexpr int64_t kPiece = 16 << 20;  // read between two polls

hr_code compute(hr_ctx* ctx, void* state, void*, const hr_tensor* const*, hr_tensor* const* out,
                void*) {
  const auto& path = *static_cast<const std::string*>(state);
  return error_boundary(ctx, [&] {
    FileSource file(path);
    const int64_t size = file.size(), wanted = out[0]->bytes;
    // A region may be longer: several constants begin at the start of one file.
    if (size < wanted)
      throw Failure{HR_INTERNAL, "Readonly memory region has wrong length (" +
                                     std::to_string(size) + ") when allocating " +
                                     std::to_string(wanted)};
    auto* to = static_cast<char*>(out[0]->data);
    for (int64_t at = 0; at < wanted;) {
      poll(ctx);
      const size_t got = file.read(to + at, size_t(std::min(wanted - at, kPiece)));
      if (got == 0) throw Failure{HR_DATA_LOSS, path + "; the file became shorter"};
      at += int64_t(got);
    }
  });
}

hr_code create(hr_node* node, void** state) {
  *state = new std::string(attr_text(node, "memory_region_name"));
  return HR_OK;
}

hr_code prepare(void*, hr_request* r) {
  PartialShape shape;
  if (hr_code code = read_shape_attribute(r->node, "shape", &shape)) return code;
  if (shape.rank < 0) shape.rank = 0;  // as in TensorFlow
  if (!shape.complete())
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "shape %s is not fully defined",
                           (const char*)PartialShapeText(shape));
  r->outputs[0]->rank = shape.rank;
  for (int32_t i = 0; i < shape.rank; ++i) r->outputs[0]->dims[i] = shape.dims[i];
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("ImmutableConst", "dtype=" HR_NUMBERS "|bool", prepare, compute)
        .with_state(create, [](void* state) { delete static_cast<std::string*>(state); }),
};

}  // namespace hr
