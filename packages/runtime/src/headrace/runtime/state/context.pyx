# cython: language_level=3
"""The functions that running kernels call (hr_ctx_api of kernel.h), and variable slots.

A variable of either kind is one slot: a lock and a counted buffer. Readers pin the buffer. A writer
changes the buffer in place only if no reader holds it; otherwise it writes a copy. So no value
changes while it is read, and none is read after its memory was reused.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy
from libcpp.string cimport string
from libcpp.vector cimport vector

from headrace.runtime.memory.buffer cimport (
    OwnedTensor, allocate_on, allocate_tensor, buffer_new, buffer_references, buffer_release,
    buffer_retain, copy_elements, copy_tensor, is_kept_on_host, memory_of, move_tensor, object_release, object_retain,
    set_bytes,
)
from headrace.runtime.memory.kernel_abi cimport (
    HR_FAILED_PRECONDITION, HR_INTERNAL, HR_INVALID_ARGUMENT, HR_OK, HR_RESOURCE_EXHAUSTED,
    hr_buffer, hr_code, hr_ctx, hr_ctx_api, hr_dtype, hr_object, hr_string, hr_tensor,
)


cdef extern from *:
    """
    #include <cstring>
    #include <new>
    #include "state/run.hpp"
    #include "state/slot.hpp"
    // Never waits for the GIL while holding the lock: the holder of the GIL may wait for the lock
    // (ShapeGuard).
    static void wait_for_lock(std::mutex& lock) {
      if (!PyGILState_Check()) return lock.lock();
      do {
        PyThreadState* state = PyEval_SaveThread();
        lock.lock();
        lock.unlock();
        PyEval_RestoreThread(state);
      } while (!lock.try_lock());
    }
    static headrace::Slot* new_slot() {
      auto* slot = new (std::nothrow) headrace::Slot();
      if (slot) {
        slot->object.size = sizeof(hr_object);
        slot->object.references = 1;
        slot->object.kind = "Variable";
        slot->object.destroy = [](hr_object* o) { delete reinterpret_cast<headrace::Slot*>(o); };
        *slot->value.get() = hr_tensor{};
      }
      return slot;
    }
    static hr_code keep_for_step(hr_ctx* ctx, hr_object* object) {
      try {
        auto* step = headrace::step_objects(reinterpret_cast<headrace::Run*>(ctx));
        std::lock_guard<std::mutex> hold(step->lock);
        step->objects.push_back({object, nullptr, std::string(), false});
        return HR_OK;
      } catch (const std::bad_alloc&) {
        headrace::object_release(object);
        return headrace::run_fail(ctx, HR_RESOURCE_EXHAUSTED, "no memory for an object of a step");
      }
    }
    static void fill_api(hr_ctx_api* api) {
      std::memset(api, 0, sizeof *api);
      api->size = sizeof *api;
      api->fail = headrace::run_fail;
      api->retain = headrace::buffer_retain;
      api->parallel_for = headrace::run_parallel_for;
      api->retain_object = [](hr_object* o) { headrace::object_retain(o); };
      api->release_object = headrace::object_release;
      api->on_cancel = headrace::run_on_cancel;
      api->forget_cancel = headrace::run_forget_cancel;
      api->keep_for_step = keep_for_step;
    }
    """
    void wait_for_lock(Mutex& lock) nogil
    Slot* new_slot() nogil
    void fill_api(hr_ctx_api* api) nogil
    hr_code run_fail "headrace::run_fail"(hr_ctx* ctx, hr_code code, const char* format, ...) nogil


cdef extern from "headrace/kernel.h" nogil:
    cdef cppclass api_fields "hr_ctx_api":
        hr_code (*allocate)(hr_ctx*, hr_tensor*) noexcept nogil
        hr_code (*allocate_host)(hr_ctx*, hr_tensor*) noexcept nogil
        hr_code (*forward)(hr_ctx*, const hr_tensor*, hr_tensor*) noexcept nogil
        void (*release)(hr_buffer*) noexcept nogil
        hr_code (*set_string)(hr_ctx*, hr_string*, const char*, size_t) noexcept nogil
        hr_code (*begin_write)(hr_ctx*, int32_t, const hr_tensor* const*, hr_tensor*) noexcept nogil
        void (*commit)(hr_ctx*, int32_t, const hr_tensor* const*) noexcept nogil
        hr_code (*slot_read)(hr_ctx*, const hr_tensor*, hr_tensor*) noexcept nogil
        hr_code (*slot_assign)(hr_ctx*, const hr_tensor*, const hr_tensor*) noexcept nogil
        hr_code (*lookup_or_create)(hr_ctx*, const char*, const char*, const char*,
                                    hr_object* (*)(void*) noexcept nogil, void*,
                                    hr_object**) noexcept nogil
        Dequeue dequeue
        const hr_function_api* functions


cdef Slot* slot_new(hr_dtype dtype, const char* name) noexcept nogil:
    cdef Slot* slot = new_slot()
    if slot != NULL:
        slot.dtype = dtype
        slot.name.assign(name)
    return slot


cdef void lock_slot(Slot* slot) noexcept nogil:
    if not slot.lock.try_lock():
        wait_for_lock(slot.lock)


cdef hr_code slot_pin(Slot* slot, OwnedTensor* value) noexcept nogil:
    lock_slot(slot)
    if not slot.initialised:
        slot.lock.unlock()
        return HR_FAILED_PRECONDITION
    value.share(slot.value.get()[0])
    slot.lock.unlock()
    return HR_OK


cdef hr_code check_has_value(Run* run, const hr_tensor* reference) noexcept nogil:
    cdef Slot* slot = slot_of(reference)
    cdef bint initialised = True
    if slot != NULL:
        lock_slot(slot)
        initialised = slot.initialised
        slot.lock.unlock()
    return HR_OK if initialised else fail_uninitialised(run, slot)


cdef hr_code fail_uninitialised(Run* run, Slot* slot) noexcept nogil:
    return run_fail(&run.ctx, HR_FAILED_PRECONDITION,
                    "Attempting to use uninitialized value %s", slot.name.c_str())


cdef void slot_clear(Slot* slot) noexcept nogil:
    cdef OwnedTensor old   # ends without the lock
    lock_slot(slot)
    slot.value.swap(old)
    slot.initialised = False
    slot.set_shape(NULL)
    slot.lock.unlock()


cdef void clear_containers(SessionState* session, const vector[string]& containers,
                           void (*dropped)(void*, const vector[hr_object*]&) noexcept nogil,
                           void* argument) noexcept nogil:
    cdef vector[hr_object*] removed = session_clear(session, containers)
    cdef hr_object* found
    if dropped != NULL:
        dropped(argument, removed)
    for found in removed:
        # Kernels may hold a variable as long as their graph lives, so its memory is released now.
        if is_kind(found, "Variable"):
            slot_clear(<Slot*>found)
        object_release(found)


cdef hr_code slot_set(Slot* slot, const hr_tensor* value) noexcept nogil:
    cdef OwnedTensor result    # at last the slot's old value, which ends without the lock
    cdef hr_tensor* held = slot.value.get()
    cdef hr_code code
    lock_slot(slot)
    if value.owner == NULL and slot.initialised and same_shape(value, held) and \
            buffer_references(held.owner) == 1 and memory_of(held.owner) == NULL:
        copy_elements(value, held)
        slot.version += 1
        slot.lock.unlock()
        return HR_OK
    if value.owner != NULL:
        result.share(value[0])
    else:
        code = copy_tensor(value, result.get())
        if code != HR_OK:
            slot.lock.unlock()
            return code
    if not slot.initialised or not same_shape(held, value):
        slot.set_shape(value)
    if value.owner == NULL or value.owner != held.owner or not slot.initialised:
        slot.version += 1
    slot.value.swap(result)
    slot.initialised = True
    slot.lock.unlock()
    return HR_OK


cdef hr_code ctx_allocate(hr_ctx* ctx, hr_tensor* output) noexcept nogil:
    cdef hr_code code
    if ctx.device == NULL:
        return ctx_allocate_host(ctx, output)
    code = HR_INVALID_ARGUMENT if set_bytes(output) < 0 else allocate_on(
        ctx.device, output, "an output whose shape depends on data")
    if code != HR_OK:
        return run_fail(ctx, code, "no memory on the device for an output of %lld bytes",
                        <long long>output.bytes)
    return HR_OK


cdef hr_code ctx_allocate_host(hr_ctx* ctx, hr_tensor* output) noexcept nogil:
    cdef hr_code code = allocate_tensor(output)
    if code != HR_OK:
        return run_fail(ctx, code, "no memory for an output of %lld bytes", <long long>output.bytes)
    return HR_OK


cdef hr_code ctx_forward(hr_ctx* ctx, const hr_tensor* value, hr_tensor* output) noexcept nogil:
    if value.owner == NULL and ctx.device != NULL:
        output[0] = value[0]
        if ctx_allocate(ctx, output) != HR_OK:
            return HR_RESOURCE_EXHAUSTED
        if output.bytes and ctx.device.copy_within(ctx.device, output.data, value.data,
                                                   output.bytes, ctx.profile) != HR_OK:
            return run_fail(ctx, HR_INTERNAL, "the device does not copy %lld bytes",
                            <long long>value.bytes)
        return HR_OK
    if value.owner == NULL:
        if copy_tensor(value, output) != HR_OK:
            return run_fail(ctx, HR_RESOURCE_EXHAUSTED, "no memory for a copy of %lld bytes",
                            <long long>value.bytes)
        return HR_OK
    output[0] = value[0]
    buffer_retain(value.owner)
    return HR_OK


cdef hr_code ctx_set_string(hr_ctx* ctx, hr_string* text, const char* data,
                            size_t size) noexcept nogil:
    cdef hr_buffer* b = NULL
    cdef hr_tensor t
    if size > 0:
        t.dtype = 4  # HR_UINT8
        t.rank = 1
        t.dims[0] = <int64_t>size
        if allocate_tensor(&t) != HR_OK:
            return run_fail(ctx, HR_RESOURCE_EXHAUSTED, "no memory for a string of %zu bytes", size)
        memcpy(t.data, data, size)
        b = t.owner
    buffer_release(text.owner)
    text.owner = b
    text.data = <const char*>t.data if size > 0 else NULL
    text.size = size
    return HR_OK


cdef hr_code not_a_variable(hr_ctx* ctx) noexcept nogil:
    return run_fail(ctx, HR_INVALID_ARGUMENT, "the handle does not point at a variable")


cdef void lock_in_address_order(int32_t n, Slot** slots) noexcept nogil:
    cdef Slot* order[8]
    cdef Slot* swap
    cdef int i, j
    for i in range(n):
        order[i] = slots[i]
        j = i
        while j > 0 and <size_t>order[j - 1] > <size_t>order[j]:
            swap = order[j - 1]
            order[j - 1] = order[j]
            order[j] = swap
            j -= 1
    i = 0
    while i < n:
        if order[i].lock.try_lock():
            i += 1
            continue
        # Waits for one lock without holding the others, since it may release the GIL meanwhile.
        for j in range(i):
            order[j].lock.unlock()
        lock_slot(order[i])
        order[i].lock.unlock()
        i = 0


cdef hr_code ctx_begin_write(hr_ctx* ctx, int32_t n, const hr_tensor* const* refs,
                             hr_tensor* values) noexcept nogil:
    cdef Slot* slots[8]
    cdef Slot* slot
    cdef OwnedTensor copy
    cdef int i, j
    if n > 8:
        return run_fail(ctx, HR_INTERNAL, "begin_write takes 8 variables at most, got %d", n)
    for i in range(n):
        slots[i] = slot_of(refs[i])
        if slots[i] == NULL:
            return not_a_variable(ctx)
        for j in range(i):
            if slots[j] == slots[i]:
                return run_fail(ctx, HR_INVALID_ARGUMENT,
                                "variable '%s' is given twice to one update",
                                slots[i].name.c_str())
    if n == 1:
        lock_slot(slots[0])
    else:
        lock_in_address_order(n, slots)
    cdef hr_code code = HR_OK
    for i in range(n):
        slot = slots[i]
        if not slot.initialised:
            code = fail_uninitialised(<Run*>ctx, slot)
            break
        # Sessions that share state may have placed the variable elsewhere: it moves here.
        if slot.value.get().bytes:
            code = move_tensor(&slot.value, ctx.device)
        if code != HR_OK:
            run_fail(ctx, code, "variable '%s' could not be moved from where it is",
                     slot.name.c_str())
            break
        if buffer_references(slot.value.get().owner) != 1:
            code = copy_tensor(slot.value.get(), copy.get())
            if code != HR_OK:
                run_fail(ctx, code, "no memory to copy variable '%s'"
                         if code == HR_RESOURCE_EXHAUSTED else
                         "the device does not copy variable '%s'", slot.name.c_str())
                break
            slot.value.own(copy.take())
        values[i] = slot.value.get()[0]
    if code != HR_OK:
        for i in range(n):
            slots[i].lock.unlock()
    return code


cdef void ctx_commit(hr_ctx* ctx, int32_t n, const hr_tensor* const* refs) noexcept nogil:
    cdef Slot* slot
    cdef int i
    for i in range(n):
        slot = slot_of(refs[i])
        slot.version += 1
        slot.lock.unlock()


cdef hr_code ctx_slot_read(hr_ctx* ctx, const hr_tensor* ref, hr_tensor* value) noexcept nogil:
    cdef Slot* slot = slot_of(ref)
    cdef OwnedTensor pinned
    cdef hr_code code
    if slot == NULL:
        return not_a_variable(ctx)
    if slot_pin(slot, &pinned) != HR_OK:
        return fail_uninitialised(<Run*>ctx, slot)
    if pinned.get().bytes:
        code = move_tensor(&pinned, ctx.device)
        if code != HR_OK:
            return run_fail(ctx, code, "variable '%s' could not be copied from where it is",
                            slot.name.c_str())
    value[0] = pinned.take()
    return HR_OK


cdef hr_code ctx_slot_assign(hr_ctx* ctx, const hr_tensor* ref,
                             const hr_tensor* value) noexcept nogil:
    cdef Slot* slot = slot_of(ref)
    cdef OwnedTensor copy
    if slot == NULL:
        return not_a_variable(ctx)
    if slot.dtype != value.dtype:
        return run_fail(ctx, HR_INVALID_ARGUMENT,
                        "variable '%s' has another dtype (%d) than the value assigned to it (%d)",
                        slot.name.c_str(), slot.dtype, value.dtype)
    if value.owner == NULL and ctx.device != NULL and not is_kept_on_host(value.dtype):
        # Only a buffer says where it is.
        if ctx_forward(ctx, value, copy.get()) != HR_OK:
            return HR_RESOURCE_EXHAUSTED
        value = copy.get()
    if slot_set(slot, value) != HR_OK:
        return run_fail(ctx, HR_RESOURCE_EXHAUSTED, "no memory for variable '%s'",
                        slot.name.c_str())
    return HR_OK


cdef hr_code ctx_lookup(hr_ctx* ctx, const char* container, const char* name, const char* kind,
                        hr_object* (*make)(void*) noexcept nogil, void* argument,
                        hr_object** found) noexcept nogil:
    cdef string error
    cdef hr_code code
    if not is_container_name(string(container)):
        return run_fail(ctx, HR_INVALID_ARGUMENT, "container contains invalid characters: %s",
                        container)
    code = session_lookup((<Run*>ctx).session, container, name, kind, make, argument, found, &error)
    if code != HR_OK:
        run_fail_text(<Run*>ctx, code, error.c_str())
    return code


cdef hr_ctx_api api
fill_api(&api)
(<api_fields*>&api).allocate = ctx_allocate
(<api_fields*>&api).allocate_host = ctx_allocate_host
(<api_fields*>&api).forward = ctx_forward
(<api_fields*>&api).release = buffer_release
(<api_fields*>&api).set_string = ctx_set_string
(<api_fields*>&api).begin_write = ctx_begin_write
(<api_fields*>&api).commit = ctx_commit
(<api_fields*>&api).slot_read = ctx_slot_read
(<api_fields*>&api).slot_assign = ctx_slot_assign
(<api_fields*>&api).lookup_or_create = ctx_lookup


cdef void set_dequeue(Dequeue dequeue) noexcept:
    (<api_fields*>&api).dequeue = dequeue


cdef void set_functions(const hr_function_api* functions) noexcept:
    (<api_fields*>&api).functions = functions


cdef void run_begin(Run* run, SessionState* session, int threads) noexcept nogil:
    run.ctx.size = sizeof(hr_ctx)
    run.ctx.threads = threads
    run.ctx.api = &api
    run.ctx.cancelled = run.cancelled.address()
    run.ctx.step = next_step(session)
    run.ctx.device = NULL
    run.ctx.profile = NULL
    run.session = session
    run_clear(run)
