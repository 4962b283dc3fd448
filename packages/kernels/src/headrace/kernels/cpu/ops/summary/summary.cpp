// ScalarSummary, TensorSummary and MergeSummary.
#include <set>
#include <string>

#include "headrace/bundle_reader.h"
#include "ops/summary/summary_message.hpp"
#include "table/element_types.hpp"

namespace hr {
namespace {

using protobuf::Message;
using summary::Summary;

// ---- numbers ------------------------------------------------------------------------------------

template <class T>
hr_code compute_scalar(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void*) {
  Summary created;
  for (int64_t i = 0, n = hr_elements(inputs[0]); i < n; ++i)
    created.add(Message()
                    .text(summary::kTag, text_at(inputs[0], i))
                    .always(summary::kSimpleValue, float(read<T>(inputs[1])[i])));
  return created.give(ctx, outputs[0]);
}

hr_code prepare_scalar(void*, hr_request* r) {
  const hr_tensor *tags = r->inputs[0], *values = r->inputs[1];
  if (!same_shape(tags, values))
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "tags and values not the same shape: %s != %s",
                           ShapeText(tags).text, ShapeText(values).text);
  r->compute = with_type(values->dtype, Reals{}, [](auto type) -> hr_compute {
    return compute_scalar<typename decltype(type)::type>;
  });
  return hr_shape_scalar(r);
}

// ---- whole tensors ------------------------------------------------------------------------------

Message tensor_message(const hr_tensor* t) {
  Message shape, created;
  for (int32_t i = 0; i < t->rank; ++i) shape.always(2, Message().number(1, uint64_t(t->dims[i])));
  created.number(1, uint64_t(t->dtype)).always(2, shape);
  if (t->dtype != HR_STRING)
    return created.text(
        4, {static_cast<const char*>(t->data), size_t(hr_elements(t) * hr_dtype_size(t->dtype))});
  for (int64_t i = 0, n = hr_elements(t); i < n; ++i) created.always(8, text_at(t, i));
  return created;
}

bool is_message(std::string_view bytes) {
  uint64_t at = 0;
  hr_wire_field field;
  int more;
  do more = hr_wire_next(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &at, &field);
  while (more > 0);
  return more == 0;
}

hr_code compute_tensor(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void*) {
  Summary created;
  created.add(Message()
                  .always(summary::kTensor, tensor_message(inputs[0]))
                  .always(summary::kMetadata, Message()));
  return created.give(ctx, outputs[0]);
}

hr_code compute_tagged_tensor(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                              hr_tensor* const* outputs, void*) {
  const std::string_view metadata = text_at(inputs[2], 0);
  if (!is_message(metadata))
    return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT,
                       "serialized_summary_metadata is not a SummaryMetadata message");
  Summary created;
  created.add(Message()
                  .text(summary::kTag, text_at(inputs[0], 0))
                  .always(summary::kTensor, tensor_message(inputs[1]))
                  .always(summary::kMetadata, metadata));
  return created.give(ctx, outputs[0]);
}

hr_code prepare_tensor(void*, hr_request* r) {
  const bool tagged = r->node->n_inputs == 3;
  const hr_dtype dtype = r->inputs[tagged]->dtype;
  if (dtype != HR_STRING && !hr_dtype_size(dtype))
    return hr_request_fail(r, HR_UNIMPLEMENTED, "no summary of a tensor of dtype %d", dtype);
  r->compute = tagged ? compute_tagged_tensor : compute_tensor;
  if (!tagged) return hr_shape_scalar(r);
  if (hr_code code = summary::need_rank_0(r, 2, "serialized_summary_metadata")) return code;
  return summary::prepare_tagged(r);
}

// ---- several summaries as one -------------------------------------------------------------------

// The tag of a Summary.Value: the last field 1 counts.
bool read_tag(const hr_wire_field& value, std::string_view* tag) {
  uint64_t at = 0;
  hr_wire_field field;
  int more;
  *tag = {};
  while ((more = hr_wire_next(value.data, value.size, &at, &field)) > 0)
    if (field.number == summary::kTag && field.wire == 2)
      *tag = {reinterpret_cast<const char*>(field.data), size_t(field.size)};
  return more == 0;
}

hr_code compute_merge(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                      hr_tensor* const* outputs, void*) {
  Summary merged;
  std::set<std::string_view> seen;
  for (int32_t k = 0, n = *static_cast<int32_t*>(plan); k < n; ++k) {
    for (int64_t i = 0; i < hr_elements(inputs[k]); ++i) {
      const std::string_view text = text_at(inputs[k], i);
      const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
      uint64_t at = 0;
      hr_wire_field value;
      int more;
      std::string_view tag;
      while ((more = hr_wire_next(bytes, text.size(), &at, &value)) > 0) {
        if (value.number != 1 || value.wire != 2) continue;
        if (!read_tag(value, &tag)) break;
        if (!tag.empty() && !seen.insert(tag).second)  // TensorSummary gives no tags
          return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "Duplicate tag %.*s found in summary inputs",
                             int(tag.size()), tag.data());
        merged.add({reinterpret_cast<const char*>(value.data), size_t(value.size)});
      }
      if (more != 0)
        return hr_ctx_fail(ctx, HR_INVALID_ARGUMENT, "input %d is not a Summary message", k);
    }
  }
  return merged.give(ctx, outputs[0]);
}

hr_code prepare_merge(void*, hr_request* r) {
  keep_plan(r, new int32_t(r->node->n_inputs));
  return hr_shape_scalar(r);
}

}  // namespace

HR_KERNELS = {
    kernel("ScalarSummary", "T=" HR_REALS, prepare_scalar),
    kernel("TensorSummary", nullptr, prepare_tensor),
    kernel("TensorSummaryV2", nullptr, prepare_tensor),
    kernel("MergeSummary", nullptr, prepare_merge, compute_merge),
};

}  // namespace hr
