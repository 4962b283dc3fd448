// Tensors that stay in a session between runs, by handle.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "state/slot.hpp"

namespace headrace {

class SessionTensors {
 public:
  hr_object object;  // first

  // Returns the handle: "NODE;NUMBER;DEVICE".
  std::string add(const std::string& node, const std::string& device, OwnedTensor value) {
    std::lock_guard<std::mutex> hold(lock_);
    const std::string handle = node + ";" + std::to_string(next_) + ";" + device;
    tensors_.emplace(handle, std::move(value));
    ++next_;
    return handle;
  }

  // False: there is no such tensor.
  bool find(const std::string& handle, OwnedTensor* value) {
    std::lock_guard<std::mutex> hold(lock_);
    auto found = tensors_.find(handle);
    if (found == tensors_.end()) return false;
    value->share(*found->second.get());
    return true;
  }

  bool erase(const std::string& handle) {
    OwnedTensor erased;  // ends without the lock
    std::lock_guard<std::mutex> hold(lock_);
    auto found = tensors_.find(handle);
    if (found == tensors_.end()) return false;
    erased.take_from(found->second);
    tensors_.erase(found);
    return true;
  }

 private:
  std::mutex lock_;
  std::unordered_map<std::string, OwnedTensor> tensors_;
  int64_t next_ = 0;
};

}  // namespace headrace
