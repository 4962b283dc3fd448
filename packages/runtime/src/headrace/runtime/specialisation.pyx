# cython: language_level=3
"""One segment for one set of shapes: kernels prepared, constants folded, memory planned.

Three walks over the segment's nodes: `prepare` asks every kernel for its plan and output shapes
and folds what is known (shape arithmetic disappears here); `plan_storage` decides who owns each
value's memory (escape analysis, in-place reuse, arena offsets); `emit` writes the tape.
"""

import threading

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, memset
from libcpp.vector cimport vector

from headrace.formats import errors
from headrace.runtime.buffer cimport (
    allocate_tensor, buffer_release, copy_tensor, is_plain, set_bytes,
)
from headrace.runtime.context cimport Run, SessionState, Slot, run_begin, slot_of
from headrace.runtime.graph_node cimport GraphNode
from headrace.runtime.kernel_abi cimport (
    HR_KERNEL_PRIVATE_IN, HR_KERNEL_VIEW, HR_OK, HR_REF, HR_RESOURCE, hr_buffer, hr_code,
    hr_compute, hr_ctx, hr_elements, hr_kernel, hr_request, hr_tensor,
)
from headrace.runtime.kernel_table cimport (
    NOTHING, OWN_MEMORY, SESSION_CONSTANT, is_python_kernel, library_of,
)
from headrace.runtime.memory_plan cimport Lifetime, plan_memory
from headrace.runtime.program cimport Program, ProgramNode
from headrace.runtime.passes.segments cimport Segment, Segments
from headrace.runtime.tape cimport (
    ARENA, BY_KERNEL, COUNTED, ENTERING, STATIC, EntryPlan, Tape, alias_entry, release_entry,
)


cdef extern from "headrace/kernel.h" nogil:
    cdef cppclass node_api "hr_node_api":
        void (*input_range)(const void*, int32_t, int32_t*, int32_t*)

cdef extern from "thread_count.hpp" namespace "headrace" nogil:
    cdef cppclass TeamOf:
        TeamOf(int threads)

cdef int64_t SMALL = 4096           # bytes that are cheaper to copy than to count
cdef int64_t FOLD_LIMIT = 16 << 20  # bytes of a constant that is worth keeping
_creating = threading.RLock()


cdef int ensure_state(GraphNode* node, const hr_kernel* kernel, SessionState* session) except -1:
    if node.created:
        return 0
    cdef hr_code code = HR_OK
    cdef void* state = NULL
    with _creating:
        if node.created:
            return 0
        node.session = session
        node.kernel = kernel
        if kernel.create != NULL:
            with nogil:
                code = kernel.create(&node.face, &state)
            if code != HR_OK:
                raise node_error(node, code)
        node.state = state
        node.created = True
    return 0


cdef object node_error(GraphNode* node, hr_code code):
    """The error that create or prepare left on a node."""
    text = (<bytes>node.error).decode(errors="replace")
    node.error.clear()
    name = (<bytes>node.name).decode()
    op = (<bytes>node.op).decode()
    return errors.from_code(code, f"{op} '{name}': {text}", name)


# One node of the segment while it is specialised.
cdef struct Step:
    GraphNode* node
    const hr_kernel* kernel
    hr_compute compute
    void* plan
    int64_t workspace
    int32_t first_input, n_inputs, first_output, n_outputs   # into Draft.arguments
    bint elided          # its outputs are known
    bint by_kernel       # allocates its outputs
    bint view
    bint writes


cdef class Draft:
    """What the three walks share."""
    cdef Program program
    cdef Specialisation made
    cdef SessionState* session
    cdef vector[hr_tensor] tensors      # reserved: pointers into it stay
    cdef vector[int32_t] root           # whose memory a tensor is; itself, unless a view
    cdef vector[int32_t] first
    cdef vector[int32_t] last
    cdef vector[uint8_t] storage
    cdef vector[uint8_t] escapes
    cdef vector[int32_t] local_of       # program value -> tensor
    cdef vector[int32_t] arguments
    cdef vector[Step] steps


