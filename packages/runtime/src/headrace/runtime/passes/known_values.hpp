// Small integer tensors whose values follow from constants and shapes: they decide other shapes.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "graph/graph_node.hpp"
#include "headrace/kernel.h"

namespace headrace {

// The elements of a tensor of at most eight int32 or int64; n is -1 where they are not known.
struct KnownInts {
  int32_t n = -1;
  bool scalar = false;
  int64_t at[HR_MAX_RANK] = {};
  bool known() const { return n >= 0; }
};

inline KnownInts known_ints(const hr_tensor& t) {
  KnownInts found;
  if (!t.data || t.rank < 0 || t.rank > 1 || (t.dtype != HR_INT32 && t.dtype != HR_INT64))
    return found;
  const int64_t n = hr_elements(&t);
  if (n > HR_MAX_RANK) return found;
  found.n = int32_t(n);
  found.scalar = t.rank == 0;
  for (int64_t i = 0; i < n; ++i)
    found.at[i] = t.dtype == HR_INT32 ? static_cast<const int32_t*>(t.data)[i]
                                      : static_cast<const int64_t*>(t.data)[i];
  return found;
}

class KnownValues {
 public:
  // Sets the values of a node's outputs where they follow from its inputs, whose shapes are known.
  void propagate(const GraphNode& node, const hr_tensor* const* in, hr_tensor* const* out) {
    const std::string& op = node.op;
    const int32_t n_in = node.abi_node.n_inputs;
    if (op == "Identity") {
      out[0]->data = in[0]->data;
    } else if (op == "Shape" || op == "ShapeN") {
      for (int32_t i = 0; i < n_in; ++i) keep(dims_of(*in[i]), out[i]);
    } else if (op == "Size") {
      keep(product_of(dims_of(*in[0])), out[0]);
    } else if (op == "BroadcastGradientArgs") {
      gradient_axes(known_ints(*in[0]), known_ints(*in[1]), out);
    } else if (op == "Pack") {
      keep(joined(in, n_in, true), out[0]);
    } else if (op == "ConcatV2") {
      const KnownInts axis = known_ints(*in[n_in - 1]);
      if (axis.known() && in[0]->rank == 1) keep(joined(in, n_in - 1, false), out[0]);
    } else if (op == "StridedSlice") {
      keep(sliced(node, in), out[0]);
    } else if (op == "Prod") {
      const KnownInts x = known_ints(*in[0]);
      if (x.known() && out[0]->rank == 0) keep(product_of(x), out[0]);
    } else if (n_in == 2 && (op == "Mul" || op == "Add" || op == "AddV2" || op == "Sub" ||
                             op == "FloorDiv" || op == "Maximum")) {
      keep(combined(op, known_ints(*in[0]), known_ints(*in[1])), out[0]);
    }
  }

