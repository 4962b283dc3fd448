# distutils: language = c++
"""Assigns every node a device that its request, its kernels and its colocation group allow (§4.3).

Where several devices are left, a simulation of the step chooses (simulate_placement.pyx), or the
first of them is taken.
"""

from cython.operator cimport dereference
from libc.stdint cimport int32_t, uint64_t
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport (
    AttrScalar, ParsedValue, find_scalar, kType, parsed_value,
)
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.node_text cimport dtype_text, text_of
from headrace.runtime.kernels.kernel_table cimport (
    describe_kernels, find_kernel, is_accelerator_type,
)
from headrace.runtime.memory.buffer cimport is_kept_on_host
from headrace.runtime.memory.kernel_abi cimport (
    HR_OK, HR_REF, HR_RESOURCE, HR_STRING, HR_VARIANT, hr_dtype, hr_kernel,
)
from headrace.runtime.passes.colocation cimport makes_state
from headrace.runtime.passes.device_sets cimport ALL_DEVICES, DeviceSets, NO_DEVICES
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode
from headrace.runtime.passes.placement_config cimport SIMULATE_NOTHING, SIMULATE_ON_ALL
from headrace.runtime.passes.simulate_placement cimport GroupPlace, simulate_placement

from headrace.formats.errors import InvalidArgumentError
from headrace.runtime.kernels.kernel_table import reasons_for_no_devices
from headrace.runtime.passes.device_table import parse_device
from headrace.runtime.passes.unplaced_ops import list_unplaced_ops


cdef Placer place(GraphIR ir, bint soft, bint allow_reference, PlacementConfig config):
    cdef Placer placer = Placer(ir, soft, allow_reference)
    cdef size_t i
    with nogil:
        placer.find_sets()
    if ir.n_devices == 1:
        for i in range(ir.nodes.size()):
            if not ir.nodes[i].removed:
                ir.nodes[i].kernel = placer.kernels[i]
    else:
        placer.choose(config)
    return placer


