// Reads the bytes of a GraphDef message into flat arrays of views.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "memory/wire.hpp"

namespace headrace {

struct ParsedAttr {
  std::string_view key;
  std::string_view value;  // an AttrValue message
};

struct ParsedNode {
  std::string_view name, op, device;
  uint32_t first_input = 0, n_inputs = 0;
  uint32_t first_attr = 0, n_attrs = 0;
};

struct ParsedGraph {
  std::vector<ParsedNode> nodes;
  std::vector<std::string_view> inputs;  // as written: "x", "x:1", "^x"
  std::vector<ParsedAttr> attrs;
  std::vector<std::string_view> functions;  // FunctionDef messages
  std::vector<std::string_view> gradients;  // GradientDef messages
  int32_t producer = 0, min_consumer = 0;
  const char* problem = nullptr;  // null: the bytes are a GraphDef
  int64_t offset = 0;             // of the problem
};

namespace graph_def_detail {

inline void take_problem(const WireReader& reader, ParsedGraph& graph) {
  if (reader.problem() && !graph.problem) {
    graph.problem = reader.problem();
    graph.offset = reader.offset();
  }
}

inline void parse_attr(std::string_view bytes, const char* origin, ParsedGraph& graph) {
  ParsedAttr attr;
  WireReader reader(bytes, origin);
  while (reader.next()) {
    switch (reader.field()) {
      case 1: attr.key = reader.as_bytes(); break;
      case 2: attr.value = reader.as_bytes(); break;
      default: break;
    }
  }
  take_problem(reader, graph);
  graph.attrs.push_back(attr);
}

inline void parse_node(std::string_view bytes, const char* origin, ParsedGraph& graph) {
  ParsedNode node;
  node.first_input = static_cast<uint32_t>(graph.inputs.size());
  node.first_attr = static_cast<uint32_t>(graph.attrs.size());
  WireReader reader(bytes, origin);
  while (reader.next()) {
    switch (reader.field()) {
      case 1: node.name = reader.as_bytes(); break;
      case 2: node.op = reader.as_bytes(); break;
      case 3: graph.inputs.push_back(reader.as_bytes()); break;
      case 4: node.device = reader.as_bytes(); break;
      case 5: parse_attr(reader.as_bytes(), origin, graph); break;
      default: break;
    }
  }
  take_problem(reader, graph);
  node.n_inputs = static_cast<uint32_t>(graph.inputs.size()) - node.first_input;
  node.n_attrs = static_cast<uint32_t>(graph.attrs.size()) - node.first_attr;
  graph.nodes.push_back(node);
}

}  // namespace graph_def_detail

// The views point into `bytes`.
inline void parse_graph_def(std::string_view bytes, ParsedGraph& graph) {
  using namespace graph_def_detail;
  const char* origin = bytes.data();
  graph.nodes.reserve(bytes.size() / 80);
  graph.inputs.reserve(bytes.size() / 40);
  graph.attrs.reserve(bytes.size() / 40);
  WireReader reader(bytes, origin);
  while (!graph.problem && reader.next()) {
    switch (reader.field()) {
      case 1: parse_node(reader.as_bytes(), origin, graph); break;
      case 2: {
        WireReader library(reader.as_bytes(), origin);
        while (library.next()) {
          if (library.field() == 1) graph.functions.push_back(library.as_bytes());
          if (library.field() == 2) graph.gradients.push_back(library.as_bytes());
        }
        take_problem(library, graph);
        break;
      }
      case 4: {
        WireReader versions(reader.as_bytes(), origin);
        while (versions.next()) {
          switch (versions.field()) {
            case 1: graph.producer = static_cast<int32_t>(versions.as_varint()); break;
            case 2: graph.min_consumer = static_cast<int32_t>(versions.as_varint()); break;
            default: break;
          }
        }
        take_problem(versions, graph);
        break;
      }
      default: break;
    }
  }
  take_problem(reader, graph);
}

}  // namespace headrace
