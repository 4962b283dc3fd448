# cython: language_level=3
"""Kernels that create, read and assign variables of both kinds, and ops that only order others.

`_ReadSlot`, which passes/read_slots.pyx inserts before inputs that need a value, reads a reference
variable; ReadVariableOp reads a resource variable. Both pin the slot's buffer.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.string cimport string

from headrace.runtime.memory.buffer cimport (
    OwnedTensor, allocate_tensor, buffer_new, is_kept_on_host, move_tensor, object_release,
    object_retain, set_bytes,
)
from headrace.runtime.state.context cimport (
    HR_REPLAN, READ_ANY_SHAPE, READ_ENDS, Run, SessionState, Slot, fail_uninitialised,
    is_container_name, lock_slot,
    run_fail_text, same_shape, session_lookup, shape_text, slot_clear, slot_new, slot_of, slot_pin,
    slot_set,
)
from headrace.runtime.graph.attributes cimport text_attribute
from headrace.runtime.graph.graph_node cimport GraphNode
from headrace.runtime.memory.kernel_abi cimport (
    HR_BOOL, HR_FAILED_PRECONDITION, HR_INVALID_ARGUMENT, HR_KERNEL_ABI,
    HR_KERNEL_VIEW, HR_OK, HR_REF, HR_RESOURCE, HR_RESOURCE_EXHAUSTED, hr_code, hr_ctx, hr_device,
    hr_dtype, hr_kernel, hr_kernel_table, hr_node, hr_object, hr_request, hr_resource, hr_tensor,
)
from headrace.runtime.kernels.kernel_table cimport (
    ASSIGNS_SLOT, KEEPS_SMALL_ON_HOST, NOTHING, OWN_MEMORY, READS_SLOT, SESSION_CONSTANT,
    add_for_every_device, add_own_kernels,
)


cdef extern from "headrace/kernel.h" nogil:
    int32_t hr_attr_bool(const hr_node* node, const char* key, int32_t otherwise)
    hr_dtype hr_attr_type(const hr_node* node, const char* key)

    cdef cppclass node_api "hr_node_api":
        hr_code (*attr_shape)(const hr_node*, const char*, int32_t*, const int64_t**)
        hr_code (*attr_tensor)(const hr_node*, const char*, const hr_tensor**)


cdef extern from "memory/dtype_names.hpp" namespace "headrace" nogil:
    const char* dtype_name(hr_dtype dtype)


cdef extern from "kernels/slot_arithmetic.hpp" namespace "headrace" nogil:
    # value[i] = value[i] +- delta[i]; 0: no arithmetic for that dtype.
    int slot_add(hr_tensor* value, const hr_tensor* delta, int sign)


# ---- the variables themselves ------------------------------------------------------------------

cdef struct NewSlot:
    hr_dtype dtype
    const char* name
    hr_tensor* declared
    int reference

cdef hr_object* make_slot(void* argument) noexcept nogil:
    cdef NewSlot* requested = <NewSlot*>argument
    cdef Slot* slot = slot_new(requested.dtype, requested.name)
    if slot != NULL and requested.declared.rank >= 0:
        slot.declared_rank = requested.declared.rank
        memcpy(slot.declared_dims, requested.declared.dims, requested.declared.rank * sizeof(int64_t))
        if requested.reference:
            set_empty_value(slot, requested.declared)
    return <hr_object*>slot


cdef void set_empty_value(Slot* slot, hr_tensor* declared) noexcept nogil:
    """The only value of a reference variable without elements, which needs no Assign."""
    cdef OwnedTensor result
    cdef hr_tensor* value = result.get()
    cdef int empty = 0
    cdef int i
    value.dtype = slot.dtype
    value.rank = declared.rank
    for i in range(declared.rank):
        value.dims[i] = declared.dims[i]
        empty |= declared.dims[i] == 0
    if empty and allocate_tensor(value) == HR_OK:
        slot_set(slot, value)


cdef hr_code declared_shape(hr_node* node, hr_tensor* out) noexcept nogil:
    """Sets dims from the attribute `shape`; rank -1 where it is not fully known."""
    cdef int32_t rank = -1
    cdef const int64_t* dims = NULL
    cdef int i
    out.rank = -1
    if (<node_api*>node.api).attr_shape(node, "shape", &rank, &dims) == HR_OK and 0 <= rank <= 8:
        for i in range(rank):
            if dims[i] < 0:
                return HR_OK
            out.dims[i] = dims[i]
        out.rank = rank
    return HR_OK


cdef hr_code create_variable(hr_node* node, void** state) noexcept nogil:
    """The slot of a VariableV2 or VarHandleOp: shared by container and (shared_)name."""
    cdef GraphNode* source = <GraphNode*>node
    cdef string container = text_attribute(node, "container")
    cdef string shared_name = text_attribute(node, "shared_name")
    cdef NewSlot requested
    cdef hr_tensor declared
    cdef string text
    cdef hr_object* found = NULL
    if shared_name.empty():
        shared_name = source.name
    requested.dtype = hr_attr_type(node, "dtype")
    requested.name = shared_name.c_str()
    requested.declared = &declared
    requested.reference = not (source.op == <const char*>"VarHandleOp")
    if requested.reference and not is_container_name(container):
        text.assign(b"container contains invalid characters: ")
        text.append(container)
        source.error.assign(text)
        return HR_INVALID_ARGUMENT
    declared_shape(node, &declared)
    cdef hr_code code = session_lookup(<SessionState*>source.session, container.c_str(),
                                       shared_name.c_str(), "Variable", make_slot, &requested, &found,
                                       &text)
    if code != HR_OK:
        source.error.assign(text)
        return code
    if (<Slot*>found).dtype != requested.dtype:
        object_release(found)
        source.error.assign(b"the container holds a variable of that name with another dtype")
        return HR_INVALID_ARGUMENT
    state[0] = found
    return HR_OK


cdef void destroy_variable(void* state) noexcept nogil:
    object_release(<hr_object*>state)


cdef hr_code prepare_reference(void* state, hr_request* request) noexcept nogil:
    return declared_shape(request.node, request.outputs[0])


cdef hr_code give_reference(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                            hr_tensor* const* outputs, void* workspace) noexcept nogil:
    outputs[0].data = state
    outputs[0].owner = NULL
    return HR_OK


cdef hr_code prepare_handle(void* state, hr_request* request) noexcept nogil:
    request.outputs[0].rank = 0
    return HR_OK


cdef hr_code give_handle(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                         hr_tensor* const* outputs, void* workspace) noexcept nogil:
    if allocate_tensor(outputs[0]) != HR_OK:
        return run_fail_text(<Run*>ctx, HR_RESOURCE_EXHAUSTED, "no memory for a handle")
    object_retain(<hr_object*>state)
    (<hr_resource*>outputs[0].data).object = <hr_object*>state
    return HR_OK


# ---- reading ----------------------------------------------------------------------------------------

cdef hr_code fail_no_variable(hr_ctx* ctx) noexcept nogil:
    return run_fail_text(<Run*>ctx, HR_INVALID_ARGUMENT, "the handle does not point at a variable")


cdef inline hr_device* memory_for(const hr_tensor* value, hr_ctx* ctx) noexcept nogil:
    """Where a variable of the device of ctx is: small integers and the like are on the host."""
    if is_kept_on_host(value.dtype):
        return NULL
    return ctx.device


cdef hr_code read_slot(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                       hr_tensor* const* outputs, void* workspace) noexcept nogil:
    """Pins the value if it has the planned shape and dtype, which the output has.

    plan: one of READ_*.
    """
    cdef Slot* slot = slot_of(inputs[0])
    cdef OwnedTensor value
    cdef string text
    cdef hr_code code
    if slot == NULL:
        return fail_no_variable(ctx)
    if slot_pin(slot, &value) != HR_OK:
        return fail_uninitialised(<Run*>ctx, slot)
    # Sessions that share state may have placed the variable elsewhere.
    if value.get().bytes:
        code = move_tensor(&value, memory_for(value.get(), ctx))
        if code != HR_OK:
            return run_fail_text(<Run*>ctx, code, "a variable could not be copied from where it is")
    if value.get().dtype != outputs[0].dtype:
        text.assign(b"Trying to read variable with wrong dtype. Expected ")
        text.append(dtype_name(outputs[0].dtype))
        text.append(b" got ")
        text.append(dtype_name(value.get().dtype))
        return run_fail_text(<Run*>ctx, HR_INVALID_ARGUMENT, text.c_str())
    if <size_t>plan != READ_ANY_SHAPE and (
            <size_t>plan == READ_ENDS or not same_shape(value.get(), outputs[0])):
        return HR_REPLAN
    outputs[0][0] = value.take()
    return HR_OK


cdef hr_code prepare_read(void* state, hr_request* request) noexcept nogil:
    """Sets no shape: the planner knows what the variable holds at this point."""
    request.outputs[0].rank = 0
    return HR_OK


cdef hr_code prepare_scalar(void* state, hr_request* request) noexcept nogil:
    request.outputs[0].rank = 0
    return HR_OK


cdef hr_code is_initialized(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                            hr_tensor* const* outputs, void* workspace) noexcept nogil:
    cdef Slot* slot = slot_of(inputs[0])
    if slot != NULL:
        lock_slot(slot)
        (<char*>outputs[0].data)[0] = slot.initialised
        slot.lock.unlock()
    else:
        (<char*>outputs[0].data)[0] = 0
    return HR_OK


cdef hr_code prepare_variable_shape(void* state, hr_request* request) noexcept nogil:
    request.shape_depends_on_data = 1
    return HR_OK


cdef hr_code variable_shape(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                            hr_tensor* const* outputs, void* workspace) noexcept nogil:
    cdef OwnedTensor pinned
    cdef const hr_tensor* value = pinned.get()
    cdef int i
    cdef Slot* slot = slot_of(inputs[0])
    if slot == NULL or slot_pin(slot, &pinned) != HR_OK:
        return run_fail_text(<Run*>ctx, HR_FAILED_PRECONDITION,
                             "the variable whose shape is read is not initialized")
    outputs[0].rank = 1
    outputs[0].dims[0] = value.rank
    if allocate_tensor(outputs[0]) != HR_OK:
        return run_fail_text(<Run*>ctx, HR_RESOURCE_EXHAUSTED, "no memory for a shape")
    for i in range(value.rank):
        if outputs[0].dtype == 3:  # int32
            (<int32_t*>outputs[0].data)[i] = <int32_t>value.dims[i]
        else:
            (<int64_t*>outputs[0].data)[i] = value.dims[i]
    return HR_OK


# ---- assigning --------------------------------------------------------------------------------------

cdef hr_code prepare_assign(void* state, hr_request* request) noexcept nogil:
    """The output is the variable itself; its shape is checked when the op runs."""
    cdef int i
    cdef hr_tensor* out
    cdef const hr_tensor* value = request.inputs[1]
    if request.node.n_outputs > 0:
        out = request.outputs[0]
        out.rank = value.rank
        for i in range(value.rank):
            out.dims[i] = value.dims[i]
    return HR_OK


cdef hr_code fail_dtypes(hr_ctx* ctx, Slot* slot, hr_dtype actual) noexcept nogil:
    cdef string text
    text.assign(b"Trying to assign to variable '")
    text.append(slot.name)
    text.append(b"' with wrong dtype. Expected ")
    text.append(dtype_name(slot.dtype))
    text.append(b" got ")
    text.append(dtype_name(actual))
    return run_fail_text(<Run*>ctx, HR_INVALID_ARGUMENT, text.c_str())


cdef hr_code fail_shapes(hr_ctx* ctx, const char* op, const hr_tensor* held,
                         const hr_tensor* actual) noexcept nogil:
    cdef string text
    text.assign(op)
    text.append(b" requires shapes of both tensors to match. lhs shape= ")
    text.append(shape_text(held))
    text.append(b" rhs shape= ")
    text.append(shape_text(actual))
    return run_fail_text(<Run*>ctx, HR_INVALID_ARGUMENT, text.c_str())


cdef hr_code assign_any(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void* workspace) noexcept nogil:
    cdef Slot* slot = slot_of(inputs[0])
    if slot == NULL:
        return fail_no_variable(ctx)
    if slot.dtype != inputs[1].dtype:
        return fail_dtypes(ctx, slot, inputs[1].dtype)
    if slot_set(slot, inputs[1]) != HR_OK:
        return run_fail_text(<Run*>ctx, HR_RESOURCE_EXHAUSTED, "no memory for the variable")
    return HR_OK


cdef hr_code assign_same_shape(hr_ctx* ctx, void* state, void* plan,
                               const hr_tensor* const* inputs, hr_tensor* const* outputs,
                               void* workspace) noexcept nogil:
    """As assign_any, if the variable has the same shape; without a value, the declared one."""
    cdef Slot* slot = slot_of(inputs[0])
    cdef hr_tensor held
    if slot == NULL:
        return fail_no_variable(ctx)
    lock_slot(slot)
    if slot.initialised:
        held = slot.value.get()[0]
    else:
        # A reference variable of unknown shape starts as a scalar, as in TensorFlow.
        held.rank = slot.declared_rank if slot.declared_rank >= 0 else 0
        if held.rank > 0:
            memcpy(held.dims, slot.declared_dims, held.rank * sizeof(int64_t))
    slot.lock.unlock()
    if not same_shape(&held, inputs[1]):
        return fail_shapes(ctx, "Assign", &held, inputs[1])
    return assign_any(ctx, state, plan, inputs, outputs, workspace)


cdef hr_code prepare_assign_reference(void* state, hr_request* request) noexcept nogil:
    if hr_attr_bool(request.node, "validate_shape", 1):
        request.compute = assign_same_shape
    return prepare_assign(state, request)


cdef hr_code change(hr_ctx* ctx, const hr_tensor* ref, const hr_tensor* delta,
                    int sign) noexcept nogil:
    cdef hr_tensor value
    cdef Slot* slot = slot_of(ref)
    if slot == NULL:
        return fail_no_variable(ctx)
    if slot.dtype != delta.dtype:
        return fail_dtypes(ctx, slot, delta.dtype)
    cdef hr_code code = begin(ctx, 1, &ref, &value)
    if code != HR_OK:
        return code
    if not same_shape(&value, delta):
        code = fail_shapes(ctx, "AssignAdd" if sign > 0 else "AssignSub", &value, delta)
    elif not slot_add(&value, delta, sign):
        code = run_fail_text(<Run*>ctx, HR_INVALID_ARGUMENT, "no arithmetic for that dtype")
    commit(ctx, 1, &ref)
    return code


cdef extern from *:
    """
    #include "headrace/kernel.h"
    static hr_code begin(hr_ctx* c, int n, const hr_tensor* const* refs, hr_tensor* values) {
      return c->api->begin_write(c, n, refs, values);
    }
    static void commit(hr_ctx* c, int n, const hr_tensor* const* refs) {
      c->api->commit(c, n, refs);
    }
    """
    hr_code begin(hr_ctx* ctx, int n, const hr_tensor* const* refs, hr_tensor* values) nogil
    void commit(hr_ctx* ctx, int n, const hr_tensor* const* refs) nogil


cdef hr_code assign_add(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void* workspace) noexcept nogil:
    return change(ctx, inputs[0], inputs[1], 1)


cdef hr_code assign_sub(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void* workspace) noexcept nogil:
    return change(ctx, inputs[0], inputs[1], -1)


cdef hr_code destroy_resource(hr_ctx* ctx, void* state, void* plan,
                              const hr_tensor* const* inputs, hr_tensor* const* outputs,
                              void* workspace) noexcept nogil:
    cdef Slot* slot = slot_of(inputs[0])
    if slot != NULL:
        slot_clear(slot)
    return HR_OK


# ---- constants and order ------------------------------------------------------------------------

cdef hr_code prepare_nothing(void* state, hr_request* request) noexcept nogil:
    return HR_OK


cdef hr_code nothing(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                     hr_tensor* const* outputs, void* workspace) noexcept nogil:
    return HR_OK


cdef hr_code prepare_const(void* state, hr_request* request) noexcept nogil:
    cdef const hr_tensor* value = NULL
    cdef hr_code code = (<node_api*>request.node.api).attr_tensor(request.node, "value", &value)
    cdef int i
    if code != HR_OK:
        return code
    if value.dtype != request.node.output_dtypes[0]:
        (<GraphNode*>request.node).error.assign(b"the dtypes of the value and of the node differ")
        return HR_INVALID_ARGUMENT
    request.outputs[0].rank = value.rank
    for i in range(value.rank):
        request.outputs[0].dims[i] = value.dims[i]
    return HR_OK


cdef hr_code give_const(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                        hr_tensor* const* outputs, void* workspace) noexcept nogil:
    """Called once per specialisation; the attribute's memory lives as long as the node."""
    cdef const hr_tensor* value = NULL
    if (<node_api*>(<hr_node*>state).api).attr_tensor(<hr_node*>state, "value", &value) == HR_OK:
        outputs[0][0] = value[0]
        outputs[0].owner = NULL
    return HR_OK