cdef Specialisation specialise(Program program, Segments segments, int number,
                               const hr_tensor* entering, int threads, SessionState* session,
                               bint copy_small):
    cdef Draft draft = Draft()
    cdef Specialisation made = Specialisation()
    cdef Segment segment = segments.segments[number]
    cdef TeamOf* team = new TeamOf(threads)
    made.program = program
    made.tape = Tape()
    made.threads = threads
    made.device = program.nodes[segments.nodes[segments.segments[number].first_node]].device
    draft.program = program
    draft.made = made
    draft.session = session
    try:
        enter(draft, segments, segment, entering)
        prepare(draft, segments, segment)
        plan_storage(draft, segments, segment, copy_small)
        emit(draft)
    finally:
        del team
    return made


# ---- what enters ----------------------------------------------------------------------------------

cdef int add_tensor(Draft draft, hr_tensor* t, int storage) except -1:
    draft.tensors.push_back(t[0])
    draft.root.push_back(<int32_t>draft.tensors.size() - 1)
    draft.first.push_back(-1)
    draft.last.push_back(-1)
    draft.storage.push_back(storage)
    draft.escapes.push_back(0)
    return <int>draft.tensors.size() - 1


cdef int enter(Draft draft, Segments segments, Segment segment,
               const hr_tensor* entering) except -1:
    cdef size_t total = segment.n_entering
    cdef int i, n
    cdef hr_tensor t
    cdef hr_tensor key
    for i in range(segment.n_nodes):
        total += draft.program.nodes[segments.nodes[segment.first_node + i]].n_outputs
    draft.tensors.reserve(total)
    draft.local_of.assign(draft.program.values.size(), -1)
    for i in range(segment.n_entering):
        t = entering[i]
        key = t
        key.owner = NULL
        if segments.shape_like[segment.first_entering + i]:
            if copy_tensor(&entering[i], &key) != HR_OK:
                raise MemoryError()
            draft.made.constants.push_back(key.owner)
            t.data = key.data
        else:
            key.data = NULL
            if t.dtype < HR_REF and t.dtype != HR_RESOURCE:
                t.data = NULL
        t.owner = NULL
        n = add_tensor(draft, &t, ENTERING)
        draft.made.entering.push_back(key)
        draft.made.entering_tensor.push_back(n)
        draft.local_of[segments.entering[segment.first_entering + i]] = n
    return 0


# ---- prepare and fold -------------------------------------------------------------------------------

cdef int prepare(Draft draft, Segments segments, Segment segment) except -1:
    cdef int i, j, number
    cdef ProgramNode* node
    cdef Step step
    cdef hr_tensor t
    cdef vector[uint64_t] private_bits
    find_private(draft, segments, segment, private_bits)
    for i in range(segment.n_nodes):
        number = segments.nodes[segment.first_node + i]
        node = &draft.program.nodes[number]
        memset(&step, 0, sizeof(Step))
        step.node = node.source
        step.kernel = node.kernel
        step.first_input = <int32_t>draft.arguments.size()
        step.n_inputs = node.n_inputs
        for j in range(node.n_inputs):
            draft.arguments.push_back(
                draft.local_of[draft.program.inputs[node.first_input + j]])
        step.first_output = <int32_t>draft.arguments.size()
        step.n_outputs = node.n_outputs
        for j in range(node.n_outputs):
            memset(&t, 0, sizeof(hr_tensor))
            t.rank = -2
            t.dtype = draft.program.values[node.first_output + j].dtype
            draft.arguments.push_back(add_tensor(draft, &t, ARENA))
            draft.local_of[node.first_output + j] = draft.arguments.back()
        prepare_node(draft, &step, private_bits[i])
        draft.steps.push_back(step)
    return 0


