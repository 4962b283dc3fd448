// The nodes of a session's graph: parsed once at extend, shared by all programs.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "headrace/kernel.h"
#include "memory/buffer.hpp"
#include "memory/call_error.hpp"

namespace headrace {

// An edge into a node. port -1: a control edge.
struct Edge {
  int32_t node;
  int32_t port;
};

constexpr uint16_t kAnyRank = (1 << 9) - 1;

struct ArgInfo {
  std::string name;
  hr_dtype dtype = HR_INVALID;  // or one of the three attributes below
  std::string type_attr, number_attr, type_list_attr;
  bool is_ref = false;
  uint16_t ranks = kAnyRank;  // ranks that its tensors may have: bit n for rank n
};

// The catalogue's facts about an op; made once per process, never freed.
struct OpInfo {
  std::string name;
  std::vector<ArgInfo> inputs, outputs;
  // (name, serialised AttrValue) of attributes that have a default.
  std::vector<std::pair<std::string, std::string>> defaults;
  bool stateful = false, commutative = false, aggregate = false, uninitialized_ok = false;
  bool shape_only = false;  // values depend on input shapes only
  bool view = false;        // output 0 is input 0 under another shape
  bool data_shape = false;  // an output shape depends on input values
  bool function = false;  // of a graph's function library: no kernel computes it, whatever its name
};

// What computes a call: nodes of the same graph that expand_calls.pyx made.
struct CallBody {
  std::vector<Edge> outputs;     // by output of the call
  std::vector<int32_t> effects;  // they run whenever the call runs
  int32_t done = -1;             // where control edges from the call start
  std::string function;          // name and attributes of the function, to find recursion
};

// A kernel's state for one node.
struct KernelState {
  const hr_kernel* kernel;
  void* state;
};

struct Attributes;  // parsed attribute values; see graph_def.hpp

struct GraphNode {
  hr_node abi_node;  // the view of kernels; first, so that hr_node* and GraphNode* convert
  std::string name, op, device;  // device: as requested; may be empty or partial
  const OpInfo* info = nullptr;
  std::vector<Edge> inputs;
  std::vector<int32_t> controls;
  std::vector<hr_dtype> input_dtypes, output_dtypes;
  std::vector<uint16_t> input_ranks;  // as in ArgInfo, by input; empty: any
  std::shared_ptr<Attributes> attributes;

  std::unique_ptr<CallBody> body;  // of a call, once a program needed it
  int32_t caller = -1;             // of a node of a body: the call; no graph can name such a node
  Edge argument{-1, -1};           // of an `_Arg` of a body: the tensor that the call passes

  // The kernel that the session used first and its state, made at first use (ensure_state). A
  // thread that reads `created` as true may use both; after a reset, `state` is the old or the new
  // one.
  const hr_kernel* kernel = nullptr;
  std::atomic<void*> state{nullptr};
  std::atomic<bool> created{false};
  const hr_kernel* creating = nullptr;  // whose `create` runs: one at a time
  // Of kernels of other devices, where the node runs on several.
  SpinLock others_lock;
  std::vector<KernelState> others;
  // Whether a program of _FusedElementwise may contain it, by its dtypes and attributes; -1: not
  // known yet.
  std::atomic<int8_t> may_fuse{-1};
  void* session = nullptr;  // SessionState*, for the runtime's own kernels
  CallError error;          // texts of abi_node.api->fail during create or prepare

  GraphNode() = default;
  GraphNode(const GraphNode&) = delete;
  GraphNode& operator=(const GraphNode&) = delete;
  ~GraphNode() {
    if (created.load() && kernel && kernel->destroy) kernel->destroy(state.load());
    for (const KernelState& other : others)
      if (other.kernel->destroy) other.kernel->destroy(other.state);
  }

  // Sets the state of that kernel, if there is one.
  bool find_state(const hr_kernel* wanted, void** found) {
    if (created.load() && kernel == wanted) {
      *found = state.load();
      return true;
    }
    std::lock_guard<SpinLock> hold(others_lock);
    for (const KernelState& other : others)
      if (other.kernel == wanted) {
        *found = other.state;
        return true;
      }
    return false;
  }
  void add_other(const hr_kernel* made_for, void* made) {
    std::lock_guard<SpinLock> hold(others_lock);
    others.push_back({made_for, made});
  }
  // Takes the states of other kernels away, for a reset.
  std::vector<KernelState> take_others() {
    std::lock_guard<SpinLock> hold(others_lock);
    return std::move(others);
  }
};

}  // namespace headrace