cdef hr_code remember_node(hr_node* node, void** state) noexcept nogil:
    state[0] = node
    return HR_OK


cdef hr_code prepare_same(void* state, hr_request* request) noexcept nogil:
    cdef int i
    request.outputs[0].rank = request.inputs[0].rank
    for i in range(request.inputs[0].rank):
        request.outputs[0].dims[i] = request.inputs[0].dims[i]
    return HR_OK


cdef hr_code pass_reference(hr_ctx* ctx, void* state, void* plan, const hr_tensor* const* inputs,
                            hr_tensor* const* outputs, void* workspace) noexcept nogil:
    outputs[0].data = inputs[0].data
    outputs[0].bytes = inputs[0].bytes
    return HR_OK


cdef hr_kernel rows[32]
cdef int n_rows = 0


cdef void add(const char* op, hr_code (*prepare)(void*, hr_request*) noexcept nogil,
              hr_code (*compute)(hr_ctx*, void*, void*, const hr_tensor* const*,
                                 hr_tensor* const*, void*) noexcept nogil,
              uint64_t flags) noexcept:
    global n_rows
    cdef hr_kernel* row = &rows[n_rows]
    memset(row, 0, sizeof(hr_kernel))
    row.op = op
    row.device_type = "CPU"
    row.flags = <int>flags
    row.prepare = prepare
    row.compute = compute
    if flags & SESSION_CONSTANT:
        row.create = create_variable
        row.destroy = destroy_variable
    n_rows += 1