cdef int find_private(Draft draft, Segments segments, Segment segment,
                      vector[uint64_t]& bits) except -1:
    """Which outputs go only to kernels of the same library that take private layouts."""
    cdef int i, j, value, number
    cdef ProgramNode* node
    cdef const hr_kernel* kernel
    cdef vector[const hr_kernel*] maker
    cdef vector[uint8_t] refused
    bits.assign(segment.n_nodes, 0)
    cdef bint any_private = False
    for i in range(segment.n_nodes):
        kernel = draft.program.nodes[segments.nodes[segment.first_node + i]].kernel
        if kernel != NULL and kernel.flags & HR_KERNEL_PRIVATE_IN:
            any_private = True
            break
    if not any_private:
        return 0
    maker.assign(draft.program.values.size(), NULL)
    refused.assign(draft.program.values.size(), 0)
    for i in range(segment.n_nodes):
        node = &draft.program.nodes[segments.nodes[segment.first_node + i]]
        kernel = node.kernel
        for j in range(node.n_outputs):
            maker[node.first_output + j] = kernel
        for j in range(node.n_inputs):
            value = draft.program.inputs[node.first_input + j]
            if maker[value] == NULL or kernel == NULL or \
                    not kernel.flags & HR_KERNEL_PRIVATE_IN or \
                    library_of(kernel) != library_of(maker[value]) and \
                    memcmp_text(library_of(kernel), library_of(maker[value])) != 0:
                refused[value] = 1
    for i in range(segment.n_leaving):
        refused[segments.leaving[segment.first_leaving + i]] = 1
    for i in range(segment.n_nodes):
        node = &draft.program.nodes[segments.nodes[segment.first_node + i]]
        if node.kernel == NULL or not node.kernel.flags & HR_KERNEL_PRIVATE_IN:
            continue
        for j in range(node.n_outputs):
            if j < 64 and not refused[node.first_output + j]:
                bits[i] |= <uint64_t>1 << j
    return 0


cdef extern from "<cstring>" namespace "std" nogil:
    int memcmp_text "std::strcmp"(const char* a, const char* b)


cdef int prepare_node(Draft draft, Step* step, uint64_t private_bits) except -1:
    cdef GraphNode* node = step.node
    cdef const hr_kernel* kernel = step.kernel
    cdef hr_request request
    cdef vector[const hr_tensor*] inputs
    cdef vector[hr_tensor*] outputs
    cdef hr_tensor* out
    cdef hr_tensor* source
    cdef int i
    cdef bint known = True
    cdef KernelPlan made_plan
    ensure_state(node, kernel, draft.session)
    for i in range(step.n_inputs):
        source = &draft.tensors[draft.arguments[step.first_input + i]]
        inputs.push_back(source)
        known = known and source.data != NULL
        if source.dtype >= HR_REF or source.dtype == HR_RESOURCE:
            # A handle that enters is there for `prepare` to look at; runs may bring others.
            known = known and draft.storage[draft.arguments[step.first_input + i]] == STATIC
            # Assign and its like write through a reference, and are not stateful otherwise.
            step.writes = step.writes or is_stateful(node) or source.dtype >= HR_REF
            if kernel.flags & OWN_MEMORY:
                step.writes = False
    if node.info != NULL and node.info.shape_only:
        known = True     # Shape and its like: complete shapes are all they need
    for i in range(step.n_outputs):
        outputs.push_back(&draft.tensors[draft.arguments[step.first_output + i]])
    memset(&request, 0, sizeof(hr_request))
    request.size = sizeof(hr_request)
    request.node = &node.face
    request.inputs = inputs.data()
    request.outputs = outputs.data()
    request.threads = draft.made.threads
    request.private_layout = private_bits
    cdef hr_code code
    with nogil:
        code = kernel.prepare(node.state, &request)
    if request.plan != NULL and request.destroy_plan != NULL:
        made_plan.plan = request.plan
        made_plan.destroy = request.destroy_plan
        draft.made.plans.push_back(made_plan)
    if code != HR_OK:
        raise node_error(node, code)
    step.compute = request.compute if request.compute != NULL else kernel.compute
    step.plan = request.plan
    step.workspace = <int64_t>request.workspace
    step.by_kernel = request.shape_depends_on_data != 0
    step.view = kernel.flags & HR_KERNEL_VIEW and not step.by_kernel
    draft.made.flops += request.flops
    draft.made.bytes_moved += request.bytes_moved
    if request.bytes_moved == 0 and not step.view:
        for i in range(step.n_inputs):
            draft.made.bytes_moved += inputs[i].bytes
    for i in range(step.n_outputs):
        out = outputs[i]
        if out.dtype >= HR_REF and not kernel.flags & SESSION_CONSTANT:
            # An op that updates a reference passes it on.
            if out.rank == -2:
                out.rank = inputs[0].rank
                memcpy(out.dims, inputs[0].dims, sizeof(out.dims))
            out.data = inputs[0].data
        if out.rank == -2:
            out.rank = 0
        if step.by_kernel:
            continue
        if out.rank >= 0 and out.layout == 0 and set_bytes(out) < 0:
            raise errors.ResourceExhaustedError(
                None, None, f"{(<bytes>node.op).decode()} '{(<bytes>node.name).decode()}': "
                f"output {i} would have {shape_text(out)} elements, more than memory can hold")
    if kernel.flags & OWN_MEMORY and inputs.size() == 1 and inputs[0].data != NULL:
        guard_shape(draft, node, inputs[0], outputs[0])
    if step.view and known and inputs[0].dtype < HR_REF:
        outputs[0].data = inputs[0].data
        step.elided = True
        draft.storage[draft.arguments[step.first_output]] = STATIC
    elif step.view:
        draft.root[draft.arguments[step.first_output]] = \
            draft.root[draft.arguments[step.first_input]]
    elif kernel.flags & NOTHING:
        step.elided = True
    elif kernel.flags & SESSION_CONSTANT or (
            known and not step.by_kernel and step.n_outputs > 0 and not is_stateful(node)
            and not step.writes and small_enough(outputs)):
        fold(draft, step, inputs, outputs)
    return 0


