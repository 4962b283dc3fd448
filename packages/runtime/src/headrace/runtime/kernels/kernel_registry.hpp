// The kernel registrations of all libraries, by op and by descending priority, and the ops that
// their fused kernels take in.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph_node.hpp"
#include "memory/dtype_names.hpp"

namespace headrace {

using ListDevices = hr_device* const* (*)(int32_t*);

struct KernelRegistration {
  const hr_kernel* kernel;
  std::string library;
  bool python = false;
  ListDevices devices = nullptr;  // of the library; its kernels are for these only
  // Attribute name, and the dtypes that it may have.
  std::vector<std::pair<std::string, std::vector<hr_dtype>>> constraint;
};

// The library that a kernel belongs to.
struct KernelOwner {
  std::string library;
  bool python = false;
};

class KernelRegistry {
 public:
  void add(const hr_kernel_table* table, bool python) {
    const char* at = reinterpret_cast<const char*>(table->kernels);
    for (int32_t i = 0; i < table->n_kernels; ++i, at += table->kernel_size)
      add_kernel(as_current(reinterpret_cast<const hr_kernel*>(at), table->kernel_size,
                            &extended_kernels_),
                 table->library, python, devices_of(table));
    add_devices(table);
    if (table->size < offsetof(hr_kernel_table, fusible_ops) + sizeof table->fusible_ops) return;
    at = reinterpret_cast<const char*>(table->fusible_ops);
    for (int32_t i = 0; i < table->n_fusible_ops; ++i, at += table->fusible_op_size)
      fusible_.push_back(as_current(reinterpret_cast<const hr_fusible_op*>(at),
                                    table->fusible_op_size, &extended_fusible_ops_));
  }

  const KernelRegistration* find(const GraphNode* node, const char* device_type,
                                 bool allow_python) const {
    if (node->info && node->info->function) return nullptr;
    auto found = by_op_.find(node->op);
    if (found == by_op_.end()) return nullptr;
    for (const auto& registration : found->second) {
      if (registration.python && !allow_python) continue;
      if (std::strcmp(registration.kernel->device_type, device_type) == 0 &&
          is_for_found_devices(registration, device_type) &&
          satisfies_constraint(registration, node))
        return &registration;
    }
    return nullptr;
  }

  // Makes the devices of a type those of one library, the first one that has some: a kernel of one
  // library cannot run on the devices of another. Returns whether `list` is that of this library.
  bool claim(const std::string& type, ListDevices list) {
    auto owner = owners_of_types_.find(type);
    if (owner == owners_of_types_.end()) return false;  // no library has kernels for them
    ListDevices expected = nullptr;
    return owner->second.compare_exchange_strong(expected, list) || expected == list;
  }

  const std::vector<KernelRegistration>* registrations(const std::string& op) const {
    auto found = by_op_.find(op);
    return found == by_op_.end() ? nullptr : &found->second;
  }

  std::set<std::string> device_types() const {
    std::set<std::string> types;
    for (const auto& [op, registrations] : by_op_)
      for (const KernelRegistration& registration : registrations)
        types.insert(registration.kernel->device_type);
    return types;
  }

  // Whether a table has kernels for devices of this type, which have memory of their own. Such a
  // table lists its devices, and the registry has the runtime's own kernels for these types.
  bool is_accelerator_type(const std::string& type) const {
    return owners_of_types_.count(type) != 0;
  }
  const std::vector<ListDevices>& device_lists() const { return device_lists_; }

  // What the libraries say about missing devices, a text each.
  std::vector<std::string> reasons_for_no_devices() const {
    std::vector<std::string> texts;
    for (const auto why : reasons_) {
      const char* text = why();
      if (text && *text) texts.push_back(text);
    }
    return texts;
  }

  // Adds the runtime's kernels for any device, whose device_type is set for each type that comes.
  void add_for_every_device(const hr_kernel* kernels, int32_t n) {
    for (int32_t i = 0; i < n; ++i) {
      for_every_device_.push_back(&kernels[i]);
      for (const auto& [type, owner] : owners_of_types_) add_for_device(&kernels[i], type);
    }
  }

  // Null: a kernel that no table contains.
  const KernelOwner* owner_of(const hr_kernel* kernel) const {
    auto found = owners_.find(kernel);
    return found == owners_.end() ? nullptr : &found->second;
  }

  // How fused_op takes in an op in this role (HR_FUSE_...); null: no library lists it.
  const hr_fusible_op* find_fusible(const char* fused_op, const std::string& op,
                                    int32_t role) const {
    for (const hr_fusible_op* listed : fusible_)
      if (listed->role == role && op == listed->op && !std::strcmp(fused_op, listed->fused_op))
        return listed;
    return nullptr;
  }

