/* Checkpoint bundles, read through a memory map. Header only; bundle_reader.py is the same in
 * Python and says what a bundle is.
 *
 *   hr_bundle bundle;
 *   if (hr_bundle_open(&bundle, "model.ckpt-7") != HR_BUNDLE_OK) ... bundle.path, .offset, .what
 *   hr_bundle_entry entry;
 *   hr_bundle_find(&bundle, "weights", &entry);
 *   hr_bundle_read(&bundle, &entry, &bytes);        a whole tensor; the bytes lie in the map
 *   hr_bundle_read_region(&bundle, ...);            any part, put together from its slices
 *   hr_bundle_close(&bundle);
 *
 * Errors leave a code, path, offset and text in the bundle. One bundle serves one thread. */
#ifndef HEADRACE_BUNDLE_READER_H
#define HEADRACE_BUNDLE_READER_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>
#define HR_BUNDLE_MMAP 1
#endif

#include "table_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_BUNDLE_MAX_RANK 64
#define HR_BUNDLE_PATH_BYTES 4096
#define HR_BUNDLE_STRING 7
#define HR_BUNDLE_VERSION 1
/* A bundle that is replaced while it is opened is opened again, so many times. */
#define HR_BUNDLE_ATTEMPTS 1000
/* Shards that are mapped when the bundle is opened; of more each when it is read. */
#define HR_BUNDLE_SHARDS_AT_ONCE 64

/* The values are canonical status codes. */
typedef enum {
  HR_BUNDLE_OK = 0,
  HR_BUNDLE_INVALID = 3,       /* what was asked for does not fit the tensor */
  HR_BUNDLE_NOT_FOUND = 5,     /* no such bundle or tensor */
  HR_BUNDLE_NO_MEMORY = 8,
  HR_BUNDLE_ABORTED = 10,      /* another bundle took its place meanwhile: open it again */
  HR_BUNDLE_UNIMPLEMENTED = 12,
  HR_BUNDLE_DATA_LOSS = 15     /* missing or damaged bytes */
} hr_bundle_code;

typedef struct {
  uint8_t* data;
  uint64_t size;
  int state; /* 0: not tried yet, 1: there */
  uint64_t device, number; /* which file it is; the map keeps others from getting its number */
} hr_bundle_file;

typedef struct {
  char prefix[HR_BUNDLE_PATH_BYTES];
  hr_bundle_file index;
  hr_table table;
  hr_bundle_file* shards;
  uint64_t num_shards;
  int swapped; /* its numbers are big-endian */
  uint8_t* scratch;
  /* the last error */
  hr_bundle_code code;
  char path[HR_BUNDLE_PATH_BYTES + 64];
  uint64_t offset;
  char what[256];
} hr_bundle;

typedef struct {
  int32_t dtype;
  int rank;
  int64_t dims[HR_BUNDLE_MAX_RANK];
  int64_t shard_id, offset, size;
  uint32_t crc;
  int slices; /* above 0: partitioned, its bytes lie with its slices */
  /* the entry's message, where the slices stand; in the map */
  const uint8_t* message;
  uint64_t message_size;
} hr_bundle_entry;

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

static inline void hr_bundle_unmap(hr_bundle_file* file) {
  if (file->data) {
#ifdef HR_BUNDLE_MMAP
    munmap(file->data, (size_t)file->size);
#else
    free(file->data);
#endif
  }
  memset(file, 0, sizeof *file);
}

/* Maps a file; returns 0 or an errno. An empty file has no data. */
static inline int hr_bundle_map(hr_bundle_file* file, const char* path) {
#ifdef HR_BUNDLE_MMAP
  struct stat status;
  int descriptor = open(path, O_RDONLY);
  if (descriptor < 0) return errno;
  if (fstat(descriptor, &status) != 0) {
    int error = errno;
    close(descriptor);
    return error;
  }
  if (status.st_size > 0) {
    void* data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
      int error = errno;
      close(descriptor);
      return error;
    }
    file->data = (uint8_t*)data;
    file->size = (uint64_t)status.st_size;
  }
  file->device = (uint64_t)status.st_dev;
  file->number = (uint64_t)status.st_ino;
  close(descriptor);
