#include "ops/image/jpeg_library.hpp"

#include <csetjmp>
#include <cstring>

#include "processor/loaded_library.hpp"

namespace hr::jpeg {

static_assert(sizeof(void*) != 8 ||
                  (sizeof(Decompress) == 632 && sizeof(Compress) == 520 && sizeof(Errors) >= 168 &&
                   sizeof(Source) == 56 && sizeof(Destination) == 40 && sizeof(Component) == 96),
              "the sizes of jpeglib.h");
static_assert(sizeof(void*) != 8 || (offsetof(Decompress, dct_method) == 96 &&
                                     offsetof(Decompress, output_width) == 136 &&
                                     offsetof(Decompress, output_scanline) == 168 &&
                                     offsetof(Decompress, saw_Adobe_marker) == 384),
              "the places of jpeglib.h");
static_assert(sizeof(void*) != 8 || (offsetof(Compress, comp_info) == 88 &&
                                     offsetof(Compress, optimize_coding) == 264 &&
                                     offsetof(Compress, density_unit) == 294 &&
                                     offsetof(Compress, next_scanline) == 304),
              "the places of jpeglib.h");

namespace {

#if defined(__linux__)

template <class F> bool find(void* handle, const char* name, F* function) {
  *function = reinterpret_cast<F>(::dlsym(handle, name));
  return *function != nullptr;
}

bool find_all(void* handle, Library* found) {
  return find(handle, "jpeg_std_error", &found->std_error) &&
         find(handle, "jpeg_CreateDecompress", &found->create_decompress) &&
         find(handle, "jpeg_read_header", &found->read_header) &&
         find(handle, "jpeg_calc_output_dimensions", &found->calc_output_dimensions) &&
         find(handle, "jpeg_start_decompress", &found->start_decompress) &&
         find(handle, "jpeg_read_scanlines", &found->read_scanlines) &&
         find(handle, "jpeg_crop_scanline", &found->crop_scanline) &&
         find(handle, "jpeg_skip_scanlines", &found->skip_scanlines) &&
         find(handle, "jpeg_resync_to_restart", &found->resync_to_restart) &&
         find(handle, "jpeg_CreateCompress", &found->create_compress) &&
         find(handle, "jpeg_set_defaults", &found->set_defaults) &&
         find(handle, "jpeg_set_quality", &found->set_quality) &&
         find(handle, "jpeg_simple_progression", &found->simple_progression) &&
         find(handle, "jpeg_start_compress", &found->start_compress) &&
         find(handle, "jpeg_write_marker", &found->write_marker) &&
         find(handle, "jpeg_write_scanlines", &found->write_scanlines) &&
         find(handle, "jpeg_finish_compress", &found->finish_compress) &&
         find(handle, "jpeg_destroy", &found->destroy);
}

// Whether the library has structs of this version and size. If not, it calls error_exit before it
// writes to the struct.
[[noreturn]] void jump_back(void* common) {
  std::longjmp(*static_cast<std::jmp_buf*>(static_cast<Decompress*>(common)->client_data), 1);
}

bool has_version(const Library& candidate) {
  Errors errors;
  Decompress decompress{};
  Compress compress{};
  std::jmp_buf rejected;
  decompress.err = compress.err = candidate.std_error(&errors);
  errors.error_exit = jump_back;
  decompress.client_data = compress.client_data = &rejected;
  if (setjmp(rejected)) return false;
  candidate.create_decompress(&decompress, kVersion, sizeof decompress);
  candidate.destroy(&decompress);
  candidate.create_compress(&compress, kVersion, sizeof compress);
  candidate.destroy(&compress);
  return true;
}

#endif

}  // namespace

const Library* library() {
#if defined(__linux__)
  if (sizeof(void*) != 8) return nullptr;
  static Library found{};
  static const bool any =
      find_loaded_library([](const char* file) { return std::strstr(file, "libjpeg") != nullptr; },
                          [](void* handle) {
                            Library candidate;
                            if (!find_all(handle, &candidate) || !has_version(candidate))
                              return false;
                            found = candidate;
                            return true;
                          });
  return any ? &found : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace hr::jpeg
