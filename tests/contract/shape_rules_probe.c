/* Lets Python call a shape rule in C: a node and a request made of plain arrays. */
#include <stdarg.h>
#include <stdio.h>

#include "headrace/shape_rules.h"

typedef struct probe_attr {
  const char* key;
  int32_t kind; /* 'i' int, bool or type; 's' string; 'l' ints; 'f' floats; 'h' shape; 't' tensor */
  int64_t n;    /* of a list; rank of a shape or tensor, -1: unknown */
  const int64_t* ints;
  const float* floats;
  const char* text;
} probe_attr;

typedef struct probe_node {
  hr_node node;
  const probe_attr* attrs;
  int32_t n_attrs;
  hr_tensor tensor;
  char message[4096];
} probe_node;

static const probe_attr* find(const hr_node* node, const char* key, int kind) {
  const probe_node* probe = (const probe_node*)node;
  for (int32_t i = 0; i < probe->n_attrs; ++i)
    if (!strcmp(probe->attrs[i].key, key) && probe->attrs[i].kind == kind) return &probe->attrs[i];
  return NULL;
}

static hr_code attr_int(const hr_node* node, const char* key, int64_t* value) {
  const probe_attr* a = find(node, key, 'i');
  if (!a) return HR_NOT_FOUND;
  *value = a->ints[0];
  return HR_OK;
}

static hr_code attr_small(const hr_node* node, const char* key, int32_t* value) {
  int64_t wide;
  hr_code code = attr_int(node, key, &wide);
  if (code == HR_OK) *value = (int32_t)wide;
  return code;
}

static hr_code attr_string(const hr_node* node, const char* key, const char** data, size_t* size) {
  const probe_attr* a = find(node, key, 's');
  if (!a) return HR_NOT_FOUND;
  *data = a->text;
  *size = strlen(a->text);
  return HR_OK;
}

static hr_code attr_ints(const hr_node* node, const char* key, const int64_t** values, size_t* n) {
  const probe_attr* a = find(node, key, 'l');
  if (!a) return HR_NOT_FOUND;
  *values = a->ints;
  *n = (size_t)a->n;
  return HR_OK;
}

static hr_code attr_floats(const hr_node* node, const char* key, const float** values, size_t* n) {
  const probe_attr* a = find(node, key, 'f');
  if (!a) return HR_NOT_FOUND;
  *values = a->floats;
  *n = (size_t)a->n;
  return HR_OK;
}

static hr_code attr_shape(const hr_node* node, const char* key, int32_t* rank,
                          const int64_t** dims) {
  const probe_attr* a = find(node, key, 'h');
  if (!a) return HR_NOT_FOUND;
  *rank = (int32_t)a->n;
  *dims = a->ints;
  return HR_OK;
}

static hr_code attr_tensor(const hr_node* node, const char* key, const hr_tensor** value) {
  const probe_attr* a = find(node, key, 't');
  probe_node* probe = (probe_node*)node;
  if (!a) return HR_NOT_FOUND;
  probe->tensor.rank = (int32_t)a->n;
  for (int64_t i = 0; i < a->n; ++i) probe->tensor.dims[i] = a->ints[i];
  *value = &probe->tensor;
  return HR_OK;
}

static hr_code fail(const hr_node* node, hr_code code, const char* format, ...) {
  probe_node* probe = (probe_node*)node;
  va_list args;
  va_start(args, format);
  vsnprintf(probe->message, sizeof probe->message, format, args);
  va_end(args);
  return code;
}

/* Returns the code, or -1 for an unknown rule. out_ranks and out_dims (8 an output) are the
 * answer; *depends is shape_depends_on_data. */
int probe(const char* rule, int n_inputs, const int32_t* ranks, const int64_t* dims,
          const int32_t* dtypes, void* const* data, int n_attrs, const probe_attr* attrs,
          int n_outputs, int32_t* out_ranks, int64_t* out_dims, int32_t* depends, char* message) {
  hr_node_api api;
  memset(&api, 0, sizeof api);
  api.size = sizeof api;
  api.attr_int = attr_int;
  api.attr_bool = attr_small;
  api.attr_type = attr_small;
  api.attr_string = attr_string;
  api.attr_ints = attr_ints;
  api.attr_floats = attr_floats;
  api.attr_shape = attr_shape;
  api.attr_tensor = attr_tensor;
  api.fail = fail;
  probe_node node;
  memset(&node, 0, sizeof node);
  node.node.size = sizeof node.node;
  node.node.api = &api;
  node.node.n_inputs = n_inputs;
  node.node.n_outputs = n_outputs;
  node.attrs = attrs;
  node.n_attrs = n_attrs;
  hr_tensor inputs[32], outputs[32];
  const hr_tensor* input_at[32];
  hr_tensor* output_at[32];
  memset(inputs, 0, sizeof inputs);
  memset(outputs, 0, sizeof outputs);
  for (int i = 0; i < n_inputs; ++i) {
    inputs[i].data = data[i];
    inputs[i].dtype = dtypes[i];
    inputs[i].rank = ranks[i];
    for (int d = 0; d < ranks[i]; ++d) inputs[i].dims[d] = dims[i * HR_MAX_RANK + d];
    input_at[i] = &inputs[i];
  }
  for (int i = 0; i < n_outputs; ++i) {
    outputs[i].rank = -7;
    output_at[i] = &outputs[i];
  }
  hr_request request;
  memset(&request, 0, sizeof request);
  request.size = sizeof request;
  request.node = &node.node;
  request.inputs = input_at;
  request.outputs = output_at;
  hr_shape_fn function = hr_shape_rule_by_name(rule);
  if (!function) return -1;
  hr_code code = function(&request);
  *depends = request.shape_depends_on_data;
  for (int i = 0; i < n_outputs; ++i) {
    out_ranks[i] = outputs[i].rank;
    for (int d = 0; d < outputs[i].rank; ++d) out_dims[i * HR_MAX_RANK + d] = outputs[i].dims[d];
  }
  strcpy(message, node.message);
  return code;
}
