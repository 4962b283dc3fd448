// The result of a request to OpenCL: a code for the runtime, and a text for people.
#ifndef HEADRACE_OPENCL_API_STATUS_HPP
#define HEADRACE_OPENCL_API_STATUS_HPP

#include <string>
#include <utility>

#include "api/errors.hpp"

namespace hr::cl {

struct Status {
  hr_code code = HR_OK;
  std::string text;

  Status() = default;
  Status(hr_code code, std::string text) : code(code), text(std::move(text)) {}
  bool ok() const { return code == HR_OK; }
};

inline Status failed(cl_int error, const std::string& action, const std::string& device) {
  return {code_of(error), error_text(error, action, device)};
}

}  // namespace hr::cl

#endif
