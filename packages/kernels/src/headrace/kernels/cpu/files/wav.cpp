#include "files/wav.hpp"

#include <algorithm>
#include <cmath>

#include "files/disk.hpp"
#include "files/protobuf_writer.hpp"

namespace hr {
namespace {

template <class T> void put_little(std::string* to, T value) { protobuf::fixed(to, value); }

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::string text;
  ((text += parts), ...);
  throw Failure{HR_INVALID_ARGUMENT, text};
}

class Chunks {
 public:
  explicit Chunks(std::string_view left) : left_(left) {}
  bool empty() const { return left_.empty(); }
  std::string_view take(uint64_t n) {
    if (n > left_.size()) fail("Data too short when trying to read string");
    const std::string_view taken = left_.substr(0, size_t(n));
    left_.remove_prefix(size_t(n));
    return taken;
  }
  // As take, or what there is.
  void skip(uint64_t n) { left_.remove_prefix(size_t(std::min<uint64_t>(n, left_.size()))); }
  uint32_t number(size_t bytes) {
    const std::string_view taken = take(bytes);
    uint32_t value = 0;
    for (size_t i = bytes; i-- > 0;) value = value << 8 | uint8_t(taken[i]);
    return value;
  }
  void expect(std::string_view name) {
    const std::string_view found = take(4);
    if (found != name) fail("Header mismatch: Expected ", name, " but found ", found);
  }

 private:
  std::string_view left_;
};

// The chunks that may stand before the format.
bool may_come_first(std::string_view name) {
  for (const char* known : {"JUNK", "bext", "iXML", "qlty", "mext", "levl", "link", "axml"})
    if (name == known) return true;
  return false;
}

void read_format(Chunks* chunks, WavFile* file) {
  const uint32_t size = chunks->number(4);
  if (size != 16 && size != 18)
    fail("Bad format chunk size for WAV: Expected 16 or 18, but got", std::to_string(size));
  const uint32_t format = chunks->number(2);
  if (format != 1)
    fail("Bad audio format for WAV: Expected 1 (PCM), but got", std::to_string(format));
  file->channels = chunks->number(2);
  if (!file->channels) fail("Bad number of channels for WAV: Expected at least 1, but got 0");
  file->rate = chunks->number(4);
  const uint32_t rate_of_bytes = chunks->number(4), frame = chunks->number(2);
  const uint32_t bits = chunks->number(2);
  if (bits != 16) fail("Can only read 16-bit WAV files, but received ", std::to_string(bits));
  if (frame != 2 * file->channels)
    fail("Bad bytes per sample in WAV header: Expected ", std::to_string(2 * file->channels),
         " but got ", std::to_string(frame));
  if (rate_of_bytes != uint64_t(frame) * file->rate)
    fail("Bad bytes per second in WAV header: Expected ",
         std::to_string(uint64_t(frame) * file->rate), " but got ", std::to_string(rate_of_bytes),
         " (sample_rate=", std::to_string(file->rate), ", bytes_per_sample=", std::to_string(frame),
         ")");
  if (size == 18) chunks->take(2);
}

}  // namespace

std::string wav(const float* samples, int64_t frames, int64_t channels, uint32_t rate) {
  const uint32_t bytes = uint32_t(2 * frames * channels);
  std::string created = "RIFF";
  put_little(&created, uint32_t(36 + bytes));
  created += "WAVEfmt ";
  put_little(&created, uint32_t(16));
  put_little(&created, uint16_t(1));
  put_little(&created, uint16_t(channels));
  put_little(&created, rate);
  put_little(&created, uint32_t(rate * uint32_t(channels) * 2));
  put_little(&created, uint16_t(channels * 2));
  put_little(&created, uint16_t(16));
  created += "data";
  put_little(&created, bytes);
  for (int64_t i = 0; i < frames * channels; ++i) {
    const double value = std::round(double(samples[i]) * 32768);
    const double kept = value >= 32767      ? 32767
                        : value >= -32768   ? value
                        : std::isnan(value) ? 0
                                            : -32768;
    put_little(&created, uint16_t(int16_t(kept)));
  }
  return created;
}

WavFile read_wav(std::string_view contents) {
  Chunks chunks(contents);
  WavFile file{};
  chunks.expect("RIFF");
  chunks.number(4);  // the size of the rest, which need not be true
  chunks.expect("WAVE");
  std::string_view name = chunks.take(4);
  for (; name != "fmt "; name = chunks.take(4)) {
    if (!may_come_first(name)) fail("Unexpected field ", name);
    chunks.take(chunks.number(4));
  }
  read_format(&chunks, &file);
  bool found = false;
  while (!chunks.empty()) {
    name = chunks.take(4);
    const uint32_t size = chunks.number(4);
    if (size > uint32_t(INT32_MAX))
      fail("WAV data chunk '", name, "' is too large: ", std::to_string(size),
           " bytes, but the limit is ", std::to_string(INT32_MAX));
    if (name != "data") {
      chunks.skip(size);
      continue;
    }
    if (found) fail("More than one data chunk found in WAV");
    found = true;
    file.frames = size / (2 * file.channels);
    file.samples = chunks.take(uint64_t(2 * file.frames * file.channels));
  }
  if (!found) fail("No data chunk found in WAV");
  return file;
}

}  // namespace hr
