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
from headrace.runtime.graph.graph_cycles cimport reject_cycle
from headrace.runtime.graph.graph_node cimport Edge, GraphNode, KernelState, OpInfo
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
from headrace.formats.proto.graph_pb2 import FunctionDef, GradientDef

from headrace.runtime.graph.function_body import FunctionLibrary

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
        self.library = FunctionLibrary()
        self.bodies = []
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
        cdef size_t before
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
            gradients = _read_gradients(parsed)
            try:
                for name, message in functions.items():
                    self.functions[name.encode()] = _function_entry(message)
                self.library.add(functions)
                with nogil:
                    _add_nodes(self, parsed, self.index, -1)
                    _connect(self, parsed, <int32_t>before, self.index)
                    reject_cycle(self.nodes, <int32_t>before)
            except BaseException:
                self.remove_nodes(before)
                self.index.reset(self.nodes)
                self.library.remove(functions)
                for name in functions:
                    taken = self.functions.find(<string>name.encode())
                    if taken != self.functions.end():
                        del dereference(taken).second
                        self.functions.erase(taken)
                raise
            self.library.set_gradients(gradients)
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
        cdef KernelState retired
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
                for retired in node.take_others():
                    self.retired.push_back(retired)

    cdef int32_t add_body(self, int32_t call, bytes graph_def, NameIndex names) except -1:
        """Adds the nodes of a call's body, which only `names` finds, and returns the first."""
        cdef string_view data = string_view(<const char*>graph_def, len(graph_def))
        cdef ParsedGraph parsed
        cdef size_t before = self.nodes.size()
        parse_graph_def(data, parsed)
        try:
            _add_nodes(self, parsed, names, call)
            _connect(self, parsed, <int32_t>before, names)
            reject_cycle(self.nodes, <int32_t>before)
        except BaseException:
            self.remove_nodes(before)
            raise
        self.bodies.append(graph_def)
        self.body_nodes += self.nodes.size() - before
        return <int32_t>before

    cdef int remove_nodes(self, size_t first) noexcept:
        """Removes the nodes from `first` on, which nothing refers to yet."""
        cdef size_t i
        for i in range(first, self.nodes.size()):
            del self.nodes[i]
        self.nodes.resize(first)
        return 0

    def node_names(self):
        """The names of the nodes of the GraphDefs, in the order in which they were added."""
        cdef size_t i
        with self.lock:
            return [text_of(self.nodes[i].name) for i in range(self.nodes.size())
                    if self.nodes[i].caller < 0]

    def sinks(self):
        """The names of the nodes that no other node waits for."""
        cdef vector[cbool] has_readers
        cdef size_t i
        cdef int32_t source
        cdef Edge edge
        with self.lock:
            has_readers.assign(self.nodes.size(), False)
            for i in range(self.nodes.size()):
                for edge in self.nodes[i].inputs:
                    has_readers[edge.node] = True
                for source in self.nodes[i].controls:
                    has_readers[source] = True
            return [text_of(self.nodes[i].name) for i in range(self.nodes.size())
                    if not has_readers[i]]

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


cdef dict _read_functions(ParsedGraph& parsed, library):
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
        known = library.find(name) or functions.get(name)
        if known is None:
            functions[name] = message
        elif known != message:
            raise InvalidArgumentError(
                None, None, f"Function {name!r}: another function of that name is in the graph")
    return functions


cdef dict _read_gradients(ParsedGraph& parsed):
    """Returns the names of gradient functions by those of their functions."""
    gradients = {}
    cdef string_view view
    for view in parsed.gradients:
        try:
            message = GradientDef.FromString(view.data()[:view.size()])
        except DecodeError as error:
            raise InvalidArgumentError(None, None, f"not a GradientDef: {error}") from error
        gradients[message.function_name] = message.gradient_func
    return gradients


cdef OpEntry* _function_entry(message) except NULL:
    cdef OpEntry* entry
    try:
        entry = new_entry(from_op_def(message.signature))
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            None, None, f"Function '{message.signature.name}': its signature is malformed: {error}"
        ) from error
    entry.function = True
    entry.kind = NodeKind.CALL
    entry.pure = False
    return entry


cdef int add_functions(SessionGraph graph, functions) except -1:
    """Makes functions of the library ops of the graph, where they are not yet."""
    cdef bytes encoded
    for function in functions:
        encoded = function.signature.name.encode()
        if graph.functions.find(<string>encoded) == graph.functions.end():
            graph.functions[encoded] = _function_entry(function)
    return 0


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


cdef int _add_nodes(
        SessionGraph graph, ParsedGraph& parsed, NameIndex index, int32_t caller) except -1 nogil:
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
    if caller < 0:
        index.reserve(graph.nodes, graph.nodes.size() + parsed.nodes.size())
    else:
        index.clear(parsed.nodes.size())
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
        node.caller = caller
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
        if not index.add(graph.nodes, <int32_t>(graph.nodes.size() - 1)):
            with gil:
                raise blame(node, "the name is taken by another node of the graph")
        if entry.internal:
            with gil:
                raise blame(node, "only the executor's own passes make this op, from ops that a "
                            "graph can name")
        check_node(node, entry)
        graph.has_calls = graph.has_calls or entry.kind == NodeKind.CALL
    return 0


# ---- edges -------------------------------------------------------------------------------------


cdef int _connect(SessionGraph graph, ParsedGraph& parsed, int32_t before,
                  NameIndex index) except -1 nogil:
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
                edge.node = index.find(
                    graph.nodes, string_view(written.data() + 1, written.size() - 1))
                if edge.node < 0:
                    with gil:
                        raise blame(node, f"input '{text(written)}' names no node of the graph")
                node.controls.push_back(edge.node)
                continue
            edge = _tensor_in(graph, index, written)
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
    return _tensor_in(graph, graph.index, written)


cdef Edge _tensor_in(SessionGraph graph, NameIndex index, string_view written) noexcept nogil:
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
    edge.node = index.find(graph.nodes, written)
    return edge
