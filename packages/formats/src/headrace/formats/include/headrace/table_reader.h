/* Reads LevelDB's sorted tables from memory. Header only; the C counterpart of sorted_table.py.
 *
 * The caller provides a buffer of HR_TABLE_MAX_KEY bytes for the current key. Only compressed
 * blocks are allocated, until hr_table_close. Every read is checked against the size of the file.
 */
#ifndef HEADRACE_TABLE_READER_H
#define HEADRACE_TABLE_READER_H

#include <stdlib.h>

#include "crc32c.h"
#include "snappy.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_TABLE_FOOTER_BYTES 48u
#define HR_TABLE_TRAILER_BYTES 5u
#define HR_TABLE_MAX_KEY 65536u
#define HR_TABLE_MAX_EXPANSION 64u
#define HR_TABLE_MAGIC 0xdb4775248b80fb57ull

typedef enum {
  HR_TABLE_OK = 0,
  HR_TABLE_END = 1,       /* no further entry, or no such key */
  HR_TABLE_CORRUPTED = 2, /* at `offset`, for the reason `what` */
  HR_TABLE_NO_MEMORY = 3
} hr_table_code;

/* A block that was compressed; its bytes follow. */
typedef struct hr_unpacked_block {
  struct hr_unpacked_block* next;
  uint64_t offset, size; /* `offset` in the file */
} hr_unpacked_block;

typedef struct {
  const uint8_t* data; /* contents of the file */
  uint64_t size;
  uint64_t index_offset, index_size; /* the index block, after its CRC check */
  hr_unpacked_block* unpacked;
  uint64_t offset; /* of the last corruption */
  const char* what;
} hr_table;

/* Iterates over the entries of one block. */
typedef struct {
  const uint8_t* block;
  uint64_t end, position, budget;
  uint64_t block_offset;
  uint8_t* key; /* HR_TABLE_MAX_KEY bytes, owned by the caller */
  uint64_t key_size;
  const uint8_t* value;
  uint64_t value_size;
} hr_block_cursor;

static inline hr_table_code hr_table_corrupted(hr_table* table, uint64_t offset, const char* what) {
  table->offset = offset;
  table->what = what;
  return HR_TABLE_CORRUPTED;
}

/* Reads a number in groups of seven bits that must end before `end` and fit 64 bits; 0 otherwise.
 */
static inline int hr_load_varint(const uint8_t* data, uint64_t end, uint64_t* position,
                                 uint64_t* value) {
  const uint64_t begin = *position;
  return hr_wire_varint(data, end, position, value) &&
         !(*position - begin == 10 && data[*position - 1] > 1);
}

static inline void hr_table_close(hr_table* table) {
  while (table->unpacked) {
    hr_unpacked_block* block = table->unpacked;
    table->unpacked = block->next;
    free(block);
  }
}

/* Returns the block at an offset that was compressed, or null. */
static inline const hr_unpacked_block* hr_table_unpacked(const hr_table* table, uint64_t offset) {
  const hr_unpacked_block* block = table->unpacked;
  while (block && block->offset != offset) block = block->next;
  return block;
}

static inline hr_table_code hr_table_unpack(hr_table* table, uint64_t offset, uint64_t size) {
  const uint8_t* data = table->data + offset;
  uint64_t position, unpacked;
  hr_unpacked_block* block;
  if (hr_table_unpacked(table, offset)) return HR_TABLE_OK;
  if (!hr_snappy_size(data, size, &position, &unpacked))
    return hr_table_corrupted(table, offset, "the size of the compressed block is corrupted");
  block = (hr_unpacked_block*)malloc(sizeof *block + (size_t)unpacked);
  if (!block) {
    table->offset = offset;
    table->what = "no memory";
    return HR_TABLE_NO_MEMORY;
  }
  if (!hr_snappy_unpack(data, size, position, (uint8_t*)(block + 1), unpacked)) {
    free(block);
    return hr_table_corrupted(table, offset, "the compressed block is corrupted");
  }
  block->offset = offset;
  block->size = unpacked;
  block->next = table->unpacked;
  table->unpacked = block;
  return HR_TABLE_OK;
}

