# distutils: language = c++
"""Cuts a placed graph at the borders between tasks (white paper §3.2.2, §3.3, §4.4).

A tensor that a task needs from another one passes through a Send and one Recv per task; a control
edge, through a Send and a Recv of a value without meaning. Fed tensors are received from the
client, and fetched ones sent to it.

A task with a node inside a loop needs the loop's control, so that its Recvs run once per iteration.
If it has no Merge of the loop itself, it gets one with a loop of its own around it, whose condition
it receives in each iteration. Senders and receivers agree on the number of iterations: a node in a
loop runs once more than the body does, the last time dead, and its Send sends that it is dead.

Where the session says so, float tensors pass as bfloat16 (§5.5): the sender drops the lower half of
each number, and the receiver puts zeros in its place. Feeds and fetches stay as they are.
"""

from libc.stdint cimport int32_t, int64_t
from libcpp.algorithm cimport sort
from libcpp.map cimport map
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport (
    Attributes, attributes_of, bytes_attr, fill_abi_node, kBool, kInt, kString, kType, number_attr,
)
from headrace.runtime.graph.graph_node cimport Edge, GraphNode
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.node_text cimport text_of
from headrace.runtime.memory.kernel_abi cimport (
    HR_BFLOAT16, HR_BOOL, HR_FLOAT, HR_INT32, HR_REF, HR_RESOURCE, hr_dtype, hr_node,
)
from headrace.runtime.passes.graph_ir cimport GraphIR, IRNode
from headrace.runtime.passes.task_frames cimport TaskFrames

from headrace.formats.errors import UnimplementedError
from headrace.formats.proto.op_pb2 import AttrValue
from headrace.formats.tensor_codec import make_tensor_proto

cdef extern from "headrace/kernel.h" nogil:
    int64_t hr_attr_int(const hr_node* node, const char* key, int64_t otherwise)
    int32_t hr_attr_bool(const hr_node* node, const char* key, int32_t otherwise)


