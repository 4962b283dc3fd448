# cython: language_level=3
"""Kernels of queue ops; blocked ones hold no thread."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.memory.buffer cimport (
    OwnedTensor, allocate_tensor, copy_tensor, object_release, object_retain,
)
from headrace.runtime.state.context cimport (
    Dequeue, Run, SessionState, is_container_name, object_of, run_fail_text, session_lookup,
    set_dequeue,
)
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    HR_INVALID_ARGUMENT, HR_INT64, HR_KERNEL_ABI, HR_OK, HR_REF, HR_RESOURCE,
    HR_RESOURCE_EXHAUSTED, HR_STRING, hr_buffer, hr_code, hr_ctx, hr_done, hr_dtype, hr_kernel,
    hr_kernel_table, hr_node, hr_object, hr_request, hr_resource, hr_string, hr_tensor,
)
from headrace.runtime.kernels.kernel_table cimport OWN_MEMORY, SESSION_CONSTANT, add_own_kernels
from headrace.runtime.state.queue cimport (
    CLOSE, DEQUEUE, ENQUEUE, Element, Queue, Waiter, Waiters, view_row,
)
from headrace.runtime.kernels.queue_batches cimport complete_dequeue
from headrace.runtime.kernels.queue_creation cimport create_queue, destroy_state


cdef extern from "memory/dtype_names.hpp" namespace "headrace" nogil:
    const char* dtype_name(hr_dtype dtype)

cdef extern from "<string>" namespace "std" nogil:
    string to_text "std::to_string"(int64_t n)

cdef extern from *:
    """
    #include "state/queue.hpp"
    using headrace::Queue;
    using headrace::Waiter;
    static void add_part(headrace::Element& element, headrace::OwnedTensor& part) {
      element.parts.push_back(std::move(part));
    }
    static void add_element(Waiter* w, headrace::Element& element) {
      w->elements.push_back(std::move(element));
      element = headrace::Element();
    }
    static void submit(Queue::Waiters& one) { Queue::submit(std::move(one)); }
    // Libraries call this from threads that no error boundary guards. An exception means that there
    // was no memory for a waiter, so `done` has not been called.
    template <class Start>
    static void without_exceptions(Start start, hr_ctx* ctx, const hr_tensor* queue, int32_t n,
                                   hr_tensor* const* outputs, hr_done done, void* argument) {
      try {
        start(ctx, queue, n, outputs, done, argument);
      } catch (const std::bad_alloc&) {
        ctx->api->fail(ctx, HR_RESOURCE_EXHAUSTED, "no memory to dequeue");
        done(argument, HR_RESOURCE_EXHAUSTED);
      }
    }
    """
    # Moves.
    void add_part(Element& element, OwnedTensor& part) nogil
    void add_element(Waiter* w, Element& element) nogil
    # Adds the waiter to its queue; it may be freed when this returns.
    void submit(Waiters& one) nogil
    void without_exceptions(Dequeue start, hr_ctx* ctx, const hr_tensor* queue, int32_t n,
                            hr_tensor* const* outputs, hr_done done, void* argument) nogil


cdef extern from "headrace/kernel.h" nogil:
    int64_t hr_attr_int(const hr_node* node, const char* key, int64_t otherwise)
    int32_t hr_attr_bool(const hr_node* node, const char* key, int32_t otherwise)


# ---- handles ---------------------------------------------------------------------------------------

cdef hr_code prepare_handle(void* state, hr_request* request) noexcept nogil:
    request.outputs[0].rank = 0
    return HR_OK


cdef hr_code give_handle(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void* workspace) noexcept nogil:
    if outputs[0].dtype >= HR_REF:      # the first version of the op: a reference to a name
        outputs[0].data = state
        outputs[0].owner = NULL
        return HR_OK
    if allocate_tensor(outputs[0]) != HR_OK:
        return run_fail_text(<Run*>ctx, HR_RESOURCE_EXHAUSTED, "no memory for a handle")
    object_retain(<hr_object*>state)
    (<hr_resource*>outputs[0].data).object = <hr_object*>state
    return HR_OK


cdef Queue* queue_of(const hr_tensor* handle) noexcept nogil:
    return <Queue*>object_of(handle, "Queue")


cdef hr_code fail_no_queue(hr_ctx* ctx) noexcept nogil:
    return run_fail_text(<Run*>ctx, HR_INVALID_ARGUMENT, "the handle does not point at a queue")


# ---- enqueue and dequeue -----------------------------------------------------------------------------

cdef hr_code prepare_async(void* state, hr_request* request) noexcept nogil:
    request.shape_depends_on_data = 1
    return HR_OK


cdef hr_code create_node(hr_node* node, void** state) noexcept nogil:
    state[0] = node
    return HR_OK


cdef hr_code fail_types(hr_ctx* ctx, int32_t component, hr_dtype held, hr_dtype actual,
                        const char* what) noexcept nogil:
    cdef string text
    text.assign(b"component ")
    text.append(to_text(component))
    text.append(b" of the queue is ")
    text.append(dtype_name(held))
    text.append(b", the ")
    text.append(what)
    text.append(dtype_name(actual))
    return run_fail_text(<Run*>ctx, HR_INVALID_ARGUMENT, text.c_str())


cdef hr_code fail_memory(hr_ctx* ctx) noexcept nogil:
    return run_fail_text(<Run*>ctx, HR_RESOURCE_EXHAUSTED, "no memory for what is enqueued")


cdef hr_code check(hr_ctx* ctx, Queue* q, GraphNode* node, const hr_tensor* const* inputs,
                   int skip) noexcept nogil:
    cdef int32_t i, n = node.abi_node.n_inputs - 1
    cdef string text
    if q == NULL:
        return fail_no_queue(ctx)
    if <size_t>n != q.spec.types.size():
        return run_fail_text(<Run*>ctx, HR_INVALID_ARGUMENT,
                             "the queue has another number of components than are enqueued")
    for i in range(n):
        if inputs[i + 1].dtype != q.spec.types[i]:
            return fail_types(ctx, i, q.spec.types[i], inputs[i + 1].dtype, "enqueue gives ")
        if inputs[i + 1].rank < skip:
            return run_fail_text(<Run*>ctx, HR_INVALID_ARGUMENT,
                                 "enqueue_many takes components with a first dimension")
        if not q.spec.fits(i, inputs[i + 1], skip != 0):
            text = q.spec.shape_mismatch(i, inputs[i + 1], skip != 0)
            return run_fail_text(<Run*>ctx, HR_INVALID_ARGUMENT, text.c_str())
        if skip and inputs[i + 1].dims[0] != inputs[1].dims[0]:
            text.assign(b"All input tensors must have the same size in the 0th dimension. Component ")
            text.append(to_text(i))
            text.append(b" has ")
            text.append(to_text(inputs[i + 1].dims[0]))
            text.append(b", and should have ")
            text.append(to_text(inputs[1].dims[0]))
            return run_fail_text(<Run*>ctx, HR_INVALID_ARGUMENT, text.c_str())
    return HR_OK


cdef void enqueue(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                  hr_tensor* const* outputs, void* workspace, hr_done done,
                  void* argument) noexcept nogil:
    cdef GraphNode* node = <GraphNode*>state
    cdef Queue* q = queue_of(inputs[0])
    cdef hr_code code = check(ctx, q, node, inputs, 0)
    cdef Element element
    cdef OwnedTensor kept
    cdef Waiters one
    cdef int32_t i
    if code != HR_OK:
        done(argument, code)
        return
    for i in range(1, node.abi_node.n_inputs):
        if inputs[i].owner != NULL:
            kept.share(inputs[i][0])
        elif copy_tensor(inputs[i], kept.get()) != HR_OK:
            done(argument, fail_memory(ctx))
            return
        add_part(element, kept)
    one = q.new_waiter(ctx, NULL, 0, done, argument)
    one.front().get().kind = ENQUEUE
    add_element(one.front().get(), element)
    submit(one)


cdef void enqueue_many(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void* workspace, hr_done done,
                       void* argument) noexcept nogil:
    cdef GraphNode* node = <GraphNode*>state
    cdef Queue* q = queue_of(inputs[0])
    cdef hr_code code = check(ctx, q, node, inputs, 1)
    cdef Element element
    cdef hr_tensor slice_
    cdef OwnedTensor kept
    cdef Waiters one
    cdef int32_t i
    cdef int64_t row
    if code != HR_OK or inputs[1].dims[0] == 0:   # nothing is added, even to a closed queue
        done(argument, code)
        return
    one = q.new_waiter(ctx, NULL, 0, done, argument)
    one.front().get().kind = ENQUEUE
    for row in range(inputs[1].dims[0]):
        for i in range(1, node.abi_node.n_inputs):
            view_row(inputs[i], row, &slice_)
            if copy_tensor(&slice_, kept.get()) != HR_OK:
                done(argument, fail_memory(ctx))
                return
            add_part(element, kept)
        add_element(one.front().get(), element)
    submit(one)


cdef void dequeue(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                  hr_tensor* const* outputs, void* workspace, hr_done done,
                  void* argument) noexcept nogil:
    start_dequeue(ctx, <GraphNode*>state, inputs, outputs, done, argument, False, False)


cdef void dequeue_many(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void* workspace, hr_done done,
                       void* argument) noexcept nogil:
    start_dequeue(ctx, <GraphNode*>state, inputs, outputs, done, argument, True, False)


cdef void dequeue_up_to(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void* workspace, hr_done done,
                        void* argument) noexcept nogil:
    start_dequeue(ctx, <GraphNode*>state, inputs, outputs, done, argument, True, True)


cdef void start_dequeue(hr_ctx* ctx, GraphNode* node, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, hr_done done, void* argument, bint many,
                        bint up_to) noexcept nogil:
    cdef int64_t requested = 1
    if many:
        if inputs[1].rank != 0:
            done(argument, run_fail_text(<Run*>ctx, HR_INVALID_ARGUMENT, "n must be a scalar"))
            return
        requested = (<int32_t*>inputs[1].data)[0]
    dequeue_from(ctx, inputs[0], node.abi_node.n_outputs, outputs, done, argument, requested, many,
                 up_to)


cdef void dequeue_from(hr_ctx* ctx, const hr_tensor* handle, int32_t n_outputs,
                       hr_tensor* const* outputs, hr_done done, void* argument, int64_t requested,
                       bint many, bint up_to) noexcept nogil:
    """Dequeues into outputs whose dtypes are set."""
    cdef Queue* q = queue_of(handle)
    cdef hr_code code = HR_OK
    cdef Waiters one
    cdef Waiter* w
    cdef int32_t i
    cdef string text
    if q == NULL:
        code = fail_no_queue(ctx)
    elif <size_t>n_outputs != q.spec.types.size():
        code = run_fail_text(<Run*>ctx, HR_INVALID_ARGUMENT,
                             "the queue has another number of components than are dequeued")
    elif many and q.spec.ranks.size() < q.spec.types.size():
        code = run_fail_text(<Run*>ctx, HR_INVALID_ARGUMENT, q.spec.lack_of_shapes().c_str())
    elif requested < 0:
        text.assign(b"DequeueUpToOp" if up_to else b"DequeueManyOp")
        text.append(b" requested ")
        text.append(to_text(requested))
        text.append(b" < 0")
        code = run_fail_text(<Run*>ctx, HR_INVALID_ARGUMENT, text.c_str())
    else:
        for i in range(n_outputs):
            if outputs[i].dtype != q.spec.types[i] and code == HR_OK:
                code = fail_types(ctx, i, q.spec.types[i], outputs[i].dtype, "dequeue expects ")
    if code != HR_OK:
        done(argument, code)
        return
    one = q.new_waiter(ctx, outputs, n_outputs, done, argument)
    w = one.front().get()
    w.kind = DEQUEUE
    w.requested = requested
    w.many = many
    w.up_to = up_to
    if requested > 0:
        submit(one)
        return
    code = complete_dequeue(w, &q.spec)   # an empty batch waits for nothing
    if code != HR_OK:
        run_fail_text(<Run*>ctx, code, w.message.c_str())
    done(argument, code)


cdef void dequeue_one(hr_ctx* ctx, const hr_tensor* handle, int32_t n, hr_tensor* const* outputs,
                      hr_done done, void* argument) noexcept nogil:
    dequeue_from(ctx, handle, n, outputs, done, argument, 1, False, False)


cdef void ctx_dequeue(hr_ctx* ctx, const hr_tensor* queue, int32_t n, hr_tensor* const* outputs,
                      hr_done done, void* argument) noexcept nogil:
    without_exceptions(dequeue_one, ctx, queue, n, outputs, done, argument)


set_dequeue(ctx_dequeue)


# ---- the rest -----------------------------------------------------------------------------------------

cdef hr_code prepare_scalar(void* state, hr_request* request) noexcept nogil:
    if request.node.n_outputs:
        request.outputs[0].rank = 0
    return HR_OK


cdef hr_code size(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                  hr_tensor* const* outputs, void* workspace) noexcept nogil:
    cdef Queue* q = queue_of(inputs[0])
    if q == NULL:
        return fail_no_queue(ctx)
    (<int32_t*>outputs[0].data)[0] = <int32_t>q.size()
    return HR_OK


cdef hr_code as_reference(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                          hr_tensor* const* outputs, void* workspace) noexcept nogil:
    """The node of the queue keeps it: an edge of references counts nothing."""
    cdef Queue* q = queue_of(inputs[0])
    if q == NULL:
        return fail_no_queue(ctx)
    outputs[0].data = q
    outputs[0].owner = NULL
    return HR_OK


cdef hr_code is_closed(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void* workspace) noexcept nogil:
    cdef Queue* q = queue_of(inputs[0])
    if q == NULL:
        return fail_no_queue(ctx)
    (<uint8_t*>outputs[0].data)[0] = q.closed()
    return HR_OK


cdef void close(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                hr_tensor* const* outputs, void* workspace, hr_done done,
                void* argument) noexcept nogil:
    """Closes the queue at once, or after the enqueues that wait already."""
    cdef Queue* q = queue_of(inputs[0])
    cdef Waiters one
    if q == NULL:
        done(argument, fail_no_queue(ctx))
    elif hr_attr_bool(<hr_node*>state, "cancel_pending_enqueues", 0):
        q.close_now()
        done(argument, HR_OK)
    else:
        one = q.new_waiter(ctx, NULL, 0, done, argument)
        one.front().get().kind = CLOSE
        submit(one)


cdef hr_kernel rows[32]
cdef int n_rows = 0

cdef hr_kernel* add(const char* op) noexcept:
    global n_rows
    cdef hr_kernel* row = &rows[n_rows]
    memset(row, 0, sizeof(hr_kernel))
    row.op = op
    row.device_type = "CPU"
    row.create = create_node
    n_rows += 1
    return row


cdef void add_handle(const char* op) noexcept:
    cdef hr_kernel* row = add(op)
    row.flags = <int>(SESSION_CONSTANT | OWN_MEMORY)
    row.create = create_queue
    row.destroy = destroy_state
    row.prepare = prepare_handle
    row.compute = give_handle


cdef void add_async(const char* op, void (*compute)(hr_ctx*, void*, void*,
                    const hr_tensor* const*, hr_tensor* const*, void*, hr_done,
                    void*) noexcept nogil) noexcept:
    cdef hr_kernel* row = add(op)
    row.prepare = prepare_async
    row.compute_async = compute


cdef void add_plain(const char* op, hr_code (*compute)(hr_ctx*, void*, void*,
                    const hr_tensor* const*, hr_tensor* const*, void*) noexcept nogil) noexcept:
    cdef hr_kernel* row = add(op)
    row.prepare = prepare_scalar
    row.compute = compute


add_handle("FIFOQueueV2")
add_handle("FIFOQueue")
add_handle("PaddingFIFOQueueV2")
add_handle("PaddingFIFOQueue")
add_handle("RandomShuffleQueueV2")
add_handle("RandomShuffleQueue")
add_handle("PriorityQueueV2")
add_handle("PriorityQueue")
add_async("QueueEnqueueV2", enqueue)
add_async("QueueEnqueue", enqueue)
add_async("QueueEnqueueManyV2", enqueue_many)
add_async("QueueEnqueueMany", enqueue_many)
add_async("QueueDequeueV2", dequeue)
add_async("QueueDequeue", dequeue)
add_async("QueueDequeueManyV2", dequeue_many)
add_async("QueueDequeueMany", dequeue_many)
add_async("QueueDequeueUpToV2", dequeue_up_to)
add_async("QueueDequeueUpTo", dequeue_up_to)
add_plain("FakeQueue", as_reference)
add_plain("QueueSizeV2", size)
add_plain("QueueSize", size)
add_plain("QueueIsClosedV2", is_closed)
add_plain("QueueIsClosed", is_closed)
add_async("QueueCloseV2", close)
add_async("QueueClose", close)

cdef hr_kernel_table table
table.size = sizeof(hr_kernel_table)
table.abi = HR_KERNEL_ABI
table.library = "runtime"
table.version = "0.1.0"
table.kernel_size = sizeof(hr_kernel)
table.n_kernels = n_rows
table.kernels = rows
add_own_kernels(&table)
