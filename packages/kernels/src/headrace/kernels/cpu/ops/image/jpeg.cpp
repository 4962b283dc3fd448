// libjpeg reports errors by a jump, which must not pass over an object with a destructor: each
// stage is a function object without such objects, and `guarded` catches the jump around it.
#include "ops/image/jpeg.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "files/disk.hpp"
#include "processor/parallel.hpp"

namespace hr::jpeg {
namespace {

constexpr int64_t kMostValues = int64_t(1) << 29;

const Library& needed() {
  const Library* found = library();
  if (!found)
    throw Failure{
        HR_UNIMPLEMENTED,
        "JPEG files need libjpeg-turbo, which Pillow's wheels contain: pip install pillow"};
  return *found;
}

// What both directions need: the library's struct, its errors, and where an error jumps to. The
// library asks every few rows whether the step was cancelled, also while it reads or writes all of
// a progressive file in one call; that ends a call as an error does.
template <class Struct> class Codec {
 protected:
  // ctx: null where nothing takes long.
  Codec(const Library& library, const hr_ctx* ctx) : library_(library), ctx_(ctx) {
    std::memset(&struct_, 0, sizeof struct_);
    struct_.err = library.std_error(&errors_);
    errors_.error_exit = [](void* common) {
      auto* codec = static_cast<Codec*>(static_cast<Struct*>(common)->client_data);
      codec->errors_.format_message(common, codec->message_);
      std::longjmp(codec->jump_, 1);
    };
    errors_.output_message = [](void*) {};
    struct_.client_data = this;
    progress_.monitor = [](void* common) {
      auto* codec = static_cast<Codec*>(static_cast<Struct*>(common)->client_data);
      if (hr_cancelled(codec->ctx_)) std::longjmp(codec->jump_, 1);
    };
  }
  Codec(const Codec&) = delete;
  ~Codec() {
    if (created_) guarded([this] { library_.destroy(&struct_); });
  }

  // False: the library reported an error. `stage` must hold no object with a destructor.
  template <class Stage> bool guarded(Stage&& stage) {
    if (setjmp(jump_)) return false;
    stage();
    return true;
  }
  template <class Stage> void run(Stage&& stage) {
    if (guarded(stage)) return;
    if (ctx_) poll(ctx_);
    fail(message_);
  }
  // Once the library has made the struct.
  void begin() {
    created_ = true;
    if (ctx_) struct_.progress = &progress_;
  }
  [[noreturn]] static void fail(const std::string& what) {
    throw Failure{HR_INVALID_ARGUMENT, what};
  }

  const Library& library_;
  Struct struct_;

 private:
  const hr_ctx* const ctx_;
  bool created_ = false;
  Errors errors_;
  Progress progress_{};
  std::jmp_buf jump_;
  char message_[256] = "";
};

// ---- decoding -----------------------------------------------------------------------------------

class Decoder : Codec<Decompress> {
 public:
  Decoder(const Library& library, const hr_ctx* ctx, std::string_view file, bool recovers)
      : Codec(library, ctx), recovers_(recovers) {
    if (file.empty()) fail("the string is empty");
    run([this] { library_.create_decompress(&struct_, kVersion, sizeof struct_); });
    begin();
    struct_.src = &source_;
    source_.next_input_byte = reinterpret_cast<const uint8_t*>(file.data());
    source_.bytes_in_buffer = file.size();
    source_.init_source = [](Decompress*) {};
    source_.term_source = [](Decompress*) {};
    source_.resync_to_restart = library.resync_to_restart;
    source_.skip_input_data = [](Decompress* d, long n) {
      if (n <= 0) return;
      const size_t skipped = std::min(size_t(n), d->src->bytes_in_buffer);
      d->src->next_input_byte += skipped;
      d->src->bytes_in_buffer -= skipped;
    };
    // At the end of the data the library waits for more, which ends the decoding, or gets the
    // marker of an end.
    source_.fill_input_buffer = recovers ? [](Decompress* d) {
      static constexpr uint8_t kEnd[] = {0xff, 0xd9};
      d->src->next_input_byte = kEnd;
      d->src->bytes_in_buffer = sizeof kEnd;
      return 1;
    } : [](Decompress*) { return 0; };
    int found = 0;
    run([&] { found = library_.read_header(&struct_, 1); });
    if (found != 1) fail("the data ends in its header");
  }

  Size size() const {
    return {int64_t(struct_.image_height), int64_t(struct_.image_width), struct_.num_components};
  }

