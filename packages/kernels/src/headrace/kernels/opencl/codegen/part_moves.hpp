// Moves elements between a whole and its parts: the whole is `outer` rows, and each part holds some
// elements of every row. One launch moves several parts.
#ifndef HEADRACE_OPENCL_CODEGEN_PART_MOVES_HPP
#define HEADRACE_OPENCL_CODEGEN_PART_MOVES_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "headrace/kernel.h"
#include "launch/launch.hpp"

namespace hr::cl {

struct Parts {
  bool join;                    // from the parts to the whole, else the other way
  int64_t outer, row;           // rows, and elements of the whole in a row
  std::vector<int64_t> counts;  // elements of each part in a row
};

// The launches for parts of given sizes, once they are planned.
class PartMoves {
 public:
  // `varies`: the number of parts differs from call to call; few programs then serve all numbers.
  // Returns "", or why there are none.
  std::string plan(Device& device, const Parts& parts, hr_dtype dtype, bool varies = false);
  // By part: its memory, which is not read where the part is empty.
  hr_code launch(hr_ctx* ctx, void* const* parts, void* whole) const;

 private:
  struct Move {
    const Kernel* kernel;
    Grid grid;
    size_t first_part, parts;
    std::vector<int64_t> wide;
    std::vector<int32_t> narrow;  // used where it is not empty
  };
  std::string plan_move(Device& device, const Parts& parts, hr_dtype dtype, int64_t begin,
                        const std::vector<int64_t>& counts, Move* move);

  bool join_ = true;
  std::vector<size_t> parts_;  // that are not empty
  std::vector<Move> moves_;
};

}  // namespace hr::cl

#endif
