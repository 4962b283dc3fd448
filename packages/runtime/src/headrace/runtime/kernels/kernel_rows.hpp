// Kernel rows by op, the higher priority first, with their constraints parsed.
#pragma once
#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph_node.hpp"
#include "memory/dtype_names.hpp"

namespace headrace {

struct KernelRow {
  const hr_kernel* kernel;
  std::string library;
  bool python = false;
  std::vector<std::pair<std::string, std::vector<hr_dtype>>> constraint;
};

// Which library a kernel is of.
struct KernelOwner {
  std::string library;
  bool python = false;
};

class KernelRows {
 public:
  // Rows are `kernel_size` bytes apart: a longer hr_kernel is read as ours, and a shorter one, of a
  // library built before fields were added, is copied with zeros behind it.
  void add(const hr_kernel_table* table, bool python) {
    const char* at = reinterpret_cast<const char*>(table->kernels);
    for (int32_t i = 0; i < table->n_kernels; ++i, at += table->kernel_size) {
      KernelRow row;
      row.kernel = reinterpret_cast<const hr_kernel*>(at);
      if (table->kernel_size < sizeof(hr_kernel)) {
        lengthened_.emplace_back();
        std::memcpy(&lengthened_.back(), at, table->kernel_size);
        row.kernel = &lengthened_.back();
      }
      row.library = table->library;
      row.python = python;
      owners_[row.kernel] = {row.library, python};
      if (row.kernel->constraint) row.constraint = parse(row.kernel->constraint);
      auto& rows = by_op_[row.kernel->op];
      auto place = std::find_if(rows.begin(), rows.end(), [&](const KernelRow& other) {
        return other.kernel->priority < row.kernel->priority;
      });
      rows.insert(place, std::move(row));
    }
  }

  const KernelRow* find(const GraphNode* node, const char* device_type, bool allow_python) const {
    if (node->info && node->info->function) return nullptr;
    auto rows = by_op_.find(node->op);
    if (rows == by_op_.end()) return nullptr;
    for (const auto& row : rows->second) {
      if (row.python && !allow_python) continue;
      if (std::strcmp(row.kernel->device_type, device_type) == 0 && fits(row, node)) return &row;
    }
    return nullptr;
  }

  const std::vector<KernelRow>* rows(const std::string& op) const {
    auto found = by_op_.find(op);
    return found == by_op_.end() ? nullptr : &found->second;
  }

  // Null: a kernel of no table.
  const KernelOwner* owner_of(const hr_kernel* kernel) const {
    auto found = owners_.find(kernel);
    return found == owners_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<std::string, std::vector<KernelRow>> by_op_;
  std::unordered_map<const hr_kernel*, KernelOwner> owners_;
  std::deque<hr_kernel> lengthened_;  // never moved: rows point at them

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

  static bool fits(const KernelRow& row, const GraphNode* node) {
    for (const auto& item : row.constraint) {
      const auto& allowed = item.second;
      auto ok = [&](hr_dtype t) {
        return std::find(allowed.begin(), allowed.end(), t) != allowed.end();
      };
      hr_dtype one = hr_attr_type(&node->face, item.first.c_str());
      if (one != HR_INVALID) {
        if (!ok(one)) return false;
        continue;
      }
      const hr_dtype* many = nullptr;
      size_t n = 0;
      if (node->face.api->attr_types(&node->face, item.first.c_str(), &many, &n) != HR_OK)
        return false;
      for (size_t i = 0; i < n; ++i)
        if (!ok(many[i])) return false;
    }
    return true;
  }
};

}  // namespace headrace