cdef inline bint is_stateful(GraphNode* node) noexcept nogil:
    # Nodes that passes add, reads of variables above all, carry no entry of the catalogue.
    return node.info == NULL or node.info.stateful


cdef str shape_text(const hr_tensor* t):
    cdef int i
    return "[" + ", ".join([str(t.dims[i]) for i in range(t.rank)]) + "]"


cdef bint small_enough(vector[hr_tensor*]& outputs) noexcept nogil:
    cdef int64_t total = 0
    cdef size_t i
    for i in range(outputs.size()):
        total += outputs[i].bytes
    return total <= FOLD_LIMIT


cdef int guard_shape(Draft draft, GraphNode* node, const hr_tensor* ref, hr_tensor* value) except -1:
    """A read whose shape no attribute declares holds only while the variable keeps that shape."""
    cdef ShapeGuard guard
    if ref.dtype >= HR_REF and ref.rank >= 0:
        return 0
    guard.slot = slot_of(ref)
    if guard.slot == NULL:
        return 0
    guard.shape = value[0]
    draft.made.guards.push_back(guard)
    return 0


cdef int fold(Draft draft, Step* step, vector[const hr_tensor*]& inputs,
              vector[hr_tensor*]& outputs) except -1:
    """Computes a node whose inputs are all known, now and once."""
    cdef Run* run = new Run()
    cdef hr_code code = HR_OK
    cdef size_t i
    cdef hr_tensor workspace
    workspace.dtype = 4  # bytes
    workspace.rank = 1
    workspace.dims[0] = step.workspace
    workspace.owner = NULL
    workspace.data = NULL
    try:
        run_begin(run, draft.session, draft.made.threads)
        if not step.kernel.flags & (OWN_MEMORY | SESSION_CONSTANT):
            for i in range(outputs.size()):
                if allocate_tensor(outputs[i]) != HR_OK:
                    raise MemoryError()
        if step.workspace > 0 and allocate_tensor(&workspace) != HR_OK:
            raise MemoryError()
        with nogil:
            code = step.compute(&run.ctx, step.node.state, step.plan,
                                <const hr_tensor* const*>inputs.data(),
                                <hr_tensor* const*>outputs.data(), workspace.data)
        if code != HR_OK:
            step.node.error.assign(run.message)
            raise node_error(step.node, code)
    finally:
        buffer_release(workspace.owner)
        for i in range(outputs.size()):
            if outputs[i].owner != NULL:
                draft.made.constants.push_back(outputs[i].owner)
                outputs[i].owner = NULL
            draft.storage[draft.arguments[step.first_output + i]] = STATIC
        del run
    step.elided = True
    draft.made.folded += 1
    return 0