cdef class Placer:
    """The devices that each node of a graph may have."""

    def __init__(self, GraphIR ir, bint soft, bint allow_reference):
        cdef size_t k
        cdef int32_t d
        cdef vector[int32_t] members
        self.ir = ir
        self.soft = soft
        self.allow_reference = allow_reference
        self.sets = new DeviceSets(<int32_t>len(ir.devices))
        for name in ir.table.type_names:
            self.type_names.push_back(<string>name.encode())
        for k in range(self.type_names.size()):
            self.accelerated.push_back(is_accelerator_type(self.type_names[k]))
        self.type_of = ir.table.type_of
        self.task_of = ir.table.task_of
        for d in range(<int32_t>self.type_of.size()):
            if self.accelerated[self.type_of[d]]:
                members.push_back(d)
        self.accelerators = self.sets.add(members)
        self.set_of_task.assign(len(ir.table.tasks), -1)

    def __dealloc__(self):
        del self.sets

    cdef int find_sets(self) except -1 nogil:
        """Finds the devices that each node may have on its own."""
        cdef size_t n = self.ir.nodes.size(), i
        cdef IRNode* node
        self.required.assign(n, ALL_DEVICES)
        self.possible.assign(n, ALL_DEVICES)
        self.limits.assign(n, 0)
        self.kernels.assign(n * self.type_names.size(), NULL)
        for i in range(n):
            node = &self.ir.nodes[i]
            if node.removed:
                continue
            if node.kind == NodeKind.KERNEL or node.kind == NodeKind.READ_SLOT:
                self.possible[i] = self.feasible(<int32_t>i)
            if not node.source.device.empty() and node.kind != NodeKind.FEED:
                self.required[i] = self.request(node.source)
                self.limits[i] |= REQUESTED if self.required[i] != ALL_DEVICES else 0
                if self.sets.empty(self.sets.both(self.possible[i], self.required[i])):
                    if not self.soft and not self.ir.tolerant:
                        with gil:
                            raise _no_kernel(self.ir, node)
                    self.required[i] = self.soft_request(node.source)
                    if self.sets.empty(self.sets.both(self.possible[i], self.required[i])):
                        self.required[i] = ALL_DEVICES
                    self.limits[i] |= SOFTENED
            if node.entry != NULL and self.ir.assigned != NULL:
                given = self.ir.assigned.find(node.source.name)
                if given != self.ir.assigned.end():
                    self.required[i] = self.sets.only(dereference(given).second)
                    self.limits[i] |= KEPT
        return 0

    cdef int32_t feasible(self, int32_t i) except -1 nogil:
        """The devices with a kernel for a node."""
        cdef IRNode* node = &self.ir.nodes[i]
        cdef size_t n_types = self.type_names.size(), t
        cdef uint64_t types = 0
        cdef const hr_kernel* kernel
        cdef vector[int32_t] members
        cdef int32_t d
        for t in range(n_types):
            kernel = find_kernel(node.source, self.type_names[t].c_str(), self.allow_reference)
            if kernel == NULL and self.accelerated[t]:
                kernel = host_kernel(node.source)
            self.kernels[i * n_types + t] = kernel
            if kernel != NULL:
                types |= <uint64_t>1 << t
        if types == 0:
            # A read without a kernel of its own runs on the device of its variable.
            if node.kind != NodeKind.READ_SLOT and not self.ir.tolerant:
                with gil:
                    raise _no_kernel(self.ir, node)
            return ALL_DEVICES
        if types == (<uint64_t>1 << n_types) - 1:
            return ALL_DEVICES
        self.limits[i] |= BY_KERNELS
        found = self.set_of_types.find(types)
        if found != self.set_of_types.end():
            return dereference(found).second
        for d in range(<int32_t>self.type_of.size()):
            if types >> self.type_of[d] & 1:
                members.push_back(d)
        self.set_of_types[types] = self.sets.add(members)
        return self.set_of_types[types]

    cdef int32_t request(self, GraphNode* source) except -1 nogil:
        """The devices that a node's device string names."""
        cdef string_view device = string_view(source.device)
        cdef vector[int32_t] members
        found = self.requests.find(device)
        if found != self.requests.end():
            return dereference(found).second
        with gil:
            members = _devices_that_match(self.ir, source, False)
            if members.empty() and not self.soft and not self.ir.tolerant:
                raise InvalidArgumentError(
                    None, None,
                    f"cannot place {text_of(source.op)} '{text_of(source.name)}' on "
                    f"{text_of(source.device)!r}: the session has "
                    f"{_listed(self.ir.devices)}; name one of these or set "
                    f"allow_soft_placement{reasons_for_no_devices()}", node_name=text_of(source.name))
        self.requests[device] = self.sets.add(members)
        return self.requests[device]

    cdef int32_t soft_request(self, GraphNode* source) except -1 nogil:
        """Those of the same task, whatever their types and numbers, as in TensorFlow."""
        cdef string_view device = string_view(source.device)
        cdef vector[int32_t] members
        found = self.soft_requests.find(device)
        if found != self.soft_requests.end():
            return dereference(found).second
        with gil:
            members = _devices_that_match(self.ir, source, True)
        self.soft_requests[device] = self.sets.add(members)
        return self.soft_requests[device]

    cdef int choose(self, PlacementConfig config) except -1:
        cdef GraphIR ir = self.ir
        cdef int32_t n = <int32_t>ir.nodes.size(), i, root, common, possible
        cdef size_t n_types = self.type_names.size(), k
        cdef IRNode* node
        cdef vector[int32_t] group_required, group_possible, state_required, kept
        cdef vector[GroupPlace] places
        cdef vector[uint8_t] may_accelerate
        cdef bint simulates = config is not None and config.simulate != SIMULATE_NOTHING
        cdef bint choice = False
        self.groups = Colocation()
        may_accelerate.assign(n, 0)
        if not self.sets.empty(self.accelerators):
            for i in range(n):
                common = self.sets.both(self.possible[i], self.required[i])
                may_accelerate[i] = not self.sets.empty(
                    self.sets.both(self.accelerators, common))
        with nogil:
            self.groups.find(ir, may_accelerate)
        group_required.assign(n, ALL_DEVICES)
        group_possible.assign(n, ALL_DEVICES)
        state_required.assign(n, ALL_DEVICES)
        kept.assign(n, ALL_DEVICES)
        for i in range(n):
            if not ir.nodes[i].removed:
                root = self.groups.root(i)
                group_required[root] = self.sets.both(group_required[root], self.required[i])
                group_possible[root] = self.sets.both(group_possible[root], self.possible[i])
                if self.limits[i] & KEPT:
                    kept[root] = self.sets.both(kept[root], self.required[i])
                if makes_state(ir, i):
                    state_required[root] = self.sets.both(state_required[root], self.required[i])
        places.resize(n)
        for i in range(n):
            node = &ir.nodes[i]
            root = self.groups.root(i)
            places[i].device = 0
            if node.removed or root != i:
                continue
            possible = group_possible[i]
            common = self.sets.both(group_required[i], possible)
            if self.sets.empty(kept[i]) and ir.between_tasks:
                possible = kept[i]   # no device: state that has one does not move to another task
            if self.sets.empty(common) and self.soft:
                # What uses a variable follows it, whatever device it requests, as in TensorFlow.
                common = self.sets.both(state_required[i], possible)
            if self.sets.empty(common) and self.soft:
                common = possible
            if self.sets.empty(common):
                if not ir.tolerant:
                    raise self.no_common_device(i)
                places[i].device = -1
                continue
            places[i].device = self.sets.lowest(common)
            if not self.sets.empty(self.accelerators) and node.kind != NodeKind.FEED:
                places[i].device = self.preferred(common)
                continue
            if not simulates or node.kind == NodeKind.FEED:
                continue
            if config.simulate != SIMULATE_ON_ALL:
                common = self.sets.both(
                    common, self.devices_of_task(self.task_of[places[i].device]))
            if self.sets.size(common) > 1:
                choice = True
                places[i].device = -1
                places[i].allowed = common
        if choice:
            for i in range(n):
                for k in range(n_types):   # whose costs are estimated
                    if ir.nodes[i].kernel == NULL:
                        ir.nodes[i].kernel = self.kernels[i * n_types + k]
            self.simulation = SimulationRecord()
            simulate_placement(ir, config, self.groups, self.sets[0], places, self.simulation)
        for i in range(n):
            node = &ir.nodes[i]
            if node.removed:
                continue
            node.device = places[self.groups.root(i)].device
            if node.device >= 0 and (
                    node.kind == NodeKind.KERNEL or node.kind == NodeKind.READ_SLOT):
                node.kernel = self.kernels[i * n_types + self.type_of[node.device]]
        if not self.sets.empty(self.accelerators) and not ir.tolerant:
            _list_unplaced(self)
        return 0

    cdef int32_t preferred(self, int32_t allowed) except -1:
        """The first device with memory of its own on the task of the first one, or the first one."""
        cdef int32_t first = self.sets.lowest(allowed)
        cdef int32_t on_task = self.sets.both(
            self.accelerators, self.devices_of_task(self.task_of[first]))
        cdef int32_t chosen = self.sets.both(allowed, on_task)
        return first if self.sets.empty(chosen) else self.sets.lowest(chosen)

    cdef int32_t devices_of_task(self, int32_t task) except -1:
        cdef vector[int32_t] members
        cdef int32_t d
        if self.set_of_task[task] < 0:
            for d in range(<int32_t>self.task_of.size()):
                if self.task_of[d] == task:
                    members.push_back(d)
            self.set_of_task[task] = self.sets.add(members)
        return self.set_of_task[task]

    cdef object no_common_device(self, int32_t root):
        cdef int32_t i, d
        members = []
        for i in range(<int32_t>self.required.size()):
            if not self.ir.nodes[i].removed and self.groups.root(i) == root:
                on = self.sets.both(self.required[i], self.possible[i])
                name = text_of(self.ir.nodes[i].source.name)
                if self.sets.size(on) < len(self.ir.devices):
                    devices = [self.ir.devices[d] for d in range(len(self.ir.devices))
                               if self.sets.has(on, d)]
                    members.append(f"'{name}' ({_listed(devices)})")
        return InvalidArgumentError(
            None, None,
            f"nodes that must share a device cannot: {'; '.join(sorted(members)[:8])}; request one "
            f"device, or set allow_soft_placement",
            node_name=text_of(self.ir.nodes[root].source.name))