cdef class TaskEdges:
    def __init__(self, GraphIR ir, list task_of_device, list tasks, bint bfloat16=False):
        """task_of_device: per device of the ir, the number of its task. bfloat16: float tensors pass
        between tasks as that."""
        self.ir = ir
        self.bfloat16 = bfloat16
        self.tasks = tasks
        self.tensors = []
        for task in task_of_device:
            self.task_of.push_back(task)

    cdef int cut(self) except -1:
        cdef GraphIR ir = self.ir
        cdef int32_t i, k, n
        cdef vector[Edge] inputs
        cdef vector[int32_t] controls
        cdef bint moved
        self.frames = TaskFrames()
        self.frames.find(ir)
        self.copy_constant_enters()
        n = <int32_t>ir.nodes.size()
        for i in range(n):
            if ir.nodes[i].removed or ir.nodes[i].kind == NodeKind.FEED:
                continue
            for k in range(ir.nodes[i].n_inputs):
                edge = self.crossing(ir.edges[ir.nodes[i].first_input + k], i)
                ir.edges[ir.nodes[i].first_input + k] = edge
            for k in range(ir.nodes[i].n_controls):
                source = ir.controls[ir.nodes[i].first_control + k]
                if ir.nodes[source].kind != NodeKind.FEED and self.task(source) != self.task(i):
                    source = self.receive_signal(source, ir.nodes[i].device)
                    ir.controls[ir.nodes[i].first_control + k] = source
        return self.send_fetches()

    cdef int32_t task(self, int32_t node) noexcept nogil:
        return self.task_of[self.ir.nodes[node].device]

    cdef int copy_constant_enters(self) except -1:
        """Gives each task an Enter of its own for what is constant in a loop, which then passes
        once, not in each iteration."""
        cdef GraphIR ir = self.ir
        cdef vector[int32_t] key
        cdef vector[Edge] inputs
        cdef vector[int32_t] controls
        cdef Edge edge
        cdef int32_t i, k, enter, copy, n = <int32_t>ir.nodes.size()
        for i in range(n):
            if ir.nodes[i].removed or ir.nodes[i].kind == NodeKind.FEED:
                continue
            for k in range(ir.nodes[i].n_inputs):
                edge = ir.edges[ir.nodes[i].first_input + k]
                enter = edge.node
                if ir.nodes[enter].kind != NodeKind.ENTER or self.task(enter) == self.task(i) or \
                        ir.nodes[enter].source.op != b"Enter" or \
                        not hr_attr_bool(&ir.nodes[enter].source.abi_node, "is_constant", 0):
                    continue
                key = [enter, self.task(i)]
                found = self.entered.find(key)
                if found == self.entered.end():
                    copy = self.add(NodeKind.ENTER, "Enter",
                                    text_of(ir.nodes[enter].source.name), ir.nodes[i].device,
                                    self.frames.frame_of[enter], self.frames.inside[enter], enter)
                    copy_attributes(ir.nodes[enter].source, ir.nodes[copy].source)
                    ir.nodes[copy].source.input_dtypes = ir.nodes[enter].source.input_dtypes
                    ir.nodes[copy].source.output_dtypes = ir.nodes[enter].source.output_dtypes
                    ir.nodes[copy].n_outputs = 1
                    fill_abi_node(ir.nodes[copy].source)
                    inputs.clear()
                    inputs.push_back(ir.edges[ir.nodes[enter].first_input])
                    ir.set_inputs(copy, inputs)
                    controls.clear()
                    for c in range(ir.nodes[enter].n_controls):
                        controls.push_back(ir.controls[ir.nodes[enter].first_control + c])
                    ir.set_controls(copy, controls)
                    self.entered[key] = copy
                edge.node = self.entered[key]
                ir.edges[ir.nodes[i].first_input + k] = edge
        return 0

    # ---- edges -----------------------------------------------------------------------------------

    cdef Edge crossing(self, Edge edge, int32_t consumer) except *:
        """The edge through which a consumer gets a tensor."""
        cdef GraphIR ir = self.ir
        cdef int32_t device = ir.nodes[consumer].device
        cdef hr_dtype wanted
        if ir.nodes[edge.node].kind != NodeKind.FEED and self.task(edge.node) == self.task_of[device]:
            return edge
        wanted = ir.nodes[consumer].source.input_dtypes[
            consumer_input(ir, consumer, edge)]
        if wanted >= HR_REF or wanted == HR_RESOURCE:
            name = text_of(ir.nodes[consumer].source.name)
            raise UnimplementedError(
                None, None,
                f"'{name}' on {ir.devices[device]} needs the variable or resource that "
                f"'{text_of(ir.nodes[edge.node].source.name)}' keeps on "
                f"{ir.devices[ir.nodes[edge.node].device]}: place both on one device",
                node_name=name)
        edge.node = self.receive(edge, device, consumer)
        edge.port = 0
        return edge

    cdef int32_t receive(self, Edge edge, int32_t device, int32_t consumer) except -1:
        """The Recv of a tensor on a task.

        Where a variable is read for a consumer that waits for other nodes, the read waits for them,
        too: consumers that wait for the same nodes share a Recv.
        """
        cdef GraphIR ir = self.ir
        cdef bint fed = ir.nodes[edge.node].kind == NodeKind.FEED
        cdef int32_t number, k, send, feed = -1
        cdef vector[int32_t] waits
        cdef vector[int32_t] key = [edge.node, edge.port, self.task_of[device]]
        if not fed and consumer >= 0 and ir.dtype_of(edge) >= HR_REF:
            for k in range(ir.nodes[consumer].n_controls):
                waits.push_back(ir.controls[ir.nodes[consumer].first_control + k])
            sort(waits.begin(), waits.end())
            key.insert(key.end(), waits.begin(), waits.end())
        found = self.receivers.find(key)
        if found != self.receivers.end():
            return self.receivers[key]
        if fed:
            for feed in range(<int32_t>ir.feeds.size()):
                if ir.feeds[feed] == edge.node:
                    break
        port = ir.nodes[edge.node].port if fed else edge.port
        name = f"{text_of(ir.nodes[edge.node].source.name)}:{port}"
        if not fed:
            for k in range(<int32_t>waits.size()):
                if ir.nodes[waits[k]].kind != NodeKind.FEED and \
                        self.task(waits[k]) != self.task(edge.node):
                    waits[k] = self.receive_signal(waits[k], ir.nodes[edge.node].device)
        narrow = self.bfloat16 and not fed and ir.dtype_of(edge) % HR_REF == HR_FLOAT
        if narrow:
            edge.node = self.narrowed(edge, waits)
            edge.port = 0
        number = self.number_edge(-1 if fed else self.task(edge.node), self.task_of[device], feed,
                                  ir.dtype_of(edge) % HR_REF, name)
        if not fed:
            send = self.add_send(edge, number, False)
            ir.set_controls(send, waits)
        made = self.add_receive(number, device, self.frames.inside[edge.node], edge.node)
        if narrow:
            made = self.add_cast(made, 0, device, HR_BFLOAT16, HR_FLOAT)
        self.receivers[key] = made
        return made

    cdef int32_t narrowed(self, Edge edge, const vector[int32_t]& waits) except -1:
        """A tensor without the lower half of each float; the same for all tasks."""
        cdef vector[int32_t] key = [edge.node, edge.port]
        cdef vector[int32_t] controls
        key.insert(key.end(), waits.begin(), waits.end())
        found = self.narrow.find(key)
        if found != self.narrow.end():
            return self.narrow[key]
        made = self.add_cast(edge.node, edge.port, self.ir.nodes[edge.node].device, HR_FLOAT,
                             HR_BFLOAT16)
        controls = waits
        self.ir.set_controls(made, controls)
        self.narrow[key] = made
        return made

    cdef int32_t add_cast(self, int32_t node, int32_t port, int32_t device, hr_dtype source,
                          hr_dtype to) except -1:
        """A Cast, which truncates where it narrows."""
        cdef int32_t frame = self.frames.inside[node]
        cdef int32_t made = self.add(
            NodeKind.KERNEL, "Cast", text_of(self.ir.nodes[node].source.name) + "/_cast", device,
            frame, frame, node)
        cdef GraphNode* cast = self.ir.nodes[made].source
        self.ir.nodes[made].n_outputs = 1
        cast.input_dtypes.push_back(source)
        cast.output_dtypes.push_back(to)
        attributes_of(cast).add(<string>b"SrcT", number_attr(kType, source))
        attributes_of(cast).add(<string>b"DstT", number_attr(kType, to))
        attributes_of(cast).add(<string>b"Truncate", number_attr(kBool, to == HR_BFLOAT16))
        fill_abi_node(cast)
        connect(self.ir, made, [(node, port)])
        return made

    cdef int32_t receive_signal(self, int32_t source, int32_t device) except -1:
        """A Recv that ends after a node of another task."""
        cdef GraphIR ir = self.ir
        cdef vector[int32_t] key = [source, self.task_of[device]]
        cdef vector[int32_t] controls
        cdef Edge edge
        cdef int32_t number
        found = self.signals.find(key)
        if found != self.signals.end():
            return self.signals[key]
        name = text_of(ir.nodes[source].source.name)
        edge.node = add_constant(self, name, ir.nodes[source].device, self.frames.inside[source],
                                 source, False, HR_BOOL)
        edge.port = 0
        controls.push_back(source)
        ir.set_controls(edge.node, controls)
        number = self.number_edge(self.task(source), self.task_of[device], -1, HR_BOOL, f"^{name}")
        self.add_send(edge, number, False)
        made = self.add_receive(number, device, self.frames.inside[source], source)
        self.signals[key] = made
        return made

    cdef int send_fetches(self) except -1:
        cdef GraphIR ir = self.ir
        cdef vector[int32_t] key
        cdef Edge edge
        cdef int32_t number
        cdef size_t f, k
        for f in range(ir.fetches.size()):
            edge = ir.fetches[f]
            if ir.nodes[edge.node].kind == NodeKind.FEED:
                for k in range(ir.feeds.size()):
                    if ir.feeds[k] == edge.node:
                        self.fetches.push_back(-1 - <int64_t>k)
                        break
                continue
            key = [edge.node, edge.port]
            found = self.sent_fetches.find(key)
            if found == self.sent_fetches.end():
                number = self.number_edge(
                    self.task(edge.node), -1, -1, ir.dtype_of(edge) % HR_REF,
                    f"{text_of(ir.nodes[edge.node].source.name)}:{edge.port}")
                self.add_send(edge, number, True)
                self.sent_fetches[key] = number
            self.fetches.push_back(self.sent_fetches[key])
        return 0

    cdef int32_t number_edge(self, int32_t sender, int32_t receiver, int32_t feed, hr_dtype dtype,
                             str tensor) except -1:
        cdef TaskEdge edge
        edge.send_task = sender
        edge.recv_task = receiver
        edge.feed = feed
        edge.dtype = dtype
        self.edges.push_back(edge)
        self.tensors.append(tensor)
        return <int32_t>self.edges.size() - 1

    # ---- loops -----------------------------------------------------------------------------------

    cdef int32_t loop_head(self, int32_t frame, int32_t device) except -1:
        """A Merge at the head of a loop on a task, which runs in each iteration."""
        cdef GraphIR ir = self.ir
        cdef vector[int32_t] key = [frame, self.task_of[device]]
        cdef int32_t i, k
        found = self.heads.find(key)
        if found != self.heads.end():
            return self.heads[key]
        for i in range(<int32_t>self.frames.frame_of.size()):
            if self.frames.frame_of[i] != frame or ir.nodes[i].kind != NodeKind.MERGE or \
                    self.task(i) != self.task_of[device]:
                continue
            for k in range(ir.nodes[i].n_inputs):
                if ir.nodes[ir.edges[ir.nodes[i].first_input + k].node].kind == \
                        NodeKind.NEXT_ITERATION:
                    self.heads[key] = i
                    return i
        return self.make_skeleton(frame, device)

    cdef int32_t make_skeleton(self, int32_t frame, int32_t device) except -1:
        """A loop without a body on a task: Enter, Merge, Switch on the received condition, Next."""
        cdef GraphIR ir = self.ir
        cdef vector[int32_t] key = [frame, self.task_of[device]]
        cdef vector[Edge] inputs
        cdef vector[int32_t] controls
        cdef Edge edge, condition
        cdef int32_t like = self.frames.enters[frame]
        cdef int32_t parent = self.frames.parents[frame]
        cdef int32_t start, enter, merge, switch, following
        cdef GraphNode* pattern = ir.nodes[like].source
        if self.frames.conditions[frame] < 0:
            raise UnimplementedError(
                None, None, f"the loop '{self.frames.names[frame]}' spans several tasks and has no "
                "LoopCond", node_name=text_of(pattern.name))
        name = f"{self.frames.names[frame]}/_control"
        start = add_constant(self, name, device, parent, like, 0, HR_INT32)
        if parent > 0:
            controls.push_back(self.loop_head(parent, device))
            ir.set_controls(start, controls)
        enter = self.add(NodeKind.ENTER, "Enter", name, device, parent, frame, like)
        add_loop_attributes(ir.nodes[enter].source, pattern)
        merge = self.add(NodeKind.MERGE, "Merge", name, device, frame, frame, like)
        self.heads[key] = merge
        switch = self.add(NodeKind.SWITCH, "Switch", name, device, frame, frame, like)
        following = self.add(NodeKind.NEXT_ITERATION, "NextIteration", name, device, frame, frame,
                             like)
        set_types(ir, enter, [HR_INT32], [HR_INT32])
        set_types(ir, merge, [HR_INT32, HR_INT32], [HR_INT32, HR_INT32])
        attributes_of(ir.nodes[merge].source).add(<string>b"N", number_attr(kInt, 2))
        fill_abi_node(ir.nodes[merge].source)
        set_types(ir, switch, [HR_INT32, HR_BOOL], [HR_INT32, HR_INT32])
        set_types(ir, following, [HR_INT32], [HR_INT32])
        condition.node = self.frames.conditions[frame]
        condition.port = 0
        if self.task(condition.node) != self.task_of[device]:
            condition.node = self.receive(condition, device, -1)
        connect(ir, enter, [(start, 0)])
        connect(ir, merge, [(enter, 0), (following, 0)])
        connect(ir, switch, [(merge, 0), (condition.node, condition.port)])
        connect(ir, following, [(switch, 1)])
        return merge

    # ---- nodes -----------------------------------------------------------------------------------

    cdef int32_t add(self, int kind, str op, str name, int32_t device, int32_t frame,
                     int32_t inside, int32_t like) except -1:
        cdef int32_t made = self.ir.add_node(
            <NodeKind>kind, <string>op.encode(), <string>name.encode(), self.ir.nodes[like].source)
        self.ir.nodes[made].device = device
        self.ir.nodes[made].rank = self.ir.nodes[like].rank
        self.frames.frame_of.push_back(frame)
        self.frames.inside.push_back(inside)
        return made

    cdef int32_t add_send(self, Edge edge, int32_t number, bint to_client) except -1:
        cdef GraphIR ir = self.ir
        cdef int32_t frame = self.frames.inside[edge.node]
        cdef int32_t send = self.add(
            NodeKind.SEND, "_Send", text_of(ir.nodes[edge.node].source.name) + "/_send",
            ir.nodes[edge.node].device, frame, frame, edge.node)
        ir.nodes[send].source.input_dtypes.push_back(self.edges[number].dtype)
        self.describe(send, b"T", number)
        connect(ir, send, [(edge.node, edge.port)])
        return send

    cdef int32_t add_receive(self, int32_t number, int32_t device, int32_t frame,
                             int32_t like) except -1:
        cdef GraphIR ir = self.ir
        cdef vector[int32_t] controls
        cdef int32_t made = self.add(
            NodeKind.RECV, "_Recv", text_of(ir.nodes[like].source.name) + "/_recv", device,
            frame, frame, like)
        ir.nodes[made].n_outputs = 1
        ir.nodes[made].source.output_dtypes.push_back(self.edges[number].dtype)
        self.describe(made, b"tensor_type", number)
        if frame > 0:
            controls.push_back(self.loop_head(frame, device))
            ir.set_controls(made, controls)
        return made

    cdef int describe(self, int32_t node, bytes type_key, int32_t number) except -1:
        cdef TaskEdge* edge = &self.edges[number]
        cdef GraphNode* source = self.ir.nodes[node].source
        cdef Attributes* attributes = attributes_of(source)
        name = f"edge_{number}_{self.tensors[number].replace(';', '_')}".encode()
        sender = (self.tasks[edge.send_task] if edge.send_task >= 0 else "").encode()
        receiver = (self.tasks[edge.recv_task] if edge.recv_task >= 0 else "").encode()
        client = edge.send_task < 0 or edge.recv_task < 0
        attributes.add(<string>type_key, number_attr(kType, edge.dtype))
        attributes.add(<string>b"tensor_name", bytes_attr(kString, <string>name))
        attributes.add(<string>b"send_device", bytes_attr(kString, <string>sender))
        attributes.add(<string>b"recv_device", bytes_attr(kString, <string>receiver))
        attributes.add(<string>b"send_device_incarnation", number_attr(kInt, 0))
        attributes.add(<string>b"client_terminated", number_attr(kBool, client))
        attributes.add(<string>b"_edge", number_attr(kInt, number))
        fill_abi_node(source)
        return 0


