// Checkpoints: SaveV2, RestoreV2, MergeV2Checkpoints.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "files/bundle_reader.hpp"
#include "files/bundle_writer.hpp"
#include "library/attributes.hpp"
#include "library/shape_rules.hpp"
#include "library/text.hpp"
#include "ops/datasets/state.hpp"

namespace hr {
namespace {

std::string string_at(const hr_tensor* t, int64_t i) { return std::string(text_at(t, i)); }

// ---- saving -------------------------------------------------------------------------------------

struct SavePlan {
  int32_t tensors;
};

hr_code compute_save(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                     hr_tensor* const*, void*) {
  const int32_t n = static_cast<SavePlan*>(plan)->tensors;
  return error_boundary(ctx, [&] {
    bundle::Writer writer(string_at(inputs[0], 0));
    for (int32_t i = 0; i < n; ++i) {
      const std::string name = string_at(inputs[1], i);
      const std::string_view slice = text_at(inputs[2], i);
      const hr_tensor* value = inputs[3 + i];
      const std::string* position = data::saved_position(value);
      if (position && slice.empty()) {  // of an iterator: a string of the file
        hr_string text{position->data(), position->size(), nullptr};
        hr_tensor stored = *value;
        stored.dtype = HR_STRING;
        stored.data = &text;
        writer.add(name, &stored);
      } else if (slice.empty()) writer.add(name, value);
      else writer.add_slice(name, bundle::parsed_slice(slice, name), value);
    }
    writer.finish();
  });
}

hr_code check_lists(hr_request* r, int64_t requested, const char* what) {
  if (hr_code code = need_scalar(r, 0, "prefix")) return code;
  for (int i : {1, 2}) {
    if (r->inputs[i]->rank == 1 && r->inputs[i]->dims[0] == requested) continue;
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "%s must have one element for each of %lld %s, is %s",
                           i == 1 ? "tensor_names" : "shape_and_slices", (long long)requested, what,
                           ShapeText(r->inputs[i]).text);
  }
  return HR_OK;
}

hr_code prepare_save(void*, hr_request* r) {
  const int32_t tensors = r->node->n_inputs - 3;
  if (hr_code code = check_lists(r, tensors, "tensors")) return code;
  keep_plan(r, new SavePlan{tensors});
  return hr_shape_no_output(r);
}

// ---- restoring ----------------------------------------------------------------------------------

struct RestorePlan {
  int32_t tensors;
};

const char* name_of(hr_dtype dtype) {
  static constexpr const char* kNames[] = {
      "invalid",   "float32", "float64",    "int32",   "uint8",    "int16",   "int8",     "string",
      "complex64", "int64",   "bool",       "qint8",   "quint8",   "qint32",  "bfloat16", "qint16",
      "quint16",   "uint16",  "complex128", "float16", "resource", "variant", "uint32",   "uint64"};
  return dtype >= 0 && dtype < int(sizeof kNames / sizeof kNames[0]) ? kNames[dtype] : "unknown";
}

struct StringSink {
  hr_ctx* ctx;
  hr_tensor* out;
  hr_code code;
};

void keep_string(void* argument, uint64_t i, const uint8_t* data, uint64_t size) {
  auto* sink = static_cast<StringSink*>(argument);
  if (sink->code == HR_OK)
    sink->code = set_text(sink->ctx, sink->out, int64_t(i),
                          {reinterpret_cast<const char*>(data), size_t(size)});
}

// The saved position of an iterator.
void restore_position(hr_ctx* ctx, bundle::Reader* reader, const hr_bundle_entry& entry,
                      hr_tensor* out) {
  std::string position;
  reader->strings(
      entry,
      [](void* argument, uint64_t, const uint8_t* data, uint64_t size) {
        static_cast<std::string*>(argument)->assign(reinterpret_cast<const char*>(data),
                                                    size_t(size));
      },
      &position);
  set_shape(out, {});
  check(ctx->api->allocate(ctx, out));
  data::set_saved_position(out, std::move(position));
}

void restore(hr_ctx* ctx, bundle::Reader* reader, const std::string& name, std::string_view spec,
             hr_tensor* out) {
  const hr_bundle_entry entry = reader->find(name);
  if (out->dtype == HR_VARIANT && entry.dtype == HR_STRING && entry.rank == 0)
    return restore_position(ctx, reader, entry, out);
  if (entry.dtype != out->dtype)
    throw Failure{HR_INVALID_ARGUMENT, "tensor_name = " + name + "; expected dtype " +
                                           name_of(out->dtype) + " does not equal original dtype " +
                                           name_of(entry.dtype)};
  if (entry.rank > HR_MAX_RANK)
    throw Failure{HR_UNIMPLEMENTED, "tensor_name = " + name + "; it has " +
                                        std::to_string(entry.rank) + " dimensions, at most " +
                                        std::to_string(HR_MAX_RANK) + " are supported"};
  int64_t starts[HR_MAX_RANK] = {};
  set_shape(out, entry.rank, entry.dims);
  if (!spec.empty()) {
    bundle::Slice slice = bundle::parsed_slice(spec, name);
    if (slice.full != std::vector<int64_t>(entry.dims, entry.dims + entry.rank))
      throw Failure{HR_INVALID_ARGUMENT,
                    "tensor_name = " + name + "; shape in shape_and_slice spec " +
                        ShapeText(int32_t(slice.full.size()), slice.full.data()).text +
                        " does not match the shape in the save file: " + ShapeText(out).text};
    bundle::normalise(&slice, name);
    for (int32_t i = 0; i < entry.rank; ++i) {
      starts[i] = slice.starts[i];
      if (slice.lengths[i] >= 0) out->dims[i] = slice.lengths[i];
    }
  }
  if (entry.dtype == HR_STRING) {
    if (entry.slices || !spec.empty())
      throw Failure{HR_UNIMPLEMENTED, "tensor_name = " + name + "; slices of strings"};
    reader->locate(entry);
    if (hr_elements(out) > entry.size)  // before memory is taken for so many
      return reader->strings(entry, keep_string, nullptr);
    check(ctx->api->allocate(ctx, out));
    StringSink sink{ctx, out, HR_OK};
    reader->strings(entry, keep_string, &sink);
    return check(sink.code);
  }
  // First whether the bytes are there, so that a hostile shape takes no memory.
  if (!entry.slices && spec.empty()) {
    const hr_bundle_bytes stored = reader->bytes(entry);
    check(ctx->api->allocate(ctx, out));
    return reader->whole(entry, stored, out->data);
  }
  reader->region(name, entry, starts, out->dims, nullptr);
  check(ctx->api->allocate(ctx, out));
  reader->region(name, entry, starts, out->dims, out->data);
}

// The order in which the tensors lie in the files, and plans to read them so, if they are fetched.
std::vector<int32_t> reading_order(bundle::Reader* reader, const hr_tensor* const* inputs,
                                   int32_t n) {
  std::vector<int32_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  if (!reader->is_remote()) return order;
  std::vector<bundle::Range> first, all;
  for (const int32_t i : order) {
    const std::string name = string_at(inputs[1], i);
    const std::string_view spec = text_at(inputs[2], i);
    bundle::Slice slice;
    if (!spec.empty()) bundle::normalise(&(slice = bundle::parsed_slice(spec, name)), name);
    const auto ranges = reader->ranges_of(name, spec.empty() ? nullptr : &slice);
    first.push_back(ranges.empty() ? bundle::Range{-1, 0, 0} : ranges.front());
    all.insert(all.end(), ranges.begin(), ranges.end());
  }
  reader->plan(std::move(all));
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return first[size_t(a)] < first[size_t(b)]; });
  return order;
}