 private:
  std::unordered_map<std::string, std::vector<KernelRegistration>> by_op_;
  std::unordered_map<const hr_kernel*, KernelOwner> owners_;
  std::vector<const hr_fusible_op*> fusible_;
  std::vector<ListDevices> device_lists_;
  std::vector<const char* (*)()> reasons_;
  // By type of accelerator; null: none of its devices is found yet.
  std::map<std::string, std::atomic<ListDevices>> owners_of_types_;
  std::vector<const hr_kernel*> for_every_device_;
  // Records of libraries that were built before fields were added, and the runtime's kernels for
  // further device types; registrations point at them.
  std::deque<hr_kernel> extended_kernels_;
  std::deque<hr_fusible_op> extended_fusible_ops_;

  static ListDevices devices_of(const hr_kernel_table* table) {
    bool has = table->size >= offsetof(hr_kernel_table, devices) + sizeof table->devices;
    return has ? table->devices : nullptr;
  }

  void add_devices(const hr_kernel_table* table) {
    if (!devices_of(table)) return;
    device_lists_.push_back(table->devices);
    if (table->size >= offsetof(hr_kernel_table, why_no_devices) + sizeof table->why_no_devices &&
        table->why_no_devices)
      reasons_.push_back(table->why_no_devices);
    const char* at = reinterpret_cast<const char*>(table->kernels);
    for (int32_t i = 0; i < table->n_kernels; ++i, at += table->kernel_size) {
      const char* type = reinterpret_cast<const hr_kernel*>(at)->device_type;
      if (std::strcmp(type, "CPU") == 0 || !owners_of_types_.try_emplace(type).second) continue;
      for (const hr_kernel* kernel : for_every_device_) add_for_device(kernel, type);
    }
  }

  void add_for_device(const hr_kernel* kernel, const std::string& type) {
    extended_kernels_.push_back(*kernel);
    extended_kernels_.back().device_type = owners_of_types_.find(type)->first.c_str();
    add_kernel(&extended_kernels_.back(), "runtime", false, nullptr);
  }

  // A record that has at least the fields of this ABI: a shorter one is copied, with zeros in the
  // fields that it lacks.
  template <typename Record>
  static const Record* as_current(const Record* record, uint32_t size,
                                  std::deque<Record>* extended) {
    if (size >= sizeof(Record)) return record;
    extended->emplace_back();
    std::memcpy(&extended->back(), record, size);
    return &extended->back();
  }

  bool is_for_found_devices(const KernelRegistration& registration, const char* type) const {
    if (!registration.devices) return true;
    auto owner = owners_of_types_.find(type);
    if (owner == owners_of_types_.end()) return true;  // CPU
    ListDevices found = owner->second;
    return !found || found == registration.devices;
  }

  void add_kernel(const hr_kernel* kernel, const char* library, bool python, ListDevices devices) {
    KernelRegistration added;
    added.kernel = kernel;
    added.library = library;
    added.python = python;
    added.devices = devices;
    if (kernel->constraint) added.constraint = parse(kernel->constraint);
    owners_[kernel] = {added.library, python};
    auto& registrations = by_op_[kernel->op];
    auto place = std::find_if(
        registrations.begin(), registrations.end(),
        [&](const KernelRegistration& other) { return other.kernel->priority < kernel->priority; });
    registrations.insert(place, std::move(added));
  }

  static std::vector<std::pair<std::string, std::vector<hr_dtype>>> parse(const char* text) {
    std::vector<std::pair<std::string, std::vector<hr_dtype>>> out;
    std::string key, word;
    bool in_key = true;
    for (const char* p = text;; ++p) {
      if (*p == '=' && in_key) {
        key = word;
        word.clear();
        in_key = false;
        out.push_back({key, {}});
      } else if (*p == '|' || *p == ';' || *p == '\0') {
        if (!in_key) out.back().second.push_back(dtype_of_name(word));
        word.clear();
        if (*p != '|') in_key = true;
        if (*p == '\0') break;
      } else if (*p != ' ') {
        word += *p;
      }
    }
    return out;
  }

  static bool satisfies_constraint(const KernelRegistration& registration, const GraphNode* node) {
    for (const auto& [attribute, allowed] : registration.constraint) {
      const auto& dtypes = allowed;
      auto is_allowed = [&](hr_dtype t) {
        return std::find(dtypes.begin(), dtypes.end(), t) != dtypes.end();
      };
      hr_dtype one = hr_attr_type(&node->abi_node, attribute.c_str());
      if (one != HR_INVALID) {
        if (!is_allowed(one)) return false;
        continue;
      }
      const hr_dtype* many = nullptr;
      size_t n = 0;
      if (node->abi_node.api->attr_types(&node->abi_node, attribute.c_str(), &many, &n) != HR_OK)
        return false;
      for (size_t i = 0; i < n; ++i)
        if (!is_allowed(many[i])) return false;
    }
    return true;
  }
};

}  // namespace headrace