cdef int32_t consumer_input(GraphIR ir, int32_t consumer, Edge edge) noexcept nogil:
    """Which input of a node an edge is."""
    cdef int32_t k
    for k in range(ir.nodes[consumer].n_inputs):
        if ir.edges[ir.nodes[consumer].first_input + k].node == edge.node and \
                ir.edges[ir.nodes[consumer].first_input + k].port == edge.port:
            return k
    return 0


cdef int32_t add_constant(TaskEdges self, str name, int32_t device, int32_t frame, int32_t like,
                          value, hr_dtype dtype) except -1:
    cdef int32_t made = self.add(NodeKind.KERNEL, "Const", name + "/_signal", device, frame, frame,
                                 like)
    cdef GraphNode* source = self.ir.nodes[made].source
    tensor = make_tensor_proto(value, "bool" if dtype == HR_BOOL else "int32")
    source.output_dtypes.push_back(dtype)
    self.ir.nodes[made].n_outputs = 1
    attributes_of(source).add(<string>b"dtype", number_attr(kType, dtype))
    attributes_of(source).add(
        <string>b"value", <string>AttrValue(tensor=tensor).SerializeToString())
    fill_abi_node(source)
    return made


cdef int connect(GraphIR ir, int32_t node, list sources) except -1:
    cdef vector[Edge] inputs
    cdef Edge edge
    for number, port in sources:
        edge.node = number
        edge.port = port
        inputs.push_back(edge)
    return ir.set_inputs(node, inputs)


