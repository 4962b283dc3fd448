// Builds Summary messages.
#ifndef HEADRACE_CPU_SUMMARY_SUMMARY_MESSAGE_HPP
#define HEADRACE_CPU_SUMMARY_SUMMARY_MESSAGE_HPP

#include <string>

#include "files/protobuf_writer.hpp"
#include "headrace/kernel.h"
#include "library/registration.hpp"
#include "library/shape_rules.hpp"
#include "library/text.hpp"

namespace hr::summary {

// The numbers of Summary.Value's fields.
enum : uint32_t {
  kTag = 1,
  kSimpleValue = 2,
  kImage = 4,
  kHisto = 5,
  kAudio = 6,
  kTensor = 8,
  kMetadata = 9
};

class Summary {
 public:
  void add(const protobuf::Message& value) { message_.always(1, value); }
  void add(std::string_view value) { message_.always(1, value); }
  hr_code give(hr_ctx* ctx, hr_tensor* out) const {
    return set_text(ctx, out, 0, message_.bytes());
  }

 private:
  protobuf::Message message_;
};

// Whose output is the one string, whose input 0 the one tag.
// TensorFlow takes no vector of one tag.
inline hr_code need_rank_0(hr_request* r, int i, const char* what) {
  if (r->inputs[i]->rank == 0) return HR_OK;
  return hr_request_fail(r, HR_INVALID_ARGUMENT, "%s must be a scalar, is %s", what,
                         ShapeText(r->inputs[i]).text);
}

inline hr_code prepare_tagged(hr_request* r) {
  if (hr_code code = need_rank_0(r, 0, "tag")) return code;
  return hr_shape_scalar(r);
}

// Several pictures or sounds of one op have numbers, even where only one came.
inline std::string numbered(std::string_view tag, const char* kind, int64_t most, int64_t i) {
  std::string name(tag);
  name += kind;
  if (most != 1) name += "/" + std::to_string(i);
  return name;
}

}  // namespace hr::summary

#endif
