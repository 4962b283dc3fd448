/* Reads checkpoint bundles through a memory map, or by ranges from a source of the caller's. Header
 * only; the C counterpart of bundle_reader.py. bundle_writer.py describes the format.
 *
 *   hr_bundle bundle;
 *   if (hr_bundle_open(&bundle, "model.ckpt-7") != HR_BUNDLE_OK) ... bundle.path, .offset, .what
 *   hr_bundle_entry entry;
 *   hr_bundle_find(&bundle, "weights", &entry);
 *   hr_bundle_read(&bundle, &entry, &bytes);        a whole tensor; the bytes are in the map
 *   hr_bundle_read_region(&bundle, ...);            any region, assembled from slices
 *   hr_bundle_close(&bundle);
 *
 * An error sets code, path, offset and text in the bundle. A bundle is not thread-safe. */
#ifndef HEADRACE_BUNDLE_READER_H
#define HEADRACE_BUNDLE_READER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/entries.h"
#include "bundle/files.h"
#include "table_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_BUNDLE_PATH_BYTES 4096
#define HR_BUNDLE_STRING 7
#define HR_BUNDLE_VERSION 1
/* How often to retry when the bundle is replaced while it is opened. */
#define HR_BUNDLE_ATTEMPTS 1000
/* Shards beyond this number are mapped on first use. */
#define HR_BUNDLE_SHARDS_AT_ONCE 64

/* The values are canonical status codes. */
typedef enum {
  HR_BUNDLE_OK = 0,
  HR_BUNDLE_INVALID = 3,   /* the requested region does not fit the tensor */
  HR_BUNDLE_NOT_FOUND = 5, /* no such bundle or tensor */
  HR_BUNDLE_NO_MEMORY = 8,
  HR_BUNDLE_ABORTED = 10, /* another bundle replaced this one: open it again */
  HR_BUNDLE_UNIMPLEMENTED = 12,
  HR_BUNDLE_DATA_LOSS = 15 /* missing or corrupted bytes */
} hr_bundle_code;

typedef struct {
  char prefix[HR_BUNDLE_PATH_BYTES];
  hr_bundle_file index;
  hr_table table;
  hr_bundle_file* shards;
  uint64_t num_shards;
  int swapped; /* the data is big-endian */
  uint8_t* scratch;
  const hr_bundle_source* source; /* null: local files */
  uint8_t* fetched;               /* what was read last from the source */
  uint64_t fetched_capacity;
  /* the last error */
  hr_bundle_code code;
  char path[HR_BUNDLE_PATH_BYTES + 64];
  uint64_t offset;
  char what[256];
} hr_bundle;

typedef struct {
  const uint8_t* data;
  uint64_t size;
} hr_bundle_bytes;

static inline hr_bundle_code hr_bundle_fail(hr_bundle* bundle, hr_bundle_code code,
                                            const char* path, uint64_t offset, const char* what) {
  bundle->code = code;
  bundle->offset = offset;
  if (path != bundle->path) snprintf(bundle->path, sizeof bundle->path, "%s", path);
  snprintf(bundle->what, sizeof bundle->what, "%s", what);
  return code;
}

static inline hr_bundle_code hr_bundle_lost(hr_bundle* bundle, const char* what) {
  char path[HR_BUNDLE_PATH_BYTES + 64];
  snprintf(path, sizeof path, "%s.index", bundle->prefix);
  return hr_bundle_fail(bundle, HR_BUNDLE_DATA_LOSS, path, 0, what);
}

static inline void hr_bundle_close(hr_bundle* bundle) {
  uint64_t i;
  if (bundle->shards)
    for (i = 0; i < bundle->num_shards; ++i) {
      if (bundle->shards[i].state == 2)
        bundle->source->close(bundle->source->self, bundle->shards[i].handle);
      hr_bundle_unmap(&bundle->shards[i]);
    }
  free(bundle->shards);
  free(bundle->fetched);
  bundle->fetched = NULL;
  free(bundle->scratch);
  hr_table_close(&bundle->table);
  hr_bundle_unmap(&bundle->index);
  bundle->shards = NULL;
  bundle->scratch = NULL;
  bundle->num_shards = 0;
}

