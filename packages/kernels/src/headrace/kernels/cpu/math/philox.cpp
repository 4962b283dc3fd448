#include "math/philox.hpp"

#include <algorithm>
#include <cmath>

#include "math/vector_math.hpp"
#include "processor/simd.hpp"

namespace hr {
namespace {

constexpr int kLanes = 16;

// kLanes blocks side by side; the low half of the counter does not wrap around among them.
HR_CLONES void sixteen_blocks(uint64_t key, uint64_t low, uint64_t high, uint32_t* out) {
  uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    c0[i] = uint32_t(low) + uint32_t(i);
    c1[i] = uint32_t(low >> 32);
    c2[i] = uint32_t(high);
    c3[i] = uint32_t(high >> 32);
  }
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t p0 = uint64_t(0xD2511F53u) * c0[i], p1 = uint64_t(0xCD9E8D57u) * c2[i];
      const uint32_t n0 = uint32_t(p1 >> 32) ^ c1[i] ^ k0, n2 = uint32_t(p0 >> 32) ^ c3[i] ^ k1;
      c0[i] = n0;
      c1[i] = uint32_t(p1);
      c2[i] = n2;
      c3[i] = uint32_t(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < kLanes; ++i) {
    out[4 * i] = c0[i];
    out[4 * i + 1] = c1[i];
    out[4 * i + 2] = c2[i];
    out[4 * i + 3] = c3[i];
  }
}

HR_CLONES void box_muller_float(const uint32_t* bits, float* out, int64_t n) {
  HR_INDEPENDENT
  for (int64_t i = 0; i < n / 2; ++i) {
    float u = unit_float(bits[2 * i]);
    u = u < 1e-7f ? 1e-7f : u;
    const float angle = float(2.0 * M_PI * double(unit_float(bits[2 * i + 1])));
    const float radius = std::sqrt(-2.0f * vm::log(u));
    out[2 * i] = vm::sin(angle) * radius;
    out[2 * i + 1] = vm::cos(angle) * radius;
  }
}

}  // namespace

void Philox::fill(uint32_t* out, int64_t n) const {
  Philox here = *this;
  while (n >= kLanes && uint32_t(here.low_) <= UINT32_MAX - kLanes) {
    sixteen_blocks(key_, here.low_, here.high_, out);
    here.skip(kLanes);
    out += 4 * kLanes;
    n -= kLanes;
  }
  for (; n > 0; --n, out += 4) {
    const Block b = here.next();
    std::copy(b.x, b.x + 4, out);
  }
}

void box_muller(const uint32_t* bits, float* out, int64_t n) { box_muller_float(bits, out, n); }

void box_muller(const uint32_t* bits, double* out, int64_t n) {
  for (int64_t i = 0; i < n; i += 2, bits += 4) {
    const double u = std::max(1e-7, unit_double(bits[0], bits[1]));
    const double angle = 2.0 * M_PI * unit_double(bits[2], bits[3]);
    const double radius = std::sqrt(-2.0 * std::log(u));
    out[i] = std::sin(angle) * radius;
    out[i + 1] = std::cos(angle) * radius;
  }
}

}  // namespace hr
