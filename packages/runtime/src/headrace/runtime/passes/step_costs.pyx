# distutils: language = c++
"""What the nodes of a step take: estimated from static shapes, or measured (white paper §3.2.1).

The estimate is that of threads/cost_model.hpp, from operations and bytes that follow from the
shapes that the graph states; an unknown size counts as 1. Few graphs state them all. Measured
times and sizes of traced steps take their place, by the names of nodes.
"""

from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport OpEntry
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.node_text cimport text_of
from headrace.runtime.kernels.kernel_table cimport NOTHING, SESSION_CONSTANT, is_python_kernel
from headrace.runtime.memory.kernel_abi cimport (
    HR_INT32, HR_KERNEL_VIEW, HR_REF, HR_RESOURCE, HR_VARIANT, hr_dtype, hr_tensor,
)
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode

from google.protobuf.message import DecodeError

from headrace.formats import op_catalogue
from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.run_pb2 import RunMetadata


cdef extern from "passes/static_shapes.hpp" namespace "headrace" nogil:
    ctypedef void* hr_shape_fn
    hr_shape_fn hr_shape_rule_by_name(const char*)
    const int64_t kMostBytes

    cdef cppclass StaticShapes:
        void resize(size_t n_values) except +
        hr_tensor& operator[](int32_t value)
        void declare(hr_tensor& value, const GraphNode& node)
        void copy(const hr_tensor& source, hr_tensor& to)
        void count(hr_tensor& value)
        void infer(hr_shape_fn rule, GraphNode& node, const vector[int32_t]& inputs,
                   int32_t first_output) except +

cdef extern from "passes/op_flops.hpp" namespace "headrace" nogil:
    double op_flops(const GraphNode& node, const hr_tensor* const* inputs,
                    const hr_tensor* const* outputs)

cdef extern from "threads/cost_model.hpp" namespace "headrace" nogil:
    double expected_time "headrace::expected_ns"(double flops, double bytes_moved)
    const double kNsPerKernel
    const double kNsPerPythonKernel

cdef int32_t UNKNOWN_RANK = -1

# The sizes of a node's further outputs are not kept.
cdef int MOST_OUTPUTS = 1 << 16

# The shapes of a graph, and lists of the node at hand.
cdef cppclass Estimator:
    StaticShapes shapes
    vector[int32_t] inputs
    vector[const hr_tensor*] arguments
    vector[const hr_tensor*] results

# The shape rules of ops in the catalogue, whose entries live as long as the process.
cdef unordered_map[size_t, size_t] _rules


cdef class NodeCosts:
    """What the steps of a session were measured to take."""

    cpdef observe(self, bytes run_metadata):
        """Takes the times and sizes of a traced step.

        The time of a fused node is divided among the nodes that it was made of. What nodes in loops
        took in all iterations is added.

        Raises: InvalidArgumentError for bytes that are no RunMetadata.
        """
        cdef vector[int64_t] sizes
        times = {}
        outputs = {}
        try:
            stats = RunMetadata.FromString(run_metadata).step_stats
        except DecodeError as error:
            raise InvalidArgumentError(
                None, None, f"the trace is not a serialized RunMetadata: {error}") from None
        for device in stats.dev_stats:
            for node in device.node_stats:
                parts = [part.partition(" = ")[0] for part in node.timeline_label.split("; ")]
                for part in parts:
                    took = (node.op_end_rel_nanos or node.op_end_rel_micros * 1000) - (
                        node.op_start_rel_nanos or node.op_start_rel_micros * 1000)
                    times[part] = times.get(part, 0) + took / len(parts)
                outputs[node.node_name] = {
                    output.slot: min(
                        output.tensor_description.allocation_description.requested_bytes,
                        kMostBytes)
                    for output in node.output if 0 <= output.slot < MOST_OUTPUTS}
        for name, took in times.items():
            of_slot = outputs.get(name, {})
            sizes = [of_slot.get(k, -1) for k in range(max(of_slot, default=-1) + 1)]
            self.measured.add(<string>name.encode(), took, sizes)

    def note_measured(self, report):
        """Puts what is measured by now into a PlacementReport."""
        cdef const MeasuredCost* found
        cdef bytes name
        devices = {device.name: device for device in report.device}
        for device in report.device:
            device.measured_us = 0
        for node in report.node:
            name = node.name.encode()
            found = self.measured.find(<string>name)
            if found != NULL:
                node.measured_us = found.time.ns(0) / 1000
                devices[node.device].measured_us += node.measured_us

    def __len__(self):
        return self.measured.size()


cdef hr_shape_fn _rule_of(const OpEntry* entry) except? NULL:
    found = _rules.find(<size_t>entry)
    if found != _rules.end():
        return <hr_shape_fn>dereference(found).second
    rule = op_catalogue.signature(text_of(entry.name)).shape_rule.encode()
    cdef hr_shape_fn made = hr_shape_rule_by_name(rule)
    _rules[<size_t>entry] = <size_t>made
    return made


cdef int estimate_costs(GraphIR ir, const vector[int32_t]& order, NodeCosts measured,
                        StepCosts* costs) except -1:
    cdef Estimator e
    cdef size_t n = ir.nodes.size(), i
    cdef int32_t n_values = 0
    costs.expected_ns.assign(n, 0)
    costs.measured_ns.assign(n, -1)
    costs.folded.assign(n, 0)
    costs.first_value.assign(n, 0)
    for i in range(n):
        costs.first_value[i] = n_values
        n_values += max(ir.nodes[i].n_outputs, 1)
    e.shapes.resize(n_values)
    costs.bytes.assign(n_values, 0)
    for i in range(order.size()):
        _estimate(ir, order[i], &e, costs)
        if measured is not None and measured.measured.size():
            _take_measured(ir, order[i], measured, e.shapes, costs)
    for i in range(<size_t>n_values):
        costs.bytes[i] = e.shapes[<int32_t>i].bytes
    return 0