# ---- who owns which memory -----------------------------------------------------------------------------

cdef int plan_storage(Draft draft, Segments segments, Segment segment, bint copy_small) except -1:
    cdef int i, j, tensor, root
    cdef Step* step
    cdef size_t n
    cdef vector[int32_t] storage_of     # root -> lifetime
    cdef vector[Lifetime] lifetimes
    drop_unused(draft, segments, segment)
    for i in range(<int>draft.steps.size()):
        step = &draft.steps[i]
        if step.elided:
            continue
        for j in range(step.n_inputs):
            draft.last[draft.root[draft.arguments[step.first_input + j]]] = i
        for j in range(step.n_outputs):
            tensor = draft.arguments[step.first_output + j]
            if draft.root[tensor] == tensor:
                draft.first[tensor] = i
                draft.last[tensor] = i
    for i in range(segment.n_leaving):
        draft.escapes[draft.root[draft.local_of[segments.leaving[segment.first_leaving + i]]]] = 1
    storage_of.assign(draft.tensors.size(), -1)
    for i in range(<int>draft.steps.size()):
        step = &draft.steps[i]
        if step.elided:
            continue
        for j in range(step.n_outputs):
            tensor = draft.arguments[step.first_output + j]
            if draft.root[tensor] == tensor:
                place_output(draft, step, i, j, tensor, copy_small, storage_of, lifetimes)
        if step.workspace > 0:
            add_lifetime(lifetimes, step.workspace, i, i)
            step.workspace = <int64_t>lifetimes.size()   # 1 + its number, until planned
    draft.made.tape.arena_bytes = plan_memory(lifetimes)
    for n in range(lifetimes.size()):
        draft.made.intermediate_bytes += lifetimes[n].bytes
    for i in range(<int>draft.tensors.size()):
        root = draft.root[i]
        if draft.storage[root] == ARENA and storage_of[root] >= 0:
            draft.tensors[i].data = <void*><size_t>lifetimes[storage_of[root]].offset
            draft.storage[i] = ARENA
    for i in range(<int>draft.steps.size()):
        step = &draft.steps[i]
        if step.elided or step.workspace <= 0:  # what was folded has no lifetime to look up
            step.workspace = -1
        else:
            step.workspace = lifetimes[step.workspace - 1].offset
    return plan_leaving(draft, segments, segment)


cdef void drop_unused(Draft draft, Segments segments, Segment segment) noexcept:
    """Elides what nobody reads any more, such as a value of which only the shape was asked."""
    cdef vector[uint8_t] used
    cdef int i, j, number
    cdef bint needed
    cdef Step* step
    used.assign(draft.tensors.size(), 0)
    for i in range(segment.n_leaving):
        used[draft.local_of[segments.leaving[segment.first_leaving + i]]] = 1
    for i in range(<int>draft.steps.size() - 1, -1, -1):
        step = &draft.steps[i]
        if step.elided:
            continue
        number = segments.nodes[segment.first_node + i]
        needed = step.writes or not step.kernel.flags & OWN_MEMORY and (
            is_stateful(step.node) or draft.program.nodes[number].awaited and not step.view)
        for j in range(step.n_outputs):
            needed = needed or used[draft.arguments[step.first_output + j]]
        if not needed:
            step.elided = True
            continue
        for j in range(step.n_inputs):
            used[draft.arguments[step.first_input + j]] = 1


