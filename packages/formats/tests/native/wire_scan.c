/* Prints the fields of a protobuf message: "number wire value" or "number wire begin end" a line,
 * then what is malformed, if anything is. With a second argument it also corrupts the message. */
#include <stdio.h>
#include <stdlib.h>

#include "headrace/wire.h"

static uint64_t sum;

static void scan(const uint8_t* bytes, uint64_t size, int print) {
  uint64_t at = 0;
  hr_wire_field field;
  int found;
  while ((found = hr_wire_next(bytes, size, &at, &field)) > 0) {
    for (uint64_t i = 0; i < field.size; ++i) sum += field.data[i];
    if (!print) continue;
    printf("%u %u ", field.number, field.wire);
    if (field.wire == HR_WIRE_VARINT) printf("%llu\n", (unsigned long long)field.value);
    else if (field.data)
      printf("%llu %llu\n", (unsigned long long)(field.data - bytes),
             (unsigned long long)(field.data - bytes + field.size));
    else printf("= %llu\n", (unsigned long long)field.value);
  }
  if (found < 0 && print) printf("%s\n", field.problem);
}

int main(int count, char** arguments) {
  static uint8_t bytes[1 << 16];
  FILE* file = fopen(arguments[1], "rb");
  uint64_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
  if (!file) return 1;
  fclose(file);
  scan(bytes, size, count < 3);
  if (count < 3) return 0;
  for (uint64_t end = 0; end <= size; ++end) {
    /* A copy of the exact size lets the sanitizer see a read behind it. */
    uint8_t* exact = (uint8_t*)malloc(end ? end : 1);
    memcpy(exact, bytes, end);
    scan(exact, end, 0);
    for (uint64_t i = 0; i < end; ++i)
      for (int bit = 0; bit < 8; ++bit) {
        exact[i] ^= (uint8_t)(1 << bit);
        scan(exact, end, 0);
        exact[i] ^= (uint8_t)(1 << bit);
      }
    free(exact);
  }
  printf("survived %d\n", sum != 1);
  return 0;
}
