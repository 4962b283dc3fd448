// Philox 4x32-10 (Salmon et al. 2011), seeded and split as in TensorFlow, so that equal seeds give
// equal numbers.
#pragma once

#include <cstdint>

#include "table/element_types.hpp"

namespace hr {

class Philox {
 public:
  struct Block {
    uint32_t x[4];
  };

  Philox() = default;
  // As seed and seed2 of a stateful op.
  Philox(uint64_t seed, uint64_t seed2) : key_(seed), low_(0), high_(seed2) {}

  // As the seed pair of a stateless op: scrambled, so that any pair will do.
  static Philox scrambled(uint64_t seed0, uint64_t seed1) {
    Philox mix;
    mix.key_ = 0x02461e293ec8f720u;
    mix.low_ = seed0;
    mix.high_ = seed1;
    const Block b = mix.at(0);
    Philox made;
    made.key_ = b.x[0] | uint64_t(b.x[1]) << 32;
    made.low_ = 0;
    made.high_ = b.x[2] | uint64_t(b.x[3]) << 32;
    return made;
  }

  // Passes over that many blocks.
  void skip(uint64_t blocks) {
    low_ += blocks;
    high_ += low_ < blocks;
  }
  Philox after(uint64_t blocks) const {
    Philox other = *this;
    other.skip(blocks);
    return other;
  }

  // The block that many blocks ahead; the stream stays.
  Block at(uint64_t ahead) const {
    const uint64_t low = low_ + ahead, high = high_ + (low < ahead);
    uint32_t c0 = uint32_t(low), c1 = uint32_t(low >> 32), c2 = uint32_t(high),
             c3 = uint32_t(high >> 32);
    uint32_t k0 = uint32_t(key_), k1 = uint32_t(key_ >> 32);
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t(0xD2511F53u) * c0, p1 = uint64_t(0xCD9E8D57u) * c2;
      const uint32_t n0 = uint32_t(p1 >> 32) ^ c1 ^ k0, n2 = uint32_t(p0 >> 32) ^ c3 ^ k1;
      c0 = n0, c1 = uint32_t(p1), c2 = n2, c3 = uint32_t(p0);
      k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
  }
  Block next() {
    const Block b = at(0);
    skip(1);
    return b;
  }

  // out[4 * n]: the next n blocks; the stream stays.
  void fill(uint32_t* out, int64_t n) const;

 private:
  uint64_t key_ = 0, low_ = 0, high_ = 0;
};

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
