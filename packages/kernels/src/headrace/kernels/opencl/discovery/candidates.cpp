#include "discovery/candidates.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "api/errors.hpp"
#include "api/loader.hpp"
#include "device/device.hpp"

namespace hr::cl {

namespace {

constexpr char kCommand[] = "`python -m headrace.kernels.opencl` lists the devices";

std::string lower(std::string text) {
  for (char& c : text) c = char(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

bool matches(const Candidate& candidate, const std::string& word) {
  if (word.find_first_not_of("0123456789") == std::string::npos)
    return word == std::to_string(candidate.index);
  const Traits& traits = candidate.traits;
  const std::string all = traits.platform + "\n" + traits.platform_version + "\n" + traits.name +
                          "\n" + traits.vendor + "\n" + traits.driver;
  return lower(all).find(lower(word)) != std::string::npos;
}

}  // namespace

std::vector<Candidate> list_candidates(std::vector<std::string>* problems) {
  std::vector<Candidate> candidates;
  std::string error;
  if (!load(&error)) {
    if (!error.empty()) problems->push_back(error);
    return candidates;
  }
  cl_uint n_platforms = 0;
  const cl_int code = clGetPlatformIDs(0, nullptr, &n_platforms);
  if (code == CL_PLATFORM_NOT_FOUND_KHR || (code == CL_SUCCESS && n_platforms == 0))
    return candidates;
  std::vector<cl_platform_id> platforms(n_platforms);
  if (code != CL_SUCCESS ||
      clGetPlatformIDs(n_platforms, platforms.data(), nullptr) != CL_SUCCESS) {
    problems->push_back("list the platforms of OpenCL: " + error_name(code));
    return candidates;
  }
  for (const cl_platform_id platform : platforms) {
    cl_uint n = 0;
    const cl_int found = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &n);
    if (found == CL_DEVICE_NOT_FOUND || (found == CL_SUCCESS && n == 0)) continue;
    std::vector<cl_device_id> ids(n);
    if (found != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids.data(), nullptr) != CL_SUCCESS) {
      problems->push_back("list the devices of platform '" +
                          platform_text(platform, CL_PLATFORM_NAME) + "': " + error_name(found));
      continue;
    }
    for (const cl_device_id id : ids) {
      const bool is_gpu = device_value<cl_bitfield>(id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU;
      candidates.push_back(
          {int(candidates.size()), platform, id, is_gpu, read_traits(platform, id)});
    }
  }
  return candidates;
}

std::vector<const Candidate*> select_candidates(const std::vector<Candidate>& candidates,
                                                const std::string& request,
                                                std::vector<std::string>* problems) {
  std::vector<const Candidate*> selected;
  const std::string all = lower(trimmed(request));
  if (all == "none") return selected;
  if (all.empty() || all == "all") {
    for (const Candidate& candidate : candidates)
      if (!all.empty() || candidate.is_gpu) selected.push_back(&candidate);
    return selected;
  }
  std::istringstream words(request);
  for (std::string word; std::getline(words, word, ',');) {
    word = trimmed(word);
    if (word.empty()) continue;
    bool any = false;
    for (const Candidate& candidate : candidates) {
      if (!matches(candidate, word)) continue;
      any = true;
      if (std::find(selected.begin(), selected.end(), &candidate) == selected.end())
        selected.push_back(&candidate);
    }
    if (!any)
      problems->push_back("HEADRACE_OPENCL_DEVICES: no device matches '" + word + "': " + kCommand);
  }
  return selected;
}

}  // namespace hr::cl
