#include "fake_blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Block* insert_block(Blocks* all, int64_t at) {
  if (all->n == all->room) {
    all->room = all->room ? 2 * all->room : 64;
    all->blocks = realloc(all->blocks, (size_t)all->room * sizeof *all->blocks);
    if (!all->blocks) abort();
  }
  Block* block = all->blocks + at;
  memmove(block + 1, block, (size_t)(all->n++ - at) * sizeof *block);
  return memset(block, 0, sizeof *block);
}

static void remove_block(Blocks* all, int64_t at) {
  Block* block = all->blocks + at;
  memmove(block, block + 1, (size_t)(--all->n - at) * sizeof *block);
}

int64_t used_bytes(const Blocks* all) {
  if (!all->n) return 0;
  const Block* last = all->blocks + all->n - 1;
  return last->offset + last->size;
}

Block* take_block(Blocks* all, int64_t size) {
  for (int64_t i = 0; i < all->n; ++i) {
    if (all->blocks[i].bytes || all->blocks[i].size < size) continue;
    if (all->blocks[i].size > size) {
      Block* rest = insert_block(all, i + 1);
      rest->offset = all->blocks[i].offset + size;
      rest->size = all->blocks[i].size - size;
      all->blocks[i].size = size;
    }
    return all->blocks + i;
  }
  const int64_t offset = used_bytes(all);
  if (all->span - offset < size) return NULL;
  Block* made = insert_block(all, all->n);
  made->offset = offset;
  made->size = size;
  return made;
}

void free_block(Blocks* all, Block* block) {
  const int64_t i = block - all->blocks;
  block->bytes = 0;
  if (i + 1 < all->n && !block[1].bytes) {
    block->size += block[1].size;
    remove_block(all, i + 1);
  }
  if (i && !block[-1].bytes) {
    block[-1].size += block->size;
    remove_block(all, i);
  }
}

Block* find_block(const Blocks* all, int64_t offset) {
  int64_t low = 0, high = all->n;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (all->blocks[middle].offset <= offset) low = middle + 1;
    else high = middle;
  }
  if (!low || !all->blocks[low - 1].bytes) return NULL;
  Block* found = all->blocks + low - 1;
  return offset < found->offset + found->size ? found : NULL;
}

typedef struct {
  const char* name;
  int64_t bytes, allocations;
} Holder;

static int by_name(const void* a, const void* b) {
  return strcmp(((const Holder*)a)->name, ((const Holder*)b)->name);
}
static int by_bytes(const void* a, const void* b) {
  const int64_t first = ((const Holder*)a)->bytes, second = ((const Holder*)b)->bytes;
  return first == second ? by_name(a, b) : first < second ? 1 : -1;
}

/* Writes the allocations by holder to `holders`, and returns how many holders there are. */
static size_t sum_by_holder(const Blocks* all, Holder* holders) {
  size_t allocations = 0, n = 0;
  for (int64_t i = 0; i < all->n; ++i)
    if (all->blocks[i].bytes)
      holders[allocations++] = (Holder){all->blocks[i].holder, all->blocks[i].size, 1};
  qsort(holders, allocations, sizeof *holders, by_name);
  for (size_t i = 0; i < allocations; ++i) {
    if (n && !by_name(holders + n - 1, holders + i)) {
      holders[n - 1].bytes += holders[i].bytes;
      ++holders[n - 1].allocations;
    } else {
      holders[n++] = holders[i];
    }
  }
  return n;
}

void describe_blocks(const Blocks* all, char* text, size_t size) {
  if (!size) return;
  text[0] = 0;
  Holder* holders = malloc((size_t)(all->n + 1) * sizeof *holders);
  if (!holders) return;
  const size_t n = sum_by_holder(all, holders);
  qsort(holders, n, sizeof *holders, by_bytes);
  for (size_t i = 0, at = 0; i < n; ++i) {
    const int wrote =
        snprintf(text + at, size - at, "%lld bytes in %lld allocations: %s\n",
                 (long long)holders[i].bytes, (long long)holders[i].allocations, holders[i].name);
    if (wrote < 0 || (size_t)wrote >= size - at) {
      text[at] = 0; /* whole lines only */
      break;
    }
    at += (size_t)wrote;
  }
  free(holders);
}