cdef int _list_unplaced(Placer placer) except -1:
    """Logs the ops that are on a CPU although a device of its task has memory of its own."""
    cdef size_t i, k
    cdef IRNode* node
    cdef int32_t near
    cdef bint requested = False
    found = set()
    for i in range(placer.ir.nodes.size()):
        node = &placer.ir.nodes[i]
        if node.removed or node.kind != NodeKind.KERNEL or node.device < 0 or \
                not placer.limits[i] & BY_KERNELS or \
                placer.accelerated[placer.type_of[node.device]] or not _is_arithmetic(node.source):
            continue
        near = placer.sets.both(
            placer.accelerators, placer.devices_of_task(placer.task_of[node.device]))
        if placer.sets.empty(near):
            continue
        if placer.limits[i] & SOFTENED:
            requested = True
        elif placer.sets.empty(placer.sets.both(placer.required[i], near)):
            continue   # the CPU is requested
        found.add(_op_with_dtype(node.source))
    if found:
        kinds = [kind for k, kind in enumerate(placer.ir.table.type_names) if placer.accelerated[k]]
        list_unplaced_ops(found, requested, " or ".join(kinds))
    return 0


cdef const hr_kernel* host_kernel(GraphNode* node) noexcept nogil:
    """The kernel of the host for a node of a device that has none, if all that the node handles is
    kept in host memory anyway."""
    cdef const hr_kernel* kernel
    cdef size_t k
    for k in range(node.input_dtypes.size()):
        if not _may_compute_on_host(node.input_dtypes[k]):
            return NULL
    for k in range(node.output_dtypes.size()):
        # Queues and tables are the host's, and what uses them.
        if not _may_compute_on_host(node.output_dtypes[k]) or \
                node.output_dtypes[k] == HR_RESOURCE or node.output_dtypes[k] >= HR_REF and \
                node.input_dtypes.empty():
            return NULL
    kernel = find_kernel(node, "CPU", False)
    return kernel if kernel != NULL and kernel.compute != NULL else NULL


