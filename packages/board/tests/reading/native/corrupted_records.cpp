// Corrupts an event file in many ways and scans each copy; the sanitizers stop at an invalid
// access.
//
//     corrupted_records FILE ROUNDS SEED FOLDER
//
// Prints the number of records of all scans, so that the compiler cannot remove them.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "headrace/board/reading/scan_events.hpp"

using headrace_board::EventScanner;
using headrace_board::TagOrder;

static uint64_t scan_all(int fd, uint64_t limit) {
  EventScanner scanner;
  uint64_t records = 0;
  // A pass that neither ends nor advances would loop forever.
  for (int passes = 0; passes < 100000; ++passes) {
    scanner.scan(fd, limit);
    records += scanner.records;
    const TagOrder order(scanner.scalars.tag, scanner.tags());
    std::vector<double> sorted(scanner.scalars.value.size());
    order.scatter(scanner.scalars.value, sorted.data());
    if (scanner.frames.state != headrace_board::kMore) return records;
  }
  std::fprintf(stderr, "the scan does not end\n");
  std::abort();
}

// Makes the checksums valid again, so that the corruption reaches the parser of events.
static void seal(std::string& bytes, std::mt19937_64& random) {
  const uint8_t* data = reinterpret_cast<const uint8_t*>(bytes.data());
  uint64_t at = 0;
  while (at + 16 <= bytes.size()) {
    uint64_t length;
    if (hr_record_length(data + at, 1u << 30, &length) != HR_RECORD_OK) return;
    if (at + 16 + length > bytes.size()) return;
    if (random() % 8) {
      const uint32_t crc = hr_masked_crc32c(data + at + 12, length);
      for (int i = 0; i < 4; ++i) bytes[at + 12 + length + i] = char(crc >> (8 * i));
    }
    at += 16 + length;
  }
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  std::ifstream input(argv[1], std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(input)), {});
  const int rounds = std::atoi(argv[2]);
  std::mt19937_64 random(std::strtoull(argv[3], nullptr, 10));
  const std::string path = std::string(argv[4]) + "/events";
  uint64_t records = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = good;
    for (int hits = 1 + int(random() % 8); hits > 0 && !bytes.empty(); --hits) {
      const size_t at = random() % bytes.size();
      switch (random() % 6) {
        case 0: bytes.resize(at); break;
        case 1: bytes.erase(at, 1 + random() % 64); break;
        case 2: bytes.insert(at, 1 + random() % 64, char(random())); break;
        default: bytes[at] = char(random());
      }
    }
    if (round % 2) seal(bytes, random);
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ::write(fd, bytes.data(), bytes.size()) != ssize_t(bytes.size())) return 3;
    records += scan_all(fd, round % 3 ? 1u << 20 : 100);
    ::close(fd);
  }
  std::printf("%llu\n", static_cast<unsigned long long>(records));
  return 0;
}
