#include "codegen/part_moves.hpp"

#include <algorithm>
#include <numeric>

#include "codegen/copied_types.hpp"
#include "codegen/element.hpp"

namespace hr::cl {
namespace {

constexpr size_t kMostParts = 16;
constexpr size_t kGroup = 256;

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

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::string PartMoves::plan_move(Device& device, const Parts& parts, hr_dtype dtype, int64_t begin,
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

std::string PartMoves::plan(Device& device, const Parts& parts, hr_dtype dtype, bool varies) {
  join_ = parts.join;
  if (parts.outer == 0) return "";
  for (size_t i = 0; i < parts.counts.size(); ++i)
    if (parts.counts[i]) parts_.push_back(i);
  int64_t begin = 0;
  for (size_t i = 0, n; i < parts_.size(); i += n) {
    n = std::min(parts_.size() - i, kMostParts);
    while (varies && n & (n - 1)) n &= n - 1;  // a power of 2
    std::vector<int64_t> counts;
    for (size_t k = i; k < i + n; ++k) counts.push_back(parts.counts[parts_[k]]);
    Move move{nullptr, {}, i, counts.size(), {}, {}};
    const std::string error = plan_move(device, parts, dtype, begin, counts, &move);
    if (!error.empty()) return error;
    begin += std::accumulate(counts.begin(), counts.end(), int64_t(0));
    moves_.push_back(std::move(move));
  }
  return "";
}

hr_code PartMoves::launch(hr_ctx* ctx, void* const* parts, void* whole) const {
  for (const Move& move : moves_) {
    Argument arguments[kMostParts + 2];
    int n = 0;
    for (size_t i = 0; i < move.parts; ++i) {
      void* part = parts[parts_[move.first_part + i]];
      arguments[n++] = join_ ? argument(In{part}) : argument(Out{part});
    }
    arguments[n++] = join_ ? argument(Out{whole}) : argument(In{whole});
    arguments[n++] = move.narrow.empty()
                         ? Argument{Argument::kValue, move.wide.size() * 8, move.wide.data()}
                         : Argument{Argument::kValue, move.narrow.size() * 4, move.narrow.data()};
    if (hr_code code = launch_arguments(ctx, *move.kernel, move.grid, arguments, n)) return code;
  }
  return HR_OK;
}

}  // namespace hr::cl
