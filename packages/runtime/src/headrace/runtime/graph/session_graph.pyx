# distutils: language = c++
"""The nodes of a session: GraphDef bytes in, checked nodes out."""

import threading

from google.protobuf.message import DecodeError

from cython.operator cimport dereference
from libc.stdint cimport int32_t, int64_t, uint32_t
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from headrace.runtime.graph.attributes cimport (
    AttrEntry, Attributes, OpEntry, ParsedGraph, ParsedNode, attributes_of, make_attributes,
    op_entry_of, parse_graph_def,
)
from headrace.runtime.graph.graph_node cimport Edge, GraphNode, OpInfo
from headrace.runtime.memory.kernel_abi cimport (
    HR_OK, HR_REF, HR_STRING, hr_code, hr_dtype, hr_elements, hr_node, hr_string, hr_tensor,
)
from headrace.runtime.graph.name_index cimport NameIndex
from headrace.runtime.graph.node_checks cimport check_node
from headrace.runtime.graph.node_kind cimport NodeKind
from headrace.runtime.graph.node_text cimport blame, dtype_text, text, text_of
from headrace.runtime.graph.op_table cimport new_entry, op_entry

from headrace.formats.errors import InvalidArgumentError, NotFoundError, from_code
from headrace.formats import op_catalogue
from headrace.formats.op_def_signature import from_op_def
from headrace.formats.proto.graph_pb2 import FunctionDef

cdef extern from "graph/attributes.hpp" namespace "headrace" nogil:
    cdef struct _NodeApi "hr_node_api":
        hr_code (*attr_tensor)(const hr_node*, const char*, const hr_tensor**)
    const _NodeApi headrace_node_api


# Files that require a newer consumer than this are rejected; producers count from 0.
_CONSUMER_VERSION = 10_000


