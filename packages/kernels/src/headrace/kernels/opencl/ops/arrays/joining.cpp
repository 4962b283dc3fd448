// Joins and splits tensors along a dimension: Concat, Pack, Split, Unpack.
//
// The whole is `outer` rows; each part holds some elements of every row. One kernel moves up to
// kMostParts parts.
#include <algorithm>
#include <numeric>
#include <vector>

#include "codegen/copied_types.hpp"
#include "codegen/element.hpp"
#include "launch/launch.hpp"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"

namespace hr::cl {
namespace {

constexpr size_t kMostParts = 16;
constexpr size_t kGroup = 256;

struct Parts {
  bool join;
  int64_t outer, row;           // rows, and elements of the whole in a row
  int32_t first;                // the input that is part 0, or the whole of a split
  std::vector<int64_t> counts;  // elements of each part in a row
};

// ---- the text -----------------------------------------------------------------------------------

std::string part_name(size_t i) { return "part" + std::to_string(i); }

std::string sizes(size_t parts, const char* index) {
  const std::string n = std::to_string(parts);
  return std::string("typedef struct {\n  ") + index +
         " outer, row, begin, width, rows_per_item, pieces, piece;\n  " + index + " counts[" + n +
         "], starts[" + n + "];\n} Sizes;\n";
}

std::string head(size_t parts, bool join, const std::string& type) {
  std::string text = "kernel void move_parts(", pointers;
  for (size_t i = 0; i < parts; ++i) {
    text += (join ? "HR_IN_SHARED(" : "HR_OUT_SHARED(") + type + ", " + part_name(i) + "), ";
    pointers += (join ? "HR_INPUT(" : "HR_OUTPUT(") + type + ", " + part_name(i) + ");\n";
  }
  text += (join ? "HR_OUT_SHARED(" : "HR_IN_SHARED(") + type + ", whole), const Sizes s) {\n";
  return text + pointers + (join ? "HR_OUTPUT(" : "HR_INPUT(") + type + ", whole);\n";
}

// An item copies a piece of the columns of some rows.
std::string cpu_text(size_t parts, bool join, const std::string& type) {
  std::string text = sizes(parts, "long") + head(parts, join, type);
  text +=
      "const long item = get_global_id(0);\n"
      "const long first = item % s.pieces * s.piece, last = min(first + s.piece, s.width);\n"
      "long r = item / s.pieces * s.rows_per_item;\n"
      "const long end = min(r + s.rows_per_item, s.outer);\n"
      "for (; r < end; ++r) {\n"
      "const long base = r * s.row + s.begin;\n";
  for (size_t i = 0; i < parts; ++i) {
    const std::string n = std::to_string(i);
    const std::string part = part_name(i) + "[r * s.counts[" + n + "] + j]";
    const std::string whole = "whole[base + start + j]";
    text += "{\nconst long start = s.starts[" + n +
            "];\n"
            "const long from = max(first - start, (long)0), to = min(last - start, s.counts[" +
            n +
            "]);\n_Pragma(\"clang loop vectorize(assume_safety)\")\n"
            "for (long j = from; j < to; ++j) " +
            (join ? whole + " = " + part : part + " = " + whole) + ";\n}\n";
  }
  return text + "}\n}\n";
}

// An item moves one element of the columns that the parts cover.
std::string gpu_text(size_t parts, bool join, const std::string& type, const char* index) {
  std::string text = sizes(parts, index) + head(parts, join, type);
  text += std::string("const ") + index +
          " item = get_global_id(0);\nif (item >= s.outer * s.width) return;\nconst " + index +
          " r = item / s.width, c = item - r * s.width, at = r * s.row + s.begin + c;\n";
  for (size_t i = 0; i < parts; ++i) {
    const std::string n = std::to_string(i);
    const std::string part = part_name(i) + "[r * s.counts[" + n + "] + c - s.starts[" + n + "]]";
    text += (i ? "else " : "") +
            (i + 1 < parts ? "if (c < s.starts[" + std::to_string(i + 1) + "]) " : std::string()) +
            (join ? "whole[at] = " + part : part + " = whole[at]") + ";\n";
  }
  return text + "}\n";
}

// ---- planning -----------------------------------------------------------------------------------

struct Move {
  const Kernel* kernel;
  Grid grid;
  size_t first_part, parts;
  std::vector<int64_t> wide;
  std::vector<int32_t> narrow;
};

struct Moves {
  bool join;
  int32_t first;
  std::vector<size_t> parts;  // that are not empty
  std::vector<Move> moves;
};

hr_code compute_moves(hr_ctx* ctx, void*, void* plan, const hr_tensor* const* in,
                      hr_tensor* const* out, void*) {
  const auto& p = *static_cast<const Moves*>(plan);
  for (const Move& move : p.moves) {
    Argument arguments[kMostParts + 2];
    int n = 0;
    for (size_t i = 0; i < move.parts; ++i) {
      const size_t part = p.parts[move.first_part + i];
      arguments[n++] =
          p.join ? argument(In{in[size_t(p.first) + part]->data}) : argument(Out{out[part]->data});
    }
    arguments[n++] = p.join ? argument(Out{out[0]->data}) : argument(In{in[p.first]->data});
    arguments[n++] = move.narrow.empty()
                         ? Argument{Argument::kValue, move.wide.size() * 8, move.wide.data()}
                         : Argument{Argument::kValue, move.narrow.size() * 4, move.narrow.data()};
    if (hr_code code = launch_arguments(ctx, *move.kernel, move.grid, arguments, n)) return code;
  }
  return HR_OK;
}

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

std::string plan_move(Device& device, const Parts& parts, hr_dtype dtype, int64_t begin,
                      const std::vector<int64_t>& counts, Move* move) {
  const std::string type = storage_type(copied_as(dtype));
  const int64_t width = std::accumulate(counts.begin(), counts.end(), int64_t(0));
  int64_t rows_per_item = 1, pieces = 1, piece = width;
  std::string text;
  if (device.traits.is_cpu) {
    const int64_t share =
        std::max<int64_t>(16384, divided(parts.outer * width, 8 * device.traits.compute_units));
    pieces = parts.outer == 1 || width >= 2 * share ? std::max<int64_t>(1, width / share) : 1;
    piece = divided(divided(width, pieces), 64) * 64;
    pieces = divided(width, piece);
    rows_per_item = pieces > 1 ? 1 : std::max<int64_t>(1, share / width);
    move->grid = Grid::of(size_t(divided(parts.outer, rows_per_item) * pieces), 1);
    text = cpu_text(counts.size(), parts.join, type);
  }
  move->wide = {parts.outer, parts.row, begin, width, rows_per_item, pieces, piece};
  move->wide.insert(move->wide.end(), counts.begin(), counts.end());
  int64_t start = 0;
  for (const int64_t count : counts) {
    move->wide.push_back(start);
    start += count;
  }
  if (!device.traits.is_cpu) {
    const bool wide = parts.outer * parts.row >= int64_t(1) << 31;
    move->grid = Grid::of(size_t(parts.outer * width), kGroup);
    text = gpu_text(counts.size(), parts.join, type, wide ? "long" : "uint");
    if (!wide) {
      move->narrow.assign(move->wide.begin(), move->wide.end());
      move->wide.clear();
    }
  }
  std::string error;
  move->kernel = generated_kernel(device, text, "", "move_parts", &error);
  return error;
}

hr_code fill_request(hr_request* r, const Parts& parts, hr_dtype dtype) {
  auto* plan = keep_plan(r, new Moves{parts.join, parts.first, {}, {}});
  r->compute = compute_moves;
  r->bytes_moved = 2.0 * double(parts.outer * parts.row * hr_dtype_size(dtype));
  if (parts.outer == 0) return HR_OK;
  for (size_t i = 0; i < parts.counts.size(); ++i)
    if (parts.counts[i]) plan->parts.push_back(i);
  int64_t begin = 0;
  for (size_t i = 0; i < plan->parts.size(); i += kMostParts) {
    std::vector<int64_t> counts;
    for (size_t k = i; k < std::min(plan->parts.size(), i + kMostParts); ++k)
      counts.push_back(parts.counts[plan->parts[k]]);
    Move move{nullptr, {}, i, counts.size(), {}, {}};
    const std::string error = plan_move(device_of(r), parts, dtype, begin, counts, &move);
    if (!error.empty()) return hr_request_fail(r, HR_INTERNAL, "%s", error.c_str());
    begin += std::accumulate(counts.begin(), counts.end(), int64_t(0));
    plan->moves.push_back(move);
  }
  return HR_OK;
}

// ---- ops ----------------------------------------------------------------------------------------

// Tensors whose dimension `axis` makes up the whole's.
Parts parts_along(bool join, const hr_tensor* const* tensors, int32_t n, int64_t axis,
                  int32_t first) {
  Parts parts{join, product(tensors[0]->dims, 0, int32_t(axis)), 0, first, {}};
  for (int32_t i = 0; i < n; ++i) {
    parts.counts.push_back(product(tensors[i]->dims, int32_t(axis), tensors[i]->rank));
    parts.row += parts.counts.back();
  }
  return parts;
}

// A part of Pack has the elements of one step along the new axis.
Parts layers(bool join, const hr_tensor* layer, int32_t n, int64_t axis) {
  const int64_t count = product(layer->dims, int32_t(axis), layer->rank);
  return {join, product(layer->dims, 0, int32_t(axis)), n * count, 0,
          std::vector<int64_t>(size_t(n), count)};
}

hr_code prepare_concat(void*, hr_request* r) {
  const bool v2 = r->node->op[6] == 'V';  // ConcatV2 has its axis last, Concat first
  if (v2) HR_APPLY_RULE(concat_v2, r);
  else HR_APPLY_RULE(concat, r);
  const int32_t n = r->node->n_inputs - 1, first = v2 ? 0 : 1;
  const int64_t axis = axis_of(int_at(r->inputs[v2 ? n : 0], 0), r->outputs[0]->rank);
  return fill_request(r, parts_along(true, r->inputs + first, n, axis, first),
                      r->outputs[0]->dtype);
}

hr_code prepare_pack(void*, hr_request* r) {
  HR_APPLY_RULE(pack, r);
  const int64_t axis = axis_of(hr_attr_int(r->node, "axis", 0), r->outputs[0]->rank);
  return fill_request(r, layers(true, r->inputs[0], r->node->n_inputs, axis), r->outputs[0]->dtype);
}

hr_code compute_nothing(hr_ctx*, void*, void*, const hr_tensor* const*, hr_tensor* const*, void*) {
  return HR_OK;
}

hr_code prepare_unpack(void*, hr_request* r) {
  HR_APPLY_RULE(unpack, r);
  const int64_t axis = axis_of(hr_attr_int(r->node, "axis", 0), r->inputs[0]->rank);
  if (r->node->n_outputs == 0) {
    r->compute = compute_nothing;
    return HR_OK;
  }
  return fill_request(r, layers(false, r->outputs[0], r->node->n_outputs, axis),
                      r->inputs[0]->dtype);
}

hr_code prepare_split(void*, hr_request* r) {
  HR_APPLY_RULE(split, r);
  const int64_t axis = axis_of(int_at(r->inputs[0], 0), r->inputs[1]->rank);
  return fill_request(r, parts_along(false, r->outputs, r->node->n_outputs, axis, 1),
                      r->inputs[1]->dtype);
}

hr_code prepare_split_v(void*, hr_request* r) {
  HR_APPLY_RULE(split_v, r);
  const int64_t axis = axis_of(int_at(r->inputs[2], 0), r->inputs[0]->rank);
  return fill_request(r, parts_along(false, r->outputs, r->node->n_outputs, axis, 0),
                      r->inputs[0]->dtype);
}

}  // namespace

HR_KERNELS = {
    kernel("ConcatV2", "T=" HR_COPIED, prepare_concat).constant(1),
    kernel("Concat", "T=" HR_COPIED, prepare_concat).constant(0),
    kernel("Pack", "T=" HR_COPIED, prepare_pack),
    kernel("Unpack", "T=" HR_COPIED, prepare_unpack),
    kernel("Split", "T=" HR_COPIED, prepare_split).constant(0),
    kernel("SplitV", "T=" HR_COPIED, prepare_split_v).constant(1, 2),
};

}  // namespace hr::cl