  // Sets the options; returns the size of the whole image.
  Size prepare(const DecodeOptions& options) {
    channels_ = options.channels ? options.channels : std::min(struct_.num_components, 3);
    if (channels_ != 1 && channels_ != 3)
      fail("an image of " + std::to_string(struct_.num_components) + " components");
    cmyk_ =
        channels_ == 3 && (struct_.jpeg_color_space == kCmyk || struct_.jpeg_color_space == kYcck);
    struct_.out_color_space = channels_ == 1 ? kGrayscale : cmyk_ ? kCmyk : kRgb;
    struct_.do_fancy_upsampling = options.fancy_upscaling;
    struct_.scale_num = 1;
    struct_.scale_denom = unsigned(options.ratio);
    struct_.dct_method = options.dct_method;
    run([this] { library_.calc_output_dimensions(&struct_); });
    const int64_t height = struct_.output_height, width = struct_.output_width;
    if (height <= 0 || width <= 0 || height * width * struct_.num_components >= kMostValues)
      fail("an image of " + std::to_string(height) + " by " + std::to_string(width) + " pixels");
    int started = 0;
    run([&] { started = library_.start_decompress(&struct_); });
    if (!started) fail("the data ends before the first row");
    if (struct_.output_components != (cmyk_ ? 4 : channels_))
      fail("its colours cannot be converted");
    return {height, width, channels_};
  }

  // Decodes rows [y, y + height) of columns [x, x + width) into `pixels`. Returns the rows found.
  int64_t read(const Window& window, uint8_t* pixels) {
    unsigned x = unsigned(window.x), width = unsigned(window.width);
    if (window.width != int64_t(struct_.output_width))
      run([&] { library_.crop_scanline(&struct_, &x, &width); });
    if (window.y) run([&] { library_.skip_scanlines(&struct_, unsigned(window.y)); });
    if (int64_t(struct_.output_scanline) != window.y) return 0;
    // The library begins a row at the block of pixels in which x is.
    const int64_t components = cmyk_ ? 4 : channels_;
    const size_t offset = size_t((window.x - int64_t(x)) * components);
    const bool direct = !cmyk_ && window.width == int64_t(struct_.output_width);
    if (!direct) row_.resize(size_t(int64_t(struct_.output_width) * components));
    const int64_t row_bytes = window.width * channels_;
    for (int64_t y = 0; y < window.height; ++y, pixels += row_bytes) {
      uint8_t* line = direct ? pixels : row_.data();
      unsigned found = 0;
      run([&] { found = library_.read_scanlines(&struct_, &line, 1); });
      if (!found) return y;
      if (cmyk_) to_rgb(row_.data() + offset, window.width, pixels);
      else if (!direct) std::memcpy(pixels, row_.data() + offset, size_t(row_bytes));
    }
    return window.height;
  }

  bool recovers() const { return recovers_; }

 private:
  const bool recovers_;
  Source source_;
  int channels_ = 0;
  bool cmyk_ = false;
  std::vector<uint8_t> row_;

  // Adobe's files have inverted colours.
  void to_rgb(const uint8_t* cmyk, int64_t n, uint8_t* rgb) const {
    for (int64_t i = 0; i < n; ++i, cmyk += 4, rgb += 3) {
      const bool inverted = struct_.saw_Adobe_marker != 0;
      const int k = inverted ? cmyk[3] : 255 - cmyk[3];
      for (int c = 0; c < 3; ++c) rgb[c] = uint8_t(k * (inverted ? cmyk[c] : 255 - cmyk[c]) / 255);
    }
  }
};

}  // namespace

void decode(const hr_ctx* ctx, std::string_view file, const DecodeOptions& options,
            const Window* window, const std::function<uint8_t*(const Size&)>& allocate) {
  Decoder decoder(needed(), ctx, file, options.recovers_truncated);
  Size size = decoder.prepare(options);
  Window all{0, 0, size.height, size.width};
  if (window) {
    if (window->height <= 0 || window->width <= 0 || window->y < 0 || window->x < 0 ||
        window->y > size.height - window->height || window->x > size.width - window->width)
      throw Failure{HR_INVALID_ARGUMENT, "the window is not in the image of " +
                                             std::to_string(size.height) + " by " +
                                             std::to_string(size.width) + " pixels"};
    all = *window;
    size.height = window->height;
    size.width = window->width;
  }
  uint8_t* pixels = allocate(size);
  const int64_t row = size.width * size.channels, found = decoder.read(all, pixels);
  if (found == size.height) return;
  if (decoder.recovers()) {  // the last row again
    for (int64_t y = found; y < size.height; ++y) {
      if (y) std::memcpy(pixels + y * row, pixels + (y - 1) * row, size_t(row));
      else std::memset(pixels, 0, size_t(row));
    }
    return;
  }
  const float fraction = float(found) / float(size.height);
  if (fraction < std::min(1.0f, options.acceptable_fraction))
    throw Failure{HR_INVALID_ARGUMENT, "only " + std::to_string(found) + " of " +
                                           std::to_string(size.height) + " rows are there"};
  std::memset(pixels + found * row, 0, size_t((size.height - found) * row));
}

Size size_of(std::string_view file) { return Decoder(needed(), nullptr, file, false).size(); }

// ---- encoding -----------------------------------------------------------------------------------

namespace {

class Encoder : Codec<Compress> {
 public:
  Encoder(const Library& library, const hr_ctx* ctx) : Codec(library, ctx) {
    run([this] { library_.create_compress(&struct_, kVersion, sizeof struct_); });
    begin();
    destination_.encoder = this;
    struct_.dest = &destination_.base;
    destination_.base.init_destination = [](Compress*) {};
    destination_.base.empty_output_buffer = [](Compress* c) {
      auto* encoder = reinterpret_cast<Link*>(c->dest)->encoder;
      if (!encoder->keep(sizeof encoder->buffer_)) c->err->error_exit(c);
      encoder->restart();
      return 1;
    };
    destination_.base.term_destination = [](Compress*) {};
    restart();
  }