cdef class SessionGraph:
    """All nodes of a session. `extend` adds nodes; none is ever moved or removed."""

    def __cinit__(self):
        self.graph_defs = []
        self.index = NameIndex()
        self.library = {}
        self.lock = threading.RLock()
        self.version = 0

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.nodes.size()):
            del self.nodes[i]
        for i in range(self.retired.size()):
            if self.retired[i].kernel != NULL and self.retired[i].kernel.destroy != NULL:
                self.retired[i].kernel.destroy(self.retired[i].state)
        for item in self.functions:
            del item.second

    def __len__(self):
        return self.nodes.size()

    cdef int32_t find(self, string_view name) noexcept nogil:
        return self.index.find(self.nodes, name)

    cpdef extend(self, bytes graph_def):
        """Adds the nodes of a GraphDef message.

        Raises: InvalidArgumentError for bytes that are not a GraphDef, a name that is taken, a
          dangling edge, a cycle, or a node that its op does not allow; NotFoundError for an
          unknown op. The graph stays as it was.
        """
        cdef string_view data = string_view(<const char*>graph_def, len(graph_def))
        cdef ParsedGraph parsed
        cdef size_t before, i
        with self.lock:
            before = self.nodes.size()
            with nogil:
                parse_graph_def(data, parsed)
            if parsed.problem != NULL:
                raise InvalidArgumentError(
                    None, None,
                    f"not a GraphDef: {parsed.problem.decode()} at byte {parsed.offset} of "
                    f"{len(graph_def)}", offset=parsed.offset)
            if parsed.min_consumer > _CONSUMER_VERSION:
                raise InvalidArgumentError(
                    None, None,
                    f"the GraphDef requires readers of version {parsed.min_consumer} or later, "
                    f"this one is {_CONSUMER_VERSION}: install a newer headrace-runtime")
            functions = _read_functions(parsed, self.library)
            try:
                for name, message in functions.items():
                    self.functions[name.encode()] = _function_entry(message)
                self.library.update(functions)
                with nogil:
                    _add_nodes(self, parsed)
                    _connect(self, parsed, <int32_t>before)
                    _reject_cycle(self, <int32_t>before)
            except BaseException:
                for i in range(before, self.nodes.size()):
                    del self.nodes[i]
                self.nodes.resize(before)
                self.index.reset(self.nodes)
                for name in functions:
                    self.library.pop(name, None)
                    taken = self.functions.find(<string>name.encode())
                    if taken != self.functions.end():
                        del dereference(taken).second
                        self.functions.erase(taken)
                raise
            self.graph_defs.append(graph_def)
            self.producer = (parsed.producer if self.version == 0
                             else min(self.producer, parsed.producer))
            self.version += 1

    def forget_kernels(self):
        """After a reset: every node makes its kernel's state again at its next use.

        Steps in progress use the old states, which live as long as the graph.
        """
        cdef size_t i
        cdef GraphNode* node
        cdef RetiredState retired
        with self.lock:
            for i in range(self.nodes.size()):
                node = self.nodes[i]
                if node.created.load():
                    retired.kernel = node.kernel
                    retired.state = node.state.load()
                    self.retired.push_back(retired)
                    # The old state stays in place until there is a new one: a run may be about to
                    # use it.
                    node.created.store(False)

    def node_names(self):
        """The names of all nodes, in the order in which they were added."""
        cdef size_t i
        with self.lock:
            return [text_of(self.nodes[i].name) for i in range(self.nodes.size())]

    cdef GraphNode* node_named(self, str name) except NULL:
        cdef bytes encoded = name.encode()
        cdef int32_t number
        with self.lock:
            number = self.find(string_view(<const char*>encoded, len(encoded)))
            if number < 0:
                raise NotFoundError(None, None, f"no node {name!r} in the graph")
            return self.nodes[number]

    def describe(self, str name):
        """A description of one node: op, device, inputs, dtypes, attributes."""
        with self.lock:
            return self._describe(self.node_named(name))

    cdef dict _describe(self, GraphNode* node):
        cdef Attributes* attributes = attributes_of(node)
        cdef Edge edge
        inputs = []
        for edge in node.inputs:
            inputs.append(f"{text_of(self.nodes[edge.node].name)}:{edge.port}")
        return {
            "name": text_of(node.name),
            "op": text_of(node.op),
            "device": text_of(node.device),
            "inputs": inputs,
            "controls": [text_of(self.nodes[i].name) for i in node.controls],
            "input_dtypes": [dtype_text(t) for t in node.input_dtypes],
            "output_dtypes": [dtype_text(t) for t in node.output_dtypes],
            "attrs": {text(a.key): a.value.data()[:a.value.size()] for a in attributes.entries},
        }

    def tensor_attribute(self, str name, str key):
        """A tensor attribute of a node, as kernels see it.

        Returns: (DataType number, dims, bytes), for strings (7, dims, list of bytes).
        Raises: the error that a kernel would get.
        """
        encoded_key = key.encode()
        cdef const hr_tensor* tensor = NULL
        cdef hr_string* strings
        cdef int64_t e
        cdef GraphNode* node = self.node_named(name)
        code = headrace_node_api.attr_tensor(&node.abi_node, <const char*>encoded_key, &tensor)
        if code != HR_OK:
            raise from_code(code, f"{text_of(node.op)} {name!r}: {text_of(node.error.take())}", name)
        dims = tuple([tensor.dims[d] for d in range(tensor.rank)])
        if tensor.dtype != HR_STRING:
            return tensor.dtype, dims, (<const char*>tensor.data)[:tensor.bytes]
        strings = <hr_string*>tensor.data
        return tensor.dtype, dims, [
            strings[e].data[:strings[e].size] for e in range(hr_elements(tensor))]


# ---- the function library ----------------------------------------------------------------------


cdef dict _read_functions(ParsedGraph& parsed, dict library):
    if parsed.functions.empty():
        return {}
    functions = {}
    cdef string_view view
    for view in parsed.functions:
        try:
            message = FunctionDef.FromString(view.data()[:view.size()])
        except DecodeError as error:
            raise InvalidArgumentError(None, None, f"not a FunctionDef: {error}") from error
        name = message.signature.name
        if op_catalogue.find(name) is not None:
            raise InvalidArgumentError(
                None, None,
                f"Cannot add function '{name}' because an op with the same name already exists")
        known = library.get(name, functions.get(name))
        if known is None:
            functions[name] = message
        elif known != message:
            raise InvalidArgumentError(
                None, None, f"Function {name!r}: another function of that name is in the graph")
    return functions


cdef OpEntry* _function_entry(message) except NULL:
    cdef OpEntry* entry
    try:
        entry = new_entry(from_op_def(message.signature))
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            None, None, f"Function '{message.signature.name}': its signature is malformed: {error}"
        ) from error
    entry.function = True
    return entry


# ---- nodes, without their edges ----------------------------------------------------------------


