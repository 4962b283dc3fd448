/* Prints "code offset size" for each record that the C reader returns, first from memory, then from
 * the file. With a second argument it also reads many corrupted variants of the bytes. */
#include "headrace/record_reader.h"

static uint64_t sum;

static void scan_memory(const uint8_t* bytes, uint64_t size, int print) {
  uint64_t offset = 0;
  for (;;) {
    hr_record record;
    hr_record_code code = hr_record_at(bytes, size, offset, &record);
    for (uint64_t i = 0; i < record.size; ++i) sum += record.data[i];
    if (print)
      printf("%d %llu %llu\n", code, (unsigned long long)record.offset,
             (unsigned long long)record.size);
    if (code != HR_RECORD_OK && code != HR_RECORD_BAD_DATA) return;
    offset = record.next;
  }
}

static int scan_file(const char* path) {
  hr_record_file reader;
  if (hr_record_file_open(&reader, path, 0) != HR_RECORD_OK) return 1;
  for (;;) {
    hr_record record;
    hr_record_code code = hr_record_file_next(&reader, &record);
    printf("%d %llu %llu\n", code, (unsigned long long)record.offset,
           (unsigned long long)record.size);
    if (code == HR_RECORD_BAD_DATA) {
      reader.offset = record.next;
      hr_record_file_seek(&reader, record.next);
    } else if (code != HR_RECORD_OK) {
      break;
    }
  }
  hr_record_file_close(&reader);
  return 0;
}

int main(int argc, char** argv) {
  FILE* file = fopen(argv[1], "rb");
  if (!file) return 1;
  fseek(file, 0, SEEK_END);
  uint64_t size = (uint64_t)ftell(file);
  rewind(file);
  uint8_t* bytes = (uint8_t*)malloc(size ? size : 1);
  if (fread(bytes, 1, size, file) != size) return 1;
  fclose(file);
  scan_memory(bytes, size, 1);
  if (scan_file(argv[1])) return 1;
  if (argc > 2) {
    for (uint64_t bit = 0; bit < size * 8;
         ++bit) { /* exact-size copies, so that ASan sees overreads */
      uint64_t cut = bit % (size + 1);
      uint8_t* copy = (uint8_t*)malloc(cut ? cut : 1);
      memcpy(copy, bytes, cut);
      if (bit / 8 < cut) copy[bit / 8] ^= (uint8_t)(1u << (bit % 8));
      scan_memory(copy, cut, 0);
      free(copy);
    }
    printf("survived %d\n", (int)(sum != 1));
  }
  free(bytes);
  return 0;
}
