# cython: language_level=3
"""Creates queues by name in a container, as nodes declare them."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.memory.buffer cimport object_release
from headrace.runtime.state.context cimport SessionState, is_container_name, session_lookup
from headrace.runtime.graph.attributes cimport text_attribute
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    HR_INT64, HR_INVALID_ARGUMENT, HR_OK, hr_code, hr_dtype, hr_node, hr_object,
)
from headrace.runtime.state.queue cimport LEAST, RANDOM, Queue, QueueSpec
from headrace.runtime.kernels.queue_batches cimport complete_dequeue

cdef extern from "<string>" namespace "std" nogil:
    string to_text "std::to_string"(int64_t n)

cdef extern from *:
    """
    #include "state/queue.hpp"
    using headrace::Queue;
    static void destroy_queue(hr_object* o) {
      delete reinterpret_cast<Queue*>(o);
    }
    static void queue_components(const hr_node* node, headrace::QueueSpec* spec) {
      const hr_dtype* types = nullptr;
      const int32_t* ranks = nullptr;
      const int64_t* const* dims = nullptr;
      size_t n = 0;
      if (node->api->attr_types(node, "component_types", &types, &n) == HR_OK)
        spec->types.assign(types, types + n);
      n = 0;
      if (node->api->attr_shapes(node, "shapes", &ranks, &dims, &n) == HR_OK)
        for (size_t i = 0; i < n; ++i) {
          spec->ranks.push_back(ranks[i]);
          spec->dims.emplace_back(dims[i], dims[i] + (ranks[i] > 0 ? ranks[i] : 0));
        }
    }
    """
    void destroy_queue(hr_object* o) nogil
    void queue_components(const hr_node* node, QueueSpec* spec) nogil

cdef extern from "headrace/kernel.h" nogil:
    int64_t hr_attr_int(const hr_node* node, const char* key, int64_t otherwise)


cdef void read_spec(hr_node* node, QueueSpec* spec) noexcept nogil:
    """The queue that a node declares."""
    cdef string op = (<GraphNode*>node).op
    spec.name = (<GraphNode*>node).name
    spec.capacity = hr_attr_int(node, "capacity", -1)
    spec.min_after_dequeue = hr_attr_int(node, "min_after_dequeue", 0)
    spec.seed = <uint64_t>(hr_attr_int(node, "seed", 0) * 1000003 + hr_attr_int(node, "seed2", 0))
    queue_components(node, spec)
    if op.find(b"RandomShuffle") == 0:
        spec.order = RANDOM
    elif op.find(b"Priority") == 0:
        spec.order = LEAST
        # The priority is an additional component, a scalar.
        spec.types.insert(spec.types.begin(), <hr_dtype>HR_INT64)
        spec.ranks.insert(spec.ranks.begin(), <int32_t>0)
        spec.dims.insert(spec.dims.begin(), vector[int64_t]())
    elif op.find(b"Padding") == 0:
        spec.padding = True


cdef hr_object* make_queue(void* argument) noexcept nogil:
    cdef hr_node* node = <hr_node*>argument
    cdef Queue* q = new Queue()
    q.object.size = sizeof(hr_object)
    q.object.references = 1
    q.object.kind = "Queue"
    q.object.destroy = destroy_queue
    q.complete_dequeue = complete_dequeue
    read_spec(node, &q.spec)
    return &q.object


cdef hr_code create_queue(hr_node* node, void** state) noexcept nogil:
    cdef GraphNode* source = <GraphNode*>node
    cdef string container = text_attribute(node, "container")
    cdef string shared_name = text_attribute(node, "shared_name")
    cdef string text
    cdef hr_object* found = NULL
    cdef QueueSpec requested
    read_spec(node, &requested)
    if not requested.shapes_fit():
        text.assign(b"Different number of component types.  Types: ")
        text.append(requested.types_text())
        text.append(b", shapes: ")
        text.append(to_text(<int64_t>requested.ranks.size()))
        source.error.assign(text)
        return HR_INVALID_ARGUMENT
    if not is_container_name(container):
        text.assign(b"container contains invalid characters: ")
        text.append(container)
        source.error.assign(text)
        return HR_INVALID_ARGUMENT
    if shared_name.empty():
        shared_name = source.name
    cdef hr_code code = session_lookup(<SessionState*>source.session, container.c_str(),
                                       shared_name.c_str(), "Queue", make_queue, node, &found,
                                       &text)
    if code != HR_OK:
        source.error.assign(text)
        return code
    if (<Queue*>found).spec.types != requested.types or (<Queue*>found).spec.order != requested.order:
        text.assign(b"Shared queue '")
        text.append(shared_name)
        text.append(b"' has component types ")
        text.append((<Queue*>found).spec.types_text())
        text.append(b" but requested component types were ")
        text.append(requested.types_text())
        if (<Queue*>found).spec.order != requested.order:
            text.append(b", and is of another kind of queue")
        source.error.assign(text)
        object_release(found)
        return HR_INVALID_ARGUMENT
    state[0] = found
    return HR_OK


cdef void destroy_state(void* state) noexcept nogil:
    object_release(<hr_object*>state)
