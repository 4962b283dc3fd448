// StringToHashBucket, StringToHashBucketFast, StringToHashBucketStrong.
#include "library/attributes.hpp"
#include "library/shape_rules.hpp"
#include "library/text.hpp"
#include "math/string_hashes.hpp"
#include "processor/parallel.hpp"

namespace hr {
namespace {

struct Buckets {
  uint64_t count = 1, key0 = 0, key1 = 0;
};

enum class Hash { kMurmur, kFingerprint, kStrong };
constexpr uint64_t kSeed = 0xdecafcaffe;  // TensorFlow's

template <Hash hash> uint64_t hash_of(const Buckets& b, std::string_view text) {
  switch (hash) {
    case Hash::kMurmur: return murmur64(text, kSeed);
    case Hash::kFingerprint: return fingerprint64(text);
    default: return siphash24(b.key0, b.key1, text);
  }
}

template <Hash hash>
hr_code compute(hr_ctx* ctx, void* state, void*, const hr_tensor* const* in, hr_tensor* const* out,
                void*) {
  const auto& buckets = *static_cast<const Buckets*>(state);
  int64_t* to = write<int64_t>(out[0]);
  parallel_ranges(ctx, hr_elements(in[0]), grain_of(256), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      to[i] = int64_t(hash_of<hash>(buckets, text_at(in[0], i)) % buckets.count);
  });
  return HR_OK;
}

template <Hash hash> hr_code create(hr_node* node, void** state) {
  Buckets made;
  made.count = uint64_t(hr_attr_int(node, "num_buckets", 1));
  if (hash == Hash::kStrong) {
    const AttrList<int64_t> key = attr_ints(node, "key");
    if (key.size != 2)
      return node->api->fail(node, HR_INVALID_ARGUMENT, "Key must have 2 elements, it has %zu",
                             key.size);
    made.key0 = uint64_t(key[0]);
    made.key1 = uint64_t(key[1]);
  }
  *state = new Buckets(made);
  return HR_OK;
}

hr_code prepare(void*, hr_request* r) {
  HR_APPLY_RULE(unchanged, r);
  return HR_OK;
}

template <Hash hash> KernelRegistration hashing(const char* op) {
  return kernel(op, nullptr, prepare, compute<hash>).with_state(create<hash>, [](void* state) {
    delete static_cast<Buckets*>(state);
  });
}

}  // namespace

HR_KERNELS = {
    hashing<Hash::kMurmur>("StringToHashBucket"),
    hashing<Hash::kFingerprint>("StringToHashBucketFast"),
    hashing<Hash::kStrong>("StringToHashBucketStrong"),
};

}  // namespace hr
