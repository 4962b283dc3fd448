// Random numbers by Philox 4x32-10 (Salmon et al. 2011), seeded and split as in the CPU's library:
// equal seeds give equal numbers.
//
// WAY is one of those below. An item makes whole blocks of four words, of which a number of 8 bytes
// takes two.
#define UNIFORM 0
#define NORMAL 1
#define TRUNCATED 2
#define FULL_INT 3
#define UNIFORM_INT 4

#include "values.cl"

#pragma OPENCL FP_CONTRACT OFF

typedef struct {
  ulong key, low, high;
} Stream;

static uint4 block_at(Stream s, ulong ahead) {
  const ulong low = s.low + ahead, high = s.high + (low < ahead);
  uint4 c = (uint4)((uint)low, (uint)(low >> 32), (uint)high, (uint)(high >> 32));
  uint k0 = (uint)s.key, k1 = (uint)(s.key >> 32);
  for (int round = 0; round < 10; ++round) {
    const ulong p0 = (ulong)0xD2511F53u * c.x, p1 = (ulong)0xCD9E8D57u * c.z;
    c = (uint4)((uint)(p1 >> 32) ^ c.y ^ k0, (uint)p1, (uint)(p0 >> 32) ^ c.w ^ k1, (uint)p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// In [0, 1), by the random bits as a mantissa.
static float unit_float(uint x) { return as_float((x & 0x7fffffu) | 0x3f800000u) - 1.0f; }
#if HR_HAS_DOUBLE
static double unit_double(uint x0, uint x1) {
  return as_double((ulong)1023 << 52 | (ulong)(x0 & 0xfffffu) << 32 | x1) - 1.0;
}
#endif

#if defined(T_double)
#define PER_BLOCK 2
#define UNIT(b, q) unit_double(q ? b.z : b.x, q ? b.w : b.y)
#else
#define PER_BLOCK 4
static uint word(uint4 b, int q) { return q == 0 ? b.x : q == 1 ? b.y : q == 2 ? b.z : b.w; }
#if defined(T_half)
#define UNIT(b, q) (hr_half_to_float((ushort)((word(b, q) & 0x3ffu) | 15u << 10)) - 1.0f)
#elif defined(T_bfloat16)
#define UNIT(b, q) (hr_bfloat16_to_float((ushort)((word(b, q) & 0x7fu) | 127u << 7)) - 1.0f)
#else
#define UNIT(b, q) unit_float(word(b, q))
#endif
#endif

#if WAY == UNIFORM

kernel void random(HR_OUT(T, y), const Stream s, const ulong n, const ulong per_item) {
  HR_OUTPUT(T, y);
  const ulong first = get_global_id(0) * per_item;
  for (ulong block = first; block < first + per_item; ++block) {
    if (block * PER_BLOCK >= n) return;
    const uint4 b = block_at(s, block);
    for (int q = 0; q < PER_BLOCK; ++q)
      if (block * PER_BLOCK + q < n) y[block * PER_BLOCK + q] = STORE(UNIT(b, q));
  }
}

#elif WAY == NORMAL || WAY == TRUNCATED

#if defined(T_double)
typedef double2 Pair;
#define WORDS 4
#else
typedef float2 Pair;
#define WORDS 2
#endif

// Two normal numbers (Box and Muller 1958) of two uniform ones.
#if defined(T_double)
static Pair box_muller(uint x0, uint x1, uint x2, uint x3) {
  const double u = max(1e-7, unit_double(x0, x1));
  const double angle = 2.0 * M_PI * unit_double(x2, x3);
  const double radius = sqrt(-2.0 * log(u));
  return (Pair)(sin(angle) * radius, cos(angle) * radius);
}
#else
static Pair box_muller(uint x0, uint x1) {
  const float u = max(unit_float(x0), 1e-7f);
#if HR_HAS_DOUBLE
  const float angle = (float)(2.0 * M_PI * (double)unit_float(x1));
#else
  const float angle = 6.2831853f * unit_float(x1);
#endif
  const float radius = sqrt(-2.0f * log(u));
  return (Pair)(sin(angle) * radius, cos(angle) * radius);
}
#endif

#if WAY == NORMAL

kernel void random(HR_OUT(T, y), const Stream s, const ulong n, const ulong per_item) {
  HR_OUTPUT(T, y);
  const ulong first = get_global_id(0) * per_item;
  for (ulong block = first; block < first + per_item; ++block) {
    const ulong at = block * PER_BLOCK;
    if (at >= n) return;
    const uint4 b = block_at(s, block);
#if defined(T_double)
    const Pair pair = box_muller(b.x, b.y, b.z, b.w);
    y[at] = pair.x;
    if (at + 1 < n) y[at + 1] = pair.y;
#else
    const Pair one = box_muller(b.x, b.y), two = box_muller(b.z, b.w);
    y[at] = STORE(one.x);
    if (at + 1 < n) y[at + 1] = STORE(one.y);
    if (at + 2 < n) y[at + 2] = STORE(two.x);
    if (at + 3 < n) y[at + 3] = STORE(two.y);
#endif
  }
}

#else

// Numbers within two standard deviations: every group of as many as a block holds has a stretch of
// the stream to itself, since it takes an unknown part of it.
kernel void random(HR_OUT(T, y), const Stream s, const ulong n, const ulong per_item) {
  HR_OUTPUT(T, y);
  const ulong first = get_global_id(0) * per_item;
  for (ulong group = first; group < first + per_item; ++group) {
    if (group * PER_BLOCK >= n) return;
    const ulong stop = min(n, (group + 1) * PER_BLOCK);
    ulong block = group * (PER_BLOCK * 256 / 4);
    for (ulong i = group * PER_BLOCK; i < stop; ++block) {
      const uint4 b = block_at(s, block);
#if defined(T_double)
      const Pair pairs[] = {box_muller(b.x, b.y, b.z, b.w)};
      for (int k = 0; k < 1; ++k) {
#else
      const Pair pairs[] = {box_muller(b.x, b.y), box_muller(b.z, b.w)};
      for (int k = 0; k < 2; ++k) {
#endif
        if (fabs(pairs[k].x) < 2 && i < stop) y[i++] = STORE(pairs[k].x);
        if (fabs(pairs[k].y) < 2 && i < stop) y[i++] = STORE(pairs[k].y);
      }
    }
  }
}

#endif
#endif
