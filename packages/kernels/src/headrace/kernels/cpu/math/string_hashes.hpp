// Hashes of strings whose values files and models depend on.
#pragma once

#include <cstdint>
#include <string_view>

namespace hr {

// FarmHash's Fingerprint64 (github.com/google/farmhash, farmhashna).
uint64_t fingerprint64(std::string_view text);
// One fingerprint of two.
uint64_t fingerprint_cat64(uint64_t first, uint64_t second);
// MurmurHash64A.
uint64_t murmur64(std::string_view text, uint64_t seed);
// SipHash with two rounds a word and four at the end (Aumasson and Bernstein 2012).
uint64_t siphash24(uint64_t key0, uint64_t key1, std::string_view text);

}  // namespace hr
