#include "tuning/tuner.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>

#include "programs/binary_cache.hpp"
#include "programs/sha256.hpp"
#include "tuning/trial.hpp"

namespace hr::cl {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostSeconds = 10;  // of tuning in a process, builds included

enum class Mode { off, kept, on };

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value && std::string_view(value) != "0";
}

Mode mode_of(const Device& device) {
  if (is_set("HEADRACE_OPENCL_DETERMINISTIC")) return Mode::off;
  const char* value = std::getenv("HEADRACE_OPENCL_TUNING");
  const std::string_view mode = value ? value : "";
  if (mode == "off") return Mode::off;
  if (mode == "kept") return Mode::kept;
  if (mode == "on") return Mode::on;
  return device.traits.is_cpu ? Mode::kept : Mode::on;
}

// Shapes of a class differ by a factor of less than the square root of 2 in each size.
std::string class_of(const Device& device, const TunedWork& work,
                     const std::vector<Variant>& variants) {
  std::string text = "tuning 1\n" + device.traits.platform_version + "\n" + device.traits.name +
                     "\n" + device.traits.driver + "\n" + work.name;
  for (const int64_t size : work.sizes)
    text += " " + std::to_string(
                      std::lround(std::floor(2 * std::log2(double(std::max<int64_t>(size, 1))))));
  for (const Variant& v : variants) text += "\n" + v.name;
  return sha256(text);
}

// The first variant whose name is kept.
bool kept_variant(const std::string& key, const std::vector<Variant>& variants, size_t* chosen) {
  std::string name;
  if (!read_cached(key, &name)) return false;
  for (size_t i = 0; i < variants.size(); ++i) {
    if (variants[i].name != name) continue;
    *chosen = i;
    return true;
  }
  return false;
}

class Tuner {
 public:
  size_t choose(hr_request* r, const TunedWork& work, const std::vector<Variant>& variants) {
    const Device& device = device_of(r);
    const Mode mode = mode_of(device);
    if (mode == Mode::off || variants.size() < 2) return 0;
    const std::string key = class_of(device, work, variants);
    const std::lock_guard<std::mutex> hold(mutex_);
    const auto known = chosen_.find(key);
    if (known != chosen_.end()) return known->second;
    size_t chosen = 0;
    if (!kept_variant(key, variants, &chosen) && mode == Mode::on && seconds_ < kMostSeconds) {
      const auto start = Clock::now();
      if (fastest(r, work, variants, &chosen)) write_cached(key, variants[chosen].name);
      seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
    }
    chosen_[key] = chosen;
    return chosen;
  }

 private:
  // False: nothing could be measured.
  static bool fastest(hr_request* r, const TunedWork& work, const std::vector<Variant>& variants,
                      size_t* chosen) {
    Trial trial(device_of(r), work);
    double best = INFINITY;
    for (size_t i = 0; i < variants.size(); ++i) {
      Sequence sequence;
      if (variants[i].add(&sequence) != HR_OK) continue;  // does not build here
      double seconds;
      if (!trial.time(sequence, &seconds)) continue;
      if (seconds < best) {
        best = seconds;
        *chosen = i;
      }
    }
    return std::isfinite(best);
  }

  std::mutex mutex_;
  std::map<std::string, size_t> chosen_;  // by class
  double seconds_ = 0;
};

}  // namespace

size_t choose_variant(hr_request* r, const TunedWork& work, const std::vector<Variant>& variants) {
  static Tuner tuner;
  return tuner.choose(r, work, variants);
}

}  // namespace hr::cl