#else
  FILE* stream = fopen(path, "rb");
  long size;
  if (!stream) return errno ? errno : EIO;
  fseek(stream, 0, SEEK_END);
  size = ftell(stream);
  rewind(stream);
  if (size > 0) {
    file->data = (uint8_t*)malloc((size_t)size);
    if (!file->data || fread(file->data, 1, (size_t)size, stream) != (size_t)size) {
      fclose(stream);
      free(file->data);
      file->data = NULL;
      return EIO;
    }
    file->size = (uint64_t)size;
  }
  fclose(stream);
#endif
  file->state = 1;
  return 0;
}

/* One field of a protobuf message. */
typedef struct {
  uint32_t number, wire;
  uint64_t value;      /* wire 0, 1 and 5 */
  const uint8_t* data; /* wire 2 */
  uint64_t size;
} hr_wire_field;

/* Reads the field at *position: 1, or 0 at the end, or -1 where the message is damaged. */
static inline int hr_wire_next(const uint8_t* message, uint64_t size, uint64_t* position,
                               hr_wire_field* field) {
  uint64_t tag;
  if (*position >= size) return 0;
  if (!hr_load_varint(message, size, position, &tag) || tag >> 3 == 0 || tag >> 32) return -1;
  field->number = (uint32_t)(tag >> 3);
  field->wire = (uint32_t)(tag & 7);
  field->value = 0;
  field->data = NULL;
  field->size = 0;
  switch (field->wire) {
    case 0:
      return hr_load_varint(message, size, position, &field->value) ? 1 : -1;
    case 1:
      if (size - *position < 8) return -1;
      field->value = hr_load_u64(message + *position);
      *position += 8;
      return 1;
    case 2:
      if (!hr_load_varint(message, size, position, &field->size) ||
          field->size > size - *position)
        return -1;
      field->data = message + *position;
      *position += field->size;
      return 1;
    case 5:
      if (size - *position < 4) return -1;
      field->value = hr_load_u32(message + *position);
      *position += 4;
      return 1;
    default:
      return -1;
  }
}

static inline int hr_bundle_parse_dims(const uint8_t* message, uint64_t size,
                                       hr_bundle_entry* entry) {
  uint64_t position = 0, inner;
  hr_wire_field field, part;
  int more;
  while ((more = hr_wire_next(message, size, &position, &field)) > 0) {
    int64_t dim = 0;
    if (field.number == 3 && field.wire == 0 && field.value) return 0; /* unknown rank */
    if (field.number != 2 || field.wire != 2) continue;
    inner = 0;
    while ((more = hr_wire_next(field.data, field.size, &inner, &part)) > 0)
      if (part.number == 1 && part.wire == 0) dim = (int64_t)part.value;
    if (more < 0 || entry->rank >= HR_BUNDLE_MAX_RANK || dim < 0) return 0;
    entry->dims[entry->rank++] = dim;
  }
  return more == 0;
}

/* The product of the dimensions; 0 if it would pass 2^59, the zeros not counted. */
static inline int hr_bundle_count(const int64_t* dims, int rank, uint64_t* count) {
  uint64_t bound = 1;
  int i, empty = 0;
  for (i = 0; i < rank; ++i) {
    uint64_t dim = (uint64_t)dims[i];
    if (dim == 0) {
      empty = 1;
      continue;
    }
    if (dim > (1ull << 59) / bound) return 0;
    bound *= dim;
  }
  if (bound >= 1ull << 59) return 0;
  *count = empty ? 0 : bound;
  return 1;
}

