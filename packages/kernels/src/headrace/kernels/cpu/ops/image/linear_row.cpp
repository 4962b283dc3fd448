#include "ops/image/linear_row.hpp"

#include <cstring>

namespace hr::image {

#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

namespace {

typedef float lanes __attribute__((vector_size(16)));
typedef uint32_t numbers __attribute__((vector_size(16)));

HR_INLINE lanes load(const float* from) {
  lanes v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
HR_INLINE lanes load(const uint8_t* from) {
  uint32_t four;
  std::memcpy(&four, from, sizeof four);
  // Shifts of one number in all lanes: compilers take the bytes apart one by one otherwise.
  const numbers v = (numbers{four, four, four, four} >> numbers{0, 8, 16, 24}) & 255;
  typedef int32_t integers __attribute__((vector_size(16)));
  return __builtin_convertvector((integers)v, lanes);
}

// Each pixel writes a fourth value, which the next one overwrites.
template <class T>
HR_INLINE void inner(const LinearRow& row, const T* top, const T* bottom, float below, float* to) {
  for (int64_t j = 0; j < row.inner; ++j, to += 3) {
    const Taps& h = row.columns[j];
    const int64_t l = h.at[0] * 3, r = h.at[1] * 3;
    const float right = h.weight[1];
    const lanes tl = load(top + l), tr = load(top + r);
    const lanes bl = load(bottom + l), br = load(bottom + r);
    const lanes t = tl + (tr - tl) * right, b = bl + (br - bl) * right;
    const lanes pixel = t + (b - t) * below;
    std::memcpy(to, &pixel, sizeof pixel);
  }
}

HR_CLONES_WITHOUT_FMA void inner_bytes(const LinearRow& row, const uint8_t* top,
                                       const uint8_t* bottom, float below, float* to) {
  inner(row, top, bottom, below, to);
}
HR_CLONES_WITHOUT_FMA void inner_floats(const LinearRow& row, const float* top, const float* bottom,
                                        float below, float* to) {
  inner(row, top, bottom, below, to);
}

}  // namespace

template <>
void linear_row(const LinearRow& row, const uint8_t* top, const uint8_t* bottom, float below,
                float* to) {
  if (row.channels == 3) inner_bytes(row, top, bottom, below, to);
  linear_pixels(row, row.channels == 3 ? row.inner : 0, top, bottom, below, to);
}

template <>
void linear_row(const LinearRow& row, const float* top, const float* bottom, float below,
                float* to) {
  if (row.channels == 3) inner_floats(row, top, bottom, below, to);
  linear_pixels(row, row.channels == 3 ? row.inner : 0, top, bottom, below, to);
}

#else

template <>
void linear_row(const LinearRow& row, const uint8_t* top, const uint8_t* bottom, float below,
                float* to) {
  linear_pixels(row, 0, top, bottom, below, to);
}

template <>
void linear_row(const LinearRow& row, const float* top, const float* bottom, float below,
                float* to) {
  linear_pixels(row, 0, top, bottom, below, to);
}

#endif

}  // namespace hr::image