/* Checks bounds and CRC of a block, and unpacks a compressed one. */
static inline hr_table_code hr_table_block(hr_table* table, uint64_t offset, uint64_t size,
                                           uint64_t named_at) {
  uint64_t limit = table->size - HR_TABLE_FOOTER_BYTES;
  const uint8_t* block = table->data + offset;
  if (size > limit || offset > limit || offset + size + HR_TABLE_TRAILER_BYTES > limit)
    return hr_table_corrupted(table, named_at, "a block does not fit the file");
  if (hr_masked_crc32c(block, (size_t)size + 1) != hr_load_u32(block + size + 1))
    return hr_table_corrupted(table, offset, "the CRC of the block is wrong");
  if (block[size] == 1) return hr_table_unpack(table, offset, size);
  if (block[size] != 0)
    return hr_table_corrupted(table, offset, "the block has unknown compression");
  return HR_TABLE_OK;
}

static inline hr_table_code hr_block_begin(hr_table* table, hr_block_cursor* cursor, uint8_t* key,
                                           uint64_t offset, uint64_t size) {
  uint64_t restarts;
  const hr_unpacked_block* unpacked = hr_table_unpacked(table, offset);
  if (unpacked) size = unpacked->size;
  cursor->block = unpacked ? (const uint8_t*)(unpacked + 1) : table->data + offset;
  cursor->block_offset = offset;
  cursor->position = 0;
  cursor->budget = (uint64_t)HR_TABLE_MAX_EXPANSION * size + HR_TABLE_MAX_KEY;
  cursor->key = key;
  cursor->key_size = 0;
  cursor->value = NULL;
  cursor->value_size = 0;
  if (size < 4) return hr_table_corrupted(table, offset, "the block is too small for its restarts");
  restarts = hr_load_u32(cursor->block + size - 4);
  if (4 * (restarts + 1) > size)
    return hr_table_corrupted(table, offset, "the block's restart points do not fit it");
  cursor->end = size - 4 * (restarts + 1);
  return HR_TABLE_OK;
}

static inline hr_table_code hr_block_next(hr_table* table, hr_block_cursor* cursor) {
  uint64_t shared, unshared, length, left;
  if (cursor->position >= cursor->end) return HR_TABLE_END;
  if (!hr_load_varint(cursor->block, cursor->end, &cursor->position, &shared) ||
      !hr_load_varint(cursor->block, cursor->end, &cursor->position, &unshared) ||
      !hr_load_varint(cursor->block, cursor->end, &cursor->position, &length))
    return hr_table_corrupted(table, cursor->block_offset, "a number in the block is cut off");
  left = cursor->end - cursor->position;
  if (shared > cursor->key_size || unshared > left || length > left - unshared)
    return hr_table_corrupted(table, cursor->block_offset, "an entry passes the end of its block");
  if (shared + unshared > HR_TABLE_MAX_KEY)
    return hr_table_corrupted(table, cursor->block_offset, "a key is too long");
  if (shared + unshared > cursor->budget)
    return hr_table_corrupted(table, cursor->block_offset, "keys unpack to many times their block");
  cursor->budget -= shared + unshared;
  memcpy(cursor->key + shared, cursor->block + cursor->position, (size_t)unshared);
  cursor->key_size = shared + unshared;
  cursor->position += unshared;
  cursor->value = cursor->block + cursor->position;
  cursor->value_size = length;
  cursor->position += length;
  return HR_TABLE_OK;
}

/* Opens a table: checks its footer and index. The bytes must outlive the table. */
static inline hr_table_code hr_table_open(hr_table* table, const uint8_t* data, uint64_t size) {
  const uint8_t* footer;
  uint64_t position = 0, ignored, offset, length;
  hr_table_code code;
  memset(table, 0, sizeof *table);
  table->data = data;
  table->size = size;
  table->what = "";
  if (size < HR_TABLE_FOOTER_BYTES)
    return hr_table_corrupted(table, 0, "too few bytes for a table; it may be cut off");
  footer = data + size - HR_TABLE_FOOTER_BYTES;
  if (hr_load_u64(footer + 40) != HR_TABLE_MAGIC)
    return hr_table_corrupted(table, size - HR_TABLE_FOOTER_BYTES,
                              "not the end of a table; it may be cut off");
  if (!hr_load_varint(footer, 40, &position, &ignored) ||
      !hr_load_varint(footer, 40, &position, &ignored) ||
      !hr_load_varint(footer, 40, &position, &offset) ||
      !hr_load_varint(footer, 40, &position, &length))
    return hr_table_corrupted(table, size - HR_TABLE_FOOTER_BYTES, "the footer is corrupted");
  code = hr_table_block(table, offset, length, size - HR_TABLE_FOOTER_BYTES);
  if (code != HR_TABLE_OK) return code;
  table->index_offset = offset;
  table->index_size = length;
  return HR_TABLE_OK;
}

