/* Reads TFRecords from memory or from a file. Header only, no dependencies.
 *
 * The C counterpart of record_file.py, which describes the format. */
#ifndef HEADRACE_RECORD_READER_H
#define HEADRACE_RECORD_READER_H

#include <stdio.h>
#include <stdlib.h>

#include "crc32c.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_RECORD_HEADER_BYTES 12u
#define HR_RECORD_FRAME_BYTES 16u

typedef enum {
  HR_RECORD_OK = 0,
  HR_RECORD_END = 1,        /* no further record */
  HR_RECORD_TORN = 2,       /* the data ends inside a record: the file may still grow */
  HR_RECORD_BAD_LENGTH = 3, /* the length has a wrong CRC or exceeds the limit */
  HR_RECORD_BAD_DATA = 4,   /* the data has a wrong CRC; the length is intact */
  HR_RECORD_NO_MEMORY = 5,
  HR_RECORD_IO = 6
} hr_record_code;

typedef struct {
  const uint8_t* data;
  uint64_t size;
  uint64_t offset; /* of the first byte of the record */
  uint64_t next;   /* of the byte after the record; set with HR_RECORD_BAD_DATA too */
} hr_record;

/* Checks a header and returns its length. */
static inline hr_record_code hr_record_length(const uint8_t* header, uint64_t max_bytes,
                                              uint64_t* length) {
  if (hr_load_u32(header + 8) != hr_masked_crc32c(header, 8)) return HR_RECORD_BAD_LENGTH;
  *length = hr_load_u64(header);
  return *length > max_bytes ? HR_RECORD_BAD_LENGTH : HR_RECORD_OK;
}

/* Reads the record at `offset` of `size` bytes; `out->data` points into them. */
static inline hr_record_code hr_record_at(const uint8_t* bytes, uint64_t size, uint64_t offset,
                                          hr_record* out) {
  uint64_t left, length;
  hr_record_code code;
  out->data = NULL;
  out->size = 0;
  out->offset = out->next = offset;
  if (offset >= size) return HR_RECORD_END;
  left = size - offset;
  if (left < HR_RECORD_HEADER_BYTES) return HR_RECORD_TORN;
  code = hr_record_length(bytes + offset, UINT64_MAX - HR_RECORD_FRAME_BYTES, &length);
  if (code != HR_RECORD_OK) return code;
  if (left - HR_RECORD_HEADER_BYTES < 4 || left - HR_RECORD_FRAME_BYTES < length)
    return HR_RECORD_TORN;
  out->data = bytes + offset + HR_RECORD_HEADER_BYTES;
  out->size = length;
  out->next = offset + HR_RECORD_FRAME_BYTES + length;
  if (hr_load_u32(out->data + length) != hr_masked_crc32c(out->data, (size_t)length))
    return HR_RECORD_BAD_DATA;
  return HR_RECORD_OK;
}

/* Reads a file with one buffer, which grows to the longest record. */
typedef struct {
  FILE* file;
  uint64_t offset; /* of the next record */
  uint64_t max_record_bytes;
  uint8_t* buffer;
  uint64_t capacity;
} hr_record_file;

/* Returns HR_RECORD_IO (see errno) if the file cannot be opened. max_record_bytes 0: 2^31 - 1. */
static inline hr_record_code hr_record_file_open(hr_record_file* reader, const char* path,
                                                 uint64_t max_record_bytes) {
  memset(reader, 0, sizeof *reader);
  reader->max_record_bytes = max_record_bytes ? max_record_bytes : 0x7fffffffu;
  reader->file = fopen(path, "rb");
  return reader->file ? HR_RECORD_OK : HR_RECORD_IO;
}

static inline void hr_record_file_close(hr_record_file* reader) {
  if (reader->file) fclose(reader->file);
  free(reader->buffer);
  memset(reader, 0, sizeof *reader);
}

static inline int hr_record_file_seek(hr_record_file* reader, uint64_t offset) {
  clearerr(reader->file);
  return fseek(reader->file, (long)offset, SEEK_SET);
}

/* Reads `count` bytes to offset `start` of the buffer. The buffer grows only as data arrives, so
 * that a corrupted length takes no memory. */
static inline hr_record_code hr_record_file_fill(hr_record_file* reader, uint64_t start,
                                                 uint64_t count) {
  while (count) {
    uint64_t step = count < (1u << 20) ? count : (1u << 20);
    size_t got;
    if (start + step > reader->capacity) {
      uint64_t capacity = reader->capacity * 2 > start + step ? reader->capacity * 2 : start + step;
      uint8_t* grown = (uint8_t*)realloc(reader->buffer, (size_t)capacity);
      if (!grown) return HR_RECORD_NO_MEMORY;
      reader->buffer = grown;
      reader->capacity = capacity;
    }
    got = fread(reader->buffer + start, 1, (size_t)step, reader->file);
    start += got;
    count -= got;
    if (got < step)
      return ferror(reader->file) ? HR_RECORD_IO : start ? HR_RECORD_TORN : HR_RECORD_END;
  }
  return HR_RECORD_OK;
}

/* Reads the next record; `out->data` is valid until the next call. After HR_RECORD_TORN the next
 * call retries the record. To step over a record after HR_RECORD_BAD_DATA, set reader->offset =
 * out->next and call hr_record_file_seek. */
static inline hr_record_code hr_record_file_next(hr_record_file* reader, hr_record* out) {
  uint64_t length = 0;
  hr_record_code code;
  out->data = NULL;
  out->size = 0;
  out->offset = out->next = reader->offset;
  code = hr_record_file_fill(reader, 0, HR_RECORD_HEADER_BYTES);
  if (code == HR_RECORD_OK)
    code = hr_record_length(reader->buffer, reader->max_record_bytes, &length);
  if (code == HR_RECORD_OK) code = hr_record_file_fill(reader, HR_RECORD_HEADER_BYTES, length + 4);
  if (code == HR_RECORD_OK) {
    out->data = reader->buffer + HR_RECORD_HEADER_BYTES;
    out->size = length;
    out->next = reader->offset + HR_RECORD_FRAME_BYTES + length;
    if (hr_load_u32(out->data + length) != hr_masked_crc32c(out->data, (size_t)length))
      code = HR_RECORD_BAD_DATA;
  }
  if (code == HR_RECORD_OK) reader->offset = out->next;
  else if (hr_record_file_seek(reader, reader->offset) != 0) code = HR_RECORD_IO;
  return code;
}

#ifdef __cplusplus
}
#endif

#endif
