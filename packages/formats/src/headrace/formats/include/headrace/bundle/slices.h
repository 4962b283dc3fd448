/* Slices of partitioned tensors, and regions assembled from them; bundle_reader.h includes this at
 * its end. */
#ifndef HEADRACE_BUNDLE_SLICES_H
#define HEADRACE_BUNDLE_SLICES_H

#include "../bundle_reader.h"

#ifdef __cplusplus
extern "C" {
#endif

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
  for (i = 0; i < size; ++i) { /* sign-extended: ten bytes hold any number */
    size_t shift = 8 * (size - 1 - i);
    out[i] = (uint8_t)(shift >= 64 ? (value < 0 ? 0xff : 0) : (uint64_t)value >> shift);
  }
  header = ((1u << size) - 1) << (16 - size);
  out[0] ^= (uint8_t)(header >> 8);
  if (size > 1) out[1] ^= (uint8_t)header;
  return size;
}

/* Encodes the key of a slice; `lengths` is -1 for a full dimension. Returns its size; `out` needs
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

/* Reads the next TensorSliceProto of an entry. Returns 1, 0 at the end, or -1 for a corrupted slice
 * or one of another rank. Full dimensions have length -1. */
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

/* Copies the overlap of a stored box and a requested box of one tensor, and returns its number of
 * elements. Boxes are (start, size) per dimension. Without `from` the bytes are set to 1; without
 * `to` the elements are only counted. */
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
    if (from) memcpy(to + target * width, from + source * width, (size_t)(run * width));
    else memset(to + target * width, 1, (size_t)(run * width));
    for (i = rank - 2; i >= 0; --i) {
      if (++at[i] < high[i]) break;
      at[i] = low[i];
    }
    if (i < 0) return total;
  }
}

/* Reads a box of a numeric tensor, whole or partitioned, into `out`, which has room for the product
 * of `sizes` elements. For the whole tensor pass zeros and its dims. With out NULL it only checks
 * that all elements are stored, without reading them: do this before allocating for an untrusted
 * shape. */
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
    char path[HR_BUNDLE_PATH_BYTES + 64];
    if (!out) return hr_bundle_locate(bundle, entry, path, sizeof path);
    code = hr_bundle_read(bundle, entry, &bytes);
    if (code == HR_BUNDLE_OK)
      hr_copy_overlap((uint8_t*)out, starts, sizes, bytes.data, zeros, entry->dims, entry->rank,
                      width);
    return code;
  }
  if (!wanted) return HR_BUNDLE_OK;
  key = (uint8_t*)malloc(2 * strlen(name) + 24 + 20 * (size_t)entry->rank);
  if (out) filled = (uint8_t*)calloc(wanted, 1); /* overlapping slices would leave gaps */
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
      if (code == HR_BUNDLE_OK && overlap && out) code = hr_bundle_read(bundle, &part, &bytes);
      if (code == HR_BUNDLE_OK && overlap && !out) {
        char path[HR_BUNDLE_PATH_BYTES + 64];
        code = hr_bundle_locate(bundle, &part, path, sizeof path);
      }
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
  if (more < 0) code = hr_bundle_lost(bundle, "the slices of an entry are corrupted");
  else if (covered != wanted) code = hr_bundle_lost(bundle, "slices of the tensor are missing");
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
