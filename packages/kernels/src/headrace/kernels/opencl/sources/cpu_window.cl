// Pixels, the taps of a filter, and windows of few channels copied to scratch; for the CPU family.

#define TAPS 128  // in scratch at a time
#define OUTSIDE (-(1 << 29))

typedef struct {
  int y, x;    // from the pixel's origin
  int filter;  // the tap's number
  int run;     // how many taps lie side by side, this one included
} tap;

typedef struct {
  int y, x;   // of tap (0, 0), perhaps outside of the image
  long from;  // its place in the operand
  long to;    // the pixel's place in the result
} pixel;

inline int up_to_multiple(int n, int of) { return (n + of - 1) / of * of; }

// Fills the table with the taps from `first` on, as many as fit.
inline int list_taps(int first, int size_h, int size_w, int dilation_h, int dilation_w,
                     __local tap* taps) {
  const int n = min(TAPS, size_h * size_w - first);
  for (int t = 0; t < n; ++t) {
    const int ky = (first + t) / size_w, kx = (first + t) % size_w;
    taps[t].y = ky * dilation_h;
    taps[t].x = kx * dilation_w;
    taps[t].filter = first + t;
    taps[t].run = dilation_w == 1 ? size_w - kx : 1;
  }
  return n;
}

typedef struct {
  int h, w, pitch;  // pitch: channels of a pixel
  int depth;        // channels that are read
  long end;         // elements
} image;

// Copies the channels of taps t0 to t1 of a pixel, zeros where a tap is outside. May write up to
// LANES elements beyond.
inline void copy_window(reader from, const image* in, pixel p,
                        __local const tap* taps, int t0, int t1, __local T* to) {
  for (int t = t0; t < t1;) {
    const int n = min(taps[t].run, t1 - t), length = n * in->depth;
    const int y = p.y + taps[t].y, x = p.x + taps[t].x;
    const long at = p.from + ((long)taps[t].y * in->w + taps[t].x) * in->pitch;
    if (y < 0 || y >= in->h) {
      for (int q = 0; q < length; q += LANES) VECTOR(to + q) = (vec)(0);
    } else if (x >= 0 && x + n <= in->w && (n == 1 || in->depth == in->pitch) &&
               at + length + LANES <= in->end) {
      for (int q = 0; q < length; q += LANES) VECTOR(to + q) = LOAD(from + at + q);
    } else {
      for (int i = 0; i < n; ++i) {
        const bool inside = x + i >= 0 && x + i < in->w;
        for (int c = 0; c < in->depth; ++c)
          to[i * in->depth + c] = inside ? from[at + i * in->pitch + c] : 0;
      }
    }
    t += n;
    to += length;
  }
}
