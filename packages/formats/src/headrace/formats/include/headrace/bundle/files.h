/* The files of a bundle, mapped into memory or read from a source; bundle_reader.h includes this.
 */
#ifndef HEADRACE_BUNDLE_FILES_H
#define HEADRACE_BUNDLE_FILES_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>
#define HR_BUNDLE_MMAP 1
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Where the files of a bundle come from that are not local. open, read and is_current return 0 or a
 * canonical status code; the caller's `self` keeps the text of an error. */
typedef struct {
  void* self;
  int (*open)(void* self, const char* path, uint64_t* handle, uint64_t* size);
  int (*read)(void* self, uint64_t handle, uint64_t offset, uint64_t size, uint8_t* to);
  void (*close)(void* self, uint64_t handle);
  /* Whether `path` is still the file that was opened as `handle`, which may be closed since. */
  int (*is_current)(void* self, const char* path, uint64_t handle, int* current);
} hr_bundle_source;

typedef struct {
  uint8_t* data; /* null: of an empty file, and of one that is read by ranges */
  uint64_t size;
  int state;               /* 0: not opened yet, 1: mapped, 2: of a source, 3: its whole contents */
  uint64_t device, number; /* identity of the file; the map keeps the inode number in use */
  uint64_t handle;         /* of the source */
} hr_bundle_file;

static inline void hr_bundle_unmap(hr_bundle_file* file) {
  if (file->state == 3) {
    free(file->data);
  } else if (file->data) {
#ifdef HR_BUNDLE_MMAP
    munmap(file->data, (size_t)file->size);
#else
    free(file->data);
#endif
  }
  memset(file, 0, sizeof *file);
}

/* Maps a file; returns 0 or an errno. The data of an empty file is null. */
static inline int hr_bundle_map(hr_bundle_file* file, const char* path) {
#ifdef HR_BUNDLE_MMAP
  struct stat status;
  int descriptor = open(path, O_RDONLY);
  if (descriptor < 0) return errno;
  if (fstat(descriptor, &status) != 0) {
    int error = errno;
    close(descriptor);
    return error;
  }
  if (status.st_size > 0) {
    void* data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
      int error = errno;
      close(descriptor);
      return error;
    }
    file->data = (uint8_t*)data;
    file->size = (uint64_t)status.st_size;
  }
  file->device = (uint64_t)status.st_dev;
  file->number = (uint64_t)status.st_ino;
  close(descriptor);
#else
  FILE* stream = fopen(path, "rb");
  long size;
  if (!stream) return errno ? errno : EIO;
  fseek(stream, 0, SEEK_END);
  size = ftell(stream);
  rewind(stream);
  if (size > 0) {
    file->data = (uint8_t*)malloc((size_t)size);
    if (!file->data || fread(file->data, 1, (size_t)size, stream) != (size_t)size) {
      fclose(stream);
      free(file->data);
      file->data = NULL;
      return EIO;
    }
    file->size = (uint64_t)size;
  }
  fclose(stream);
#endif
  file->state = 1;
  return 0;
}

#ifdef __cplusplus
}
#endif

#endif