/* Converts an error of the table to one of the bundle. */
static inline hr_bundle_code hr_bundle_from_table(hr_bundle* bundle, hr_table_code code) {
  char path[HR_BUNDLE_PATH_BYTES + 64];
  snprintf(path, sizeof path, "%s.index", bundle->prefix);
  return hr_bundle_fail(bundle,
                        code == HR_TABLE_NO_MEMORY ? HR_BUNDLE_NO_MEMORY : HR_BUNDLE_DATA_LOSS,
                        path, bundle->table.offset, bundle->table.what);
}

/* Opens a file of a source; returns 0 or a code of hr_bundle_source. */
static inline int hr_bundle_open_remote(const hr_bundle* bundle, hr_bundle_file* file,
                                        const char* path) {
  const hr_bundle_source* source = bundle->source;
  int error = source->open(source->self, path, &file->handle, &file->size);
  if (!error) file->state = 2;
  return error;
}

/* Opens the index, whose whole contents are needed. Returns 0, or a code of hr_bundle_code. */
static inline int hr_bundle_load_index(hr_bundle* bundle, const char* path) {
  const hr_bundle_source* source = bundle->source;
  hr_bundle_file* index = &bundle->index;
  int error;
  if (!source) return hr_bundle_map(index, path) ? HR_BUNDLE_NOT_FOUND : 0;
  error = hr_bundle_open_remote(bundle, index, path);
  if (error) return error;
  index->data = (uint8_t*)malloc(index->size ? (size_t)index->size : 1);
  error = index->data ? source->read(source->self, index->handle, 0, index->size, index->data)
                      : HR_BUNDLE_NO_MEMORY;
  source->close(source->self, index->handle);
  index->state = 3;
  if (error) hr_bundle_unmap(index);
  return error;
}

/* Returns whether the index file is still the one that was read. Writers replace the index last:
 * while it is unchanged, the shards mapped so far are its own. */
static inline int hr_bundle_is_current(const hr_bundle* bundle) {
  char path[HR_BUNDLE_PATH_BYTES + 64];
  snprintf(path, sizeof path, "%s.index", bundle->prefix);
  if (bundle->source) {
    int current = 0;
    const hr_bundle_source* source = bundle->source;
    /* If it cannot be known, what was read is not blamed on another writer. */
    return source->is_current(source->self, path, bundle->index.handle, &current) != 0 || current;
  }
#ifdef HR_BUNDLE_MMAP
  {
    struct stat status;
    return stat(path, &status) == 0 && (uint64_t)status.st_dev == bundle->index.device &&
           (uint64_t)status.st_ino == bundle->index.number;
  }
#else
  return 1;
#endif
}

static inline void hr_bundle_shard_path(const hr_bundle* bundle, int64_t shard, char* path,
                                        size_t size) {
  snprintf(path, size, "%s.data-%05d-of-%05d", bundle->prefix, (int)shard, (int)bundle->num_shards);
}

