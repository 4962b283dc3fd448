#include "codegen/walk.hpp"

namespace hr::cl {

int64_t row_major(int32_t rank, const int64_t* dims, int64_t* strides) {
  int64_t step = 1;
  for (int32_t d = rank - 1; d >= 0; --d) {
    strides[d] = step;
    step *= dims[d];
  }
  return step;
}

Walk::Walk(const hr_tensor* shape) : rank(shape->rank) {
  for (int32_t d = 0; d < rank; ++d) dims[size_t(d)] = shape->dims[d];
}

void Walk::add(const hr_tensor* operand) {
  Strides added{};
  int64_t step = 1;
  for (int32_t d = rank - 1, s = operand->rank - 1; d >= 0; --d, --s) {
    const int64_t size = s >= 0 ? operand->dims[s] : 1;
    added[size_t(d)] = size == 1 && dims[size_t(d)] != 1 ? 0 : step;
    step *= size;
  }
  strides.push_back(added);
}

void Walk::collapse() {
  size_t kept = 0;
  for (size_t d = 0; d < size_t(rank); ++d) {
    const int64_t size = dims[d];
    if (size == 1) continue;
    bool merges = kept > 0;
    for (const Strides& s : strides) merges = merges && s[kept - 1] == s[d] * size;
    if (!merges) dims[kept++] = 1;
    dims[kept - 1] *= size;
    for (Strides& s : strides) s[kept - 1] = s[d];
  }
  rank = int32_t(kept);
  bool begins_later = false;
  for (const int64_t b : begins) begins_later = begins_later || b;
  if (rank > 0 || !begins_later) return;
  rank = 1;  // one element, at a place that is an argument
  dims[0] = 1;
  for (Strides& s : strides) s[0] = 0;
}

int64_t Walk::elements() const {
  int64_t n = 1;
  for (int32_t d = 0; d < rank; ++d) n *= dims[size_t(d)];
  return n;
}

bool Walk::is_whole(size_t operand) const {
  if (begin(operand)) return false;
  int64_t step = 1;
  for (int32_t d = rank - 1; d >= 0; --d) {
    if (strides[operand][size_t(d)] != step) return false;
    step *= dims[size_t(d)];
  }
  return true;
}

bool Walk::is_one(size_t operand) const {
  if (begin(operand)) return false;
  for (int32_t d = 0; d < rank; ++d)
    if (strides[operand][size_t(d)] != 0) return false;
  return true;
}

}  // namespace hr::cl