cdef int set_types(GraphIR ir, int32_t node, list inputs, list outputs) except -1:
    cdef GraphNode* source = ir.nodes[node].source
    for dtype in inputs:
        source.input_dtypes.push_back(dtype)
    for dtype in outputs:
        source.output_dtypes.push_back(dtype)
    ir.nodes[node].n_outputs = <int32_t>len(outputs)
    attributes_of(source).add(<string>b"T", number_attr(kType, HR_INT32))
    fill_abi_node(source)
    return 0


cdef int add_loop_attributes(GraphNode* enter, GraphNode* pattern) except -1:
    """The frame of another Enter."""
    cdef Attributes* attributes = attributes_of(enter)
    cdef size_t a
    for a in range(attributes_of(pattern).entries.size()):
        entry = attributes_of(pattern).entries[a]
        if entry.key == string_view(<const char*>b"frame_name") or \
                entry.key == string_view(<const char*>b"parallel_iterations"):
            attributes.add(string(entry.key), string(entry.value))
    return 0


cdef int copy_attributes(GraphNode* source, GraphNode* to) except -1:
    cdef size_t a
    for a in range(attributes_of(source).entries.size()):
        entry = attributes_of(source).entries[a]
        attributes_of(to).add(string(entry.key), string(entry.value))
    return 0
