// Numbers of random blocks: single words, uniform and normal ones.
#pragma once

#include <cstdint>

#include "library/random/philox.hpp"
#include "table/element_types.hpp"

namespace hr {

// One number at a time out of blocks.
class SinglePhilox {
 public:
  explicit SinglePhilox(const Philox& from) : stream_(from) {}
  uint32_t operator()() {
    if (used_ == 4) {
      block_ = stream_.next();
      used_ = 0;
    }
    return block_.x[used_++];
  }
  double uniform();  // in [0, 1), of 52 bits
  // Passes over that many numbers.
  void skip(uint64_t n) {
    for (; n && used_ < 4; --n) ++used_;
    stream_.skip(n / 4);
    if (n % 4 == 0) return;
    block_ = stream_.next();
    used_ = int(n % 4);
  }

 private:
  Philox stream_;
  Philox::Block block_{};
  int used_ = 4;
};

// In [0, 1), by the random bits as a mantissa.
HR_INLINE float unit_float(uint32_t x) {
  return bits_as<float>((x & 0x7fffffu) | 0x3f800000u) - 1.0f;
}
HR_INLINE double unit_double(uint32_t x0, uint32_t x1) {
  return bits_as<double>(uint64_t(1023) << 52 | uint64_t(x0 & 0xfffffu) << 32 | x1) - 1.0;
}
inline half unit_half(uint32_t x) {
  half h;
  h.bits = uint16_t((x & 0x3ffu) | 15u << 10);
  return half(float(h) - 1.0f);
}
inline bfloat16 unit_bfloat16(uint32_t x) {
  bfloat16 b;
  b.bits = uint16_t((x & 0x7fu) | 127u << 7);
  return bfloat16(float(b) - 1.0f);
}

inline double SinglePhilox::uniform() {
  const uint32_t x0 = (*this)(), x1 = (*this)();
  return unit_double(x0, x1);
}

// Two normal numbers (Box and Muller 1958) of two uniform ones.
void box_muller(const uint32_t* bits, float* out, int64_t n);   // n even
void box_muller(const uint32_t* bits, double* out, int64_t n);  // n even; 2n bits words

}  // namespace hr
