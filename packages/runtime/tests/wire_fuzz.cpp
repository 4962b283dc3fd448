// Feeds corrupted GraphDefs to the parser and to the decoders of attributes; run under sanitizers.
//   wire_fuzz FILE ROUNDS
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "graph/attributes.hpp"
#include "graph/graph_def.hpp"

namespace {

size_t parsed = 0, rejected = 0, decoded = 0;

void read_all(const std::string& bytes) {
  // A copy of the exact size: a byte too far is seen.
  std::unique_ptr<char[]> exact(new char[bytes.size()]);
  std::memcpy(exact.get(), bytes.data(), bytes.size());
  headrace::ParsedGraph graph;
  headrace::parse_graph_def(std::string_view(exact.get(), bytes.size()), graph);
  if (graph.problem) {
    ++rejected;
    if (graph.offset < 0 || graph.offset > static_cast<int64_t>(bytes.size())) std::abort();
    return;
  }
  ++parsed;
  for (const headrace::ParsedNode& from : graph.nodes) {
    headrace::GraphNode node;
    node.name = from.name;
    node.op = from.op;
    headrace::Attributes* attributes = headrace::make_attributes(&node);
    for (uint32_t i = 0; i < from.n_attrs; ++i) {
      const headrace::ParsedAttr& attr = graph.attrs[from.first_attr + i];
      attributes->entries.push_back({attr.key, attr.value});
    }
    headrace::fill_abi_node(&node);
    for (const headrace::AttrEntry& entry : attributes->entries) {
      std::string key(entry.key);
      int64_t number;
      int32_t rank;
      float real;
      const hr_tensor* tensor;
      const int64_t* dims;
      const int64_t* ints;
      const hr_string* strings;
      const char* data;
      size_t n, sum = 0;
      const hr_node_api* api = node.abi_node.api;
      api->attr_int(&node.abi_node, key.c_str(), &number);
      api->attr_float(&node.abi_node, key.c_str(), &real);
      if (api->attr_string(&node.abi_node, key.c_str(), &data, &n) == HR_OK)
        for (size_t c = 0; c < n; ++c) sum += static_cast<unsigned char>(data[c]);
      if (api->attr_shape(&node.abi_node, key.c_str(), &rank, &dims) == HR_OK)
        for (int32_t d = 0; d < rank; ++d) sum += static_cast<size_t>(dims[d]);
      if (api->attr_ints(&node.abi_node, key.c_str(), &ints, &n) == HR_OK)
        for (size_t c = 0; c < n; ++c) sum += static_cast<size_t>(ints[c]);
      if (api->attr_strings(&node.abi_node, key.c_str(), &strings, &n) == HR_OK)
        for (size_t c = 0; c < n; ++c)
          for (size_t b = 0; b < strings[c].size; ++b)
            sum += static_cast<size_t>(strings[c].data[b]);
      if (api->attr_tensor(&node.abi_node, key.c_str(), &tensor) == HR_OK) {
        ++decoded;
        if (tensor->dtype == HR_STRING) {
          auto* texts = static_cast<const hr_string*>(tensor->data);
          for (int64_t e = 0; e < hr_elements(tensor); ++e)
            for (size_t b = 0; b < texts[e].size; ++b) sum += static_cast<size_t>(texts[e].data[b]);
        } else {
          auto* raw = static_cast<const unsigned char*>(tensor->data);
          for (int64_t b = 0; b < tensor->bytes; ++b) sum += raw[b];
        }
      }
      static volatile size_t sink;
      sink = sum;
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  std::ifstream file(arguments[1], std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const int rounds = std::atoi(arguments[2]);
  read_all(whole);
  if (parsed != 1) return 3;
  for (size_t size = 0; size < whole.size(); ++size) read_all(whole.substr(0, size));
  std::mt19937 random(20151109);
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = whole;
    for (unsigned flips = 1 + random() % 4; flips > 0; --flips) {
      size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8)); break;
        case 2: bytes.erase(at, 1 + random() % 8); break;
        default: bytes.insert(at, 1 + random() % 8, static_cast<char>(0xff));
      }
      if (bytes.empty()) bytes = whole;
    }
    read_all(bytes);
  }
  std::printf("%zu parsed, %zu rejected, %zu tensors decoded\n", parsed, rejected, decoded);
  return 0;
}
