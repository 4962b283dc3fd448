// Reads, writes, lists and names files: ReadFile, WriteFile, MatchingFiles, ShardedFilename, ...
#include <set>
#include <string>

#include "files/disk.hpp"
#include "library/shape_rules.hpp"
#include "library/text.hpp"

namespace hr {
namespace {

hr_code compute_read(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                     hr_tensor* const* outputs, void*) {
  return error_boundary(ctx, [&] {
    check(set_text(ctx, outputs[0], 0, disk::read(std::string(text_at(inputs[0], 0)))));
  });
}

hr_code prepare_read(void*, hr_request* r) {
  if (hr_code code = need_scalar(r, 0, "filename")) return code;
  return hr_shape_scalar(r);
}

hr_code compute_write(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs, hr_tensor* const*,
                      void*) {
  return error_boundary(ctx, [&] {
    const std::string path(text_at(inputs[0], 0));
    disk::make_folders(disk::folder_of(path));
    disk::Output file(path);
    file.write(text_at(inputs[1], 0));
    file.close(false);
  });
}

hr_code prepare_write(void*, hr_request* r) {
  if (hr_code code = need_scalar(r, 0, "filename")) return code;
  if (hr_code code = need_scalar(r, 1, "contents")) return code;
  return hr_shape_no_output(r);
}

hr_code compute_matching(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void*) {
  return error_boundary(ctx, [&] {
    std::set<std::string> names;
    for (int64_t i = 0, n = hr_elements(inputs[0]); i < n; ++i)
      for (std::string& name : disk::matching(std::string(text_at(inputs[0], i))))
        names.insert(std::move(name));
    set_shape(outputs[0], {int64_t(names.size())});
    check(ctx->api->allocate(ctx, outputs[0]));
    int64_t i = 0;
    for (const std::string& name : names) check(set_text(ctx, outputs[0], i++, name));
  });
}

hr_code prepare_matching(void*, hr_request* r) {
  r->shape_depends_on_data = 1;
  return HR_OK;
}

// ---- names --------------------------------------------------------------------------------------

template <bool any>
hr_code compute_sharded(hr_ctx* ctx, void*, void*, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void*) {
  char end[64];
  if (any)
    std::snprintf(end, sizeof end,
                  "-?????"
                  "-of-%05d",
                  int(*read<int32_t>(inputs[1])));
  else
    std::snprintf(end, sizeof end, "-%05d-of-%05d", int(*read<int32_t>(inputs[1])),
                  int(*read<int32_t>(inputs[2])));
  return set_text(ctx, outputs[0], 0, std::string(text_at(inputs[0], 0)) + end);
}

hr_code prepare_sharded(void*, hr_request* r) {
  static constexpr const char* kNames[] = {"basename", "shard", "num_shards"};
  for (int i = 0; i < r->node->n_inputs; ++i) {
    const char* name = r->node->n_inputs == 2 && i == 1 ? "num_shards" : kNames[i];
    if (hr_code code = need_scalar(r, i, name)) return code;
  }
  return hr_shape_scalar(r);
}

}  // namespace

HR_KERNELS = {
    kernel("ReadFile", nullptr, prepare_read, compute_read),
    kernel("WriteFile", nullptr, prepare_write, compute_write),
    kernel("MatchingFiles", nullptr, prepare_matching, compute_matching).is(HR_KERNEL_DATA_SHAPE),
    kernel("ShardedFilename", nullptr, prepare_sharded, compute_sharded<false>),
    kernel("ShardedFilespec", nullptr, prepare_sharded, compute_sharded<true>),
};

}  // namespace hr
