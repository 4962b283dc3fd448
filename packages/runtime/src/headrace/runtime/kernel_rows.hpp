// Kernel rows by op, the higher priority first, with their constraints parsed.
#pragma once
#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph_node.hpp"

namespace headrace {

struct KernelRow {
  const hr_kernel* kernel;
  std::string library;
  bool python = false;
  std::vector<std::pair<std::string, std::vector<hr_dtype>>> constraint;
};

inline hr_dtype dtype_of_name(const std::string& name) {
  static const std::unordered_map<std::string, hr_dtype> names = {
      {"float", HR_FLOAT}, {"double", HR_DOUBLE}, {"int32", HR_INT32}, {"uint8", HR_UINT8},
      {"int16", HR_INT16}, {"int8", HR_INT8}, {"string", HR_STRING}, {"complex64", HR_COMPLEX64},
      {"int64", HR_INT64}, {"bool", HR_BOOL}, {"qint8", HR_QINT8}, {"quint8", HR_QUINT8},
      {"qint32", HR_QINT32}, {"bfloat16", HR_BFLOAT16}, {"qint16", HR_QINT16},
      {"quint16", HR_QUINT16}, {"uint16", HR_UINT16}, {"complex128", HR_COMPLEX128},
      {"half", HR_HALF}, {"resource", HR_RESOURCE}, {"variant", HR_VARIANT},
      {"uint32", HR_UINT32}, {"uint64", HR_UINT64}, {"float8_e5m2", HR_FLOAT8_E5M2},
      {"float8_e4m3fn", HR_FLOAT8_E4M3FN}};
  auto found = names.find(name);
  return found == names.end() ? HR_INVALID : found->second;
}

class KernelRows {
 public:
  // Rows are `stride` bytes apart: a library built with a longer hr_kernel is read as ours.
  void add(const hr_kernel_table* table, bool python) {
    const char* at = reinterpret_cast<const char*>(table->kernels);
    for (int32_t i = 0; i < table->n_kernels; ++i, at += table->kernel_size) {
      KernelRow row;
      row.kernel = reinterpret_cast<const hr_kernel*>(at);
      row.library = table->library;
      row.python = python;
      if (row.kernel->constraint) row.constraint = parse(row.kernel->constraint);
      auto& rows = by_op_[row.kernel->op];
      auto place = std::find_if(rows.begin(), rows.end(), [&](const KernelRow& other) {
        return other.kernel->priority < row.kernel->priority;
      });
      rows.insert(place, std::move(row));
    }
  }

  const KernelRow* find(const GraphNode* node, const char* device_type, bool allow_python) const {
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

  const KernelRow* row_of(const hr_kernel* kernel) const {
    auto found = rows(kernel->op);
    if (found)
      for (const auto& row : *found)
        if (row.kernel == kernel) return &row;
    return nullptr;
  }

 private:
  std::unordered_map<std::string, std::vector<KernelRow>> by_op_;

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
