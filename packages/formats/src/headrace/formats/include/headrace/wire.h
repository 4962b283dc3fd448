/* Protobuf's wire format: the fields of one message, read from bytes that are not trusted.
 *
 * Header only; headrace.formats.wire is the same in Python. Nothing is allocated, and every read
 * is checked against the size of the message. */
#ifndef HEADRACE_WIRE_H
#define HEADRACE_WIRE_H

#include "crc32c.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_WIRE_MAX_GROUPS 100

enum { HR_WIRE_VARINT = 0, HR_WIRE_FIXED64 = 1, HR_WIRE_BYTES = 2, HR_WIRE_FIXED32 = 5 };
enum { HR_WIRE_GROUP_BEGIN = 3, HR_WIRE_GROUP_END = 4 };

/* One field of a message. */
typedef struct {
  uint32_t number, wire;
  uint64_t value;      /* of HR_WIRE_VARINT, HR_WIRE_FIXED64, HR_WIRE_FIXED32 */
  const uint8_t* data; /* of HR_WIRE_BYTES, and the content of a group */
  uint64_t size;
  uint64_t begin;      /* of the field, in the message */
  uint64_t content;    /* behind its tag */
  const char* problem; /* what is malformed, if hr_wire_next returns -1 */
  uint64_t problem_at;
} hr_wire_field;

/* Reads a number in groups of seven bits, least significant first. Bits beyond the 64th are
 * dropped, as protobuf does. Returns 0 where the number does not end before `end` or within ten
 * bytes. */
static inline int hr_wire_varint(const uint8_t* data, uint64_t end, uint64_t* position,
                                 uint64_t* value) {
  uint64_t result = 0;
  unsigned shift;
  for (shift = 0; shift < 70; shift += 7) {
    uint8_t byte;
    if (*position >= end) return 0;
    byte = data[(*position)++];
    result |= (uint64_t)(byte & 127) << (shift < 64 ? shift : 63);
    if (byte < 128) {
      *value = result;
      return 1;
    }
  }
  return 0;
}

static inline int hr_wire_malformed(hr_wire_field* field, const char* problem, uint64_t at) {
  field->problem = problem;
  field->problem_at = at;
  return -1;
}

/* The same; if the number is malformed, `field` has the reason. */
static inline int hr_wire_number(const uint8_t* message, uint64_t size, uint64_t* position,
                                 hr_wire_field* field, uint64_t* value) {
  const uint64_t begin = *position;
  if (hr_wire_varint(message, size, position, value)) return 1;
  return hr_wire_malformed(
      field, *position >= size ? "a number cut short" : "a number of more than ten bytes", begin);
}

/* Reads a tag. */
static inline int hr_wire_tag(const uint8_t* message, uint64_t size, uint64_t* position,
                              hr_wire_field* field) {
  uint64_t tag;
  if (hr_wire_number(message, size, position, field, &tag) < 0) return -1;
  if (tag >> 35 || tag >> 3 == 0) {
    return hr_wire_malformed(field, "a field number out of range", *position);
  }
  field->number = (uint32_t)(tag >> 3);
  field->wire = (uint32_t)(tag & 7);
  return 1;
}

/* Reads the content behind a tag that is not a group's. */
static inline int hr_wire_content(const uint8_t* message, uint64_t size, uint64_t* position,
                                  hr_wire_field* field) {
  switch (field->wire) {
    case HR_WIRE_VARINT: return hr_wire_number(message, size, position, field, &field->value);
    case HR_WIRE_FIXED64:
      if (size - *position < 8) return hr_wire_malformed(field, "a number cut short", *position);
      field->value = hr_load_u64(message + *position);
      *position += 8;
      return 1;
    case HR_WIRE_BYTES:
      if (hr_wire_number(message, size, position, field, &field->size) < 0) return -1;
      if (field->size > size - *position)
        return hr_wire_malformed(field, "a length beyond the end", field->begin);
      field->data = message + *position;
      *position += field->size;
      return 1;
    case HR_WIRE_FIXED32:
      if (size - *position < 4) return hr_wire_malformed(field, "a number cut short", *position);
      field->value = hr_load_u32(message + *position);
      *position += 4;
      return 1;
    default: return hr_wire_malformed(field, "an unknown wire type", *position);
  }
}

/* Passes over a group, which is obsolete; messages of other writers may still contain one. */
static inline int hr_wire_group(const uint8_t* message, uint64_t size, uint64_t* position,
                                hr_wire_field* field) {
  hr_wire_field inner;
  uint64_t before = *position;
  int depth = 1;
  field->data = message + before;
  while (depth > 0) {
    if (*position >= size) return hr_wire_malformed(field, "a group without an end", *position);
    before = inner.begin = *position;
    if (hr_wire_tag(message, size, position, &inner) < 0)
      return hr_wire_malformed(field, inner.problem, inner.problem_at);
    if (inner.wire == HR_WIRE_GROUP_BEGIN) {
      if (++depth > HR_WIRE_MAX_GROUPS)
        return hr_wire_malformed(field, "groups nested too deep", *position);
    } else if (inner.wire == HR_WIRE_GROUP_END) {
      --depth;
    } else if (hr_wire_content(message, size, position, &inner) < 0) {
      return hr_wire_malformed(field, inner.problem, inner.problem_at);
    }
  }
  field->size = (uint64_t)(message + before - field->data);
  return 1;
}

/* Reads the field at *position and moves behind it: 1; 0 at the end of the message; -1 where the
 * message is malformed: field->problem says how. */
static inline int hr_wire_next(const uint8_t* message, uint64_t size, uint64_t* position,
                               hr_wire_field* field) {
  const uint64_t begin = *position;
  int found;
  if (begin >= size) return 0;
  field->value = 0;
  field->data = NULL;
  field->size = 0;
  field->problem = NULL;
  field->begin = begin;
  found = hr_wire_tag(message, size, position, field);
  field->content = *position;
  if (found > 0)
    found = field->wire == HR_WIRE_GROUP_BEGIN ? hr_wire_group(message, size, position, field)
                                               : hr_wire_content(message, size, position, field);
  return found;
}

#ifdef __cplusplus
}
#endif

#endif
