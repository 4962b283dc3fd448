/* Prints the entries of a table, "key-size value-size sum", and the final status. With a second
 * argument it also reads many corrupted variants, with correct CRCs so that parsing goes further.
 */
#include <stdio.h>
#include <stdlib.h>

#include "headrace/table_reader.h"

static int print;
static uint64_t entries;

static int visit(void* argument, const uint8_t* key, uint64_t key_size, const uint8_t* value,
                 uint64_t value_size) {
  uint64_t sum = 0, i;
  (void)argument;
  for (i = 0; i < key_size; ++i) sum = sum * 31 + key[i];
  for (i = 0; i < value_size; ++i) sum = sum * 31 + value[i];
  ++entries;
  if (print)
    printf("%llu %llu %llu\n", (unsigned long long)key_size, (unsigned long long)value_size,
           (unsigned long long)(sum % 1000000007u));
  return 0;
}

static hr_table_code scan(const uint8_t* data, uint64_t size, uint8_t* scratch) {
  hr_table table;
  const uint8_t* value;
  uint64_t value_size;
  hr_table_code code = hr_table_open(&table, data, size);
  if (code == HR_TABLE_OK) {
    hr_table_get(&table, "k050", 4, scratch, &value, &value_size);
    code = hr_table_walk(&table, scratch, visit, NULL);
  }
  hr_table_close(&table);
  if (print) printf("end %d %llu\n", code, (unsigned long long)table.offset);
  return code;
}

/* Corrects the CRC of every block that the original index refers to. */
static void mend(uint8_t* data, const uint64_t* blocks, int count) {
  int i;
  for (i = 0; i < count; ++i) {
    uint64_t offset = blocks[2 * i], size = blocks[2 * i + 1];
    uint32_t crc = hr_masked_crc32c(data + offset, size + 1);
    int k;
    for (k = 0; k < 4; ++k) data[offset + size + 1 + k] = (uint8_t)(crc >> (8 * k));
  }
}

int main(int argc, char** argv) {
  uint8_t* scratch = (uint8_t*)malloc(2 * HR_TABLE_MAX_KEY);
  FILE* file = fopen(argv[1], "rb");
  uint64_t size, bit;
  uint8_t* data;
  if (!file || !scratch) return 1;
  fseek(file, 0, SEEK_END);
  size = (uint64_t)ftell(file);
  rewind(file);
  data = (uint8_t*)malloc(size ? size : 1);
  if (fread(data, 1, size, file) != size) return 1;
  fclose(file);
  print = 1;
  scan(data, size, scratch);
  print = 0;
  if (argc > 2) {
    uint64_t blocks[64];
    int count = 0;
    hr_table table;
    hr_block_cursor index;
    hr_table_open(&table, data, size);
    blocks[count++] = table.index_offset;
    blocks[count++] = table.index_size;
    hr_block_begin(&table, &index, scratch, table.index_offset, table.index_size);
    while (count < 62 && hr_block_next(&table, &index) == HR_TABLE_OK)
      if (hr_table_handle(&table, &index, &blocks[count], &blocks[count + 1]) == HR_TABLE_OK)
        count += 2;
    hr_table_close(&table);
    for (bit = 0; bit < size * 8; ++bit) {
      uint8_t* copy = (uint8_t*)malloc(size);
      memcpy(copy, data, size);
      copy[bit / 8] ^= (uint8_t)(1u << (bit % 8));
      scan(copy, size, scratch);
      mend(copy, blocks, count / 2);
      scan(copy, size, scratch);
      if (bit < size) {
        uint8_t* cut = (uint8_t*)malloc(bit ? bit : 1);
        memcpy(cut, data, bit);
        scan(cut, bit, scratch);
        free(cut);
      }
      free(copy);
    }
    printf("survived %d\n", entries > 0);
  }
  free(data);
  free(scratch);
  return 0;
}
