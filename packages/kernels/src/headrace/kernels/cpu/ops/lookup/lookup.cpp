// What reads and changes lookup tables: LookupTableFind, LookupTableInsert, InitializeTable, ...
#include <string>

#include "library/dtype_names.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "ops/lookup/lookup_table.hpp"
#include "table/resources.hpp"

namespace hr::lookup {

Table& table_of(const hr_tensor* handle) {
  hr_object* object = object_of(handle, kTableKind);
  if (!object) throw Failure{HR_INVALID_ARGUMENT, "the handle does not point at a lookup table"};
  return *reinterpret_cast<Table*>(object);
}

namespace {

using Tensors = const hr_tensor* const*;

// The keys and values of a call have the dtypes of the table. `values`: what the third input or
// the output holds.
void check_signature(const Table& table, hr_dtype handle, hr_dtype keys, const hr_dtype* values,
                     bool finds) {
  const TableSpec& spec = table.spec;
  if (keys == spec.key_dtype && (!values || *values == spec.value_dtype)) return;
  const auto text = [&](hr_dtype key, hr_dtype value) {
    std::string of = handle >= HR_REF ? "string_ref" : "resource";
    of += std::string(",") + dtype_name(key);
    if (values) of += std::string(",") + dtype_name(value);
    return of + "->" + (finds ? dtype_name(value) : "");
  };
  throw Failure{HR_INVALID_ARGUMENT,
                "Signature mismatch, have: " + text(keys, values ? *values : spec.value_dtype) +
                    " expected: " + text(spec.key_dtype, spec.value_dtype)};
}

hr_code compute_find(hr_ctx* ctx, void*, void*, Tensors in, hr_tensor* const* out, void*) {
  return error_boundary(ctx, [&] {
    Table& table = table_of(in[0]);
    check_signature(table, in[0]->dtype, in[1]->dtype, &in[2]->dtype, true);
    table.find(ctx, in[1], in[2], out[0]);
  });
}

hr_code compute_insert(hr_ctx* ctx, void*, void*, Tensors in, hr_tensor* const*, void*) {
  return error_boundary(ctx, [&] {
    Table& table = table_of(in[0]);
    check_signature(table, in[0]->dtype, in[1]->dtype, &in[2]->dtype, false);
    table.insert(ctx, in[1], in[2]);
  });
}

hr_code compute_remove(hr_ctx* ctx, void*, void*, Tensors in, hr_tensor* const*, void*) {
  return error_boundary(ctx, [&] {
    Table& table = table_of(in[0]);
    check_signature(table, in[0]->dtype, in[1]->dtype, nullptr, false);
    table.remove(ctx, in[1]);
  });
}

hr_code compute_import(hr_ctx* ctx, void*, void*, Tensors in, hr_tensor* const*, void*) {
  return error_boundary(ctx, [&] {
    Table& table = table_of(in[0]);
    check_signature(table, in[0]->dtype, in[1]->dtype, &in[2]->dtype, false);
    table.import_rows(ctx, in[1], in[2]);
  });
}

hr_code compute_initialize(hr_ctx* ctx, void*, void*, Tensors in, hr_tensor* const*, void*) {
  return error_boundary(ctx, [&] {
    Table& table = table_of(in[0]);
    if (table.spec.kind != Kind::kStatic)
      throw Failure{HR_INVALID_ARGUMENT, "Table is not initializable"};
    check_signature(table, in[0]->dtype, in[1]->dtype, &in[2]->dtype, false);
    if (in[1]->rank != 1)
      throw Failure{HR_INVALID_ARGUMENT,
                    std::string("Keys must be a vector, but received ") + ShapeText(in[1]).text};
    if (in[2]->rank != 1)
      throw Failure{HR_INVALID_ARGUMENT,
                    std::string("Values must be a vector, but received ") + ShapeText(in[2]).text};
    if (in[1]->dims[0] != in[2]->dims[0])
      throw Failure{HR_INVALID_ARGUMENT, "Number of elements in keys and values must match: " +
                                             std::to_string(in[1]->dims[0]) + " and " +
                                             std::to_string(in[2]->dims[0])};
    table.import_rows(ctx, in[1], in[2]);
  });
}

hr_code compute_export(hr_ctx* ctx, void*, void*, Tensors in, hr_tensor* const* out, void*) {
  return error_boundary(ctx, [&] {
    Table& table = table_of(in[0]);
    check_signature(table, in[0]->dtype, out[0]->dtype, &out[1]->dtype, false);
    table.export_rows(ctx, out[0], out[1]);
  });
}

hr_code compute_size(hr_ctx* ctx, void*, void*, Tensors in, hr_tensor* const* out, void*) {
  return error_boundary(ctx, [&] { *write<int64_t>(out[0]) = table_of(in[0]).size(); });
}

hr_code prepare_size(void*, hr_request* r) { return hr_shape_scalar(r); }

hr_code prepare_nothing(void*, hr_request*) { return HR_OK; }

// Its shape depends on the table.
hr_code prepare_data(void*, hr_request* r) {
  r->shape_depends_on_data = 1;
  return HR_OK;
}

}  // namespace

HR_KERNELS = {
    kernel("LookupTableFind", nullptr, prepare_data, compute_find).is(HR_KERNEL_DATA_SHAPE),
    kernel("LookupTableFindV2", nullptr, prepare_data, compute_find).is(HR_KERNEL_DATA_SHAPE),
    kernel("LookupTableInsert", nullptr, prepare_nothing, compute_insert),
    kernel("LookupTableInsertV2", nullptr, prepare_nothing, compute_insert),
    kernel("LookupTableRemoveV2", nullptr, prepare_nothing, compute_remove),
    kernel("LookupTableImport", nullptr, prepare_nothing, compute_import),
    kernel("LookupTableImportV2", nullptr, prepare_nothing, compute_import),
    kernel("InitializeTable", nullptr, prepare_nothing, compute_initialize),
    kernel("InitializeTableV2", nullptr, prepare_nothing, compute_initialize),
    kernel("LookupTableExport", nullptr, prepare_data, compute_export).is(HR_KERNEL_DATA_SHAPE),
    kernel("LookupTableExportV2", nullptr, prepare_data, compute_export).is(HR_KERNEL_DATA_SHAPE),
    kernel("LookupTableSize", nullptr, prepare_size, compute_size),
    kernel("LookupTableSizeV2", nullptr, prepare_size, compute_size),
};

}  // namespace hr::lookup
