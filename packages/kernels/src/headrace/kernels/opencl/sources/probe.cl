// Whether a device runs kernels: y = factor * x + 1.

kernel void probe(HR_IN(int, x), HR_OUT(int, y), int n, long factor) {
  HR_INPUT(int, x);
  HR_OUTPUT(int, y);
  const int i = (int)get_global_id(0);
  if (i < n) y[i] = (int)(factor * x[i]) + 1;
}