cdef bint _may_compute_on_host(hr_dtype dtype) noexcept nogil:
    """As is_kept_on_host, without what takes long, such as strings and lists."""
    return is_kept_on_host(dtype % HR_REF) and dtype % HR_REF != HR_STRING and \
        dtype % HR_REF != HR_VARIANT


cdef bint _is_arithmetic(GraphNode* node) noexcept nogil:
    """Whether a node computes what a device could: it does not handle strings or the like, and has
    inputs and outputs."""
    cdef size_t k
    for k in range(node.input_dtypes.size()):
        if _is_never_on_devices(node.input_dtypes[k]):
            return False
    for k in range(node.output_dtypes.size()):
        if _is_never_on_devices(node.output_dtypes[k]):
            return False
    return node.input_dtypes.size() > 0 and node.output_dtypes.size() > 0


cdef bint _is_never_on_devices(hr_dtype dtype) noexcept nogil:
    dtype %= HR_REF
    return dtype == HR_STRING or dtype == HR_RESOURCE or dtype == HR_VARIANT


cdef str _op_with_dtype(GraphNode* node):
    return f"{text_of(node.op)} ({dtype_text(<hr_dtype>(node.input_dtypes[0] % HR_REF))})"


cdef str _listed(list devices):
    shown = ", ".join(devices[:16])
    return shown if len(devices) <= 16 else f"{shown} and {len(devices) - 16} others"


cdef list _devices_that_match(GraphIR ir, GraphNode* source, bint any_type):
    try:
        requested = parse_device(text_of(source.device))
    except ValueError:
        raise InvalidArgumentError(
            None, None,
            f"{text_of(source.op)} '{text_of(source.name)}': {text_of(source.device)!r} is not a "
            f"device; write it as {ir.devices[0]!r}, or a part of that",
            node_name=text_of(source.name)) from None
    if any_type:
        requested = {field: value for field, value in requested.items()
                     if field not in ("type", "index")}
    return ir.table.matching(requested)


cdef object _no_kernel(GraphIR ir, IRNode* node):
    cdef GraphNode* source = node.source
    cdef AttrScalar scalar
    cdef ParsedValue* types
    cdef size_t i
    dtypes = []
    for i in range(node.entry.attrs.size()):
        name = text_of(node.entry.attrs[i].name)
        if node.entry.attrs[i].kind == kType:
            if find_scalar(source, string_view(node.entry.attrs[i].name), kType, scalar) == HR_OK:
                dtypes.append(f"{name}={dtype_text(<hr_dtype>scalar.number)}")
        elif node.entry.attrs[i].element == kType:
            types = parsed_value(source, string_view(node.entry.attrs[i].name))
            if types != NULL:
                dtypes.append(f"{name}=[{', '.join([dtype_text(t) for t in types.types])}]")
    kinds = ir.table.type_names
    if not source.device.empty():
        requested = parse_device(text_of(source.device)).get("type")
        kinds = [requested] if requested in kinds else kinds
    with_text = f" with {', '.join(dtypes)}" if dtypes else ""
    return InvalidArgumentError(
        None, None,
        f"{text_of(source.op)} '{text_of(source.name)}': no "
        f"{' or '.join(kinds)} kernel for "
        f"{text_of(source.op)}{with_text}; {describe_kernels(source.op)}. "
        f"No OpKernel was registered to support Op '{text_of(source.op)}' with these attrs.",
        node_name=text_of(source.name))