cdef int add_lifetime(vector[Lifetime]& lifetimes, int64_t bytes, int first, int last) except -1:
    cdef Lifetime life
    life.bytes = bytes
    life.first = first
    life.last = last
    life.offset = 0
    lifetimes.push_back(life)
    return 0


cdef int place_output(Draft draft, Step* step, int at, int port, int tensor, bint copy_small,
                      vector[int32_t]& storage_of, vector[Lifetime]& lifetimes) except -1:
    cdef hr_tensor* t = &draft.tensors[tensor]
    cdef int last = draft.last[tensor]
    cdef int reused
    if t.dtype >= HR_REF:
        draft.storage[tensor] = STATIC
        return 0
    if step.by_kernel or step.kernel.flags & OWN_MEMORY:
        draft.storage[tensor] = BY_KERNEL
        draft.made.tape.by_kernel.push_back(tensor)
        return 0
    if not is_plain(t.dtype) or draft.escapes[tensor] and not (copy_small and t.bytes <= SMALL):
        draft.storage[tensor] = COUNTED
        draft.made.tape.counted.push_back(tensor)
        return 0
    draft.storage[tensor] = ARENA
    if draft.escapes[tensor]:
        last = <int>draft.steps.size()
    if port == 0:
        reused = reusable_input(draft, step, at, tensor)
        if reused >= 0 and storage_of[reused] >= 0:
            storage_of[tensor] = storage_of[reused]
            lifetimes[storage_of[tensor]].last = max(last, lifetimes[storage_of[tensor]].last)
            return 0
    add_lifetime(lifetimes, t.bytes, at, last)
    storage_of[tensor] = <int32_t>lifetimes.size() - 1
    return 0


cdef int reusable_input(Draft draft, Step* step, int at, int output):
    """A root in the arena that dies here and that the kernel may overwrite; -1: none."""
    cdef int32_t argument, first = 0, count = 0
    cdef int i, j, tensor, root
    cdef hr_tensor* out = &draft.tensors[output]
    cdef bint alone
    if step.kernel.reuse_inputs == 0:
        return -1
    for argument in range(64):
        if not step.kernel.reuse_inputs >> argument:
            break
        if not (step.kernel.reuse_inputs >> argument) & 1:
            continue
        (<node_api*>step.node.face.api).input_range(&step.node.face, argument, &first, &count)
        for i in range(first, first + count):
            if i >= step.n_inputs:
                break
            tensor = draft.arguments[step.first_input + i]
            root = draft.root[tensor]
            if draft.storage[root] != ARENA or draft.last[root] != at or draft.escapes[root]:
                continue
            if draft.first[root] < 0 or draft.tensors[tensor].bytes != out.bytes or \
                    draft.tensors[root].bytes != out.bytes or \
                    draft.tensors[tensor].layout != out.layout:
                continue
            alone = True
            for j in range(step.n_inputs):
                if j != i and draft.root[draft.arguments[step.first_input + j]] == root and \
                        not same_dims(&draft.tensors[draft.arguments[step.first_input + j]], out):
                    alone = False
            if alone:
                return root
    return -1


cdef bint same_dims(const hr_tensor* a, const hr_tensor* b) noexcept nogil:
    return a.rank == b.rank and memcmp(a.dims, b.dims, a.rank * sizeof(int64_t)) == 0


cdef int plan_leaving(Draft draft, Segments segments, Segment segment) except -1:
    cdef int i
    cdef size_t a, b
    cdef Leaving leaving
    for i in range(segment.n_leaving):
        leaving.tensor = draft.local_of[segments.leaving[segment.first_leaving + i]]
        leaving.root = draft.root[leaving.tensor]
        leaving.handed_over = draft.storage[leaving.root] in (COUNTED, BY_KERNEL)
        draft.made.leaving.push_back(leaving)
    for a in range(draft.made.leaving.size()):
        for b in range(a):
            if draft.made.leaving[a].root == draft.made.leaving[b].root:
                draft.made.leaving[a].handed_over = 0
                draft.made.leaving[b].handed_over = 0
    return 0


