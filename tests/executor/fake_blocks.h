/* Which parts of a range of memory are in use, and who holds them. */
#ifndef FAKE_BLOCKS_H
#define FAKE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

enum { kHolder = 160 };

typedef struct {
  int64_t offset, size;
  int64_t bytes; /* that were asked for, at most size; 0: free */
  char holder[kHolder];
} Block;

typedef struct {
  int64_t span;  /* bytes of the range */
  Block* blocks; /* by offset, without gaps, up to the end of what was ever used */
  int64_t n, room;
} Blocks;

/* How much of the range, from its start, was ever used. */
int64_t used_bytes(const Blocks*);
/* Takes `size` bytes where they fit first; null if they fit nowhere. The caller sets `bytes`.
 * A pointer to a block is valid until the next call of take_block or free_block. */
Block* take_block(Blocks*, int64_t size);
void free_block(Blocks*, Block*);
/* The block in use with an offset in it; null if that is free. */
Block* find_block(const Blocks*, int64_t offset);
/* Writes lines, the largest holder first, with a zero at the end. */
void describe_blocks(const Blocks*, char* text, size_t size);

#endif
