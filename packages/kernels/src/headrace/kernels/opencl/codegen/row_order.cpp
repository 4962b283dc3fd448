#include "codegen/row_order.hpp"

#include "codegen/element.hpp"

namespace hr::cl {
namespace {

// As in row_order.cl.
constexpr int64_t kGroup = 256, kBlock = 2048;
constexpr int64_t kLocalMemory = kBlock * int64_t(sizeof(int64_t) + sizeof(int32_t));

}  // namespace

bool sorts_rows(const Traits& traits, int64_t n) {
  constexpr int64_t kFew = 4096, kMost = int64_t(1) << 29;
  return !traits.is_cpu && n > kFew && n <= kMost && traits.max_work_group >= size_t(kGroup) &&
         int64_t(traits.local_memory) >= kLocalMemory;
}

bool add_row_order(Device& device, hr_dtype dtype, Place indices, int64_t n, Sequence* to,
                   RowOrder* order, std::string* error) {
  const auto find = [&](const char* function) {
    return find_kernel(device, "row_order.cl", std::string("-DI=") + storage_type(dtype), function,
                       error);
  };
  const Kernel* blocks = find("order_blocks");
  const Kernel* pairs = blocks ? find("order_pairs") : nullptr;
  if (!pairs) return false;
  int64_t width = kBlock;
  while (width < n) width *= 2;
  order->rows = to->reserve(width * int64_t(hr_dtype_size(dtype)));
  order->numbers = to->reserve(width * int64_t(sizeof(int32_t)));
  const auto add_blocks = [&](int64_t first, int64_t last) {
    to->add(*blocks, Grid::of(size_t(width / kBlock * kGroup), size_t(kGroup)), indices,
            order->rows, order->numbers, int32_t(n), int32_t(first), int32_t(last));
  };
  add_blocks(2, kBlock);
  for (int64_t run = 2 * kBlock; run <= width; run *= 2) {
    for (int64_t distance = run / 2; distance >= kBlock; distance /= 2)
      to->add(*pairs, Grid::of(size_t(width / 2), size_t(kGroup)), order->rows, order->numbers,
              int32_t(n), int32_t(run), int32_t(distance));
    add_blocks(run, run);
  }
  return true;
}

}  // namespace hr::cl
