# distutils: language = c++
"""Assigns every node a device that its request, its kernels and its colocation group allow."""

from cython.operator cimport dereference
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memset
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport (
    AttrScalar, OpEntry, ParsedValue, find_scalar, kType, op_entry_of, parsed_value,
)
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    HR_OK, HR_REF, HR_RESOURCE, HR_VARIANT, hr_dtype, hr_kernel,
)
from headrace.runtime.kernels.kernel_table cimport describe_kernels, find_kernel
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.node_text cimport dtype_text, text_of
from headrace.runtime.graph.session_graph cimport SessionGraph

import re

from headrace.formats.errors import InvalidArgumentError, NotFoundError

cdef enum:
    _MOST_DEVICES = 64
    _MOST_TYPES = 8


cdef int place(GraphIR ir, bint allow_soft_placement, bint allow_reference) except -1:
    if len(ir.devices) > _MOST_DEVICES:
        raise InvalidArgumentError(
            None, None, f"a session has at most {_MOST_DEVICES} devices, not {len(ir.devices)}")
    cdef vector[uint64_t] type_masks
    cdef vector[string] type_names
    cdef vector[int32_t] type_of
    cdef int32_t i
    for i in range(<int32_t>len(ir.devices)):
        encoded = ir.device_types[i].encode()
        if ir.device_types.index(ir.device_types[i]) == i:
            type_names.push_back(<string>encoded)
            type_masks.push_back(0)
        for t in range(type_names.size()):
            if type_names[t] == <string>encoded:
                type_masks[t] |= <uint64_t>1 << i
                type_of.push_back(<int32_t>t)
    with nogil:
        _place(ir, allow_soft_placement, allow_reference, type_names, type_masks, type_of)
    return 0


cdef int assign_state(SessionGraph graph, GraphIR ir, bint allow_reference) except -1:
    """ir: empty, with the session's devices and what was assigned before.

    Where nodes cannot share a device, none is assigned: a signature that needs them says so.
    """
    cdef vector[int32_t] number, group
    cdef vector[char] has_state
    cdef GraphNode* source
    cdef IRNode node
    cdef Edge edge
    cdef size_t i
    cdef int32_t root
    number.assign(graph.nodes.size(), -1)
    for i in range(graph.nodes.size()):
        source = graph.nodes[i]
        if source.caller >= 0:
            continue
        number[i] = <int32_t>ir.nodes.size()
        memset(&node, 0, sizeof(IRNode))
        node.source = source
        node.entry = op_entry_of(source)
        node.kind = <NodeKind>node.entry.kind
        node.n_outputs = <int32_t>source.output_dtypes.size()
        ir.nodes.push_back(node)
    for i in range(graph.nodes.size()):
        source = graph.nodes[i]
        if number[i] < 0:
            continue
        ir.nodes[number[i]].first_input = <int32_t>ir.edges.size()
        ir.nodes[number[i]].n_inputs = <int32_t>source.inputs.size()
        for edge in source.inputs:
            edge.node = number[edge.node]
            ir.edges.push_back(edge)
    ir.tolerant = True
    place(ir, True, allow_reference)
    _colocate(ir, group)
    has_state.assign(ir.nodes.size(), 0)
    for i in range(ir.nodes.size()):
        if ir.nodes[i].source.info.stateful or ir.nodes[i].entry.has_ref:
            has_state[_root(group, <int32_t>i)] = 1
    for i in range(ir.nodes.size()):
        root = _root(group, <int32_t>i)
        if has_state[root] and ir.nodes[i].device >= 0:
            ir.assigned[ir.nodes[i].source.name] = ir.nodes[i].device
    return 0