 private:
  static KnownInts scalar(int64_t value) {
    KnownInts made;
    made.n = 1;
    made.scalar = true;
    made.at[0] = value;
    return made;
  }
  static KnownInts product_of(const KnownInts& x) {
    int64_t product = 1;
    for (int32_t i = 0; i < x.n; ++i)
      if (__builtin_mul_overflow(product, x.at[i], &product)) return KnownInts();
    return scalar(product);
  }
  static KnownInts dims_of(const hr_tensor& t) {
    KnownInts made;
    made.n = t.rank;
    std::copy(t.dims, t.dims + t.rank, made.at);
    return made;
  }
  static KnownInts joined(const hr_tensor* const* in, int32_t n_in, bool scalars) {
    KnownInts made, none;
    made.n = 0;
    for (int32_t i = 0; i < n_in; ++i) {
      const KnownInts part = known_ints(*in[i]);
      if (!part.known() || part.scalar != scalars || made.n + part.n > HR_MAX_RANK) return none;
      std::copy(part.at, part.at + part.n, made.at + made.n);
      made.n += part.n;
    }
    return made;
  }
  // x[b:e:1] and x[i] of a vector.
  static KnownInts sliced(const GraphNode& node, const hr_tensor* const* in) {
    const KnownInts x = known_ints(*in[0]), begin = known_ints(*in[1]), end = known_ints(*in[2]),
                    step = known_ints(*in[3]);
    KnownInts made;
    const hr_node* abi = &node.abi_node;
    if (!x.known() || x.scalar || begin.n != 1 || end.n != 1 || step.n != 1 || step.at[0] != 1 ||
        hr_attr_int(abi, "ellipsis_mask", 0) || hr_attr_int(abi, "new_axis_mask", 0))
      return made;
    const auto bound = [&](int64_t i) {
      return std::min<int64_t>(std::max<int64_t>(i < 0 ? i + x.n : i, 0), x.n);
    };
    const int64_t first = hr_attr_int(abi, "begin_mask", 0) ? 0 : bound(begin.at[0]);
    if (hr_attr_int(abi, "shrink_axis_mask", 0)) return first < x.n ? scalar(x.at[first]) : made;
    const int64_t last = hr_attr_int(abi, "end_mask", 0) ? x.n : bound(end.at[0]);
    made.n = int32_t(std::max<int64_t>(0, last - first));
    std::copy(x.at + first, x.at + first + made.n, made.at);
    return made;
  }
  static KnownInts combined(const std::string& op, const KnownInts& a, const KnownInts& b) {
    KnownInts made;
    if (!a.known() || a.n != b.n || a.scalar != b.scalar) return made;
    made = a;
    for (int32_t i = 0; i < a.n; ++i) {
      const int64_t x = a.at[i], y = b.at[i];
      if (!combine(op, x, y, &made.at[i])) return KnownInts();
    }
    return made;
  }
  // False: it is not known, or too large.
  static bool combine(const std::string& op, int64_t x, int64_t y, int64_t* to) {
    if (op == "Mul") return !__builtin_mul_overflow(x, y, to);
    if (op == "Sub") return !__builtin_sub_overflow(x, y, to);
    if (op == "Maximum") {
      *to = std::max(x, y);
      return true;
    }
    if (op != "FloorDiv") return !__builtin_add_overflow(x, y, to);
    if (y <= 0) return false;
    *to = x / y - (x % y < 0);
    return true;
  }
  // Over which axes a gradient is summed where an operand was broadcast.
  void gradient_axes(const KnownInts& a, const KnownInts& b, hr_tensor* const* out) {
    if (!a.known() || !b.known()) return;
    const int32_t rank = std::max(a.n, b.n);
    const bool same = a.n == b.n && std::equal(a.at, a.at + a.n, b.at);
    KnownInts of[2];
    of[0].n = of[1].n = 0;
    for (int32_t i = 0; i < rank && !same; ++i) {
      const int64_t x = i < rank - a.n ? 1 : a.at[i - (rank - a.n)];
      const int64_t y = i < rank - b.n ? 1 : b.at[i - (rank - b.n)];
      if (x == 1) of[0].at[of[0].n++] = i;
      if (y == 1) of[1].at[of[1].n++] = i;
    }
    for (int32_t k = 0; k < 2; ++k) {
      out[k]->rank = 1;
      out[k]->dims[0] = of[k].n;
      keep(of[k], out[k]);
    }
  }
  void keep(const KnownInts& value, hr_tensor* to) {
    if (!value.known() || (to->dtype != HR_INT32 && to->dtype != HR_INT64)) return;
    for (int32_t i = 0; i < value.n && to->dtype == HR_INT32; ++i)
      if (value.at[i] != int32_t(value.at[i])) return;
    kept_.emplace_back();
    if (to->dtype == HR_INT64) {
      std::copy(value.at, value.at + value.n, kept_.back().data());
    } else {
      int32_t* narrow = reinterpret_cast<int32_t*>(kept_.back().data());
      for (int32_t i = 0; i < value.n; ++i) narrow[i] = int32_t(value.at[i]);
    }
    to->data = kept_.back().data();
    to->rank = value.scalar ? 0 : 1;
    to->dims[0] = value.n;
  }

  std::deque<std::array<int64_t, HR_MAX_RANK>> kept_;  // does not move its elements
};

}  // namespace headrace
