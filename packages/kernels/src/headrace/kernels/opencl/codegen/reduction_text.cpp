#include "codegen/reduction_text.hpp"

namespace hr::cl {
namespace {

std::string number(int64_t n) { return std::to_string(n); }

std::string sizes_struct(const Runs& runs) {
  std::string text =
      "typedef struct {\n  Index kept, reduced, inner, segments, segment, per_item, folded, "
      "number;\n";
  if (runs.kept_rank)
    text += "  Index kept_dims[" + number(runs.kept_rank) + "], kept_strides[" +
            number(runs.kept_rank) + "];\n";
  if (runs.reduced_rank)
    text += "  Index reduced_dims[" + number(runs.reduced_rank) + "], reduced_strides[" +
            number(runs.reduced_rank) + "];\n";
  return text + "} Sizes;\n";
}

// A macro: the offset of step i through the dimensions of kept or reduced runs.
std::string offset_function(const char* name, int32_t rank) {
  const std::string dims = std::string("s->") + name + "_dims",
                    strides = std::string("s->") + name + "_strides";
  std::string text =
      std::string("static inline Index hr_") + name + "(const Sizes* s, Index i) {\n";
  if (rank == 0) return text + "  return 0;\n}\n";
  if (rank == 1) return text + "  return i * " + strides + "[0];\n}\n";
  text += "  Index offset = 0;\n";
  for (int32_t d = rank - 1; d > 0; --d)
    text += "  offset += i % " + dims + "[" + number(d) + "] * " + strides + "[" + number(d) +
            "];\n  i /= " + dims + "[" + number(d) + "];\n";
  return text + "  return offset + i * " + strides + "[0];\n}\n";
}

std::string head(const Folding& folding, const Runs& runs, bool wide) {
  std::string text = wide ? "typedef long Index;\n" : "typedef int Index;\n";
  text += folding.functions + sizes_struct(runs) + offset_function("kept", runs.kept_rank) +
          offset_function("reduced", runs.reduced_rank);
  text += "kernel void reduce(";
  for (const Memory& m : folding.memory)
    text += (m.from == Memory::kInput ? "HR_IN_SHARED(" : "HR_OUT_SHARED(") + m.type + ", " +
            m.name + "), ";
  text += "const Sizes s) {\n";
  for (const Memory& m : folding.memory)
    text += (m.from == Memory::kInput ? "  HR_INPUT(" : "  HR_OUTPUT(") + m.type + ", " + m.name +
            ");\n";
  return text;
}

// A statement that folds the element at `at` into an accumulator.
std::string folded(const Folding& folding, const char* at, const char* nth, const char* into) {
  return std::string("{ const Index at = ") + at + ", nth = " + nth + "; " + folding.value + into +
         " = hr_fold(" + into + ", v); }\n";
}

// ---- CPU devices: one item a work-group, lanes that the compiler turns into vectors -------------

std::string cpu_rows(const Folding& f, const Runs& runs) {
  // The elements of a segment are [first, last) of the only row, or whole rows [first, last).
  const bool cut_inner = runs.reduced_rank == 0;
  std::string text =
      "const Index item = get_global_id(0), part = item % s.segments;\n"
      "Index result = item / s.segments * s.per_item;\n"
      "const Index end = min(result + s.per_item, s.kept);\n"
      "const Index first = part * s.segment;\n";
  text += cut_inner ? "const Index last = min(first + s.segment, s.inner);\n"
                    : "const Index last = min(first + s.segment, s.reduced);\n";
  text +=
      "for (; result < end; ++result) {\n"
      "const Index k = result;\n"
      "Total sum = hr_total(hr_start());\n";
  if (cut_inner)
    text += "{\nconst Index row = hr_kept(&s, k), done = 0, begin = first, stop = last;\n";
  else
    text +=
        "for (Index r = first; r < last; ++r) {\n"
        "const Index row = hr_kept(&s, k) + hr_reduced(&s, r), done = r * s.inner;\n"
        "const Index begin = 0, stop = s.inner;\n";
  text +=
      "for (Index b = begin; b < stop; b += 4096) {\n"
      "const Index e = min(b + 4096, stop);\n"
      "Index j = b;\n"
      "Acc acc = hr_start();\n"
      "if (e - b >= 64) {\n"
      "Acc lanes[32];\n"
      "for (int l = 0; l < 32; ++l) lanes[l] = acc;\n"
      "for (; j + 32 <= e; j += 32) {\n"
      "_Pragma(\"unroll\")\nfor (int l = 0; l < 32; ++l)\n" +
      folded(f, "row + j + l", "done + j + l", "lanes[l]") +
      "}\n"
      "for (int step = 16; step; step /= 2)\n"
      "for (int l = 0; l < step; ++l) lanes[l] = hr_fold(lanes[l], lanes[l + step]);\n"
      "acc = lanes[0];\n"
      "}\n"
      "for (; j < e; ++j)\n" +
      folded(f, "row + j", "done + j", "acc") +
      "sum = hr_fold_totals(sum, hr_total(acc));\n"
      "}\n}\n{\n"
      "const Index k = result * s.segments + part;\n"
      "const Total total = sum;\n" +
      f.finish + "}\n}\n}\n";
  return text;
}

// An item folds a strip of columns, four rows at a time, into accumulators that stay in the cache.
std::string cpu_columns(const Folding& f) {
  const std::string width = number(kCpuColumns);
  const auto rows = [&](int n) {
    std::string text =
        "_Pragma(\"clang loop vectorize(assume_safety)\")\n"
        "for (Index c = 0; c < width; ++c) {\nconst Index k = k0 + c;\nAcc a = acc[c];\n";
    for (int i = 0; i < n; ++i) {
      const std::string at = "row" + number(i) + " + c", nth = "r + " + number(i);
      text += folded(f, at.c_str(), nth.c_str(), "a");
    }
    return text + "acc[c] = a;\n}\n";
  };
  std::string four;
  for (int i = 0; i < 4; ++i)
    four += "const Index row" + number(i) + " = begin + hr_reduced(&s, r + " + number(i) + ");\n";
  return "const Index strips = (s.inner + s.per_item - 1) / s.per_item;\n"
         "const Index item = get_global_id(0), part = item / (strips * s.kept);\n"
         "const Index strip = item % (strips * s.kept), column = strip % strips * s.per_item;\n"
         "const Index width = min(s.inner - column, s.per_item);\n"
         "const Index k0 = strip / strips * s.inner + column;\n"
         "const Index begin = hr_kept(&s, strip / strips) + column;\n"
         "const Index first = part * s.segment, last = min(first + s.segment, s.reduced);\n"
         "Acc acc[" +
         width + "];\nTotal sums[" + width +
         "];\n"
         "for (Index c = 0; c < width; ++c) sums[c] = hr_total(hr_start());\n"
         "for (Index b = first; b < last; b += 256) {\n"
         "const Index e = min(b + 256, last);\n"
         "for (Index c = 0; c < width; ++c) acc[c] = hr_start();\n"
         "Index r = b;\n"
         "for (; r + 4 <= e; r += 4) {\n" +
         four + rows(4) +
         "}\n"
         "for (; r < e; ++r) {\nconst Index row0 = begin + hr_reduced(&s, r);\n" +
         rows(1) +
         "}\n"
         "for (Index c = 0; c < width; ++c) sums[c] = hr_fold_totals(sums[c], hr_total(acc[c]));\n"
         "}\n"
         "for (Index c = 0; c < width; ++c) {\n"
         "const Index k = part * s.kept * s.inner + k0 + c;\n"
         "const Total total = sums[c];\n" +
         f.finish + "}\n}\n";
}

// ---- GPUs ---------------------------------------------------------------------------------------

// Four elements at a time, so that as many loads are on their way.
std::string gpu_loop(const Folding& f, const std::string& begin, const std::string& end,
                     const std::string& step, const std::string& declare, const char* at,
                     const char* nth) {
  std::string text =
      "Acc acc = hr_start(), acc1 = acc, acc2 = acc, acc3 = acc;\n{\nIndex e = " + begin + ";\n" +
      "for (; e + 3 * " + step + " < " + end + "; e += 4 * " + step + ") {\n";
  static const char* const accs[] = {"acc", "acc1", "acc2", "acc3"};
  for (int i = 0; i < 4; ++i)
    text += "{ const Index i = e + " + number(i) + " * " + step + ";\n" + declare +
            folded(f, at, nth, accs[i]) + "}\n";
  text += "}\nfor (; e < " + end + "; e += " + step + ") {\nconst Index i = e;\n" + declare +
          folded(f, at, nth, "acc") + "}\n}\n";
  return text + "acc = hr_fold(hr_fold(acc, acc1), hr_fold(acc2, acc3));\n";
}

std::string gpu_rows(const Folding& f, const Runs& runs, int64_t group) {
  const bool one_row = runs.reduced_rank == 0;
  const std::string items = number(group), results = number(kGpuGroup / group);
  std::string text =
      "const int lane = get_local_id(0), slot = get_local_id(1);\n"
      "const Index number = get_group_id(0) * " +
      results +
      " + slot;\n"
      "const int inside = number < s.kept * s.segments;\n"
      "const Index k = inside ? number / s.segments : 0, part = inside ? number % s.segments : 0;\n"
      "const Index base = hr_kept(&s, k);\n";
  if (one_row) {
    text += "const Index first = part * s.segment, last = min(first + s.segment, s.inner);\n" +
            gpu_loop(f, "first + lane", "last", items, "", "base + i", "i");
  } else {
    text +=
        "const Index first = part * s.segment;\n"
        "const Index last = min(first + s.segment, s.reduced * s.inner);\n" +
        gpu_loop(f, "first + lane", "last", items, "const Index r = i / s.inner;\n",
                 "base + hr_reduced(&s, r) + i - r * s.inner", "i");
  }
  text += "Total sum = hr_total(acc);\n";
  if (group > 1) {
    text += "local Total sums[" + results + "][" + items +
            "];\nsums[slot][lane] = sum;\n"
            "for (int step = " +
            items +
            " / 2; step; step /= 2) {\n"
            "barrier(CLK_LOCAL_MEM_FENCE);\n"
            "if (lane < step) sums[slot][lane] = "
            "hr_fold_totals(sums[slot][lane], sums[slot][lane + step]);\n}\n"
            "sum = sums[slot][0];\n";
  }
  return text + "if (inside && lane == 0) {\nconst Index k = number;\nconst Total total = sum;\n" +
         f.finish + "}\n}\n";
}

// Many columns of few elements: an item for each.
std::string gpu_short_columns(const Folding& f) {
  return "const Index k = get_global_id(0);\n"
         "if (k >= s.kept * s.inner) return;\n"
         "const Index base = hr_kept(&s, k / s.inner) + k % s.inner;\n" +
         gpu_loop(f, "0", "s.reduced", "1", "", "base + hr_reduced(&s, i)", "i") +
         "const Total total = hr_total(acc);\n" + f.finish + "}\n";
}

std::string gpu_columns(const Folding& f) {
  const std::string width = number(kGpuColumns), height = number(kGpuRows);
  return "const int across = get_local_id(0), down = get_local_id(1);\n"
         "const Index strips = (s.inner + " +
         width + " - 1) / " + width +
         ";\n"
         "const Index strip = get_group_id(0), part = get_group_id(1);\n"
         "const Index column = strip % strips * " +
         width +
         " + across;\n"
         "const int inside = column < s.inner;\n"
         "const Index k = strip / strips * s.inner + (inside ? column : 0);\n"
         "const Index base = hr_kept(&s, strip / strips) + (inside ? column : 0);\n"
         "const Index first = part * s.segment, last = min(first + s.segment, s.reduced);\n" +
         gpu_loop(f, "first + down", "last", height, "", "base + hr_reduced(&s, i)", "i") +
         "local Total sums[" + height + "][" + width +
         "];\nsums[down][across] = hr_total(acc);\n"
         "for (int step = " +
         height +
         " / 2; step; step /= 2) {\n"
         "barrier(CLK_LOCAL_MEM_FENCE);\n"
         "if (down < step) sums[down][across] = "
         "hr_fold_totals(sums[down][across], sums[down + step][across]);\n}\n"
         "if (inside && down == 0) {\nconst Index result = k;\n{\n"
         "const Index k = part * s.kept * s.inner + result;\nconst Total total = "
         "sums[0][across];\n" +
         f.finish + "}\n}\n}\n";
}

}  // namespace

std::string reduction_text(const Folding& folding, const Runs& runs, bool cpu, int64_t group,
                           bool wide) {
  const std::string text = head(folding, runs, wide);
  if (cpu) return text + (runs.rows ? cpu_rows(folding, runs) : cpu_columns(folding));
  if (runs.rows) return text + gpu_rows(folding, runs, group);
  return text + (group == 1 ? gpu_short_columns(folding) : gpu_columns(folding));
}

}  // namespace hr::cl
