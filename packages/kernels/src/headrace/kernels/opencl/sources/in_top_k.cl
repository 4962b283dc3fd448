// Whether the target's prediction is among the k largest of its row. I is the type of targets.
//
// GROUP items read a row: of a CPU device one. Grid: rows times GROUP.

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void in_top_k(
    HR_IN(float, predictions), HR_IN(I, targets), HR_OUT(uchar, y), const long rows, const long n,
    const long k) {
  HR_INPUT(float, predictions);
  HR_INPUT(I, targets);
  HR_OUTPUT(uchar, y);
  const long row = get_group_id(0);
  const int item = get_local_id(0);
  global const float *x = predictions + row * n;
  const long target = targets[row];
  int finite = target >= 0 && target < n;
  const float own = finite ? x[target] : 0;
  long above = 0;
  for (long i = item; i < n; i += GROUP) {
    finite = finite & isfinite(x[i]);
    above += x[i] > own;
  }
#if GROUP > 1
  local long counts[GROUP];
  local int all_finite;
  counts[item] = above;
  if (item == 0) all_finite = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (!finite) all_finite = 0;
  for (int step = GROUP / 2; step; step /= 2) {
    if (item < step) counts[item] += counts[item + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  above = counts[0];
  finite = all_finite;
#endif
  if (item == 0) y[row] = finite && above < k;
}