cdef int _place(GraphIR ir, bint soft, bint allow_reference, vector[string]& type_names,
                vector[uint64_t]& type_masks, vector[int32_t]& type_of) except -1 nogil:
    cdef size_t n = ir.nodes.size()
    cdef size_t n_types = type_names.size()
    cdef size_t i, t
    cdef uint64_t all_devices = 0
    cdef uint64_t feasible
    cdef vector[uint64_t] required, possible
    cdef vector[const hr_kernel*] kernels
    cdef vector[int32_t] group
    cdef unordered_map[string_view, uint64_t] requests
    cdef IRNode* node
    cdef const hr_kernel* kernel
    for t in range(n_types):
        all_devices |= type_masks[t]
    required.assign(n, all_devices)
    possible.assign(n, all_devices)
    kernels.assign(n * n_types, NULL)
    for i in range(n):
        node = &ir.nodes[i]
        if node.removed:
            continue
        if node.kind == NodeKind.KERNEL or node.kind == NodeKind.READ_SLOT:
            feasible = 0
            for t in range(n_types):
                kernel = find_kernel(node.source, type_names[t].c_str(), allow_reference)
                kernels[i * n_types + t] = kernel
                if kernel != NULL:
                    feasible |= type_masks[t]
            if feasible == 0 and node.kind == NodeKind.READ_SLOT:
                feasible = all_devices  # it runs on the device of its variable
            if feasible == 0 and ir.tolerant:
                feasible = all_devices
            if feasible == 0:
                with gil:
                    raise _no_kernel(ir, node)
            possible[i] = feasible
        if not node.source.device.empty() and node.kind != NodeKind.FEED:
            required[i] = _request(ir, node.source, requests, soft, all_devices)
            if possible[i] & required[i] == 0:
                if not soft:
                    with gil:
                        raise _no_kernel(ir, node)
                required[i] = all_devices
        if node.entry != NULL and not ir.assigned.empty():
            given = ir.assigned.find(node.source.name)
            if given != ir.assigned.end():
                required[i] = <uint64_t>1 << dereference(given).second
    if ir.n_devices == 1:
        for i in range(n):
            if not ir.nodes[i].removed:
                ir.nodes[i].kernel = kernels[i]
        return 0
    _colocate(ir, group)
    return _choose(ir, soft, group, required, possible, kernels, type_of, n_types)


cdef uint64_t _request(GraphIR ir, GraphNode* source, unordered_map[string_view, uint64_t]& known,
                       bint soft, uint64_t all_devices) except? 0 nogil:
    cdef string_view device = string_view(source.device)
    cdef uint64_t mask = 0
    found = known.find(device)
    if found != known.end():
        return dereference(found).second
    with gil:
        mask = _devices_that_match(ir, source)
        if mask == 0 and not soft:
            raise InvalidArgumentError(
                None, None,
                f"cannot place {text_of(source.op)} '{text_of(source.name)}' on "
                f"{text_of(source.device)!r}: the session has {', '.join(ir.devices)}; name one "
                f"of these or set allow_soft_placement", node_name=text_of(source.name))
    if mask == 0:
        mask = all_devices
    known[device] = mask
    return mask


_FIELD = re.compile(
    r"/(?:(job):([^/:]+)|(replica|task):(\d+|\*)|(?:device:)?([A-Za-z]\w*):(\d+|\*)"
    r"|(?:device:)?([A-Za-z]\w*))")


def parse_device(text):
    """Reads a device specification, such as "/job:localhost/task:0/device:CPU:1" or "/cpu:1".

    Returns: a dict with the parts that it contains: job, replica, task, type, index.
    Raises: ValueError for text that is none.
    """
    fields = {}
    at = 0
    while at < len(text):
        match = _FIELD.match(text, at)
        if match is None:
            raise ValueError(text)
        job, job_name, place_of, place_number, kind, number, kind_alone = match.groups()
        if job:
            fields["job"] = job_name
        elif place_of:
            if place_number != "*":
                fields[place_of] = int(place_number)
        else:
            fields["type"] = (kind or kind_alone).upper()
            if number and number != "*":
                fields["index"] = int(number)
        at = match.end()
    return fields


