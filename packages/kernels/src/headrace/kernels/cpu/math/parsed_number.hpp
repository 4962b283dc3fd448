// Numbers written as text, whatever the locale of the process is.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include <locale.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

namespace hr {

inline std::string_view without_spaces(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// A decimal integer, with spaces around it and a sign. False: something else, or out of range.
template <class T> bool parsed_integer(std::string_view text, T* value) {
  static_assert(std::is_integral_v<T> && std::is_signed_v<T>);
  text = without_spaces(text);
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (negative || text.front() == '+')) text.remove_prefix(1);
  if (text.empty()) return false;
  T result = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    const T digit = T(c - '0');
    if (__builtin_mul_overflow(result, T(10), &result)) return false;
    // Downwards where it is negative, since the least number has no positive counterpart.
    if (negative ? __builtin_sub_overflow(result, digit, &result)
                 : __builtin_add_overflow(result, digit, &result))
      return false;
  }
  *value = result;
  return true;
}

namespace parsed_number_detail {

inline locale_t c_locale() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return locale;
}
inline float number(const char* text, char** end, float*) {
  return strtof_l(text, end, c_locale());
}
inline double number(const char* text, char** end, double*) {
  return strtod_l(text, end, c_locale());
}

}  // namespace parsed_number_detail

// Short decimal numbers, by one exact multiplication or division, whose result is rounded once.
// False: the number is longer, or of another form.
template <class T> bool parsed_short(std::string_view text, T* value) {
  constexpr bool narrow = std::is_same_v<T, float>;
  constexpr uint64_t kExact = uint64_t(1) << (narrow ? 24 : 53);
  constexpr int kMost = narrow ? 10 : 22;  // the powers of ten that are exact
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  uint64_t digits = 0;
  int fraction = 0;
  bool any = false, point = false;
  for (const char c : text) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9' || digits >= kExact / 10) return false;
    digits = 10 * digits + uint64_t(c - '0');
    fraction += point;
    any = true;
  }
  if (!any || digits > kExact || fraction > kMost) return false;
  const T result = T(digits) / T(kPowers[fraction]);
  *value = negative ? -result : result;
  return true;
}

// A float or double, with spaces around it; also "inf", "nan" and hexadecimal numbers.
template <class T> bool parsed_float(std::string_view text, T* value) {
  text = without_spaces(text);
  if (parsed_short(text, value)) return true;
  // A payload of a NaN, "nan(1)", is not a number here.
  if (text.empty() || text.back() == ')') return false;
  char held[64];
  std::string long_text;
  const char* begin = held;
  if (text.size() < sizeof held) {
    text.copy(held, text.size());
    held[text.size()] = 0;
  } else {
    long_text = text;
    begin = long_text.c_str();
  }
  char* end = nullptr;
  *value = parsed_number_detail::number(begin, &end, static_cast<T*>(nullptr));
  return end == begin + text.size();
}

}  // namespace hr