cdef int _estimate(GraphIR ir, int32_t i, Estimator* e, StepCosts* costs) except -1:
    cdef IRNode* node = &ir.nodes[i]
    cdef int32_t first = costs.first_value[i], k
    cdef Edge edge
    cdef bint known = True
    cdef double moved = 0, flops = 0
    e.inputs.clear()
    e.arguments.clear()
    e.results.clear()
    for k in range(node.n_outputs):
        edge.node = i
        edge.port = k
        e.shapes[first + k].dtype = ir.dtype_of(edge) % HR_REF
    for k in range(node.n_inputs):
        edge = ir.edges[node.first_input + k]
        e.inputs.push_back(costs.first_value[edge.node] + edge.port)
    if node.kind == NodeKind.FEED:
        e.shapes.declare(e.shapes[first], node.source[0])
        return 0
    if node.kind == NodeKind.MERGE:
        for k in range(<int32_t>e.inputs.size()):
            if e.shapes[e.inputs[k]].rank >= 0 or k == 0:
                e.shapes.copy(e.shapes[e.inputs[k]], e.shapes[first])
                if e.shapes[e.inputs[k]].rank >= 0:
                    break
        return 0
    if node.kind != NodeKind.KERNEL:   # passes its input on
        for k in range(node.n_outputs):
            if e.inputs.size():
                e.shapes.copy(e.shapes[e.inputs[0]], e.shapes[first + k])
        return 0
    if not _refers_to_variable(node, e.shapes, e.inputs, first):
        e.shapes.infer(_rule_of(node.entry) if node.entry != NULL else NULL, node.source[0], e.inputs,
                     first)
    for k in range(<int32_t>e.inputs.size()):
        e.arguments.push_back(&e.shapes[e.inputs[k]])
        moved += <double>e.shapes[e.inputs[k]].bytes
        known = known and e.shapes[e.inputs[k]].rank != UNKNOWN_RANK
    for k in range(node.n_outputs):
        e.results.push_back(&e.shapes[first + k])
        moved += <double>e.shapes[first + k].bytes
        known = known and e.shapes[first + k].rank != UNKNOWN_RANK
    costs.folded[i] = _is_folded(ir, node, e.shapes, first, costs)
    if costs.folded[i] or node.kernel == NULL or node.kernel.flags & (
            NOTHING | SESSION_CONSTANT | HR_KERNEL_VIEW):
        return 0
    if known:
        flops = op_flops(node.source[0], e.arguments.data(), e.results.data())
    costs.expected_ns[i] = kNsPerKernel + expected_time(flops, moved)
    if is_python_kernel(node.kernel):
        costs.expected_ns[i] += kNsPerPythonKernel
    return 0


cdef bint _refers_to_variable(IRNode* node, StaticShapes& shapes, vector[int32_t]& inputs,
                              int32_t first) except -1:
    """Gives references and handles the shape of their variable, and reads that of their handle."""
    cdef hr_dtype dtype = node.source.output_dtypes[0] if node.n_outputs else <hr_dtype>0
    cdef bint reads = node.source.op == b"ReadVariableOp"
    if dtype < HR_REF and dtype != HR_RESOURCE and not reads:
        return False
    if inputs.size():
        shapes.copy(shapes[inputs[0]], shapes[first])
    else:
        shapes.declare(shapes[first], node.source[0])
    if shapes[first].rank != UNKNOWN_RANK:
        shapes.count(shapes[first])
    return True


cdef bint _is_folded(GraphIR ir, IRNode* node, StaticShapes& shapes, int32_t first,
                     StepCosts* costs) noexcept:
    """Whether all inputs are constants, so that the value is computed once."""
    cdef int32_t k
    if node.entry == NULL or not node.entry.pure and node.source.op != b"Const":
        return False
    if node.n_controls:
        return False
    for k in range(node.n_inputs):
        if not costs.folded[ir.edges[node.first_input + k].node]:
            return False
    for k in range(node.n_outputs):
        if shapes[first + k].bytes > FOLD_LIMIT or shapes[first + k].dtype == HR_VARIANT:
            return False
    return True


cdef int _take_measured(GraphIR ir, int32_t i, NodeCosts measured, StaticShapes& shapes,
                        StepCosts* costs) except -1:
    """Puts what was measured in place of the estimate.

    The time of a node without a kernel that computes (Recv, a queue) contains what it waited.
    """
    cdef IRNode* node = &ir.nodes[i]
    cdef const MeasuredCost* found
    cdef int32_t k
    if node.kind == NodeKind.FEED:
        return 0
    found = measured.measured.find(node.source.name)
    if found == NULL:
        return 0
    if node.kernel == NULL or node.kernel.compute != NULL:
        costs.measured_ns[i] = found.time.ns(0)
    for k in range(min(node.n_outputs, <int32_t>found.output_bytes.size())):
        if found.output_bytes[k] >= 0:
            if found.output_bytes[k] != shapes[costs.first_value[i] + k].bytes:
                shapes[costs.first_value[i] + k].rank = UNKNOWN_RANK
            shapes[costs.first_value[i] + k].bytes = found.output_bytes[k]
    return 0