static inline int hr_compare_keys(const uint8_t* a, uint64_t a_size, const uint8_t* b,
                                  uint64_t b_size) {
  int order = memcmp(a, b, (size_t)(a_size < b_size ? a_size : b_size));
  return order ? order : a_size < b_size ? -1 : a_size > b_size;
}

/* Decodes the handle of a data block, a value of the index. */
static inline hr_table_code hr_table_handle(hr_table* table, const hr_block_cursor* index,
                                            uint64_t* offset, uint64_t* size) {
  uint64_t position = 0;
  if (!hr_load_varint(index->value, index->value_size, &position, offset) ||
      !hr_load_varint(index->value, index->value_size, &position, size))
    return hr_table_corrupted(table, table->index_offset, "the index is corrupted");
  return hr_table_block(table, *offset, *size, *offset);
}

/* Finds the value of a key. `scratch` has 2 * HR_TABLE_MAX_KEY bytes. */
static inline hr_table_code hr_table_get(hr_table* table, const void* key, uint64_t key_size,
                                         uint8_t* scratch, const uint8_t** value,
                                         uint64_t* value_size) {
  hr_block_cursor index, cursor;
  const uint8_t* wanted = (const uint8_t*)key;
  hr_table_code code =
      hr_block_begin(table, &index, scratch, table->index_offset, table->index_size);
  while (code == HR_TABLE_OK && (code = hr_block_next(table, &index)) == HR_TABLE_OK) {
    uint64_t offset, size;
    if (hr_compare_keys(wanted, key_size, index.key, index.key_size) > 0) continue;
    code = hr_table_handle(table, &index, &offset, &size);
    if (code == HR_TABLE_OK)
      code = hr_block_begin(table, &cursor, scratch + HR_TABLE_MAX_KEY, offset, size);
    while (code == HR_TABLE_OK && (code = hr_block_next(table, &cursor)) == HR_TABLE_OK) {
      int order = hr_compare_keys(cursor.key, cursor.key_size, wanted, key_size);
      if (order > 0) return HR_TABLE_END;
      if (order == 0) {
        *value = cursor.value;
        *value_size = cursor.value_size;
        return HR_TABLE_OK;
      }
    }
    return code;
  }
  return code;
}

/* Calls `visit` for each entry until it returns nonzero. `scratch` as above. */
static inline hr_table_code hr_table_walk(hr_table* table, uint8_t* scratch,
                                          int (*visit)(void* argument, const uint8_t* key,
                                                       uint64_t key_size, const uint8_t* value,
                                                       uint64_t value_size),
                                          void* argument) {
  hr_block_cursor index, cursor;
  hr_table_code code =
      hr_block_begin(table, &index, scratch, table->index_offset, table->index_size);
  while (code == HR_TABLE_OK && (code = hr_block_next(table, &index)) == HR_TABLE_OK) {
    uint64_t offset, size;
    code = hr_table_handle(table, &index, &offset, &size);
    if (code == HR_TABLE_OK)
      code = hr_block_begin(table, &cursor, scratch + HR_TABLE_MAX_KEY, offset, size);
    while (code == HR_TABLE_OK && (code = hr_block_next(table, &cursor)) == HR_TABLE_OK)
      if (visit(argument, cursor.key, cursor.key_size, cursor.value, cursor.value_size))
        return HR_TABLE_OK;
    if (code == HR_TABLE_END) code = HR_TABLE_OK;
  }
  return code;
}

#ifdef __cplusplus
}
#endif

#endif