static inline hr_bundle_code hr_bundle_open_index(hr_bundle* bundle, const char* prefix,
                                                  const hr_bundle_source* source) {
  char path[HR_BUNDLE_PATH_BYTES + 64];
  const uint8_t *header, *version = NULL;
  uint64_t header_size, position = 0, version_size = 0;
  hr_wire_field field;
  hr_table_code code;
  int error, more;
  memset(bundle, 0, sizeof *bundle);
  bundle->source = source;
  if (strlen(prefix) >= HR_BUNDLE_PATH_BYTES)
    return hr_bundle_fail(bundle, HR_BUNDLE_INVALID, prefix, 0, "the path is too long");
  memcpy(bundle->prefix, prefix, strlen(prefix) + 1);
  snprintf(path, sizeof path, "%s.index", prefix);
  error = hr_bundle_load_index(bundle, path);
  if (error)
    return hr_bundle_fail(
        bundle, (hr_bundle_code)error, path, 0,
        error == HR_BUNDLE_NOT_FOUND ? "no checkpoint of this name" : "the index cannot be read");
  bundle->scratch = (uint8_t*)malloc(2 * HR_TABLE_MAX_KEY);
  if (!bundle->scratch) {
    hr_bundle_close(bundle);
    return hr_bundle_fail(bundle, HR_BUNDLE_NO_MEMORY, path, 0, "no memory");
  }
  code = hr_table_open(&bundle->table, bundle->index.data, bundle->index.size);
  if (code == HR_TABLE_OK)
    code = hr_table_get(&bundle->table, "", 0, bundle->scratch, &header, &header_size);
  if (code == HR_TABLE_END) {
    hr_bundle_close(bundle);
    return hr_bundle_lost(bundle, "the header is missing");
  }
  if (code != HR_TABLE_OK) {
    hr_bundle_close(bundle);
    return hr_bundle_from_table(bundle, code);
  }
  while ((more = hr_wire_next(header, header_size, &position, &field)) > 0) {
    if (field.number == 1 && field.wire == 0) bundle->num_shards = field.value;
    if (field.number == 2 && field.wire == 0) bundle->swapped = field.value == 1;
    if (field.number == 3 && field.wire == 2) {
      version = field.data;
      version_size = field.size;
    }
  }
  position = 0;
  while (more == 0 && version &&
         (more = hr_wire_next(version, version_size, &position, &field)) > 0) {
    if (field.number == 2 && field.wire == 0 && field.value > HR_BUNDLE_VERSION) {
      bundle->num_shards = 0;
      hr_bundle_close(bundle);
      return hr_bundle_fail(bundle, HR_BUNDLE_INVALID, path, 0, "needs a newer reader");
    }
    more = 0;
  }
  if (more != 0 || bundle->num_shards > 100000) {
    bundle->num_shards = 0;
    hr_bundle_close(bundle);
    return hr_bundle_lost(bundle, "the header is corrupted");
  }
  bundle->shards =
      (hr_bundle_file*)calloc(bundle->num_shards ? bundle->num_shards : 1, sizeof(hr_bundle_file));
  if (!bundle->shards) {
    bundle->num_shards = 0;
    hr_bundle_close(bundle);
    return hr_bundle_fail(bundle, HR_BUNDLE_NO_MEMORY, path, 0, "no memory");
  }
  return HR_BUNDLE_OK;
}

/* Opens a bundle. On failure the bundle has the error and need not be closed. All reads see the
 * bundle as it was when opened, also while writers replace it. A bundle of a source reports
 * HR_BUNDLE_ABORTED in that case; its shards are opened on first use. */
static inline hr_bundle_code hr_bundle_open_from(hr_bundle* bundle, const char* prefix,
                                                 const hr_bundle_source* source) {
  char path[HR_BUNDLE_PATH_BYTES + 64];
  hr_bundle_code code;
  uint64_t i;
  int attempt;
  for (attempt = 0; attempt < HR_BUNDLE_ATTEMPTS; ++attempt) {
    code = hr_bundle_open_index(bundle, prefix, source);
    if (code != HR_BUNDLE_OK || source) return code;
    for (i = 0; i < bundle->num_shards && bundle->num_shards <= HR_BUNDLE_SHARDS_AT_ONCE; ++i) {
      hr_bundle_shard_path(bundle, (int64_t)i, path, sizeof path);
      (void)hr_bundle_map(&bundle->shards[i], path); /* missed when it is read */
    }
    if (hr_bundle_is_current(bundle)) return HR_BUNDLE_OK;
    hr_bundle_close(bundle);
#ifdef HR_BUNDLE_MMAP
    {
      struct timeval moment = {0, 1000};
      select(0, NULL, NULL, NULL, &moment);
    }
#endif
  }
  return hr_bundle_fail(bundle, HR_BUNDLE_ABORTED, prefix, 0,
                        "the checkpoint was replaced again and again while it was opened");
}

static inline hr_bundle_code hr_bundle_open(hr_bundle* bundle, const char* prefix) {
  return hr_bundle_open_from(bundle, prefix, NULL);
}

