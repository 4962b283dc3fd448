// libjpeg-turbo, found among the libraries of the process.
//
// Pillow's wheels contain it, so a copy of our own would only duplicate it. The structs are those
// of libjpeg's interface of version 6.2 for 64 bits, with the names of jpeglib.h for what is used;
// the library itself rejects structs of another version or size.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hr::jpeg {

enum ColorSpace { kGrayscale = 1, kRgb = 2, kYcc = 3, kCmyk = 4, kYcck = 5 };
enum DctMethod { kAccurate = 0, kFast = 1 };

struct Errors {  // jpeg_error_mgr
  void (*error_exit)(void* common);
  void (*emit_message)(void* common, int level);
  void (*output_message)(void* common);
  void (*format_message)(void* common, char* buffer);  // of 200 bytes
  void* others[17];
};

struct Progress {  // jpeg_progress_mgr
  void (*monitor)(void* common);
  long pass_counter, pass_limit;
  int completed_passes, total_passes;
};

struct Decompress;
struct Source {  // jpeg_source_mgr
  const uint8_t* next_input_byte;
  size_t bytes_in_buffer;
  void (*init_source)(Decompress*);
  int (*fill_input_buffer)(Decompress*);
  void (*skip_input_data)(Decompress*, long);
  int (*resync_to_restart)(Decompress*, int);
  void (*term_source)(Decompress*);
};

struct Decompress {  // jpeg_decompress_struct
  Errors* err;
  void* mem;
  Progress* progress;
  void* client_data;
  int is_decompressor, global_state;
  Source* src;
  unsigned image_width, image_height;
  int num_components, jpeg_color_space, out_color_space;
  unsigned scale_num, scale_denom;
  double output_gamma;
  int buffered_image, raw_data_out, dct_method, do_fancy_upsampling, do_block_smoothing;
  int of_colormaps[7];
  unsigned output_width, output_height;
  int out_color_components, output_components, rec_outbuf_height, actual_number_of_colors;
  void* colormap;
  unsigned output_scanline;
  char between[212];
  int saw_Adobe_marker;
  char others[244];
};

struct Compress;
struct Destination {  // jpeg_destination_mgr
  uint8_t* next_output_byte;
  size_t free_in_buffer;
  void (*init_destination)(Compress*);
  int (*empty_output_buffer)(Compress*);
  void (*term_destination)(Compress*);
};

struct Component {  // jpeg_component_info
  int component_id, component_index, h_samp_factor, v_samp_factor;
  char others[80];
};

struct Compress {  // jpeg_compress_struct
  Errors* err;
  void* mem;
  Progress* progress;
  void* client_data;
  int is_decompressor, global_state;
  Destination* dest;
  unsigned image_width, image_height;
  int input_components, in_color_space;
  double input_gamma;
  int data_precision, num_components, jpeg_color_space;
  Component* comp_info;
  char tables[168];
  int optimize_coding, CCIR601_sampling, smoothing_factor, dct_method;
  unsigned restart_interval;
  int restart_in_rows, write_JFIF_header;
  uint8_t JFIF_major_version, JFIF_minor_version, density_unit;
  uint16_t X_density, Y_density;
  int write_Adobe_marker;
  unsigned next_scanline;
  char others[212];
};

struct Library {
  Errors* (*std_error)(Errors*);
  void (*create_decompress)(Decompress*, int version, size_t size);
  int (*read_header)(Decompress*, int require_image);
  void (*calc_output_dimensions)(Decompress*);
  int (*start_decompress)(Decompress*);
  unsigned (*read_scanlines)(Decompress*, uint8_t** lines, unsigned n);
  void (*crop_scanline)(Decompress*, unsigned* x, unsigned* width);
  unsigned (*skip_scanlines)(Decompress*, unsigned n);
  int (*resync_to_restart)(Decompress*, int);
  void (*create_compress)(Compress*, int version, size_t size);
  void (*set_defaults)(Compress*);
  void (*set_quality)(Compress*, int quality, int force_baseline);
  void (*simple_progression)(Compress*);
  void (*start_compress)(Compress*, int write_all_tables);
  void (*write_marker)(Compress*, int marker, const uint8_t* data, unsigned size);
  unsigned (*write_scanlines)(Compress*, uint8_t** lines, unsigned n);
  void (*finish_compress)(Compress*);
  void (*destroy)(void* common);
};

constexpr int kVersion = 62;

// Null: the process has no such library.
const Library* library();

}  // namespace hr::jpeg
