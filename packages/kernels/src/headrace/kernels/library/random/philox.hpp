// Philox 4x32-10 (Salmon et al. 2011), seeded and split as in TensorFlow, so that equal seeds give
// equal numbers.
#ifndef HEADRACE_LIBRARY_RANDOM_PHILOX_HPP
#define HEADRACE_LIBRARY_RANDOM_PHILOX_HPP

#include <cstdint>

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

  // out[4 * n]: the next n blocks; the stream stays. In cpu/math/philox.cpp.
  void fill(uint32_t* out, int64_t n) const;

  // For kernels of devices, which make the blocks there: the key, and the number of the next block.
  struct Place {
    uint64_t key, low, high;
  };
  Place place() const { return {key_, low_, high_}; }

 private:
  uint64_t key_ = 0, low_ = 0, high_ = 0;
};

}  // namespace hr

#endif