static inline int hr_bundle_parse_entry(const uint8_t* message, uint64_t size,
                                        hr_bundle_entry* entry) {
  uint64_t position = 0, count;
  hr_wire_field field;
  int more;
  memset(entry, 0, sizeof *entry);
  entry->message = message;
  entry->message_size = size;
  while ((more = hr_wire_next(message, size, &position, &field)) > 0) {
    if (field.number == 1 && field.wire == 0) entry->dtype = (int32_t)field.value;
    if (field.number == 2 && field.wire == 2) {
      if (!hr_bundle_parse_dims(field.data, field.size, entry)) return 0;
    }
    if (field.number == 3 && field.wire == 0) entry->shard_id = (int32_t)field.value;
    if (field.number == 4 && field.wire == 0) entry->offset = (int64_t)field.value;
    if (field.number == 5 && field.wire == 0) entry->size = (int64_t)field.value;
    if (field.number == 6 && field.wire == 5) entry->crc = (uint32_t)field.value;
    if (field.number == 7 && field.wire == 2) entry->slices++;
  }
  return more == 0 && hr_bundle_count(entry->dims, entry->rank, &count);
}

/* Bytes of one element in a bundle: 0 for strings and what cannot be read. */
static inline uint64_t hr_bundle_element_size(int32_t dtype) {
  static const uint8_t sizes[34] = {0, 4, 8, 4, 1, 2, 1, 0, 8, 8, 1, 1, 1, 4, 2, 2, 2,
                                    2, 16, 2, 0, 0, 4, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  return dtype > 0 && dtype < 34 ? sizes[dtype] : 0;
}

static inline void hr_bundle_close(hr_bundle* bundle) {
  uint64_t i;
  if (bundle->shards)
    for (i = 0; i < bundle->num_shards; ++i) hr_bundle_unmap(&bundle->shards[i]);
  free(bundle->shards);
  free(bundle->scratch);
  hr_bundle_unmap(&bundle->index);
  bundle->shards = NULL;
  bundle->scratch = NULL;
  bundle->num_shards = 0;
}

/* Turns what the table says into what the bundle says. */
static inline hr_bundle_code hr_bundle_from_table(hr_bundle* bundle, hr_table_code code) {
  char path[HR_BUNDLE_PATH_BYTES + 64];
  snprintf(path, sizeof path, "%s.index", bundle->prefix);
  return hr_bundle_fail(
      bundle, code == HR_TABLE_COMPRESSED ? HR_BUNDLE_UNIMPLEMENTED : HR_BUNDLE_DATA_LOSS, path,
      bundle->table.offset, bundle->table.what);
}

/* Whether the index is still the one that was read. A bundle's shards have their names for as long
 * as its index has: what was mapped before belongs to it. */
static inline int hr_bundle_is_current(const hr_bundle* bundle) {
#ifdef HR_BUNDLE_MMAP
  char path[HR_BUNDLE_PATH_BYTES + 64];
  struct stat status;
  snprintf(path, sizeof path, "%s.index", bundle->prefix);
  return stat(path, &status) == 0 && (uint64_t)status.st_dev == bundle->index.device &&
         (uint64_t)status.st_ino == bundle->index.number;
#else
  (void)bundle;
  return 1;
#endif
}

static inline void hr_bundle_shard_path(const hr_bundle* bundle, int64_t shard, char* path,
                                        size_t size) {
  snprintf(path, size, "%s.data-%05d-of-%05d", bundle->prefix, (int)shard,
           (int)bundle->num_shards);
}

static inline hr_bundle_code hr_bundle_open_index(hr_bundle* bundle, const char* prefix) {
  char path[HR_BUNDLE_PATH_BYTES + 64];
  const uint8_t *header, *version = NULL;
  uint64_t header_size, position = 0, version_size = 0;
  hr_wire_field field;
  hr_table_code code;
  int error, more;
  memset(bundle, 0, sizeof *bundle);
  if (strlen(prefix) >= HR_BUNDLE_PATH_BYTES)
    return hr_bundle_fail(bundle, HR_BUNDLE_INVALID, prefix, 0, "the path is too long");
  memcpy(bundle->prefix, prefix, strlen(prefix) + 1);
  snprintf(path, sizeof path, "%s.index", prefix);
  error = hr_bundle_map(&bundle->index, path);
  if (error)
    return hr_bundle_fail(bundle, HR_BUNDLE_NOT_FOUND, path, 0, "no checkpoint of this name");
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
    return hr_bundle_lost(bundle, "the header is damaged");
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

/* Opens a bundle. On failure the bundle holds the error and needs no closing. What is read from it
 * is one bundle, also while writers replace that with others. */
static inline hr_bundle_code hr_bundle_open(hr_bundle* bundle, const char* prefix) {
  char path[HR_BUNDLE_PATH_BYTES + 64];
  hr_bundle_code code;
  uint64_t i;
  int attempt;
  for (attempt = 0; attempt < HR_BUNDLE_ATTEMPTS; ++attempt) {
    code = hr_bundle_open_index(bundle, prefix);
    if (code != HR_BUNDLE_OK) return code;
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
    return hr_bundle_lost(bundle, "an entry is damaged or its shape impossible");
  return HR_BUNDLE_OK;
}

/* Finds a tensor by name. */
static inline hr_bundle_code hr_bundle_find(hr_bundle* bundle, const char* name,
                                            hr_bundle_entry* entry) {
  if (!*name) return hr_bundle_fail(bundle, HR_BUNDLE_INVALID, bundle->prefix, 0, "no name");
  return hr_bundle_find_key(bundle, name, strlen(name), entry);
}

/* Maps an entry's bytes and checks that they are there; numbers are checked against their CRC
 * and the entry's shape, strings by hr_bundle_strings. */
static inline hr_bundle_code hr_bundle_read(hr_bundle* bundle, const hr_bundle_entry* entry,
                                            hr_bundle_bytes* out) {
  char path[HR_BUNDLE_PATH_BYTES + 64];
  hr_bundle_file* file;
  uint64_t count, width = hr_bundle_element_size(entry->dtype);
  if (!width && entry->dtype != HR_BUNDLE_STRING)
    return hr_bundle_fail(bundle, HR_BUNDLE_UNIMPLEMENTED, bundle->prefix, 0,
                          "tensors of this dtype cannot be read");
  if (entry->shard_id < 0 || (uint64_t)entry->shard_id >= bundle->num_shards)
    return hr_bundle_lost(bundle, "an entry is in a shard that does not exist");
  hr_bundle_shard_path(bundle, entry->shard_id, path, sizeof path);
  file = &bundle->shards[entry->shard_id];
  if (!file->state) {
    int error = hr_bundle_map(file, path);
    if (!hr_bundle_is_current(bundle)) {
      hr_bundle_unmap(file);
      return hr_bundle_fail(bundle, HR_BUNDLE_ABORTED, bundle->prefix, 0,
                            "another checkpoint took its place while it was read");
    }
    if (error) return hr_bundle_fail(bundle, HR_BUNDLE_DATA_LOSS, path, 0, "the shard is missing");
  }
  if (entry->offset < 0 || entry->size < 0 || (uint64_t)entry->offset > file->size ||
      (uint64_t)entry->size > file->size - (uint64_t)entry->offset)
    return hr_bundle_fail(bundle, HR_BUNDLE_DATA_LOSS, path, (uint64_t)entry->offset,
                          "the file is cut off");
  out->data = file->data ? file->data + entry->offset : (const uint8_t*)"";
  out->size = (uint64_t)entry->size;
  if (!width) return HR_BUNDLE_OK;
  if (!hr_bundle_count(entry->dims, entry->rank, &count) || out->size != count * width)
    return hr_bundle_fail(bundle, HR_BUNDLE_DATA_LOSS, path, (uint64_t)entry->offset,
                          "the size of the data does not fit its shape");
  if (hr_masked_crc32c(out->data, (size_t)out->size) != entry->crc)
    return hr_bundle_fail(bundle, HR_BUNDLE_DATA_LOSS, path, (uint64_t)entry->offset,
                          "the CRC of the data is wrong");
  return HR_BUNDLE_OK;
}

/* Checks the bytes of a string tensor and calls `visit` with each string, in order. */
static inline hr_bundle_code hr_bundle_strings(hr_bundle* bundle, const hr_bundle_entry* entry,
                                               void (*visit)(void* argument, uint64_t i,
                                                             const uint8_t* data, uint64_t size),
                                               void* argument) {
  char path[HR_BUNDLE_PATH_BYTES + 64];
  hr_bundle_bytes bytes;
  uint64_t count = 0, position = 0, total = 0, i, length;
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
      what = "the length of a string is damaged";
      break;
    }
    total += length;
    /* lengths count as little-endian numbers of four bytes, or of eight where they must */
    {
      uint8_t fixed[8];
      size_t k, n = length >> 32 ? 8 : 4;
      for (k = 0; k < n; ++k) fixed[k] = (uint8_t)(length >> (8 * k));
      crc = hr_crc32c_extend(crc, fixed, n);
    }
  }
  if (!what && bytes.size - position < 4) what = "the lengths of the strings are cut off";
  if (!what && hr_load_u32(bytes.data + position) != hr_crc32c_mask(crc))
    what = "the CRC of the strings' lengths is wrong";
  if (!what && bytes.size - position - 4 != total) what = "the strings do not fill their bytes";
  if (!what &&
      hr_crc32c_mask(hr_crc32c_extend(crc, bytes.data + position, (size_t)(total + 4))) !=
          entry->crc)
    what = "the CRC of the data is wrong";
  if (what)
    return hr_bundle_fail(bundle, HR_BUNDLE_DATA_LOSS, path, (uint64_t)entry->offset, what);
  total = position + 4;
  position = 0;
  for (i = 0; i < count; ++i) {
    hr_load_varint(bytes.data, bytes.size, &position, &length);
    visit(argument, i, bytes.data + total, length);
    total += length;
  }
  return HR_BUNDLE_OK;
}

/* Slices of partitioned tensors. */

static inline size_t hr_ordered_unsigned(uint8_t* out, uint64_t value) {
  size_t size = 0, i;
  while (size < 8 && value >> (8 * size)) ++size;
  out[0] = (uint8_t)size;
  for (i = 0; i < size; ++i) out[1 + i] = (uint8_t)(value >> (8 * (size - 1 - i)));
  return size + 1;
}

static inline size_t hr_ordered_signed(uint8_t* out, int64_t value) {
  uint64_t magnitude = value < 0 ? ~(uint64_t)value : (uint64_t)value;
  size_t bits = 0, size, i;
  unsigned header;
  while (bits < 64 && magnitude >> bits) ++bits;
  size = bits / 7 + 1;
  for (i = 0; i < size; ++i) { /* sign-extended, so that ten bytes hold any number */
    size_t shift = 8 * (size - 1 - i);
    out[i] = (uint8_t)(shift >= 64 ? (value < 0 ? 0xff : 0) : (uint64_t)value >> shift);
  }
  header = ((1u << size) - 1) << (16 - size);
  out[0] ^= (uint8_t)(header >> 8);
  if (size > 1) out[1] ^= (uint8_t)header;
  return size;
}

/* The key of one slice; `lengths` has -1 for a full dimension. Returns its size; `out` needs
 * 2 * strlen(name) + 24 + 20 * rank bytes. */
static inline size_t hr_bundle_slice_key(uint8_t* out, const char* name, const int64_t* starts,
                                         const int64_t* lengths, int rank) {
  size_t n = hr_ordered_unsigned(out, 0);
  int i;
  for (; *name; ++name) {
    out[n++] = (uint8_t)*name;
    if ((uint8_t)*name == 0xff) out[n++] = 0;
  }
  out[n++] = 0;
  out[n++] = 1;
  n += hr_ordered_unsigned(out + n, (uint64_t)rank);
  for (i = 0; i < rank; ++i) {
    n += hr_ordered_signed(out + n, starts[i]);
    n += hr_ordered_signed(out + n, lengths[i]);
  }
  return n;
}

/* Reads the next TensorSliceProto of an entry: 1, 0 at the end, -1 where it is damaged or of
 * another rank. Full dimensions have length -1. */
static inline int hr_bundle_next_slice(const hr_bundle_entry* entry, uint64_t* position,
                                       int64_t* starts, int64_t* lengths) {
  hr_wire_field field, extent, part;
  int more, rank = 0;
  while ((more = hr_wire_next(entry->message, entry->message_size, position, &field)) > 0) {
    uint64_t at = 0;
    if (field.number != 7 || field.wire != 2) continue;
    while ((more = hr_wire_next(field.data, field.size, &at, &extent)) > 0) {
      uint64_t inner = 0;
      if (extent.number != 1 || extent.wire != 2) continue;
      if (rank >= entry->rank) return -1;
      starts[rank] = 0;
      lengths[rank] = -1;
      while ((more = hr_wire_next(extent.data, extent.size, &inner, &part)) > 0) {
        if (part.number == 1 && part.wire == 0) starts[rank] = (int64_t)part.value;
        if (part.number == 2 && part.wire == 0) lengths[rank] = (int64_t)part.value;
      }
      if (more < 0) return -1;
      ++rank;
    }
    return more < 0 || rank != entry->rank ? -1 : 1;
  }
  return more;
}

/* Copies the overlap of a stored box and a wanted box, both within the same tensor; without
 * `from`, sets its bytes to 1. Boxes are (start, size) per dimension; returns the elements copied,
 * which without `to` is all that it does. */
static inline uint64_t hr_copy_overlap(uint8_t* to, const int64_t* to_starts,
                                       const int64_t* to_sizes, const uint8_t* from,
                                       const int64_t* from_starts, const int64_t* from_sizes,
                                       int rank, uint64_t width) {
  int64_t low[HR_BUNDLE_MAX_RANK], high[HR_BUNDLE_MAX_RANK], at[HR_BUNDLE_MAX_RANK];
  uint64_t total = 1, run;
  int i;
  for (i = 0; i < rank; ++i) {
    int64_t to_end = to_starts[i] + to_sizes[i], from_end = from_starts[i] + from_sizes[i];
    low[i] = to_starts[i] > from_starts[i] ? to_starts[i] : from_starts[i];
    high[i] = to_end < from_end ? to_end : from_end;
    if (low[i] >= high[i]) return 0;
    total *= (uint64_t)(high[i] - low[i]);
    at[i] = low[i];
  }
  if (!to) return total;
  run = rank ? (uint64_t)(high[rank - 1] - low[rank - 1]) : 1;
  for (;;) { /* one run along the last dimension at a time */
    uint64_t source = 0, target = 0;
    for (i = 0; i < rank; ++i) {
      source = source * (uint64_t)from_sizes[i] + (uint64_t)(at[i] - from_starts[i]);
      target = target * (uint64_t)to_sizes[i] + (uint64_t)(at[i] - to_starts[i]);
    }
    if (from)
      memcpy(to + target * width, from + source * width, (size_t)(run * width));
    else
      memset(to + target * width, 1, (size_t)(run * width));
    for (i = rank - 2; i >= 0; --i) {
      if (++at[i] < high[i]) break;
      at[i] = low[i];
    }
    if (i < 0) return total;
  }
}

/* Reads a box of a tensor of numbers, whole or partitioned, into `out`, which has room for the
 * product of `sizes` elements. For a whole tensor give zeros and its dims. Call it with out NULL
 * first where the shape is not trusted: it then only checks that all elements are stored. */
static inline hr_bundle_code hr_bundle_read_region(hr_bundle* bundle, const char* name,
                                                   const hr_bundle_entry* entry,
                                                   const int64_t* starts, const int64_t* sizes,
                                                   void* out) {
  int64_t zeros[HR_BUNDLE_MAX_RANK] = {0}, from[HR_BUNDLE_MAX_RANK], length[HR_BUNDLE_MAX_RANK];
  uint64_t wanted, covered = 0, position = 0, width = hr_bundle_element_size(entry->dtype);
  uint8_t *key, *filled = NULL;
  hr_bundle_bytes bytes;
  hr_bundle_code code;
  int i, more;
  for (i = 0; i < entry->rank; ++i)
    if (starts[i] < 0 || sizes[i] < 0 || sizes[i] > entry->dims[i] ||
        starts[i] > entry->dims[i] - sizes[i])
      return hr_bundle_fail(bundle, HR_BUNDLE_INVALID, bundle->prefix, 0,
                            "the slice passes the shape of the tensor");
  if (!width || !hr_bundle_count(sizes, entry->rank, &wanted))
    return hr_bundle_fail(bundle, HR_BUNDLE_UNIMPLEMENTED, bundle->prefix, 0,
                          "slices of this dtype cannot be read");
  if (!entry->slices) {
    code = hr_bundle_read(bundle, entry, &bytes);
    if (code == HR_BUNDLE_OK && out)
      hr_copy_overlap((uint8_t*)out, starts, sizes, bytes.data, zeros, entry->dims, entry->rank,
                      width);
    return code;
  }
  if (!wanted) return HR_BUNDLE_OK;
  key = (uint8_t*)malloc(2 * strlen(name) + 24 + 20 * (size_t)entry->rank);
  if (out) filled = (uint8_t*)calloc(wanted, 1); /* or overlapping slices would leave holes */
  if (!key || (out && !filled)) {
    free(key);
    free(filled);
    return hr_bundle_fail(bundle, HR_BUNDLE_NO_MEMORY, bundle->prefix, 0, "no memory");
  }
  while ((more = hr_bundle_next_slice(entry, &position, from, length)) > 0) {
    hr_bundle_entry part;
    size_t key_size = hr_bundle_slice_key(key, name, from, length, entry->rank);
    code = hr_bundle_find_key(bundle, key, key_size, &part);
    if (code == HR_BUNDLE_NOT_FOUND) code = hr_bundle_lost(bundle, "a slice is missing");
    for (i = 0; code == HR_BUNDLE_OK && i < entry->rank; ++i) {
      if (length[i] < 0) length[i] = entry->dims[i] - from[i];
      if (from[i] < 0 || from[i] > entry->dims[i] || length[i] < 0 ||
          length[i] > entry->dims[i] - from[i] || part.rank != entry->rank ||
          part.dims[i] != length[i])
        code = hr_bundle_lost(bundle, "a slice does not fit its tensor");
    }
    if (code == HR_BUNDLE_OK && part.dtype != entry->dtype)
      code = hr_bundle_lost(bundle, "a slice has another dtype than its tensor");
    if (code == HR_BUNDLE_OK) {
      uint64_t overlap =
          hr_copy_overlap(NULL, starts, sizes, NULL, from, length, entry->rank, width);
      covered += overlap;
      if (covered > wanted) code = hr_bundle_lost(bundle, "slices of the tensor overlap");
      if (code == HR_BUNDLE_OK && overlap) code = hr_bundle_read(bundle, &part, &bytes);
      if (code == HR_BUNDLE_OK && overlap && out) {
        hr_copy_overlap((uint8_t*)out, starts, sizes, bytes.data, from, length, entry->rank, width);
        hr_copy_overlap(filled, starts, sizes, NULL, from, length, entry->rank, 1);
      }
    }
    if (code != HR_BUNDLE_OK) {
      free(key);
      free(filled);
      return code;
    }
  }
  code = HR_BUNDLE_OK;
  if (more < 0)
    code = hr_bundle_lost(bundle, "the slices of an entry are damaged");
  else if (covered != wanted)
    code = hr_bundle_lost(bundle, "slices of the tensor are missing");
  else if (filled && memchr(filled, 0, (size_t)wanted))
    code = hr_bundle_lost(bundle, "slices of the tensor overlap");
  free(key);
  free(filled);
  return code;
}

#ifdef __cplusplus
}
#endif

#endif
