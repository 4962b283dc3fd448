#include "math/string_hashes.hpp"

#include <cstring>
#include <utility>

namespace hr {
namespace {

constexpr uint64_t k0 = 0xc3a5c85c97cb3127u, k1 = 0xb492b66fbe98f273u, k2 = 0x9ae16a3b2f90404fu;
constexpr uint64_t kMurmur = 0xc6a4a7935bd1e995u;

// Little-endian numbers.
template <class T> T at(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
uint64_t word(const char* p) { return at<uint64_t>(p); }
uint64_t rotated(uint64_t x, int by) { return by ? (x >> by) | (x << (64 - by)) : x; }
uint64_t mixed(uint64_t x) { return x ^ (x >> 47); }
// The last bytes of a string, up to 7.
uint64_t rest(const char* p, size_t n) {
  uint64_t value = 0;
  std::memcpy(&value, p, n);
  return value;
}

uint64_t pair(uint64_t u, uint64_t v, uint64_t mul) {
  const uint64_t a = mixed((u ^ v) * mul);
  return mixed((v ^ a) * mul) * mul;
}

uint64_t short_hash(const char* s, size_t n) {
  const uint64_t mul = k2 + n * 2;
  if (n >= 8) {
    const uint64_t a = word(s) + k2, b = word(s + n - 8);
    return pair(rotated(b, 37) * mul + a, (rotated(a, 25) + b) * mul, mul);
  }
  if (n >= 4) return pair(n + (uint64_t(at<uint32_t>(s)) << 3), at<uint32_t>(s + n - 4), mul);
  if (n == 0) return k2;
  const auto byte = [s](size_t i) { return uint32_t(uint8_t(s[i])); };
  const uint32_t y = byte(0) + (byte(n >> 1) << 8), z = uint32_t(n) + (byte(n - 1) << 2);
  return mixed(y * k2 ^ z * k0) * k2;
}

uint64_t hash_to_32(const char* s, size_t n) {
  const uint64_t mul = k2 + n * 2;
  const uint64_t a = word(s) * k1, b = word(s + 8);
  const uint64_t c = word(s + n - 8) * mul, d = word(s + n - 16) * k2;
  return pair(rotated(a + b, 43) + rotated(c, 30) + d, a + rotated(b + k2, 18) + c, mul);
}

uint64_t hash_to_64(const char* s, size_t n) {
  const uint64_t mul = k2 + n * 2;
  const uint64_t a = word(s) * k2, b = word(s + 8);
  const uint64_t c = word(s + n - 8) * mul, d = word(s + n - 16) * k2;
  const uint64_t y = rotated(a + b, 43) + rotated(c, 30) + d;
  const uint64_t z = pair(y, a + rotated(b + k2, 18) + c, mul);
  const uint64_t e = word(s + 16) * mul, f = word(s + 24);
  const uint64_t g = (y + word(s + n - 32)) * mul, h = (z + word(s + n - 24)) * mul;
  return pair(rotated(e + f, 43) + rotated(g, 30) + h, e + rotated(f + a, 18) + g, mul);
}

using Two = std::pair<uint64_t, uint64_t>;

Two weak_32(const char* s, uint64_t a, uint64_t b) {
  a += word(s);
  b = rotated(b + a + word(s + 24), 21);
  const uint64_t c = a;
  a += word(s + 8) + word(s + 16);
  b += rotated(a, 44);
  return {a + word(s + 24), b + c};
}

}  // namespace

uint64_t fingerprint64(std::string_view text) {
  const char* s = text.data();
  const size_t n = text.size();
  if (n <= 16) return short_hash(s, n);
  if (n <= 32) return hash_to_32(s, n);
  if (n <= 64) return hash_to_64(s, n);
  uint64_t x = 81, y = 81 * k1 + 113, z = mixed(y * k2 + 113) * k2;
  Two v{0, 0}, w{0, 0};
  x = x * k2 + word(s);
  const char *end = s + (n - 1) / 64 * 64, *last = end + ((n - 1) & 63) - 63;
  for (; s < end; s += 64) {
    x = rotated(x + y + v.first + word(s + 8), 37) * k1;
    y = rotated(y + v.second + word(s + 48), 42) * k1;
    x ^= w.second;
    y += v.first + word(s + 40);
    z = rotated(z + w.first, 33) * k1;
    v = weak_32(s, v.second * k1, x + w.first);
    w = weak_32(s + 32, z + w.second, y + word(s + 16));
    std::swap(z, x);
  }
  const uint64_t mul = k1 + ((z & 0xff) << 1);
  s = last;
  w.first += (n - 1) & 63;
  v.first += w.first;
  w.first += v.first;
  x = rotated(x + y + v.first + word(s + 8), 37) * mul;
  y = rotated(y + v.second + word(s + 48), 42) * mul;
  x ^= w.second * 9;
  y += v.first * 9 + word(s + 40);
  z = rotated(z + w.first, 33) * mul;
  v = weak_32(s, v.second * mul, x + w.first);
  w = weak_32(s + 32, z + w.second, y + word(s + 16));
  std::swap(z, x);
  return pair(pair(v.first, w.first, mul) + mixed(y) * k0 + z, pair(v.second, w.second, mul) + x,
              mul);
}

uint64_t fingerprint_cat64(uint64_t first, uint64_t second) {
  uint64_t result = first ^ kMurmur;
  result ^= mixed(second * kMurmur) * kMurmur;
  result *= kMurmur;
  return mixed(mixed(result) * kMurmur);
}

uint64_t murmur64(std::string_view text, uint64_t seed) {
  const char *s = text.data(), *end = s + text.size() / 8 * 8;
  uint64_t h = seed ^ (text.size() * kMurmur);
  for (; s < end; s += 8) h = (h ^ mixed(word(s) * kMurmur) * kMurmur) * kMurmur;
  if (text.size() % 8) h = (h ^ rest(s, text.size() % 8)) * kMurmur;
  return mixed(mixed(h) * kMurmur);
}

uint64_t siphash24(uint64_t key0, uint64_t key1, std::string_view text) {
  uint64_t v[4] = {key0 ^ 0x736f6d6570736575u, key1 ^ 0x646f72616e646f6du,
                   key0 ^ 0x6c7967656e657261u, key1 ^ 0x7465646279746573u};
  const auto rounds = [&v](int count) {
    for (; count > 0; --count) {
      v[0] += v[1];
      v[2] += v[3];
      v[1] = rotated(v[1], 51) ^ v[0];
      v[3] = rotated(v[3], 48) ^ v[2];
      v[0] = rotated(v[0], 32);
      v[2] += v[1];
      v[0] += v[3];
      v[1] = rotated(v[1], 47) ^ v[2];
      v[3] = rotated(v[3], 43) ^ v[0];
      v[2] = rotated(v[2], 32);
    }
  };
  const auto take = [&](uint64_t next) {
    v[3] ^= next;
    rounds(2);
    v[0] ^= next;
  };
  const char *s = text.data(), *end = s + text.size() / 8 * 8;
  for (; s < end; s += 8) take(word(s));
  take(rest(s, text.size() % 8) | uint64_t(text.size()) << 56);
  v[2] ^= 0xff;
  rounds(4);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

}  // namespace hr
