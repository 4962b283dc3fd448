# distutils: language = c++
"""Delays what is sent until its receiver needs it (white paper §5.2).

The white paper delays the start of a Recv, since a Recv fetches its tensor. Here a Send pushes it,
and the receiver's memory is taken when it arrives: a Recv that starts late saves nothing. So the
sender is delayed. A tensor that exists also takes memory where it was made, so its making is
delayed, with what only serves it, as far back as that keeps fewer bytes alive than the tensor has.
Where the tensor exists anyway (a variable, a constant), only its sending is.

When is decided by the schedule of the expected step (step_units.pyx): a control edge leads from a
node of the receiving task to what is delayed. That node ends long enough before the tensor is
needed for everything in between: the signal, the making, the transfer; three times over, because
expected times are wrong. A node that ends then is before all that waits for the tensor, so the edges
close no cycle. The edges stay only if the step is expected to take no longer with them, and its
tensors a tenth less memory.

Only nodes outside of loops and conditionals are delayed or waited for, and none with state. Nothing
waits for what a queue gives: another part of the step may have to fill the queue before, which the
graph does not say.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.algorithm cimport sort
from libcpp.string cimport string
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport (
    attributes_of, fill_abi_node, kType, number_attr,
)
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.node_text cimport text_of
from headrace.runtime.kernels.kernel_table cimport is_python_kernel
from headrace.runtime.memory.kernel_abi cimport HR_REF, HR_RESOURCE, HR_VARIANT, hr_dtype
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode
from headrace.runtime.passes.step_costs cimport estimate_costs
from headrace.runtime.passes.step_units cimport StepUnits, is_boundary

cdef extern from "threads/cost_model.hpp" namespace "headrace" nogil:
    const double kNsBetweenDevices

# Smaller tensors are not worth a message.
cdef int64_t LEAST_BYTES = 1 << 20
# By how much the time between a trigger and a need exceeds what is expected to happen in it.
cdef double SAFETY = 3
# Memory must shrink to this share, and the step may not grow above that of its time.
cdef double GAIN = 0.9
cdef double MOST_TIME = 1.001

# Ops with state that concerns no other node, in whichever order they run.
_RANDOM = ("Random", "TruncatedNormal", "ParameterizedTruncatedNormal", "Multinomial")


cdef ReceiveSchedule schedule_receives(GraphIR ir, PlacementConfig config):
    cdef ReceiveSchedule schedule = ReceiveSchedule()
    schedule.ir = ir
    schedule.config = config
    if not schedule.run():
        schedule.undo()
        schedule.n_delayed = 0
        schedule.after = None
    return schedule


cdef bint _may_block(IRNode* node) noexcept:
    """Whether a node may wait for what the graph does not show, such as an element of a queue."""
    if node.kind != NodeKind.KERNEL or node.entry == NULL or not node.entry.stateful or \
            node.kernel == NULL:
        return False
    return node.kernel.compute == NULL or is_python_kernel(node.kernel)


cdef class ReceiveSchedule:
    """The delays of one signature."""

    cdef bint run(self) except -1:
        cdef GraphIR ir = self.ir
        cdef StepUnits after
        cdef vector[pair[double, int32_t]] needs    # when a value is needed elsewhere
        cdef pair[double, int32_t] need
        cdef vector[Edge] source_of
        cdef Edge edge
        cdef IRNode* node
        cdef int32_t i, k, value
        self.n_nodes = ir.nodes.size()
        self.task_of = ir.table.task_of
        ir.order(self.order)
        estimate_costs(ir, self.order, self.config.costs, &self.costs)
        source_of.resize(self.costs.bytes.size())
        for i in self.order:
            for k in range(ir.nodes[i].n_outputs):
                source_of[self.costs.first_value[i] + k].node = i
                source_of[self.costs.first_value[i] + k].port = k
        seen = set()
        for i in self.order:
            node = &ir.nodes[i]
            for k in range(node.n_inputs):
                edge = ir.edges[node.first_input + k]
                value = self.costs.first_value[edge.node] + edge.port
                if ir.nodes[edge.node].kind != NodeKind.FEED and value not in seen and \
                        self.costs.bytes[value] >= LEAST_BYTES and \
                        ir.nodes[edge.node].device != node.device:
                    seen.add(value)
        if len(seen) < 2:
            return False
        self.find_consumers()
        self.units = StepUnits()
        if not self.units.find(ir, self.config, self.costs, self.order, self.held_values()):
            return False
        self.find_triggers()
        for value in seen:
            need.first = self.units.finish_ns[self.units.unit_of[source_of[value].node]]
            for i in self.consumers[source_of[value].node]:
                need.first = max(need.first, self.units.start_ns[self.units.unit_of[i]])
            need.second = value
            needs.push_back(need)
        sort(needs.begin(), needs.end())
        held = []
        for need in needs:
            value = need.second
            i = source_of[value].node
            if self.delay_making(i, self.costs.bytes[value]):
                self.n_delayed += 1
            elif ir.between_tasks and self.is_held(i):
                held.append(value)
        for value in held:
            self.delay_sends(value, source_of[value].node, source_of[value].port)
        if self.n_delayed == 0:
            return False
        after = StepUnits()
        self.after = after
        ir.order(self.order)
        estimate_costs(ir, self.order, self.config.costs, &self.costs)
        return (after.find(ir, self.config, self.costs, self.order, self.held_values())
                and after.length_ns <= MOST_TIME * self.units.length_ns
                and after.peak_bytes <= GAIN * self.units.peak_bytes)

    cdef int find_consumers(self) except -1:
        cdef GraphIR ir = self.ir
        cdef IRNode* node
        cdef int32_t i, k, producer
        cdef size_t n = ir.nodes.size(), f
        self.consumers.clear()
        self.consumers.resize(n)
        self.certain.assign(n, 1)
        self.blocked.assign(n, 0)
        self.fetched.assign(n, 0)
        self.in_cone.assign(n, 0)
        for i in self.order:
            node = &ir.nodes[i]
            if node.kind != NodeKind.KERNEL and node.kind != NodeKind.READ_SLOT and \
                    node.kind != NodeKind.FEED:
                self.certain[i] = 0
            self.blocked[i] = _may_block(node)
            self.writes = self.writes or node.entry != NULL and node.entry.writes
            for k in range(node.n_inputs + node.n_controls):
                producer = (ir.edges[node.first_input + k].node if k < node.n_inputs
                            else ir.controls[node.first_control + k - node.n_inputs])
                self.consumers[producer].push_back(i)
                self.blocked[i] |= self.blocked[producer]
                if not self.certain[producer]:
                    self.certain[i] = 0
        for f in range(ir.fetches.size()):
            self.fetched[ir.fetches[f].node] = 1
        return 0

    cdef int find_triggers(self) except -1:
        """Finds the units that others may wait for, and a node that ends with each."""
        cdef GraphIR ir = self.ir
        cdef vector[pair[double, int32_t]] ends
        cdef pair[double, int32_t] end
        cdef int32_t i, unit
        self.last_of.assign(self.units.device.size(), -1)
        self.awaited.assign(self.units.device.size(), 0)
        for i in self.order:
            if self.certain[i] and not self.blocked[i] and ir.nodes[i].kind == NodeKind.KERNEL and \
                    not is_boundary(ir, i) and not self.costs.folded[i]:
                self.last_of[self.units.unit_of[i]] = i
        for unit in range(<int32_t>self.units.device.size()):
            if self.last_of[unit] >= 0 and self.units.graph.ns[unit] > 0:
                end.first = self.units.finish_ns[unit]
                end.second = unit
                ends.push_back(end)
        sort(ends.begin(), ends.end())
        self.by_finish.clear()
        for end in ends:
            self.by_finish.push_back(end.second)
        return 0

    cdef int delay_sends(self, int32_t value, int32_t i, int32_t port) except -1:
        cdef int32_t consumer, task, own = self.task_of[self.ir.nodes[i].device]
        tasks = {self.task_of[self.ir.nodes[consumer].device] for consumer in self.consumers[i]}
        for task in sorted(tasks - {own}):
            self.n_delayed += self.delay_sending(i, port, task, self.costs.bytes[value])
        return 0

    cdef bint delay_making(self, int32_t i, int64_t size) except -1:
        """Delays a node, with what only serves it, until its outputs are needed."""
        cdef GraphIR ir = self.ir
        cdef StepUnits units = self.units
        cdef vector[int32_t] cone
        cdef double need = -1, lead
        cdef int32_t consumer, node, first = -1, trigger
        cdef bint whole
        if not self.may_move(i) or self.fetched[i]:
            return False
        for consumer in self.consumers[i]:
            if need < 0 or units.start_ns[units.unit_of[consumer]] < need:
                need = units.start_ns[units.unit_of[consumer]]
                first = consumer
        for whole in (True, False):
            cone.clear()
            self.find_cone(i, whole, cone)
            if 2 * self.kept_alive(cone) > size:
                continue
            lead = self.transfer_ns(i, first, size)
            for node in cone:
                lead += (self.costs.measured_ns[node] if self.costs.measured_ns[node] >= 0
                         else self.costs.expected_ns[node])
            trigger = self.trigger(ir.nodes[first].device, need - SAFETY * lead,
                                   units.finish_ns[units.unit_of[i]])
            if trigger < 0:
                continue
            for node in cone:
                self.in_cone[node] = 1
            for node in cone:
                if not self.follows_cone(node):
                    self.wait_for(node, trigger)
            return True
        return False

    cdef double transfer_ns(self, int32_t source, int32_t consumer, int64_t size) noexcept:
        """How long a signal and the tensor take."""
        if self.task_of[self.ir.nodes[source].device] == \
                self.task_of[self.ir.nodes[consumer].device]:
            return 2 * kNsBetweenDevices
        return 2 * self.config.between_tasks_ns + size * self.config.ns_per_byte

    cdef bint delay_sending(self, int32_t i, int32_t port, int32_t task, int64_t size) except -1:
        """Delays the transfer of a value that exists anyway to one task, by a node between."""
        cdef GraphIR ir = self.ir
        cdef StepUnits units = self.units
        cdef double need = -1, start
        cdef int32_t consumer, k, trigger, made, first = -1
        cdef vector[int32_t] readers
        cdef vector[Edge] inputs
        cdef Edge edge
        cdef hr_dtype dtype
        for consumer in self.consumers[i]:
            if self.task_of[ir.nodes[consumer].device] != task:
                continue
            start = units.start_ns[units.unit_of[consumer]]
            if need < 0 or start < need:
                need = start
                first = consumer
            if readers.empty() or readers.back() != consumer:
                readers.push_back(consumer)
        trigger = self.trigger(ir.nodes[first].device,
                               need - SAFETY * self.transfer_ns(i, first, size),
                               units.finish_ns[units.unit_of[i]])
        if trigger < 0:
            return False
        edge.node = i
        edge.port = port
        dtype = ir.dtype_of(edge) % HR_REF
        made = ir.add_node(NodeKind.KERNEL, <string>b"Identity",
                           <string>(text_of(ir.nodes[i].source.name) + "/_delayed").encode(),
                           ir.nodes[i].source)
        ir.nodes[made].device = ir.nodes[i].device
        ir.nodes[made].rank = ir.nodes[i].rank
        ir.nodes[made].n_outputs = 1
        ir.nodes[made].source.input_dtypes.push_back(dtype)
        ir.nodes[made].source.output_dtypes.push_back(dtype)
        attributes_of(ir.nodes[made].source).add(<string>b"T", number_attr(kType, dtype))
        fill_abi_node(ir.nodes[made].source)
        inputs.push_back(edge)
        ir.set_inputs(made, inputs)
        self.in_cone.push_back(1)
        self.wait_for(made, trigger)
        for consumer in readers:
            self.save(consumer)
            inputs.clear()
            for k in range(ir.nodes[consumer].n_inputs):
                inputs.push_back(ir.edges[ir.nodes[consumer].first_input + k])
                if inputs.back().node == i and inputs.back().port == port:
                    inputs.back().node = made
                    inputs.back().port = 0
            ir.set_inputs(consumer, inputs)
        return True

    # ---- what may be delayed -------------------------------------------------------------------

    cdef bint may_move(self, int32_t i) noexcept:
        """Whether it makes no difference when a node runs."""
        cdef IRNode* node = &self.ir.nodes[i]
        cdef size_t k
        if not self.certain[i] or node.kind != NodeKind.KERNEL or node.entry == NULL or \
                self.costs.folded[i] or is_boundary(self.ir, i) or self.in_cone[i] or \
                self.awaited[self.units.unit_of[i]]:
            return False
        if node.kernel != NULL and is_python_kernel(node.kernel) and node.entry.stateful:
            return False
        if not node.entry.pure and not (
                node.entry.stateful and text_of(node.source.op).startswith(_RANDOM)):
            return False
        for k in range(node.source.input_dtypes.size()):
            if node.source.input_dtypes[k] >= HR_REF or \
                    node.source.input_dtypes[k] == HR_RESOURCE or \
                    node.source.input_dtypes[k] == HR_VARIANT:
                return False
            # A read of a variable that something else in the step may change.
            if self.ir.dtype_of(self.ir.edges[node.first_input + <int32_t>k]) >= HR_REF:
                return False
        return True

    cdef bint is_held(self, int32_t i) noexcept:
        """Whether a value exists before and after the step, and does not change in it."""
        if self.costs.folded[i]:
            return True
        while self.ir.nodes[i].source.op == b"Identity":
            i = self.ir.edges[self.ir.nodes[i].first_input].node
        return not self.writes and self.ir.nodes[i].source.op in (
            b"VariableV2", b"Variable", b"ReadVariableOp")

    cdef vector[uint8_t] held_values(self) except *:
        cdef vector[uint8_t] held
        cdef int32_t i, k
        held.assign(self.costs.bytes.size(), 0)
        for i in self.order:
            for k in range(self.ir.nodes[i].n_outputs):
                held[self.costs.first_value[i] + k] = self.is_held(i)
        return held

    cdef int find_cone(self, int32_t i, bint whole, vector[int32_t]& cone) except -1:
        """A node, and if `whole`, all that only serves it, on its device."""
        cdef GraphIR ir = self.ir
        cdef int32_t k, producer, consumer, node
        cdef size_t at = 0
        cdef bint only
        cone.push_back(i)
        inside = {i}
        while whole and at < cone.size():
            node = cone[at]
            at += 1
            for k in range(ir.nodes[node].n_inputs):
                producer = ir.edges[ir.nodes[node].first_input + k].node
                if producer in inside or not self.may_move(producer) or \
                        self.fetched[producer] or \
                        ir.nodes[producer].device != ir.nodes[i].device:
                    continue
                only = True
                for consumer in self.consumers[producer]:
                    only = only and consumer in inside
                if only:
                    inside.add(producer)
                    cone.push_back(producer)
        return 0

    cdef int64_t kept_alive(self, vector[int32_t]& cone) except -1:
        """The bytes that a delayed cone keeps: inputs that nothing else needs."""
        cdef GraphIR ir = self.ir
        cdef int32_t node, k, consumer
        cdef int64_t total = 0
        cdef Edge edge
        cdef bint only
        inside = set(cone)
        seen = set()
        for node in cone:
            for k in range(ir.nodes[node].n_inputs):
                edge = ir.edges[ir.nodes[node].first_input + k]
                if edge.node in inside or (edge.node, edge.port) in seen or \
                        self.costs.folded[edge.node] or \
                        ir.nodes[edge.node].kind == NodeKind.FEED or self.is_held(edge.node):
                    continue
                seen.add((edge.node, edge.port))
                only = True
                for consumer in self.consumers[edge.node]:
                    only = only and consumer in inside
                if only:
                    total += self.costs.bytes[self.costs.first_value[edge.node] + edge.port]
        return total

    cdef bint follows_cone(self, int32_t i) noexcept:
        """Whether a node of a cone has an input that is in one."""
        cdef int32_t k
        for k in range(self.ir.nodes[i].n_inputs):
            if self.in_cone[self.ir.edges[self.ir.nodes[i].first_input + k].node]:
                return True
        return False

    # ---- control edges -------------------------------------------------------------------------

    cdef int32_t trigger(self, int32_t device, double latest, double earliest) noexcept:
        """A node on a device that ends at `latest` or shortly before, and after `earliest`; or -1.

        What is delayed would be there at `earliest` without it.
        """
        cdef int32_t unit
        cdef size_t k = self.by_finish.size()
        while k > 0:
            k -= 1
            unit = self.by_finish[k]
            if self.units.finish_ns[unit] > latest:
                continue
            if self.units.finish_ns[unit] <= earliest:
                return -1
            if self.units.device[unit] == device and not self.in_cone[self.last_of[unit]]:
                self.awaited[unit] = 1
                return self.last_of[unit]
        return -1

    cdef int wait_for(self, int32_t i, int32_t trigger) except -1:
        cdef vector[int32_t] controls
        cdef int32_t k
        self.save(i)
        for k in range(self.ir.nodes[i].n_controls):
            controls.push_back(self.ir.controls[self.ir.nodes[i].first_control + k])
        controls.push_back(trigger)
        return self.ir.set_controls(i, controls)

    cdef int save(self, int32_t i) except -1:
        cdef NodeLists lists
        lists.node = i
        lists.first_input = self.ir.nodes[i].first_input
        lists.n_inputs = self.ir.nodes[i].n_inputs
        lists.first_control = self.ir.nodes[i].first_control
        lists.n_controls = self.ir.nodes[i].n_controls
        self.changed.push_back(lists)
        return 0

    cdef int undo(self) except -1:
        cdef size_t k = self.changed.size(), i
        cdef NodeLists* lists
        while k > 0:
            k -= 1
            lists = &self.changed[k]
            self.ir.nodes[lists.node].first_input = lists.first_input
            self.ir.nodes[lists.node].n_inputs = lists.n_inputs
            self.ir.nodes[lists.node].first_control = lists.first_control
            self.ir.nodes[lists.node].n_controls = lists.n_controls
        for i in range(self.n_nodes, self.ir.nodes.size()):
            self.ir.nodes[i].removed = True
        return 0
