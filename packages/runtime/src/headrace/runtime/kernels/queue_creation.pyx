# cython: language_level=3
"""Creates queues by name in a container, as nodes declare them."""

from libc.stdint cimport int32_t, int64_t
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.memory.buffer cimport object_release
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    HR_INT64, HR_INVALID_ARGUMENT, HR_OK, hr_code, hr_dtype, hr_node, hr_object,
)
from headrace.runtime.state.queue cimport LEAST, RANDOM, Queue, QueueSpec
from headrace.runtime.kernels.queue_batches cimport complete_dequeue

cdef extern from *:
    """
    #include "state/queue.hpp"
    using headrace::Queue;
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
    void queue_components(const hr_node* node, QueueSpec* spec) nogil

cdef extern from "kernels/synchronisation/named_objects.hpp" namespace "headrace" nogil:
    string shared_name_of(const hr_node* node)
    hr_code fail_node_text(hr_node* node, hr_code code, const string& text)
    hr_code find_object(hr_node* node, const char* kind, hr_object* (*make)(void*) noexcept nogil,
                        hr_object** found)

cdef extern from "state/synchronisation/waiting.hpp" namespace "headrace" nogil:
    hr_object* as_new_object(Queue* created, const char* kind)

cdef extern from "headrace/kernel.h" nogil:
    int64_t hr_attr_int(const hr_node* node, const char* key, int64_t otherwise)


cdef void read_spec(hr_node* node, QueueSpec* spec) noexcept nogil:
    """The queue that a node declares."""
    cdef string op = (<GraphNode*>node).op
    spec.name = shared_name_of(node)
    spec.capacity = hr_attr_int(node, "capacity", -1)
    spec.min_after_dequeue = hr_attr_int(node, "min_after_dequeue", 0)
    spec.seed = hr_attr_int(node, "seed", 0)
    spec.seed2 = hr_attr_int(node, "seed2", 0)
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


cdef hr_object* make_queue(void* node) noexcept nogil:
    cdef Queue* q = new Queue()
    q.complete_dequeue = complete_dequeue
    read_spec(<hr_node*>node, &q.spec)
    return as_new_object(q, "Queue")


cdef hr_code create_queue(hr_node* node, void** state) noexcept nogil:
    cdef string text
    cdef hr_object* found = NULL
    cdef QueueSpec requested
    cdef hr_code code
    read_spec(node, &requested)
    if not requested.shapes_fit():
        text.assign(b"Different number of component types.  Types: ")
        text.append(requested.types_text())
        text.append(b", shapes: ")
        text.append(requested.shapes_text())
        return fail_node_text(node, HR_INVALID_ARGUMENT, text)
    text = requested.wrong_minimum()
    if not text.empty():
        return fail_node_text(node, HR_INVALID_ARGUMENT, text)
    code = find_object(node, "Queue", make_queue, &found)
    if code != HR_OK:
        return code
    text = (<Queue*>found).spec.difference(requested)
    if not text.empty():
        object_release(found)
        return fail_node_text(node, HR_INVALID_ARGUMENT, text)
    state[0] = found
    return HR_OK


cdef void destroy_state(void* state) noexcept nogil:
    object_release(<hr_object*>state)
