// The attributes of ops that decode JPEG files, and the words of their errors.
#pragma once

#include <string>

#include "files/disk.hpp"
#include "library/attributes.hpp"
#include "library/registration.hpp"
#include "ops/image/jpeg.hpp"

namespace hr::jpeg {

inline hr_code read_options(hr_request* r, DecodeOptions* options) {
  const hr_node* node = r->node;
  options->channels = int(hr_attr_int(node, "channels", 0));
  if (options->channels != 0 && options->channels != 1 && options->channels != 3)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "channels must be 0, 1, or 3 for JPEG, got %d",
                           options->channels);
  options->ratio = int(hr_attr_int(node, "ratio", 1));
  if (options->ratio != 1 && options->ratio != 2 && options->ratio != 4 && options->ratio != 8)
    return hr_request_fail(r, HR_INVALID_ARGUMENT, "ratio must be 1, 2, 4, or 8, got %d",
                           options->ratio);
  options->fancy_upscaling = hr_attr_bool(node, "fancy_upscaling", 1) != 0;
  options->recovers_truncated = hr_attr_bool(node, "try_recover_truncated", 0) != 0;
  options->acceptable_fraction = hr_attr_float(node, "acceptable_fraction", 1);
  const std::string method(attr_text(node, "dct_method"));
  if (!method.empty() && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE")
    return hr_request_fail(r, HR_INVALID_ARGUMENT,
                           "dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}");
  options->dct_method = method == "INTEGER_ACCURATE" ? kAccurate : kFast;
  return HR_OK;
}

// Adds to a Failure how long the data is, in TensorFlow's words.
template <class Body> void with_data(size_t size, Body&& body) {
  try {
    body();
  } catch (const Failure& failure) {
    if (failure.code != HR_INVALID_ARGUMENT) throw;
    throw Failure{HR_INVALID_ARGUMENT, "Invalid JPEG data or crop window, data size " +
                                           std::to_string(size) + ": " + failure.text};
  }
}

}  // namespace hr::jpeg
