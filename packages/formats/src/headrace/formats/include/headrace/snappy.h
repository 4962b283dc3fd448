/* Unpacks data that Snappy compressed. Header only; the C counterpart of snappy.py.
 *
 * The data begins with the unpacked size as a varint. Elements follow: literal bytes, or copies of
 * bytes that were unpacked before. Every read and write is checked. */
#ifndef HEADRACE_SNAPPY_H
#define HEADRACE_SNAPPY_H

#include <string.h>

#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An element of three bytes stands for at most 64. */
#define HR_SNAPPY_MAX_EXPANSION 22u

/* Reads the unpacked size, and sets *position behind it. Returns 0 for an impossible size. */
static inline int hr_snappy_size(const uint8_t* data, uint64_t size, uint64_t* position,
                                 uint64_t* unpacked) {
  *position = 0;
  return hr_wire_varint(data, size, position, unpacked) &&
         *unpacked <= HR_SNAPPY_MAX_EXPANSION * size;
}

/* Unpacks the elements from `position` on into exactly `unpacked` bytes. Returns 0 if they are
 * corrupted. */
static inline int hr_snappy_unpack(const uint8_t* data, uint64_t size, uint64_t position,
                                   uint8_t* out, uint64_t unpacked) {
  uint64_t done = 0;
  while (position < size) {
    const uint8_t tag = data[position++];
    const unsigned kind = tag & 3u;
    uint64_t length = tag >> 2, offset = 0;
    unsigned extra, i;
    if (kind == 0) {
      /* 60 to 63: the length follows in one to four bytes */
      extra = length < 60 ? 0 : (unsigned)length - 59;
      if (extra > size - position) return 0;
      if (extra) length = 0;
      for (i = 0; i < extra; ++i) length |= (uint64_t)data[position++] << (8 * i);
      ++length;
      if (length > size - position || length > unpacked - done) return 0;
      memcpy(out + done, data + position, (size_t)length);
      position += length;
      done += length;
      continue;
    }
    extra = kind == 3 ? 4 : kind;
    if (extra > size - position) return 0;
    for (i = 0; i < extra; ++i) offset |= (uint64_t)data[position++] << (8 * i);
    if (kind == 1) {
      offset |= (length >> 3) << 8;
      length = (length & 7) + 4;
    } else {
      ++length;
    }
    if (offset == 0 || offset > done || length > unpacked - done) return 0;
    /* byte by byte: a copy may overlap what it writes */
    for (; length; --length, ++done) out[done] = out[done - offset];
  }
  return done == unpacked;
}

#ifdef __cplusplus
}
#endif

#endif
