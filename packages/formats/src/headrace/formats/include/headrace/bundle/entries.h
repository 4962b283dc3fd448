/* Parses the BundleEntryProtos of a bundle's index; bundle_reader.h includes this. */
#ifndef HEADRACE_BUNDLE_ENTRIES_H
#define HEADRACE_BUNDLE_ENTRIES_H

#include "../table_reader.h"
#include "../wire.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_BUNDLE_MAX_RANK 64

typedef struct {
  int32_t dtype;
  int rank;
  int64_t dims[HR_BUNDLE_MAX_RANK];
  int64_t shard_id, offset, size;
  uint32_t crc;
  int slices; /* above 0: partitioned, the slices have the bytes */
  /* the serialized entry with its slices, in the map */
  const uint8_t* message;
  uint64_t message_size;
} hr_bundle_entry;

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

/* Sets *count to the product of dims. Returns 0 if the nonzero dimensions multiply to 2^59 or more.
 */
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

/* Size of one element in bytes; 0 for strings and unsupported dtypes. */
static inline uint64_t hr_bundle_element_size(int32_t dtype) {
  static const uint8_t sizes[34] = {0, 4,  8, 4, 1, 2, 1, 0, 8, 8, 1, 1, 1, 4, 2, 2, 2,
                                    2, 16, 2, 0, 0, 4, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  return dtype > 0 && dtype < 34 ? sizes[dtype] : 0;
}

#ifdef __cplusplus
}
#endif

#endif