add("VariableV2", prepare_reference, give_reference, SESSION_CONSTANT)
add("Variable", prepare_reference, give_reference, SESSION_CONSTANT)
add("VarHandleOp", prepare_handle, give_handle, SESSION_CONSTANT | OWN_MEMORY)
add("_ReadSlot", prepare_read, read_slot, OWN_MEMORY | READS_SLOT)
add("ReadVariableOp", prepare_read, read_slot, OWN_MEMORY | READS_SLOT)
add("IsVariableInitialized", prepare_scalar, is_initialized, 0)
add("VarIsInitializedOp", prepare_scalar, is_initialized, 0)
add("VariableShape", prepare_variable_shape, variable_shape, 0)
add("Assign", prepare_assign_reference, assign_any, ASSIGNS_SLOT)
add("AssignVariableOp", prepare_assign_reference, assign_any,
    ASSIGNS_SLOT)
add("AssignAdd", prepare_assign, assign_add, 0)
add("AssignAddVariableOp", prepare_assign, assign_add, 0)
add("AssignSub", prepare_assign, assign_sub, 0)
add("AssignSubVariableOp", prepare_assign, assign_sub, 0)
add("DestroyResourceOp", prepare_nothing, destroy_resource, 0)
add("RefIdentity", prepare_same, pass_reference, 0)
add("DebugGradientRefIdentity", prepare_same, pass_reference, 0)
add("DisableCopyOnRead", prepare_nothing, nothing, 0)  # a hint to TensorFlow's own memory
add("NoOp", prepare_nothing, nothing, NOTHING)
add("ControlTrigger", prepare_nothing, nothing, NOTHING)
add("LoopCond", prepare_same, nothing, HR_KERNEL_VIEW)
add("Const", prepare_const, give_const, OWN_MEMORY)
rows[n_rows - 1].create = remember_node

