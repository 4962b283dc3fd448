# distutils: language = c++
"""The units of a step: nodes that run together, because all of them wait for the same others.

They are the segments into which programs will be cut (segments.pyx), as far as devices and boundary
nodes decide them. A segment starts when all its inputs are there. What other devices need leaves it
earlier (executor_segments.pyx); here all that it makes is expected to leave at its end.
"""

from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t, uint8_t
from libcpp.algorithm cimport sort
from libcpp.map cimport map
from libcpp.set cimport set as tree_set
from libcpp.utility cimport pair
from libcpp.vector cimport vector

from headrace.runtime.graph.graph_node cimport Edge
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.passes.device_sets cimport DeviceSets
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode
from headrace.runtime.passes.simulate_placement cimport (
    GroupPlace, Machine, ON_ITS_DEVICE, ON_ITS_TASK, SimulatedStep, StepGraph, StepInput,
    machine_of, step_graph,
)
from headrace.runtime.passes.token_sets cimport TokenSets


cdef bint is_boundary(GraphIR ir, int32_t i) noexcept nogil:
    cdef IRNode* node = &ir.nodes[i]
    if node.kind == NodeKind.KERNEL:
        return node.kernel != NULL and node.kernel.compute == NULL
    return node.kind != NodeKind.READ_SLOT