cdef uint64_t _devices_that_match(GraphIR ir, GraphNode* source) except? 0:
    cdef uint64_t mask = 0
    cdef int i
    try:
        required = parse_device(text_of(source.device))
    except ValueError:
        raise InvalidArgumentError(
            None, None,
            f"{text_of(source.op)} '{text_of(source.name)}': {text_of(source.device)!r} is not a "
            f"device; write it as {ir.devices[0]!r}, or a part of that",
            node_name=text_of(source.name)) from None
    for i, device in enumerate(ir.devices):
        has = parse_device(device)
        if all(has.get(field) == value for field, value in required.items()):
            mask |= <uint64_t>1 << i
    return mask


# ---- colocation ------------------------------------------------------------------


cdef inline int32_t _root(vector[int32_t]& group, int32_t i) noexcept nogil:
    while group[i] != i:
        group[i] = group[group[i]]
        i = group[i]
    return i


cdef inline void _join(vector[int32_t]& group, int32_t a, int32_t b) noexcept nogil:
    a = _root(group, a)
    b = _root(group, b)
    if a != b:
        group[b] = a


cdef int _colocate(GraphIR ir, vector[int32_t]& group) except -1 nogil:
    cdef int32_t n = <int32_t>ir.nodes.size()
    cdef int32_t i, k
    cdef size_t c
    cdef hr_dtype dtype
    cdef IRNode* node
    cdef ParsedValue* classes
    cdef string_view name
    cdef unordered_map[string_view, int32_t] by_name
    cdef Edge edge
    group.resize(n)
    by_name.reserve(n)
    for i in range(n):
        group[i] = i
        node = &ir.nodes[i]
        if not node.removed and node.entry != NULL:
            by_name[string_view(node.source.name)] = i
    for i in range(n):
        node = &ir.nodes[i]
        if node.removed or node.kind == NodeKind.FEED:
            continue
        for k in range(node.n_inputs):
            edge = ir.edges[node.first_input + k]
            dtype = node.source.input_dtypes[k]
            # A list of tensors or a dataset is memory of one process.
            if ((_is_reference(dtype)
                 or (dtype == HR_VARIANT and ir.between_tasks))
                    and ir.nodes[edge.node].kind != NodeKind.FEED):
                _join(group, edge.node, i)
        if ir.between_tasks:
            _keep_loop_variables_together(ir, group, i)
        if node.entry == NULL:
            continue
        classes = parsed_value(node.source, string_view(<const char*>b"_class"))
        if classes == NULL:
            continue
        for c in range(classes.strings.size()):
            name = string_view(classes.strings[c].data, classes.strings[c].size)
            if name.size() > 5 and (
                    string_view(name.data(), 5) == string_view(<const char*>b"loc:@")):
                name = string_view(name.data() + 5, name.size() - 5)
                # The name of a pruned node still identifies the group.
                found = by_name.find(name)
                if found == by_name.end():
                    by_name[name] = i
                else:
                    _join(group, dereference(found).second, i)
    return 0


cdef inline bint _is_reference(hr_dtype dtype) noexcept nogil:
    return dtype >= HR_REF or dtype == HR_RESOURCE


cdef bint _makes_state(GraphIR ir, int32_t i) noexcept nogil:
    """Whether a node makes a reference or handle, instead of passing one on."""
    cdef IRNode* node = &ir.nodes[i]
    cdef int32_t k
    cdef size_t o
    if node.entry == NULL:
        return False
    for k in range(node.n_inputs):
        if _is_reference(node.source.input_dtypes[k]):
            return False
    for o in range(node.source.output_dtypes.size()):
        if _is_reference(node.source.output_dtypes[o]):
            return True
    return False


