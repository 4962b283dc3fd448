// WAV files of 16 bits a sample.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hr {

// A file of samples between -1 and 1.
std::string wav(const float* samples, int64_t frames, int64_t channels, uint32_t rate);

struct WavFile {
  int64_t frames, channels;
  uint32_t rate;
  std::string_view samples;  // little-endian numbers of 16 bits, of all channels in turn

  // Between -1 and 1.
  float at(int64_t frame, int64_t channel) const {
    const size_t i = 2 * size_t(frame * channels + channel);
    return float(int16_t(uint8_t(samples[i]) | uint8_t(samples[i + 1]) << 8)) / 32768.0f;
  }
};

// Throws Failure for a file that is damaged or of another kind.
WavFile read_wav(std::string_view contents);

}  // namespace hr