static inline hr_bundle_code hr_bundle_find_key(hr_bundle* bundle, const void* key, uint64_t size,
                                                hr_bundle_entry* entry) {
  const uint8_t* value;
  uint64_t value_size;
  hr_table_code code =
      hr_table_get(&bundle->table, key, size, bundle->scratch, &value, &value_size);
  if (code == HR_TABLE_END) {
    char path[HR_BUNDLE_PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s.index", bundle->prefix);
    return hr_bundle_fail(bundle, HR_BUNDLE_NOT_FOUND, path, 0, "no such tensor");
  }
  if (code != HR_TABLE_OK) return hr_bundle_from_table(bundle, code);
  if (!hr_bundle_parse_entry(value, value_size, entry))
    return hr_bundle_lost(bundle, "an entry is corrupted or its shape impossible");
  return HR_BUNDLE_OK;
}

/* Finds a tensor by name. */
static inline hr_bundle_code hr_bundle_find(hr_bundle* bundle, const char* name,
                                            hr_bundle_entry* entry) {
  if (!*name) return hr_bundle_fail(bundle, HR_BUNDLE_INVALID, bundle->prefix, 0, "no name");
  return hr_bundle_find_key(bundle, name, strlen(name), entry);
}

/* Opens the shard of an entry, and checks that the bytes of the entry lie in it and have the size
 * of its shape. Does not read them. */
static inline hr_bundle_code hr_bundle_locate(hr_bundle* bundle, const hr_bundle_entry* entry,
                                              char* path, size_t path_size) {
  hr_bundle_file* file;
  uint64_t count, width = hr_bundle_element_size(entry->dtype);
  if (!width && entry->dtype != HR_BUNDLE_STRING)
    return hr_bundle_fail(bundle, HR_BUNDLE_UNIMPLEMENTED, bundle->prefix, 0,
                          "tensors of this dtype cannot be read");
  if (entry->shard_id < 0 || (uint64_t)entry->shard_id >= bundle->num_shards)
    return hr_bundle_lost(bundle, "an entry is in a shard that does not exist");
  hr_bundle_shard_path(bundle, entry->shard_id, path, path_size);
  file = &bundle->shards[entry->shard_id];
  if (!file->state) {
    int error =
        bundle->source ? hr_bundle_open_remote(bundle, file, path) : hr_bundle_map(file, path);
    if (!hr_bundle_is_current(bundle)) {
      if (!bundle->source) hr_bundle_unmap(file);
      return hr_bundle_fail(bundle, HR_BUNDLE_ABORTED, bundle->prefix, 0,
                            "another checkpoint replaced this one while it was read");
    }
    if (bundle->source && error && error != HR_BUNDLE_NOT_FOUND)
      return hr_bundle_fail(bundle, (hr_bundle_code)error, path, 0, "the shard cannot be opened");
    if (error) return hr_bundle_fail(bundle, HR_BUNDLE_DATA_LOSS, path, 0, "the shard is missing");
  }
  if (entry->offset < 0 || entry->size < 0 || (uint64_t)entry->offset > file->size ||
      (uint64_t)entry->size > file->size - (uint64_t)entry->offset)
    return hr_bundle_fail(bundle, HR_BUNDLE_DATA_LOSS, path, (uint64_t)entry->offset,
                          "the file is truncated");
  if (width && (!hr_bundle_count(entry->dims, entry->rank, &count) ||
                (uint64_t)entry->size != count * width))
    return hr_bundle_fail(bundle, HR_BUNDLE_DATA_LOSS, path, (uint64_t)entry->offset,
                          "the size of the data does not fit its shape");
  return HR_BUNDLE_OK;
}

/* Reads a range of a shard of a source into `fetched`. */
static inline hr_bundle_code hr_bundle_fetch(hr_bundle* bundle, const hr_bundle_entry* entry,
                                             const char* path) {
  int error;
  if ((uint64_t)entry->size > bundle->fetched_capacity) {
    free(bundle->fetched);
    bundle->fetched_capacity = 0;
    bundle->fetched = (uint8_t*)malloc((size_t)entry->size);
    if (!bundle->fetched)
      return hr_bundle_fail(bundle, HR_BUNDLE_NO_MEMORY, path, (uint64_t)entry->offset,
                            "no memory");
    bundle->fetched_capacity = (uint64_t)entry->size;
  }
  error = entry->size ? bundle->source->read(
                            bundle->source->self, bundle->shards[entry->shard_id].handle,
                            (uint64_t)entry->offset, (uint64_t)entry->size, bundle->fetched)
                      : 0;
  return error ? hr_bundle_fail(bundle, (hr_bundle_code)error, path, (uint64_t)entry->offset,
                                "the shard cannot be read")
               : HR_BUNDLE_OK;
}

/* Reports bytes with another CRC than their entry. Those of a source may be another bundle's. */
static inline hr_bundle_code hr_bundle_bad_crc(hr_bundle* bundle, const hr_bundle_entry* entry,
                                               const char* path, const char* what) {
  if (bundle->source && !hr_bundle_is_current(bundle))
    return hr_bundle_fail(bundle, HR_BUNDLE_ABORTED, bundle->prefix, 0,
                          "another checkpoint replaced this one while it was read");
  return hr_bundle_fail(bundle, HR_BUNDLE_DATA_LOSS, path, (uint64_t)entry->offset, what);
}

/* Maps the bytes of an entry and checks their bounds. Numeric data is also checked against its CRC
 * and shape; hr_bundle_strings checks strings. The bytes from a source are valid until the next
 * call. */
static inline hr_bundle_code hr_bundle_read(hr_bundle* bundle, const hr_bundle_entry* entry,
                                            hr_bundle_bytes* out) {
  char path[HR_BUNDLE_PATH_BYTES + 64];
  const hr_bundle_file* file;
  hr_bundle_code code = hr_bundle_locate(bundle, entry, path, sizeof path);
  if (code != HR_BUNDLE_OK) return code;
  file = &bundle->shards[entry->shard_id];
  if (bundle->source) {
    code = hr_bundle_fetch(bundle, entry, path);
    if (code != HR_BUNDLE_OK) return code;
    out->data = entry->size ? bundle->fetched : (const uint8_t*)"";
  } else {
    out->data = file->data ? file->data + entry->offset : (const uint8_t*)"";
  }
  out->size = (uint64_t)entry->size;
  if (entry->dtype != HR_BUNDLE_STRING &&
      hr_masked_crc32c(out->data, (size_t)out->size) != entry->crc)
    return hr_bundle_bad_crc(bundle, entry, path, "the CRC of the data is wrong");
  return HR_BUNDLE_OK;
}

/* Checks the bytes of a string tensor and calls `visit` with each string, in order. */
static inline hr_bundle_code hr_bundle_strings(hr_bundle* bundle, const hr_bundle_entry* entry,
                                               void (*visit)(void* argument, uint64_t i,
                                                             const uint8_t* data, uint64_t size),
                                               void* argument) {
  char path[HR_BUNDLE_PATH_BYTES + 64];
  hr_bundle_bytes bytes;
  uint64_t count = 0, position = 0, total = 0, i, length = 0;
  uint32_t crc = 0;
  const char* what = NULL;
  hr_bundle_code code = hr_bundle_read(bundle, entry, &bytes);
  if (code != HR_BUNDLE_OK) return code;
  hr_bundle_shard_path(bundle, entry->shard_id, path, sizeof path);
  hr_bundle_count(entry->dims, entry->rank, &count);
  if (count > bytes.size) what = "too few bytes for so many strings";
  for (i = 0; !what && i < count; ++i) {
    if (!hr_load_varint(bytes.data, bytes.size, &position, &length) ||
        length > bytes.size - total) {
      what = "the length of a string is corrupted";
      break;
    }
    total += length;
    /* the CRC covers lengths as little-endian 32-bit numbers, or 64-bit ones if necessary */
    {
      uint8_t fixed[8];
      size_t k, n = length >> 32 ? 8 : 4;
      for (k = 0; k < n; ++k) fixed[k] = (uint8_t)(length >> (8 * k));
      crc = hr_crc32c_extend(crc, fixed, n);
    }
  }
  if (!what && bytes.size - position < 4) what = "the lengths of the strings are truncated";
  if (!what && hr_load_u32(bytes.data + position) != hr_crc32c_mask(crc))
    what = "the CRC of the strings' lengths is wrong";
  if (!what && bytes.size - position - 4 != total) what = "the strings do not fill their bytes";
  if (!what && hr_crc32c_mask(hr_crc32c_extend(crc, bytes.data + position, (size_t)(total + 4))) !=
                   entry->crc)
    what = "the CRC of the data is wrong";
  if (what) return hr_bundle_bad_crc(bundle, entry, path, what);
  total = position + 4;
  position = 0;
  for (i = 0; i < count; ++i) {
    hr_load_varint(bytes.data, bytes.size, &position, &length);
    visit(argument, i, bytes.data + total, length);
    total += length;
  }
  return HR_BUNDLE_OK;
}

#ifdef __cplusplus
}
#endif

#include "bundle/slices.h"

#endif