  std::string encode(const uint8_t* pixels, const Size& size, const EncodeOptions& options,
                     std::string_view marker) {
    written_.reserve(size_t(size.height * size.width * size.channels / 4 + 4096));
    run([&] {
      struct_.image_width = unsigned(size.width);
      struct_.image_height = unsigned(size.height);
      struct_.input_components = int(size.channels);
      struct_.in_color_space = size.channels == 1 ? kGrayscale : kRgb;
      library_.set_defaults(&struct_);
      if (options.optimize_size) struct_.optimize_coding = 1;
      struct_.density_unit = uint8_t(options.density_unit);
      struct_.X_density = uint16_t(options.x_density);
      struct_.Y_density = uint16_t(options.y_density);
      library_.set_quality(&struct_, options.quality, 1);
      if (options.progressive) library_.simple_progression(&struct_);
      if (!options.chroma_downsampling)
        for (int i = 0; i < struct_.num_components; ++i)
          struct_.comp_info[i].h_samp_factor = struct_.comp_info[i].v_samp_factor = 1;
      library_.start_compress(&struct_, 1);
      if (!marker.empty())
        library_.write_marker(&struct_, 0xe1, reinterpret_cast<const uint8_t*>(marker.data()),
                              unsigned(marker.size()));
    });
    run([&] {
      while (int64_t(struct_.next_scanline) < size.height) {
        uint8_t* line = const_cast<uint8_t*>(pixels) +
                        int64_t(struct_.next_scanline) * size.width * size.channels;
        library_.write_scanlines(&struct_, &line, 1);
      }
      library_.finish_compress(&struct_);
    });
    if (!keep(sizeof buffer_ - destination_.base.free_in_buffer)) throw std::bad_alloc();
    return std::move(written_);
  }

 private:
  struct Link {
    Destination base;  // first
    Encoder* encoder;
  };
  Link destination_{};
  uint8_t buffer_[1 << 16];
  std::string written_;

  // False: no memory. An exception must not pass through the library.
  bool keep(size_t n) noexcept {
    try {
      written_.append(reinterpret_cast<const char*>(buffer_), n);
      return true;
    } catch (const std::bad_alloc&) { return false; }
  }
  void restart() {
    destination_.base.next_output_byte = buffer_;
    destination_.base.free_in_buffer = sizeof buffer_;
  }
};

}  // namespace

std::string encode(const hr_ctx* ctx, const uint8_t* pixels, const Size& size,
                   const EncodeOptions& options) {
  // XMP metadata lie in an APP1 marker behind the name of their namespace.
  static constexpr std::string_view kNamespace("http://ns.adobe.com/xap/1.0/\0", 29);
  std::string marker;
  if (!options.xmp_metadata.empty()) {
    marker = kNamespace;
    marker += options.xmp_metadata;
    if (marker.size() > 65533)
      throw Failure{HR_INVALID_ARGUMENT, "xmp_metadata has " +
                                             std::to_string(options.xmp_metadata.size()) +
                                             " bytes, more than a JPEG file can hold"};
  }
  return Encoder(needed(), ctx).encode(pixels, size, options, marker);
}

}  // namespace hr::jpeg