hr_code compute_restore(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void*) {
  const int32_t n = static_cast<RestorePlan*>(plan)->tensors;
  return error_boundary(ctx, [&] {
    bundle::Reader reader(string_at(inputs[0], 0));
    for (const int32_t i : reading_order(&reader, inputs, n))
      restore(ctx, &reader, string_at(inputs[1], i), text_at(inputs[2], i), outputs[i]);
  });
}

hr_code prepare_restore(void*, hr_request* r) {
  if (hr_code code = check_lists(r, r->node->n_outputs, "dtypes")) return code;
  keep_plan(r, new RestorePlan{r->node->n_outputs});
  r->shape_depends_on_data = 1;
  return HR_OK;
}

// ---- merging ------------------------------------------------------------------------------------

struct MergePlan {
  bool delete_old, allow_missing;
};

hr_code compute_merge(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* inputs,
                      hr_tensor* const*, void*) {
  const auto& p = *static_cast<const MergePlan*>(plan);
  return error_boundary(ctx, [&] {
    std::vector<std::string> prefixes;
    for (int64_t i = 0, n = hr_elements(inputs[0]); i < n; ++i) {
      std::string prefix = string_at(inputs[0], i);
      if (!p.allow_missing || disk::exists(bundle::index_path(prefix)))
        prefixes.push_back(std::move(prefix));
    }
    bundle::merge(prefixes, string_at(inputs[1], 0), p.delete_old);
  });
}

hr_code prepare_merge(void*, hr_request* r) {
  if (hr_code code = need_scalar(r, 1, "destination_prefix")) return code;
  keep_plan(r, new MergePlan{hr_attr_bool(r->node, "delete_old_dirs", 1) != 0,
                             hr_attr_bool(r->node, "allow_missing_files", 0) != 0});
  return hr_shape_no_output(r);
}

}  // namespace

HR_KERNELS = {
    kernel("SaveV2", nullptr, prepare_save, compute_save),
    kernel("RestoreV2", nullptr, prepare_restore, compute_restore).is(HR_KERNEL_DATA_SHAPE),
    kernel("MergeV2Checkpoints", nullptr, prepare_merge, compute_merge),
};

}  // namespace hr