# ---- the tape -----------------------------------------------------------------------------------------

cdef int emit(Draft draft) except -1:
    cdef Tape tape = draft.made.tape
    cdef int i, j, tensor, last_writer = -1
    cdef Step* step
    cdef EntryPlan entry
    cdef vector[vector[int32_t]] dying   # pinned values by the step of their last use
    dying.resize(draft.steps.size())
    for i in range(<int>draft.steps.size()):
        if draft.steps[i].writes and not draft.steps[i].elided:
            last_writer = i
    for i in tape.by_kernel:
        if draft.last[i] < last_writer and not draft.escapes[i]:
            dying[draft.last[i]].push_back(i)
    tape.arguments.swap(draft.arguments)
    for i in range(<int>draft.steps.size()):
        step = &draft.steps[i]
        if not step.elided and not (step.view and is_placed(draft, step, tape)):
            entry.compute = <hr_compute>alias_entry if step.view else step.compute
            entry.state = step.node.state
            entry.plan = step.plan
            entry.first_input = step.first_input
            entry.n_inputs = step.n_inputs
            entry.first_output = step.first_output
            entry.n_outputs = step.n_outputs
            entry.workspace = step.workspace
            entry.node = step.node
            tape.entries.push_back(entry)
        for j in range(<int>dying[i].size()):
            entry.compute = <hr_compute>release_entry
            entry.state = NULL
            entry.plan = NULL
            entry.first_input = <int32_t>tape.arguments.size()
            entry.n_inputs = 0
            entry.first_output = entry.first_input
            entry.n_outputs = 1
            entry.workspace = -1
            entry.node = step.node
            tape.arguments.push_back(dying[i][j])
            tape.entries.push_back(entry)
    tape.tensors.swap(draft.tensors)
    tape.storage.swap(draft.storage)
    return 0


cdef bint is_placed(Draft draft, Step* step, Tape tape) noexcept:
    """A view of arena memory has its pointer from the plan; others get theirs at run."""
    cdef int out = tape.arguments[step.first_output]
    return draft.storage[draft.root[out]] == ARENA


cdef class Specialisation:
    def __dealloc__(self):
        cdef size_t i
        for i in range(self.plans.size()):
            self.plans[i].destroy(self.plans[i].plan)
        for i in range(self.constants.size()):
            buffer_release(self.constants[i])

    cdef bint fits(self, const hr_tensor* entering) noexcept nogil:
        cdef size_t i
        cdef const hr_tensor* mine
        for i in range(self.entering.size()):
            mine = &self.entering[i]
            if mine.rank != entering[i].rank or \
                    memcmp(mine.dims, entering[i].dims, mine.rank * sizeof(int64_t)) != 0:
                return False
            if mine.data != NULL and memcmp(mine.data, entering[i].data, mine.bytes) != 0:
                return False
        for i in range(self.guards.size()):
            if self.guards[i].slot.value.rank != self.guards[i].shape.rank or \
                    memcmp(self.guards[i].slot.value.dims, self.guards[i].shape.dims,
                           self.guards[i].shape.rank * sizeof(int64_t)) != 0:
                return False
        return True

    def describe(self) -> dict:
        """Figures for `explain`: entering shapes, entries, arena, kernels by op and library."""
        cdef size_t i
        cdef GraphNode* node
        kernels = {}
        for i in range(self.tape.entries.size()):
            node = self.tape.entries[i].node
            library = library_of(node.kernel) if node.kernel != NULL else NULL
            name = (f"{(<bytes>node.op).decode()} "
                    f"({library.decode() if library != NULL else 'runtime'})")
            kernels[name] = kernels.get(name, 0) + 1
        return {
            "entering": ", ".join([shape_text(&self.entering[i])
                                   for i in range(self.entering.size())]),
            "entries": self.tape.entries.size(),
            "arena_bytes": self.tape.arena_bytes,
            "kernels": kernels,
        }
