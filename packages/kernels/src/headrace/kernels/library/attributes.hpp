// Reads strings and lists among the attributes of a node.
#ifndef HEADRACE_LIBRARY_ATTRIBUTES_HPP
#define HEADRACE_LIBRARY_ATTRIBUTES_HPP

#include <cstdint>
#include <string_view>

#include "headrace/kernel.h"

namespace hr {

inline std::string_view attr_text(const hr_node* node, const char* key,
                                  std::string_view otherwise = {}) {
  const char* data = nullptr;
  size_t size = 0;
  if (node->api->attr_string(node, key, &data, &size) != HR_OK) return otherwise;
  return {data, size};
}

// A list attribute, as the node keeps it; empty where the attribute is missing.
template <class T> struct AttrList {
  const T* data = nullptr;
  size_t size = 0;
  const T* begin() const { return data; }
  const T* end() const { return data + size; }
  const T& operator[](size_t i) const { return data[i]; }
  bool empty() const { return size == 0; }
};

inline AttrList<int64_t> attr_ints(const hr_node* node, const char* key) {
  AttrList<int64_t> list;
  if (node->api->attr_ints(node, key, &list.data, &list.size) != HR_OK) return {};
  return list;
}

inline AttrList<float> attr_floats(const hr_node* node, const char* key) {
  AttrList<float> list;
  if (node->api->attr_floats(node, key, &list.data, &list.size) != HR_OK) return {};
  return list;
}

inline AttrList<hr_string> attr_strings(const hr_node* node, const char* key) {
  AttrList<hr_string> list;
  if (node->api->attr_strings(node, key, &list.data, &list.size) != HR_OK) return {};
  return list;
}

}  // namespace hr

#endif