cdef int _keep_loop_variables_together(GraphIR ir, vector[int32_t]& group,
                                       int32_t i) except -1 nogil:
    """The control flow nodes of one loop variable share a task: what passes between them does not
    pass once per iteration, as what a Recv receives."""
    cdef IRNode* node = &ir.nodes[i]
    cdef int32_t k, source
    for k in range(node.n_inputs):
        source = ir.edges[node.first_input + k].node
        if node.kind == NodeKind.EXIT:
            _join(group, source, i)
        elif node.kind == NodeKind.MERGE and (
                ir.nodes[source].kind == NodeKind.NEXT_ITERATION
                or ir.nodes[source].kind == NodeKind.ENTER):
            _join(group, source, i)
        elif node.kind == NodeKind.SWITCH and k == 0 and ir.nodes[source].kind == NodeKind.MERGE:
            _join(group, source, i)
    return 0


cdef int _choose(GraphIR ir, bint soft, vector[int32_t]& group, vector[uint64_t]& required,
                 vector[uint64_t]& possible, vector[const hr_kernel*]& kernels,
                 vector[int32_t]& type_of, size_t n_types) except -1 nogil:
    cdef int32_t n = <int32_t>ir.nodes.size()
    cdef int32_t i, root
    cdef IRNode* node
    cdef uint64_t mask
    cdef vector[uint64_t] group_required, group_possible, state_required
    group_required.assign(n, ~<uint64_t>0)
    group_possible.assign(n, ~<uint64_t>0)
    state_required.assign(n, ~<uint64_t>0)
    for i in range(n):
        if not ir.nodes[i].removed:
            root = _root(group, i)
            group_required[root] &= required[i]
            group_possible[root] &= possible[i]
            if _makes_state(ir, i):
                state_required[root] &= required[i]
    for i in range(n):
        node = &ir.nodes[i]
        if node.removed:
            continue
        root = _root(group, i)
        mask = group_required[root] & group_possible[root]
        if mask == 0 and soft:
            # What uses a variable follows it, whatever device it requests, as in TensorFlow.
            mask = state_required[root] & group_possible[root]
        if mask == 0 and soft:
            mask = group_possible[root]
        if mask == 0 and ir.tolerant:
            node.device = -1
            continue
        if mask == 0:
            with gil:
                raise _no_common_device(ir, group, root, required, possible)
        node.device = _lowest(mask)
        if node.kind == NodeKind.KERNEL or node.kind == NodeKind.READ_SLOT:
            node.kernel = kernels[i * n_types + type_of[node.device]]
    return 0


cdef inline int32_t _lowest(uint64_t mask) noexcept nogil:
    cdef int32_t i = 0
    while not (mask >> i) & 1:
        i += 1
    return i


# ---- errors ------------------------------------------------------------------------------------


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
    kinds = ir.device_types
    if not source.device.empty():
        requested = parse_device(text_of(source.device)).get("type")
        kinds = [requested] if requested in kinds else kinds
    with_text = f" with {', '.join(dtypes)}" if dtypes else ""
    return InvalidArgumentError(
        None, None,
        f"{text_of(source.op)} '{text_of(source.name)}': no "
        f"{' or '.join(dict.fromkeys(kinds))} kernel for "
        f"{text_of(source.op)}{with_text}; {describe_kernels(source.op)}. "
        f"No OpKernel was registered to support Op '{text_of(source.op)}' with these attrs.",
        node_name=text_of(source.name))


cdef object _no_common_device(GraphIR ir, vector[int32_t]& group, int32_t root,
                              vector[uint64_t]& required, vector[uint64_t]& possible):
    cdef int32_t i, d
    members = []
    for i in range(<int32_t>group.size()):
        if not ir.nodes[i].removed and _root(group, i) == root:
            on = [ir.devices[d] for d in range(len(ir.devices))
                  if (required[i] & possible[i]) >> d & 1]
            name = text_of(ir.nodes[i].source.name)
            if len(on) < len(ir.devices):
                members.append(f"'{name}' ({', '.join(on)})")
    return InvalidArgumentError(
        None, None,
        f"nodes that must share a device cannot: {'; '.join(sorted(members)[:8])}; request one "
        f"device, or set allow_soft_placement", node_name=text_of(ir.nodes[root].source.name))