cdef class StepUnits:
    """Units, their schedule in the expected step, and the memory that passes between them."""

    cdef bint find(self, GraphIR ir, PlacementConfig config, const StepCosts& costs,
                   const vector[int32_t]& order, const vector[uint8_t]& held) except -1:
        cdef Machine machine = machine_of(ir, config)
        cdef DeviceSets* sets = new DeviceSets(<int32_t>len(ir.devices))
        cdef SimulatedStep* step = NULL
        cdef vector[GroupPlace] places
        cdef vector[int32_t] group
        cdef size_t u
        cdef bint done
        self.make_units(ir, order)
        self.connect(ir, config, costs, order)
        places.resize(self.device.size())
        for u in range(self.device.size()):
            group.push_back(<int32_t>u)
            places[u].device = self.device[u]
        try:
            step = new SimulatedStep(self.graph, machine)
            done = step.run(group, places, sets[0], NULL)
            self.start_ns = step.start
            self.finish_ns = step.finish
            self.length_ns = step.length
        finally:
            del step
            del sets
        if done:
            self.find_peak(ir, config, held)
        return done

    cdef int make_units(self, GraphIR ir, const vector[int32_t]& order) except -1:
        cdef TokenSets sets = TokenSets()
        cdef vector[int32_t] tokens, key
        cdef map[vector[int32_t], int32_t] numbers
        cdef IRNode* node
        cdef int32_t i, k, producer, mine
        cdef size_t at
        tokens.assign(ir.nodes.size(), 0)
        self.unit_of.assign(ir.nodes.size(), -1)
        for at in range(order.size()):
            i = order[at]
            node = &ir.nodes[i]
            mine = 0
            for k in range(node.n_inputs + node.n_controls):
                producer = (ir.edges[node.first_input + k].node if k < node.n_inputs
                            else ir.controls[node.first_control + k - node.n_inputs])
                if self.unit_of[producer] < 0:   # a back edge of a loop
                    continue
                mine = sets.join(mine, tokens[producer])
                if ir.nodes[producer].kind != NodeKind.FEED and (
                        is_boundary(ir, producer)
                        or ir.nodes[producer].device != node.device):
                    mine = sets.join(mine, sets.single(producer))
            tokens[i] = mine
            key.clear()
            key.push_back(node.device)
            key.push_back(mine)
            key.push_back(i if is_boundary(ir, i) else -1)
            found = numbers.find(key)
            if found != numbers.end():
                self.unit_of[i] = dereference(found).second
                continue
            self.unit_of[i] = <int32_t>self.device.size()
            numbers[key] = self.unit_of[i]
            self.device.push_back(node.device)
        return 0

    cdef int connect(self, GraphIR ir, PlacementConfig config, const StepCosts& costs,
                     const vector[int32_t]& order) except -1:
        cdef StepGraph nodes
        cdef tree_set[pair[int32_t, int64_t]] seen
        cdef vector[vector[StepInput]] inputs
        cdef pair[int32_t, int64_t] key
        cdef StepInput input
        cdef size_t n = self.device.size(), at, u
        cdef int32_t i, k, unit
        step_graph(ir, costs, config, &nodes)
        self.graph.ns.assign(n, 0)
        self.graph.wide.assign(n, 0)
        self.graph.presence.assign(n, ON_ITS_DEVICE)
        self.graph.rank.assign(n, 0)
        self.graph.bytes = nodes.bytes
        inputs.resize(n)
        for at in range(order.size()):
            i = order[at]
            unit = self.unit_of[i]
            self.graph.ns[unit] += nodes.ns[i]
            if nodes.wide[i]:
                self.graph.wide[unit] = 1
            if ir.nodes[i].kind == NodeKind.FEED:
                self.graph.presence[unit] = ON_ITS_TASK
            self.graph.rank[unit] = max(self.graph.rank[unit], nodes.rank[i])
            for k in range(nodes.first_input[i], nodes.first_input[i + 1]):
                input = nodes.inputs[k]
                input.producer = self.unit_of[input.producer]
                if input.producer == unit:
                    continue
                key.first = unit
                key.second = input.value if input.value >= 0 else -1 - <int64_t>input.producer
                if seen.insert(key).second:
                    inputs[unit].push_back(input)
        self.graph.first_input.assign(1, 0)
        self.graph.inputs.clear()
        for u in range(n):
            self.graph.inputs.insert(self.graph.inputs.end(), inputs[u].begin(), inputs[u].end())
            self.graph.first_input.push_back(<int32_t>self.graph.inputs.size())
        return 0

    cdef int find_peak(self, GraphIR ir, PlacementConfig config,
                       const vector[uint8_t]& held) except -1:
        """The most bytes of tensors that wait for units at one time.

        A tensor takes memory on the task that makes it, and on each task that has received it, until
        the last unit there that reads it has run.
        """
        cdef vector[pair[double, double]] changes
        cdef vector[double] made, last
        cdef vector[int32_t] home
        cdef map[pair[int32_t, int32_t], double] received   # value and task: its last use
        cdef pair[int32_t, int32_t] key
        cdef StepInput input
        cdef int32_t task
        cdef size_t u, v, n_values = self.graph.bytes.size()
        cdef int32_t k
        cdef double size, sent, now = 0
        cdef vector[int32_t] task_of = ir.table.task_of
        made.assign(n_values, -1)
        last.assign(n_values, 0)
        home.assign(n_values, 0)
        for u in range(self.device.size()):
            task = task_of[self.device[u]]
            for k in range(self.graph.first_input[u], self.graph.first_input[u + 1]):
                input = self.graph.inputs[k]
                if input.value < 0 or self.graph.presence[input.producer] == ON_ITS_TASK:
                    continue
                v = input.value
                made[v] = self.finish_ns[input.producer]
                home[v] = task_of[self.device[input.producer]]
                if task == home[v]:
                    last[v] = max(last[v], self.finish_ns[u])
                    continue
                sent = made[v] + <double>self.graph.bytes[v] * config.ns_per_byte
                last[v] = max(last[v], sent)
                key.first = <int32_t>v
                key.second = task
                received[key] = max(received[key], self.finish_ns[u])
        for v in range(n_values):
            if made[v] >= 0 and self.graph.bytes[v] and not held[v]:
                _hold(changes, <double>self.graph.bytes[v], made[v], last[v])
        for entry in received:
            size = <double>self.graph.bytes[entry.first.first]
            _hold(changes, size, made[entry.first.first] + size * config.ns_per_byte
                  + config.between_tasks_ns, entry.second)
        sort(changes.begin(), changes.end())
        self.peak_bytes = 0
        for change in changes:
            now += change.second
            self.peak_bytes = max(self.peak_bytes, now)
        return 0


cdef int _hold(vector[pair[double, double]]& changes, double size, double since,
               double until) except -1:
    cdef pair[double, double] change
    change.first = since
    change.second = size
    changes.push_back(change)
    change.first = max(since, until)
    change.second = -size
    changes.push_back(change)
    return 0
