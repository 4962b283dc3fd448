/* Prints tensors as the C bundle reader returns them: bundle_scan PREFIX NAME [START SIZE]...
 * "ok dtype rank size sum" or "code offset path"; "all" as name walks over every entry. With
 * -DFROM_SOURCE it reads ranges through an hr_bundle_source instead of maps. */
#include "headrace/bundle_reader.h"

#ifdef FROM_SOURCE
static int open_range(void* self, const char* path, uint64_t* handle, uint64_t* size) {
  struct stat status;
  int file = open(path, O_RDONLY);
  ++*(int*)self;
  if (file < 0) return HR_BUNDLE_NOT_FOUND;
  if (fstat(file, &status) != 0) abort();
  *handle = (uint64_t)file;
  *size = (uint64_t)status.st_size;
  return 0;
}
static int read_range(void* self, uint64_t handle, uint64_t offset, uint64_t size, uint8_t* to) {
  (void)self;
  return pread((int)handle, to, (size_t)size, (off_t)offset) == (ssize_t)size ? 0 : 15;
}
static void close_range(void* self, uint64_t handle) {
  (void)self;
  if (close((int)handle) != 0) abort();
}
static int is_current(void* self, const char* path, uint64_t handle, int* current) {
  struct stat status;
  (void)self;
  (void)handle;
  *current = stat(path, &status) == 0;
  return 0;
}
#endif

static uint64_t sum_of(const uint8_t* data, uint64_t size) {
  uint64_t sum = 0, i;
  for (i = 0; i < size; ++i) sum = (sum * 31 + data[i]) % 1000000007u;
  return sum;
}

static void visit_string(void* argument, uint64_t i, const uint8_t* data, uint64_t size) {
  uint64_t* sum = (uint64_t*)argument;
  *sum = (*sum * 31 + i + size + sum_of(data, size)) % 1000000007u;
}

static int failed(const hr_bundle* bundle) {
  printf("%d %llu %s\n", bundle->code, (unsigned long long)bundle->offset, bundle->path);
  return 0;
}

static void read_tensor(hr_bundle* bundle, const char* name, int argc, char** argv) {
  hr_bundle_entry entry;
  uint64_t count = 0, sum = 0, width;
  int64_t starts[HR_BUNDLE_MAX_RANK], sizes[HR_BUNDLE_MAX_RANK];
  int i;
  if (hr_bundle_find(bundle, name, &entry) != HR_BUNDLE_OK) {
    failed(bundle);
    return;
  }
  if (entry.dtype == HR_BUNDLE_STRING) {
    if (hr_bundle_strings(bundle, &entry, visit_string, &sum) != HR_BUNDLE_OK) {
      failed(bundle);
      return;
    }
    printf("ok %d %d %llu\n", entry.dtype, entry.rank, (unsigned long long)sum);
    return;
  }
  for (i = 0; i < entry.rank; ++i) {
    starts[i] = argc > 2 * i ? atoll(argv[2 * i]) : 0;
    sizes[i] = argc > 2 * i + 1 ? atoll(argv[2 * i + 1]) : entry.dims[i];
  }
  if (hr_bundle_read_region(bundle, name, &entry, starts, sizes, NULL) != HR_BUNDLE_OK) {
    failed(bundle);
    return;
  }
  width = hr_bundle_element_size(entry.dtype);
  hr_bundle_count(sizes, entry.rank, &count);
  {
    uint8_t* out = (uint8_t*)malloc(count * width + 1);
    hr_bundle_code code = hr_bundle_read_region(bundle, name, &entry, starts, sizes, out);
    if (code == HR_BUNDLE_OK)
      printf("ok %d %d %llu\n", entry.dtype, entry.rank,
             (unsigned long long)sum_of(out, count * width));
    else failed(bundle);
    free(out);
  }
}

static int visit_entry(void* argument, const uint8_t* key, uint64_t key_size, const uint8_t* value,
                       uint64_t value_size) {
  /* names are copied, since reading a tensor walks the table with the same scratch */
  char** list = (char**)argument;
  (void)value;
  (void)value_size;
  if (key_size && key[0] && key_size < 1000) {
    int i = 0;
    while (list[i]) ++i;
    if (i < 63) {
      list[i] = (char*)calloc(key_size + 1, 1);
      memcpy(list[i], key, key_size);
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  hr_bundle bundle;
#ifdef FROM_SOURCE
  int opened = 0;
  hr_bundle_source source = {&opened, open_range, read_range, close_range, is_current};
  if (hr_bundle_open_from(&bundle, argv[1], &source) != HR_BUNDLE_OK) return failed(&bundle);
#else
  if (hr_bundle_open(&bundle, argv[1]) != HR_BUNDLE_OK) return failed(&bundle);
#endif
  if (strcmp(argv[2], "all") != 0) {
    read_tensor(&bundle, argv[2], argc - 3, argv + 3);
  } else {
    char* names[64] = {0};
    int i;
    hr_table_code code = hr_table_walk(&bundle.table, bundle.scratch, visit_entry, names);
    if (code != HR_TABLE_OK && code != HR_TABLE_END) {
      hr_bundle_from_table(&bundle, code);
      failed(&bundle);
    }
    for (i = 0; names[i]; ++i) {
      printf("%s ", names[i]);
      read_tensor(&bundle, names[i], 0, NULL);
      free(names[i]);
    }
  }
  hr_bundle_close(&bundle);
  return 0;
}