cdef OpEntry* _find_op(SessionGraph graph, string_view name, string_view node) except NULL:
    found = graph.functions.find(string(name))
    if found != graph.functions.end():
        return dereference(found).second
    try:
        return op_entry(name)
    except NotFoundError as error:
        raise NotFoundError(
            None, None, f"{text(name)} '{text(node)}': {error.message}",
            node_name=text(node)) from None


cdef int _add_nodes(SessionGraph graph, ParsedGraph& parsed) except -1 nogil:
    cdef unordered_map[string_view, OpEntry*] ops
    cdef OpEntry* entry
    cdef ParsedNode* from_file
    cdef GraphNode* node
    cdef Attributes* attributes
    cdef AttrEntry attr
    cdef size_t i
    cdef uint32_t a
    if graph.nodes.capacity() < graph.nodes.size() + parsed.nodes.size():
        graph.nodes.reserve(max(
            graph.nodes.size() + parsed.nodes.size(), 2 * graph.nodes.capacity()))
    graph.index.reserve(graph.nodes, graph.nodes.size() + parsed.nodes.size())
    for i in range(parsed.nodes.size()):
        from_file = &parsed.nodes[i]
        known = ops.find(from_file.op)
        if known != ops.end():
            entry = dereference(known).second
        else:
            with gil:
                entry = _find_op(graph, from_file.op, from_file.name)
            ops[from_file.op] = entry
        node = new GraphNode()
        node.name.assign(from_file.name.data(), from_file.name.size())
        node.op = entry.name
        node.device.assign(from_file.device.data(), from_file.device.size())
        node.info = <const OpInfo*>entry
        attributes = make_attributes(node)
        attributes.entries.reserve(from_file.n_attrs + entry.defaults.size())
        for a in range(from_file.first_attr, from_file.first_attr + from_file.n_attrs):
            attr.key = parsed.attrs[a].key
            attr.value = parsed.attrs[a].value
            attributes.entries.push_back(attr)
        graph.nodes.push_back(node)
        if node.name.empty():
            with gil:
                raise InvalidArgumentError(
                    None, None, f"node {i} of the GraphDef ({text_of(node.op)}) has no name")
        if not graph.index.add(graph.nodes, <int32_t>(graph.nodes.size() - 1)):
            with gil:
                raise blame(node, "the name is taken by another node of the graph")
        if entry.internal:
            with gil:
                raise blame(node, "only the executor's own passes make this op, from ops that a "
                            "graph can name")
        check_node(node, entry)
    return 0


# ---- edges -------------------------------------------------------------------------------------


cdef int _connect(SessionGraph graph, ParsedGraph& parsed, int32_t before) except -1 nogil:
    cdef ParsedNode* from_file
    cdef GraphNode* node
    cdef GraphNode* producer
    cdef string_view written
    cdef Edge edge
    cdef size_t i
    cdef uint32_t k
    cdef hr_dtype requested, actual
    for i in range(parsed.nodes.size()):
        from_file = &parsed.nodes[i]
        node = graph.nodes[before + i]
        node.inputs.reserve(node.input_dtypes.size())
        for k in range(from_file.first_input, from_file.first_input + from_file.n_inputs):
            written = parsed.inputs[k]
            if written.size() and written.data()[0] == c"^":
                edge.node = graph.find(string_view(written.data() + 1, written.size() - 1))
                if edge.node < 0:
                    with gil:
                        raise blame(node, f"input '{text(written)}' names no node of the graph")
                node.controls.push_back(edge.node)
                continue
            edge = find_tensor(graph, written)
            if edge.node < 0:
                with gil:
                    raise blame(node, f"input '{text(written)}' names no node of the graph")
            producer = graph.nodes[edge.node]
            if edge.port < 0 or edge.port >= <int32_t>producer.output_dtypes.size():
                with gil:
                    raise blame(
                        node, f"input '{text(written)}': {text_of(producer.op)} "
                        f"'{text_of(producer.name)}' has {producer.output_dtypes.size()} outputs")
            if node.inputs.size() >= node.input_dtypes.size():
                with gil:
                    raise _wrong_arity(node, from_file, parsed)
            requested = node.input_dtypes[node.inputs.size()]
            actual = producer.output_dtypes[edge.port]
            if requested != actual and (requested >= HR_REF or actual != requested + HR_REF):
                with gil:
                    raise blame(
                        node, f"input {node.inputs.size()} is {dtype_text(requested)}, but "
                        f"'{text_of(producer.name)}:{edge.port}' is {dtype_text(actual)}")
            node.inputs.push_back(edge)
        if node.inputs.size() != node.input_dtypes.size():
            with gil:
                raise _wrong_arity(node, from_file, parsed)
    return 0


