#include "processor/processor_level.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace hr {
namespace {

ProcessorLevel found() {
#ifdef HR_X86_LEVELS
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
    return ProcessorLevel::v4;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return ProcessorLevel::v3;
#endif
  return ProcessorLevel::any;
}

ProcessorLevel asked_for() {
  const char* text = std::getenv("HEADRACE_PROCESSOR_LEVEL");
  const std::string_view name = text ? text : "";
  if (name == "any") return ProcessorLevel::any;
  return name == "v3" ? ProcessorLevel::v3 : ProcessorLevel::v4;
}

}  // namespace

ProcessorLevel processor_level() {
  static const ProcessorLevel level = std::min(found(), asked_for());
  return level;
}

}  // namespace hr