cdef hr_kernel_table table
table.size = sizeof(hr_kernel_table)
table.abi = HR_KERNEL_ABI
table.library = "runtime"
table.version = "0.1.0"
table.kernel_size = sizeof(hr_kernel)
table.n_kernels = n_rows
table.kernels = rows
add_own_kernels(&table)


# ---- on devices with memory of their own -----------------------------------------------------------

# These touch no elements: handles, buffers and shapes are the host's wherever a value is. Variables
# of strings are on the host, as all kernels that read them.
cdef const char* DEVICE_VARIABLES = (
    b"dtype=float|double|half|bfloat16|int8|int16|int32|int64|uint8|uint16|uint32|uint64|complex64"
    b"|complex128|bool|qint8|quint8|qint16|quint16|qint32")
cdef hr_kernel device_rows[32]
cdef int n_device_rows = 0


cdef void add_for_devices() noexcept:
    global n_device_rows
    cdef int i
    for i in range(n_rows):
        if is_arithmetic(rows[i].op):
            continue
        device_rows[n_device_rows] = rows[i]
        device_rows[n_device_rows].flags |= KEEPS_SMALL_ON_HOST
        if rows[i].flags & SESSION_CONSTANT:
            device_rows[n_device_rows].constraint = DEVICE_VARIABLES
        if rows[i].compute == is_initialized or rows[i].compute == variable_shape:
            device_rows[n_device_rows].host_outputs = 1
        n_device_rows += 1


cdef bint is_arithmetic(const char* op) noexcept:
    return (<bytes>op).startswith((b"AssignAdd", b"AssignSub"))


add_for_devices()
add_for_every_device(device_rows, n_device_rows)