cdef object _wrong_arity(const GraphNode* node, const ParsedNode* from_file, ParsedGraph& parsed):
    cdef uint32_t k
    n = 0
    for k in range(from_file.first_input, from_file.first_input + from_file.n_inputs):
        n += not text(parsed.inputs[k]).startswith("^")
    return blame(node, f"the op takes {node.input_dtypes.size()} inputs, {n} are given")


cdef Edge find_tensor(SessionGraph graph, string_view written) noexcept nogil:
    cdef Edge edge
    cdef size_t colon = written.size()
    cdef size_t i
    edge.port = 0
    while colon > 0 and c"0" <= written.data()[colon - 1] <= c"9":
        colon -= 1
    if 1 < colon < written.size() and written.data()[colon - 1] == c":":
        if written.size() - colon > 9:
            edge.port = -1
        else:
            for i in range(colon, written.size()):
                edge.port = edge.port * 10 + (written.data()[i] - c"0")
        written = string_view(written.data(), colon - 1)
    edge.node = graph.find(written)
    return edge


cdef inline bint _closes_loop(const GraphNode* producer, const GraphNode* consumer) noexcept nogil:
    return (op_entry_of(producer).kind == NodeKind.NEXT_ITERATION
            and op_entry_of(consumer).kind == NodeKind.MERGE)


cdef int _reject_cycle(SessionGraph graph, int32_t before) except -1 nogil:
    """Checks for cycles among the new nodes: old ones never read new ones."""
    cdef int32_t total = <int32_t>graph.nodes.size()
    cdef int32_t n = total - before
    cdef int32_t i, k, producer
    cdef cbool in_order = True
    cdef GraphNode* node
    cdef Edge edge
    cdef vector[int32_t] missing, first, consumers, at, ready
    missing.assign(n, 0)
    first.assign(n + 1, 0)
    for i in range(before, total):
        node = graph.nodes[i]
        for edge in node.inputs:
            if edge.node >= before and not _closes_loop(graph.nodes[edge.node], node):
                in_order = in_order and edge.node < i
                missing[i - before] += 1
                first[edge.node - before + 1] += 1
        for producer in node.controls:
            if producer >= before:
                in_order = in_order and producer < i
                missing[i - before] += 1
                first[producer - before + 1] += 1
    if in_order:
        return 0
    for i in range(n):
        first[i + 1] += first[i]
    consumers.resize(first[n])
    at.assign(first.begin(), first.end())
    for i in range(before, total):
        node = graph.nodes[i]
        for edge in node.inputs:
            if edge.node >= before and not _closes_loop(graph.nodes[edge.node], node):
                consumers[at[edge.node - before]] = i - before
                at[edge.node - before] += 1
        for producer in node.controls:
            if producer >= before:
                consumers[at[producer - before]] = i - before
                at[producer - before] += 1
    for i in range(n):
        if missing[i] == 0:
            ready.push_back(i)
    k = 0
    while k < <int32_t>ready.size():
        for i in range(first[ready[k]], first[ready[k] + 1]):
            missing[consumers[i]] -= 1
            if missing[consumers[i]] == 0:
                ready.push_back(consumers[i])
        k += 1
    if k == n:
        return 0
    with gil:
        raise _cycle_error(graph, before, missing)


cdef object _cycle_error(SessionGraph graph, int32_t before, vector[int32_t]& missing):
    # Every remaining node waits for another one, so that going backwards meets a node twice.
    cdef int32_t at = 0
    cdef int32_t producer
    cdef Edge edge
    while missing[at] == 0:
        at += 1
    path = []
    while at not in path:
        path.append(at)
        node = graph.nodes[before + at]
        at = -1
        for edge in node.inputs:
            if edge.node >= before and missing[edge.node - before] and not _closes_loop(
                    graph.nodes[edge.node], node):
                at = edge.node - before
                break
        if at < 0:
            for producer in node.controls:
                if producer >= before and missing[producer - before]:
                    at = producer - before
                    break
    cycle = path[path.index(at):][::-1]
    names = [text_of(graph.nodes[before + <int32_t>i].name) for i in cycle]
    shown = " -> ".join([*names[:8], "..."] if len(names) > 8 else [*names, names[0]])
    return InvalidArgumentError(
        None, None, f"the graph has a cycle: {shown}; only NextIteration to Merge may close one",
        node_name=names[0])
