// The geometry of a sliding window in two dimensions, as ops/convolution/window_argument.hpp has
// it.

typedef struct {
  int batch;
  int in_h, in_w, in_pitch;  // in_pitch: elements between pixels
  int out_h, out_w, out_pitch;
  int depth, columns;  // channels of a group: that a product sums over, and of its result
  int size_h, size_w, stride_h, stride_w, low_h, low_w, dilation_h, dilation_w;
} window;
