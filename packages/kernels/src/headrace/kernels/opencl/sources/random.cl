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
#else
#define PER_BLOCK 4
#endif

// An item makes CHUNK blocks at a time: their words first, then numbers of these.
#if HR_IS_CPU
#define CHUNK 64
#define LANES 16

static void words_of(Stream s, ulong block, uint *words) {
  for (int b = 0; b < CHUNK; b += LANES) {
    const ulong ahead = block + b;
    const ulong low = s.low + ahead, high = s.high + (low < ahead);
    if ((uint)low > 0xffffffffu - LANES) {  // the lower half of the counter overflows among them
      for (int l = 0; l < LANES; ++l) vstore4(block_at(s, ahead + l), b + l, words);
      continue;
    }
    uint16 c0 = (uint)low + (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    uint16 c1 = (uint)(low >> 32), c2 = (uint)high, c3 = (uint)(high >> 32);
    uint k0 = (uint)s.key, k1 = (uint)(s.key >> 32);
    for (int round = 0; round < 10; ++round) {
      const uint16 high0 = mul_hi((uint16)(0xD2511F53u), c0), low0 = 0xD2511F53u * c0;
      const uint16 high1 = mul_hi((uint16)(0xCD9E8D57u), c2), low1 = 0xCD9E8D57u * c2;
      c0 = high1 ^ c1 ^ k0;
      c1 = low1;
      c2 = high0 ^ c3 ^ k1;
      c3 = low0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    uint parts[4][LANES];
    vstore16(c0, 0, parts[0]);
    vstore16(c1, 0, parts[1]);
    vstore16(c2, 0, parts[2]);
    vstore16(c3, 0, parts[3]);
    for (int l = 0; l < LANES; ++l)
      for (int q = 0; q < 4; ++q) words[(b + l) * 4 + q] = parts[q][l];
  }
}
#else
#define CHUNK 1
static void words_of(Stream s, ulong block, uint *words) { vstore4(block_at(s, block), 0, words); }
#endif
#define NUMBERS (CHUNK * PER_BLOCK)

#if WAY == UNIFORM

static void numbers_of(const uint *words, C *numbers) {
  HR_VECTORIZE for (int i = 0; i < NUMBERS; ++i) {
#if defined(T_double)
    numbers[i] = unit_double(words[2 * i], words[2 * i + 1]);
#elif defined(T_half)
    numbers[i] = hr_half_to_float((ushort)((words[i] & 0x3ffu) | 15u << 10)) - 1.0f;
#elif defined(T_bfloat16)
    numbers[i] = hr_bfloat16_to_float((ushort)((words[i] & 0x7fu) | 127u << 7)) - 1.0f;
#else
    numbers[i] = unit_float(words[i]);
#endif
  }
}

#else

#include "normal.cl"

static void numbers_of(const uint *words, C *numbers) {
  HR_VECTORIZE for (int i = 0; i < NUMBERS / 2; ++i) {
#if defined(T_double)
    const double radius = radius_of(unit_double(words[4 * i], words[4 * i + 1]));
    const double turn = unit_double(words[4 * i + 2], words[4 * i + 3]);
#else
    const float radius = radius_of(unit_float(words[2 * i]));
    const float turn = unit_float(words[2 * i + 1]);
#endif
    numbers[2 * i] = sine_of_turn(turn) * radius;
    numbers[2 * i + 1] = cosine_of_turn(turn) * radius;
  }
}

#endif

#if WAY != TRUNCATED

kernel void random(HR_OUT(T, y), const Stream s, const ulong n, const ulong per_item) {
  HR_OUTPUT(T, y);
  const ulong first = get_global_id(0) * per_item;
  for (ulong block = first; block < first + per_item && block * PER_BLOCK < n; block += CHUNK) {
    uint words[4 * CHUNK];
    C numbers[NUMBERS];
    words_of(s, block, words);
    numbers_of(words, numbers);
    global T *to = y + block * PER_BLOCK;
    const ulong room = n - block * PER_BLOCK;
    if (room >= NUMBERS) {
      HR_VECTORIZE for (int i = 0; i < NUMBERS; ++i) to[i] = STORE(numbers[i]);
    } else {
      for (ulong i = 0; i < room; ++i) to[i] = STORE(numbers[i]);
    }
  }
}

#else

// Numbers within two standard deviations: every group of as many as a block holds has a stretch of
// the stream to itself, since it takes an unknown part of it.
kernel void random(HR_OUT(T, y), const Stream s, const ulong n, const ulong per_item) {
  HR_OUTPUT(T, y);
  const ulong first = get_global_id(0) * per_item;
  for (ulong group = first; group < first + per_item && group * PER_BLOCK < n; ++group) {
    const ulong stop = min(n, (group + 1) * PER_BLOCK);
    ulong block = group * (PER_BLOCK * 256 / 4);
    for (ulong i = group * PER_BLOCK; i < stop; block += 1) {
      uint words[4];
      vstore4(block_at(s, block), 0, words);
      for (int k = 0; k < PER_BLOCK / 2; ++k) {
#if defined(T_double)
        const double radius = radius_of(unit_double(words[0], words[1]));
        const double turn = unit_double(words[2], words[3]);
#else
        const float radius = radius_of(unit_float(words[2 * k]));
        const float turn = unit_float(words[2 * k + 1]);
#endif
        const C one = sine_of_turn(turn) * radius, two = cosine_of_turn(turn) * radius;
        if (fabs(one) < 2 && i < stop) y[i++] = STORE(one);
        if (fabs(two) < 2 && i < stop) y[i++] = STORE(two);
      }
    }
  }
}

#endif
