#include "library/random/random_state.hpp"

#include <random>

#include "library/shapes.hpp"

namespace hr {

hr_code make_random_state(hr_node* node, void** state) {
  uint64_t seed = uint64_t(hr_attr_int(node, "seed", 0)),
           seed2 = uint64_t(hr_attr_int(node, "seed2", 0));
  if (seed == 0 && seed2 == 0) {
    std::random_device device;
    seed = uint64_t(device()) << 32 | device();
    seed2 = uint64_t(device()) << 32 | device();
  }
  *state = new RandomState(seed, seed2);
  return HR_OK;
}

void end_random_state(void* state) { delete static_cast<RandomState*>(state); }

Philox stateless_stream(const hr_tensor* seed) {
  auto at = [&](int i) {
    switch (seed->dtype) {
      case HR_UINT32: return uint64_t(read<uint32_t>(seed)[i]);
      case HR_UINT64: return read<uint64_t>(seed)[i];
      default: return uint64_t(int_at(seed, i));
    }
  };
  return Philox::scrambled(at(0), at(1));
}

}  // namespace hr
